#include "watcher/admission/manifest/write_yaml.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>

#include "probes/base/printable.h"
#include "probes/base/yaml_scalar.h"

namespace cluster_watcher {
namespace {

using Type = YamlNode::Type;

// True for line breaks and characters that YAML forbids, that yaml-cpp and kubectl read
// differently, or that steer a terminal.
bool NeedsEscapes(std::string_view text) {
  return PrintableLines(text) != text || text.find("\ufeff") != std::string_view::npos;
}

// True if yaml-cpp writes the text as a literal block that reads back the same: one newline at the
// end, and no need for an indentation indicator.
bool IsLiteral(std::string_view text) {
  return text.size() > 1 && text.ends_with('\n') && text[text.size() - 2] != '\n' &&
         text.front() != ' ' && text.front() != '\n';
}

// True for what readers other than kubectl take for a time, a date or a default value.
bool IsOtherwiseRead(std::string_view text) {
  if (text == "=") return true;
  if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && text.front() >= '0' && text.front() <= '9' &&
         text.find_first_not_of("0123456789:-.TtZz+ ") == std::string_view::npos;
}

void WriteString(const std::string& text, bool in_flow, YAML::Emitter& out) {
  if (NeedsEscapes(text)) {
    out << YAML::DoubleQuoted << YAML::EscapeNonAscii << text;
  } else if (!in_flow && IsLiteral(text)) {
    out << YAML::Literal << text;
  } else if (text.find('"') != std::string::npos &&
             text.find_first_of("'\n") == std::string::npos) {
    out << YAML::SingleQuoted << text;  // often JSON, which people want to read
  } else if ((in_flow && (text.starts_with(':') || text.ends_with(':'))) || text == "<<" ||
             text.starts_with("---") || text.starts_with("...") || IsOtherwiseRead(text) ||
             ReadPlainScalar(text).type != YamlScalar::Type::kString) {
    out << YAML::DoubleQuoted << text;
  } else {
    out << text;  // yaml-cpp quotes it if necessary
  }
}

void WriteScalar(const YamlNode& node, bool in_flow, YAML::Emitter& out) {
  if (node.type == Type::kNull) {
    out << YAML::Null;
  } else if (node.type == Type::kString) {
    WriteString(node.text, in_flow, out);
  } else {
    out << node.written;
  }
}

// The recursion is bounded by the reader's depth limit.
void Write(const YamlNode& node, bool in_flow, YAML::Emitter& out) {
  if (node.type != Type::kList && node.type != Type::kMap) return WriteScalar(node, in_flow, out);
  const bool is_map = node.type == Type::kMap;
  in_flow = in_flow || node.is_flow || node.items.empty();
  if (in_flow) out << YAML::Flow;
  if (is_map) {
    out << YAML::BeginMap;
  } else {
    out << YAML::BeginSeq;
  }
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    if (is_map) {
      out << YAML::Key;
      WriteScalar(node.keys[i], true, out);
      out << YAML::Value;
    }
    Write(node.items[i], in_flow, out);
  }
  if (is_map) {
    out << YAML::EndMap;
  } else {
    out << YAML::EndSeq;
  }
}

}  // namespace

std::string WriteYaml(const YamlNode& node) {
  YAML::Emitter out;
  out.SetNullFormat(YAML::LowerNull);
  Write(node, false, out);
  return std::string(out.c_str(), out.size()) + "\n";
}

}  // namespace cluster_watcher

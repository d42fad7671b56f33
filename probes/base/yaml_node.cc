#include "probes/base/yaml_node.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "probes/base/names.h"

namespace cluster_watcher {
namespace {

using Type = YamlNode::Type;

// Decodes a token of a JSON pointer (RFC 6901, section 4).
std::string Unescaped(std::string_view token) {
  std::string key;
  for (std::size_t i = 0; i < token.size(); ++i) {
    const bool is_escape = token[i] == '~' && i + 1 < token.size();
    key += !is_escape ? token[i] : token[i + 1] == '1' ? '/' : '~';
    if (is_escape) ++i;
  }
  return key;
}

std::optional<std::size_t> IndexOf(std::string_view token) {
  std::size_t index = 0;
  const char* const end = token.data() + token.size();
  const auto [stop, error] = std::from_chars(token.data(), end, index);
  if (error != std::errc() || stop != end) return std::nullopt;
  return index;
}

YamlNode* ChildOf(YamlNode& node, std::string_view token) {
  if (node.type == Type::kMap) return node.Find(Unescaped(token));
  const auto index = IndexOf(token);
  if (node.type != Type::kList || !index || *index >= node.items.size()) return nullptr;
  return &node.items[*index];
}

bool AddChild(YamlNode& node, std::string_view token, YamlNode value) {
  if (node.type == Type::kMap) {
    const std::string key = Unescaped(token);
    if (YamlNode* present = node.Find(key)) {
      *present = std::move(value);
      return true;
    }
    YamlNode name;
    name.type = Type::kString;
    name.text = key;
    node.keys.push_back(std::move(name));
    node.items.push_back(std::move(value));
    return true;
  }
  const auto index = token == "-" ? node.items.size() : IndexOf(token);
  if (node.type != Type::kList || !index || *index > node.items.size()) return false;
  node.items.insert(node.items.begin() + static_cast<std::ptrdiff_t>(*index), std::move(value));
  return true;
}

// The recursion is bounded by the reader's depth limit.
void Write(const YamlNode& node, Scalars scalars, JsonWriter& json) {
  switch (node.type) {
    case Type::kNull:
      json.Null();
      return;
    case Type::kBool:
      json.Bool(node.text == "true");
      return;
    case Type::kNumber:
      json.Number(scalars == Scalars::kWritten ? node.written : node.text);
      return;
    case Type::kString:
      json.String(node.text);
      return;
    case Type::kList:
      json.StartArray();
      for (const YamlNode& item : node.items) Write(item, scalars, json);
      json.EndArray();
      return;
    case Type::kMap:
      json.StartObject();
      for (std::size_t i = 0; i < node.items.size(); ++i) {
        json.Key(node.keys[i].text);
        Write(node.items[i], scalars, json);
      }
      json.EndObject();
      return;
  }
}

}  // namespace

const YamlNode* YamlNode::Find(std::string_view key) const {
  const auto found = std::find_if(keys.begin(), keys.end(),
                                  [key](const YamlNode& one) { return one.text == key; });
  return found == keys.end() ? nullptr : &items[static_cast<std::size_t>(found - keys.begin())];
}

YamlNode* YamlNode::Find(std::string_view key) {
  return const_cast<YamlNode*>(std::as_const(*this).Find(key));
}

std::string_view YamlNode::TextAt(std::string_view key) const {
  const YamlNode* found = Find(key);
  return found != nullptr && found->type == Type::kString ? std::string_view(found->text)
                                                          : std::string_view();
}

std::string YamlError::In(const std::string& file) const {
  return file + ", line " + std::to_string(line) + ", column " + std::to_string(column) + ": " +
         message;
}

Result<Done> AddTo(YamlNode& node, std::string_view path, YamlNode value) {
  const auto failed = [path] { return Failure("nothing can be added at " + Quoted(path)); };
  YamlNode* at = &node;
  std::string_view rest = path;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('/', 1), rest.size());
    const std::string_view token = rest.substr(1, end - 1);
    rest.remove_prefix(end);
    if (rest.empty()) {
      if (AddChild(*at, token, std::move(value))) return Done{};
      return failed();
    }
    at = ChildOf(*at, token);
    if (at == nullptr) return failed();
  }
  return failed();
}

std::string WriteJson(const YamlNode& node, JsonWriter::Style style, Scalars scalars) {
  JsonWriter json(style);
  Write(node, scalars, json);
  return json.Text();
}

}  // namespace cluster_watcher

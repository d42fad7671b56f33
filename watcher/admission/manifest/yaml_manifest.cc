#include "watcher/admission/manifest/yaml_manifest.h"

#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <sstream>
#include <unordered_map>
#include <utility>
#include <vector>

#include "probes/base/names.h"
#include "probes/base/yaml_scalar.h"
#include "watcher/admission/manifest/manifest_documents.h"
#include "watcher/admission/manifest/yaml_source.h"

namespace cluster_watcher {
namespace {

using Type = ManifestNode::Type;

constexpr std::size_t kMaxText = 64u << 20;
constexpr std::size_t kMaxDepth = 500;

constexpr std::string_view kCoreTag = "tag:yaml.org,2002:";

// yaml-cpp keeps all tokens of a line in memory, about 250 bytes each.
constexpr std::ptrdiff_t kMaxMarksOfLine = 500'000;

struct Size {
  std::size_t nodes = 0;
  std::size_t text = 0;
  std::size_t depth = 0;

  void Add(const Size& child) {
    nodes += child.nodes;
    text += child.text;
    depth = std::max(depth, child.depth + 1);
  }
};

// A complete node, or a list or map that is still open.
struct Part {
  ManifestNode node;
  Size size;
  YAML::Mark mark;
  YAML::anchor_t anchor = 0;
  bool is_merge = false;   // the key "<<"
  bool is_scalar = false;  // can be a key
};

ManifestError ErrorAt(const YAML::Mark& mark, std::string message) {
  // yaml-cpp puts unknown characters into its messages unescaped.
  const auto is_control = [](unsigned char c) { return c < ' ' || c == 0x7F; };
  std::replace_if(message.begin(), message.end(), is_control, ' ');
  if (mark.is_null()) return {1, 1, message};
  return {static_cast<std::size_t>(mark.line) + 1, static_cast<std::size_t>(mark.column) + 1,
          message};
}

// U+FDD0 to U+FDEF and the last two characters of each plane; yaml-cpp writes others instead.
bool HasNoncharacter(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  for (std::size_t i = 2; i < text.size(); ++i) {
    if (byte(i - 2) == 0xEF && byte(i - 1) == 0xB7 && byte(i) >= 0x90 && byte(i) < 0xB0)
      return true;
    const bool is_last = byte(i - 1) == 0xBF && byte(i) >= 0xBE && (byte(i - 2) & 0x0F) == 0x0F;
    const bool is_short = byte(i - 2) == 0xEF;
    const bool is_long = i > 2 && byte(i - 3) >= 0xF0;
    if (is_last && (is_short || is_long)) return true;
  }
  return false;
}

std::optional<ManifestError> FindLongLine(std::string_view text) {
  const auto is_mark = [](char c) {
    return std::string_view("[]{},").find(c) != std::string_view::npos;
  };
  std::size_t line = 1;
  for (std::size_t at = 0; at < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view here = text.substr(at, end - at);
    if (std::count_if(here.begin(), here.end(), is_mark) > kMaxMarksOfLine) {
      return ManifestError{line, 1,
                           "there are more than " + std::to_string(kMaxMarksOfLine) +
                               " brackets and commas on one line: break it"};
    }
    at = end + 1;
  }
  return std::nullopt;
}

// Finds a character that kubectl takes for a line break or for nothing, and yaml-cpp for text: in
// quotes it can be written as an escape.
std::optional<ManifestError> FindOddBreak(std::string_view text) {
  for (const auto& [character, escape] :
       {std::pair<std::string_view, const char*>{"\u0085", "\\x85"},
        {"\u2028", "\\u2028"},
        {"\u2029", "\\u2029"},
        {"\ufeff", "\\ufeff"}}) {
    const std::size_t at = text.find(character);
    if (at == std::string_view::npos) continue;
    return ErrorAtByte(
        text, at,
        std::string("a character that readers of YAML disagree about: write \"") + escape + "\"");
  }
  for (std::size_t at = text.find('\r'); at != std::string_view::npos;
       at = text.find('\r', at + 1)) {
    if (at + 1 < text.size() && text[at + 1] == '\n') continue;
    return ErrorAtByte(text, at, "a character that readers of YAML disagree about: write \"\\r\"");
  }
  return std::nullopt;
}

// yaml-cpp takes an item of a list for a key if it has an anchor or a tag, and a text over several
// lines. Returns what to do about the last one before `end`; "" if there is none.
std::string HintAboutItem(std::string_view text, std::size_t end) {
  text = text.substr(0, end);
  const std::size_t at = std::max(text.rfind("- &") + 1, text.rfind("- !") + 1);
  if (at == 0) return "";
  return ". If kubectl reads it: leave out the anchor or tag in line " +
         std::to_string(ErrorAtByte(text, at, "").line) + ", or write its text in one line";
}

class Builder : public YAML::EventHandler {
 public:
  Builder(std::string_view text, YamlManifest& manifest) : source_(text), manifest_(manifest) {}

  bool has_document() const { return has_document_; }
  bool is_stopped() const { return is_stopped_; }  // by the builder, not by the parser

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (has_document_) {
      Stop(mark, "another document begins here: write a line --- before it");
    }
    has_document_ = true;
  }
  void OnDocumentEnd() override {}

  // Call when all is read.
  void CheckEnd() {
    if (!source_.PassEnd()) Disagree(end_);
  }

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (!source_.PassNull(PositionOf(mark), Column())) Disagree(mark);
    AddScalar(mark, "?", anchor, "");
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    const auto read = source_.ReadScalar(PositionOf(mark), Column(), value);
    if (!read) Disagree(mark);
    AddScalar(mark, tag, anchor, read.value_or(value));
  }

  void AddScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                 const std::string& value) {
    end_ = mark;
    Part part = Begin(mark, anchor);
    part.is_scalar = true;
    part.is_merge = value == "<<" && (tag == "?" || tag == std::string(kCoreTag) + "merge");
    ReadScalar(mark, tag, value, part.node);
    part.size.text = part.node.text.size() + part.node.written.size();
    Complete(std::move(part));
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value style) override {
    Open(mark, anchor, Type::kList, style);
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override {
    Open(mark, anchor, Type::kMap, style);
  }
  void OnMapEnd() override { Close(); }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto known = anchors_.find(anchor);
    if (known == anchors_.end()) Stop(mark, "this alias stands in what it stands for");
    Budget(mark, known->second.size);
    Part part = known->second;
    part.mark = mark;
    part.anchor = 0;
    part.is_merge = false;
    Complete(std::move(part));
  }

 private:
  struct OpenPart {
    Part part;
    std::optional<Part> key;                          // waits for its value
    std::unordered_map<std::string, std::size_t> at;  // a map's keys and their indexes
    std::unordered_map<std::string, bool> is_own;     // false: only from a merge
    int column = -1;                                  // of the innermost block
  };

  // The parser can't be stopped in any other way.
  [[noreturn]] void Stop(const YAML::Mark& mark, const std::string& message) {
    is_stopped_ = true;
    throw YAML::ParserException(mark, message);
  }

  void Odd(const YAML::Mark& mark, const std::string& message) {
    if (!manifest_.oddity) manifest_.oddity = ErrorAt(mark, message);
  }

  void Disagree(const YAML::Mark& mark) {
    Odd(mark, "readers of YAML disagree about what stands here: write it in quotes");
  }

  static std::size_t PositionOf(const YAML::Mark& mark) {
    return static_cast<std::size_t>(std::max(mark.pos, 0));
  }

  // The indentation of the innermost block; -1 if there is none.
  int Column() const { return open_.empty() ? -1 : open_.back().column; }

  // Call before `size` more is created.
  void Budget(const YAML::Mark& mark, const Size& size) {
    total_.nodes += size.nodes;
    total_.text += size.text;
    if (total_.nodes > kMaxManifestNodes || total_.text > kMaxText) {
      Stop(mark, "the document gets too large here: split it, or write it with fewer aliases");
    }
    if (open_.size() + size.depth > kMaxDepth) {
      Stop(mark, "nested more than " + std::to_string(kMaxDepth) + " levels deep");
    }
  }

  Part Begin(const YAML::Mark& mark, YAML::anchor_t anchor) const {
    Part part;
    part.mark = mark;
    part.anchor = anchor;
    part.size.nodes = 1;
    return part;
  }

  void Open(const YAML::Mark& mark, YAML::anchor_t anchor, Type type,
            YAML::EmitterStyle::value style) {
    OpenPart open{Begin(mark, anchor), std::nullopt, {}, {}};
    open.part.node.type = type;
    open.part.node.is_flow = style == YAML::EmitterStyle::Flow;
    open.column = open.part.node.is_flow ? Column() : source_.BlockColumn(PositionOf(mark));
    open_.push_back(std::move(open));
    Budget(mark, {1, 0, 0});
  }

  void Close() {
    Part part = std::move(open_.back().part);
    open_.pop_back();
    Place(std::move(part));
  }

  void Complete(Part part) {
    if (part.is_scalar) Budget(part.mark, part.size);
    Place(std::move(part));
  }

  void Place(Part part) {
    if (part.anchor != 0) {
      Budget(part.mark, part.size);
      anchors_[part.anchor] = part;
    }
    if (open_.empty()) {
      manifest_.root = std::move(part.node);
      return;
    }
    OpenPart& parent = open_.back();
    if (parent.part.node.type == Type::kList) {
      parent.part.size.Add(part.size);
      parent.part.node.items.push_back(std::move(part.node));
    } else if (!parent.key) {
      CheckKey(part);
      parent.key = std::move(part);
    } else {
      AddMember(parent, *std::exchange(parent.key, std::nullopt), std::move(part));
    }
  }

  // Source: sigs.k8s.io/yaml, "yaml.go", convertToJSONableObject.
  void CheckKey(const Part& key) {
    if (!key.is_scalar) Odd(key.mark, "a list or map as a key");
    if (key.is_scalar && key.node.type == Type::kNull) Odd(key.mark, "a key that is null");
  }

  void AddMember(OpenPart& parent, Part key, Part value) {
    if (key.is_merge) return Merge(parent, key.mark, value);
    if (std::exchange(parent.is_own[key.node.text], true)) {
      Odd(key.mark, "the key " + Quoted(key.node.text) + " stands twice in one map");
    }
    Set(parent, std::move(key.node), key.size, std::move(value.node), value.size);
  }

  static void Set(OpenPart& parent, ManifestNode key, const Size& key_size, ManifestNode value,
                  const Size& value_size) {
    ManifestNode& map = parent.part.node;
    parent.part.size.Add(key_size);
    parent.part.size.Add(value_size);
    const auto [at, is_new] = parent.at.emplace(key.text, map.items.size());
    if (is_new) {
      map.keys.push_back(std::move(key));
      map.items.push_back(std::move(value));
    } else {
      map.items[at->second] = std::move(value);
    }
  }

  // Like kubectl, the later entry wins, whether merged or a key. In a list of maps the first map
  // with the key wins.
  void Merge(OpenPart& parent, const YAML::Mark& mark, Part& value) {
    std::vector<ManifestNode> one;
    std::vector<ManifestNode>* maps = &value.node.items;
    if (value.node.type == Type::kMap) {
      one.push_back(std::move(value.node));
      maps = &one;
    } else if (value.node.type != Type::kList) {
      return Odd(mark, "<< needs a map, or a list of maps");
    }
    for (auto map = maps->rbegin(); map != maps->rend(); ++map) {
      if (map->type != Type::kMap) return Odd(mark, "<< needs a map, or a list of maps");
      for (std::size_t i = 0; i < map->keys.size(); ++i) {
        // The size of the merged value is added as a whole below.
        Set(parent, std::move(map->keys[i]), {}, std::move(map->items[i]), {});
      }
    }
    parent.part.size.Add(value.size);
  }

  void ReadScalar(const YAML::Mark& mark, const std::string& tag, const std::string& value,
                  ManifestNode& node) {
    const std::string_view core = tag.starts_with(kCoreTag)
                                      ? std::string_view(tag).substr(kCoreTag.size())
                                      : std::string_view();
    if (HasNoncharacter(value)) Odd(mark, "a noncharacter of Unicode");
    if (core == "binary") Odd(mark, "!!binary: write it as text");
    node.type = Type::kString;
    node.text = value;
    const bool is_resolved =
        tag == "?" || core == "int" || core == "float" || core == "bool" || core == "null";
    if (!is_resolved) return;
    YamlScalar scalar = ReadPlainScalar(value);
    const auto is = [&](std::string_view name, YamlScalar::Type type) {
      return core == name && scalar.type != type;
    };
    if (is("int", YamlScalar::Type::kNumber) || is("float", YamlScalar::Type::kNumber) ||
        is("bool", YamlScalar::Type::kBool) || is("null", YamlScalar::Type::kNull)) {
      Odd(mark, Quoted(value) + " is no !!" + std::string(core));
      return;
    }
    // Without the tag kubectl would keep all digits, which a float has not.
    constexpr std::size_t kDigitsOfFloat = 15;
    if (core == "float" && scalar.text.size() > kDigitsOfFloat) {
      Odd(mark, "!!float: leave the tag out");
    }
    switch (scalar.type) {
      case YamlScalar::Type::kNull:
        node.type = Type::kNull;
        break;
      case YamlScalar::Type::kBool:
        node.type = Type::kBool;
        break;
      case YamlScalar::Type::kNumber:
        node.type = Type::kNumber;
        break;
      case YamlScalar::Type::kInfinite:
        Odd(mark, Quoted(value) + " can't be written as JSON");
        return;
      case YamlScalar::Type::kString:
        return;
    }
    node.text = std::move(scalar.text);
    if (node.type != Type::kNull) node.written = value;
  }

  YamlSource source_;
  YAML::Mark end_;  // of the last scalar
  YamlManifest& manifest_;
  bool has_document_ = false;
  bool is_stopped_ = false;
  Size total_;
  std::vector<OpenPart> open_;
  std::map<YAML::anchor_t, Part> anchors_;
};

// --- Writing ------------------------------------------------------------------------------------

// True for line breaks and characters that YAML forbids, or that yaml-cpp and kubectl read
// differently.
bool NeedsEscapes(std::string_view text) {
  const auto is_control = [](unsigned char c) { return (c < ' ' && c != '\n') || c == 0x7F; };
  if (std::any_of(text.begin(), text.end(), is_control)) return true;
  constexpr std::array<std::string_view, 4> kOdd = {"\u0085", "\u2028", "\u2029", "\ufeff"};
  return std::any_of(kOdd.begin(), kOdd.end(), [text](std::string_view odd) {
    return text.find(odd) != std::string_view::npos;
  });
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

void WriteScalar(const ManifestNode& node, bool in_flow, YAML::Emitter& out) {
  if (node.type == Type::kNull) {
    out << YAML::Null;
  } else if (node.type == Type::kString) {
    WriteString(node.text, in_flow, out);
  } else {
    out << node.written;
  }
}

// The recursion is bounded by the reader's depth limit.
void Write(const ManifestNode& node, bool in_flow, YAML::Emitter& out) {
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

Result<std::optional<YamlManifest>, ManifestError> ReadYaml(std::string_view text) {
  if (auto error = FindLongLine(text)) return Unexpected<ManifestError>{*std::move(error)};
  YamlManifest manifest;
  Builder builder(text, manifest);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::DeepRecursion& error) {
    return Unexpected<ManifestError>{
        ErrorAt(error.mark, "nested more than " + std::to_string(kMaxDepth) + " levels deep")};
  } catch (const YAML::Exception& error) {
    const auto at = static_cast<std::size_t>(std::max(error.mark.pos, 0));
    const std::string hint = builder.is_stopped() ? "" : HintAboutItem(text, at);
    return Unexpected<ManifestError>{ErrorAt(error.mark, error.msg + hint)};
  }
  // Named first: after it, places may be others to kubectl.
  if (auto odd = FindOddBreak(text)) manifest.oddity = std::move(odd);
  if (!builder.has_document()) return std::optional<YamlManifest>();
  builder.CheckEnd();
  return std::optional<YamlManifest>(std::move(manifest));
}

std::string WriteYaml(const ManifestNode& node) {
  YAML::Emitter out;
  out.SetNullFormat(YAML::LowerNull);
  Write(node, false, out);
  return std::string(out.c_str(), out.size()) + "\n";
}

}  // namespace cluster_watcher

// The structure comes from libyaml, which kubectl's reader is a translation of. Source:
// go.yaml.in/yaml/v2, as sigs.k8s.io/yaml uses it.
#include "probes/base/read_yaml.h"

#include <yaml.h>

#include <algorithm>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "probes/base/names.h"
#include "probes/base/yaml_scalar.h"

namespace cluster_watcher {
namespace {

using Type = YamlNode::Type;

constexpr std::size_t kMaxText = 64u << 20;
constexpr std::size_t kMaxYamlDepth = 500;

constexpr std::string_view kCoreTag = "tag:yaml.org,2002:";

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
  YamlNode node;
  Size size;
  yaml_mark_t mark;
  std::string anchor;
  bool is_merge = false;   // the key "<<"
  bool is_scalar = false;  // can be a key
};

YamlError ErrorAt(const yaml_mark_t& mark, std::string message) {
  return {mark.line + 1, mark.column + 1, std::move(message)};
}

std::string TextOf(const yaml_char_t* text) {
  return text == nullptr ? std::string() : reinterpret_cast<const char*>(text);
}

// U+FDD0 to U+FDEF and the last two characters of each plane; the writer puts others in their
// place.
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

std::string ProblemOf(const yaml_parser_t& parser) {
  const std::string context = parser.context == nullptr ? "" : std::string(parser.context) + ": ";
  return context + (parser.problem == nullptr ? "out of memory" : parser.problem);
}

// Whether there are only comments, directives and ends, of which libyaml wants a document.
bool IsWithoutContent(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    const std::size_t begin = line.find_first_not_of(" \t\r");
    const bool is_nothing = begin == line.npos || line[begin] == '#' || line.starts_with('%') ||
                            line.substr(0, line.find_last_not_of(" \t\r") + 1) == "...";
    if (!is_nothing) return false;
    at = end + 1;
  }
  return true;
}

class Builder {
 public:
  explicit Builder(YamlContent& content) : content_(content) {}

  bool has_document() const { return has_document_; }
  // Why the document can't be read; nullopt: so far it can.
  const std::optional<YamlError>& error() const { return error_; }

  void Take(const yaml_event_t& event) {
    const yaml_mark_t& mark = event.start_mark;
    switch (event.type) {
      case YAML_DOCUMENT_START_EVENT:
        if (has_document_) {
          Stop(mark, "another document begins here: write a line --- before it");
        }
        has_document_ = true;
        break;
      case YAML_SCALAR_EVENT:
        AddScalar(mark, event.data.scalar);
        break;
      case YAML_ALIAS_EVENT:
        AddAlias(mark, TextOf(event.data.alias.anchor));
        break;
      case YAML_SEQUENCE_START_EVENT:
        Open(mark, event.data.sequence_start.anchor, Type::kList,
             event.data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE);
        break;
      case YAML_MAPPING_START_EVENT:
        Open(mark, event.data.mapping_start.anchor, Type::kMap,
             event.data.mapping_start.style == YAML_FLOW_MAPPING_STYLE);
        break;
      case YAML_SEQUENCE_END_EVENT:
      case YAML_MAPPING_END_EVENT:
        Close();
        break;
      case YAML_NO_EVENT:
      case YAML_STREAM_START_EVENT:
      case YAML_STREAM_END_EVENT:
      case YAML_DOCUMENT_END_EVENT:
        break;
    }
  }

 private:
  struct OpenPart {
    Part part;
    std::optional<Part> key;                          // waits for its value
    std::unordered_map<std::string, std::size_t> at;  // a map's keys and their indexes
    std::unordered_map<std::string, bool> is_own;     // false: only from a merge
  };

  void Stop(const yaml_mark_t& mark, const std::string& message) {
    if (!error_) error_ = ErrorAt(mark, message);
  }

  void Odd(const yaml_mark_t& mark, const std::string& message) {
    if (!content_.oddity) content_.oddity = ErrorAt(mark, message);
  }

  template <typename Scalar>
  void AddScalar(const yaml_mark_t& mark, const Scalar& scalar) {
    std::string tag = TextOf(scalar.tag);
    if (tag.empty()) tag = scalar.style == YAML_PLAIN_SCALAR_STYLE ? "?" : "!";
    const std::string value(reinterpret_cast<const char*>(scalar.value), scalar.length);
    Part part = Begin(mark, scalar.anchor);
    part.is_scalar = true;
    part.is_merge = value == "<<" && (tag == "?" || tag == std::string(kCoreTag) + "merge");
    ReadScalar(mark, tag, value, part.node);
    part.size.text = part.node.text.size() + part.node.written.size();
    Complete(std::move(part));
  }

  void AddAlias(const yaml_mark_t& mark, const std::string& anchor) {
    const auto known = anchors_.find(anchor);
    const bool is_in_it = std::any_of(open_.begin(), open_.end(), [&](const OpenPart& open) {
      return open.part.anchor == anchor;
    });
    if (is_in_it) return Stop(mark, "this alias stands in what it stands for");
    if (known == anchors_.end()) {
      return Stop(mark, "there is no anchor " + Quoted(anchor) + " before this alias");
    }
    Budget(mark, known->second.size);
    if (error_) return;
    Part part = known->second;
    part.mark = mark;
    part.anchor.clear();
    part.is_merge = false;
    Complete(std::move(part));
  }

  // Call before `size` more is created.
  void Budget(const yaml_mark_t& mark, const Size& size) {
    total_.nodes += size.nodes;
    total_.text += size.text;
    if (total_.nodes > kMaxYamlNodes || total_.text > kMaxText) {
      Stop(mark, "the document gets too large here: split it, or write it with fewer aliases");
    }
    if (open_.size() + size.depth > kMaxYamlDepth) {
      Stop(mark, "nested more than " + std::to_string(kMaxYamlDepth) + " levels deep");
    }
  }

  static Part Begin(const yaml_mark_t& mark, const yaml_char_t* anchor) {
    Part part;
    part.mark = mark;
    part.anchor = TextOf(anchor);
    part.size.nodes = 1;
    return part;
  }

  void Open(const yaml_mark_t& mark, const yaml_char_t* anchor, Type type, bool is_flow) {
    OpenPart open{Begin(mark, anchor), std::nullopt, {}, {}};
    open.part.node.type = type;
    open.part.node.is_flow = is_flow;
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
    if (!part.anchor.empty()) {
      Budget(part.mark, part.size);
      anchors_[part.anchor] = part;
    }
    if (open_.empty()) {
      content_.root = std::move(part.node);
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

  static void Set(OpenPart& parent, YamlNode key, const Size& key_size, YamlNode value,
                  const Size& value_size) {
    YamlNode& map = parent.part.node;
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
  void Merge(OpenPart& parent, const yaml_mark_t& mark, Part& value) {
    std::vector<YamlNode> one;
    std::vector<YamlNode>* maps = &value.node.items;
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

  void ReadScalar(const yaml_mark_t& mark, const std::string& tag, const std::string& value,
                  YamlNode& node) {
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

  YamlContent& content_;
  std::optional<YamlError> error_;
  bool has_document_ = false;
  Size total_;
  std::vector<OpenPart> open_;
  std::map<std::string, Part> anchors_;
};

// Which documents are read: all, of which there may be one, or the first.
enum class Documents { kOnly, kFirst };

Result<std::optional<YamlContent>, YamlError> Read(std::string_view text, Documents documents) {
  if (IsWithoutContent(text)) return std::optional<YamlContent>();
  yaml_parser_t parser;
  if (yaml_parser_initialize(&parser) == 0) throw std::bad_alloc();
  const std::unique_ptr<yaml_parser_t, void (*)(yaml_parser_t*)> end(&parser, yaml_parser_delete);
  yaml_parser_set_input_string(&parser, reinterpret_cast<const unsigned char*>(text.data()),
                               text.size());
  YamlContent content;
  Builder builder(content);
  const yaml_event_type_t last =
      documents == Documents::kFirst ? YAML_DOCUMENT_END_EVENT : YAML_STREAM_END_EVENT;
  for (bool is_over = false; !is_over;) {
    yaml_event_t event;
    if (yaml_parser_parse(&parser, &event) == 0) {
      return Unexpected<YamlError>{ErrorAt(parser.problem_mark, ProblemOf(parser))};
    }
    builder.Take(event);
    is_over = event.type == last || event.type == YAML_STREAM_END_EVENT;
    yaml_event_delete(&event);
    if (builder.error()) return Unexpected<YamlError>{*builder.error()};
  }
  if (!builder.has_document()) return std::optional<YamlContent>();
  return std::optional<YamlContent>(std::move(content));
}

}  // namespace

Result<std::optional<YamlContent>, YamlError> ReadYaml(std::string_view text) {
  return Read(text, Documents::kOnly);
}

Result<JsonDocument, YamlError> ReadYamlAsJson(std::string_view text) {
  auto content = Read(text, Documents::kFirst);
  if (!content) {
    content.error().message = "it is not valid YAML: " + content.error().message;
    return Unexpected{content.error()};
  }
  if (*content && (*content)->oddity) return Unexpected{*(*content)->oddity};
  const YamlNode root = *content ? (*content)->root : YamlNode();
  auto json = JsonDocument::Parse(WriteJson(root, JsonWriter::Style::kCompact, Scalars::kMeant));
  if (json) return *std::move(json);
  return Unexpected{YamlError{1, 1, "it can't be written as JSON: " + json.error().message}};
}

}  // namespace cluster_watcher

#include "watcher/admission/manifest/json_manifest.h"

#include <set>
#include <utility>
#include <vector>

#include "probes/base/names.h"
#include "probes/base/yaml_scalar.h"

namespace cluster_watcher {
namespace {

using Type = YamlNode::Type;

// A JSON number is a YAML number, too.
YamlNode Number(std::string_view text) {
  YamlNode node;
  node.type = Type::kNumber;
  node.text = ReadPlainScalar(text).text;
  node.written = text;
  return node;
}

YamlNode Scalar(Type type, std::string_view text) {
  YamlNode node;
  node.type = type;
  node.text = text;
  if (type == Type::kBool) node.written = text;
  return node;
}

class Builder {
 public:
  explicit Builder(JsonManifest& manifest) : manifest_(manifest) {}

  void Take(JsonEvent event, std::string_view text) {
    switch (event) {
      case JsonEvent::kNull:
        return Add({});
      case JsonEvent::kTrue:
        return Add(Scalar(Type::kBool, "true"));
      case JsonEvent::kFalse:
        return Add(Scalar(Type::kBool, "false"));
      case JsonEvent::kNumber:
        return Add(Number(text));
      case JsonEvent::kString:
        return Add(Scalar(Type::kString, text));
      case JsonEvent::kKey:
        if (!open_.back().names.emplace(text).second && manifest_.oddity.empty()) {
          manifest_.oddity = "the key " + Quoted(text) + " stands twice in one object";
        }
        open_.back().node.keys.push_back(Scalar(Type::kString, text));
        return;
      case JsonEvent::kStartObject:
      case JsonEvent::kStartArray:
        open_.emplace_back();
        open_.back().node.type = event == JsonEvent::kStartObject ? Type::kMap : Type::kList;
        return;
      case JsonEvent::kEndObject:
      case JsonEvent::kEndArray: {
        YamlNode done = std::move(open_.back().node);
        open_.pop_back();
        return Add(std::move(done));
      }
    }
  }

 private:
  struct Open {
    YamlNode node;
    std::set<std::string> names;
  };

  void Add(YamlNode node) {
    if (open_.empty()) {
      manifest_.root = std::move(node);
    } else {
      open_.back().node.items.push_back(std::move(node));
    }
  }

  JsonManifest& manifest_;
  std::vector<Open> open_;
};

}  // namespace

Result<JsonManifest> ReadJson(std::string_view text) {
  JsonManifest manifest;
  Builder builder(manifest);
  std::size_t events = 0;
  const auto size = ReadJsonEvents(text, [&](JsonEvent event, std::string_view value) {
    builder.Take(event, value);
    return ++events <= 2 * kMaxYamlNodes;
  });
  if (events > 2 * kMaxYamlNodes) return Failure("the document is too large: split it");
  if (!size) return Failure(size.error().message);
  manifest.size = *size;
  return manifest;
}

}  // namespace cluster_watcher

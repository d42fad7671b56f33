#include "watcher/admission/manifest/json_manifest.h"

#include <set>
#include <utility>
#include <vector>

#include "probes/base/names.h"
#include "probes/base/yaml_scalar.h"

namespace cluster_watcher {
namespace {

using Type = ManifestNode::Type;

// A JSON number is a YAML number, too.
ManifestNode Number(std::string_view text) {
  ManifestNode node;
  node.type = Type::kNumber;
  node.text = ReadPlainScalar(text).text;
  node.written = text;
  return node;
}

ManifestNode Scalar(Type type, std::string_view text) {
  ManifestNode node;
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
        ManifestNode done = std::move(open_.back().node);
        open_.pop_back();
        return Add(std::move(done));
      }
    }
  }

 private:
  struct Open {
    ManifestNode node;
    std::set<std::string> names;
  };

  void Add(ManifestNode node) {
    if (open_.empty()) {
      manifest_.root = std::move(node);
    } else {
      open_.back().node.items.push_back(std::move(node));
    }
  }

  JsonManifest& manifest_;
  std::vector<Open> open_;
};

// The recursion is bounded by the reader's depth limit.
void Write(const ManifestNode& node, Scalars scalars, JsonWriter& json) {
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
      for (const ManifestNode& item : node.items) Write(item, scalars, json);
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

Result<JsonManifest> ReadJson(std::string_view text) {
  JsonManifest manifest;
  Builder builder(manifest);
  std::size_t events = 0;
  const auto size = ReadJsonEvents(text, [&](JsonEvent event, std::string_view value) {
    builder.Take(event, value);
    return ++events <= 2 * kMaxManifestNodes;
  });
  if (events > 2 * kMaxManifestNodes) return Failure("the document is too large: split it");
  if (!size) return Failure(size.error().message);
  manifest.size = *size;
  return manifest;
}

std::string WriteJson(const ManifestNode& node, JsonWriter::Style style, Scalars scalars) {
  JsonWriter json(style);
  Write(node, scalars, json);
  return json.Text();
}

}  // namespace cluster_watcher

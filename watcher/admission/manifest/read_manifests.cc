#include "watcher/admission/manifest/read_manifests.h"

#include <utility>

#include "probes/base/read_yaml.h"
#include "watcher/admission/manifest/json_manifest.h"
#include "watcher/admission/manifest/manifest_documents.h"

namespace cluster_watcher {
namespace {

using Type = YamlNode::Type;
using Objects = std::vector<ManifestObject>;

// The recursion is bounded by the reader's depth limit.
bool Take(YamlNode node, std::size_t line, Objects& objects) {
  if (node.type == Type::kNull) return true;
  if (node.type != Type::kMap) return false;
  YamlNode* items = node.Find("items");
  if (!node.TextAt("kind").ends_with("List") || items == nullptr) {
    objects.push_back({std::move(node), line});
    return true;
  }
  for (YamlNode& item : items->items) {
    if (!Take(std::move(item), line, objects)) return false;
  }
  return true;
}

YamlError NoObject(std::size_t line) {
  return {line, 1, "it is no object: give manifests, as kubectl takes them"};
}

Result<Done, YamlError> TakeYaml(const YamlDocument& document, Objects& objects) {
  auto manifest = ReadYaml(document.text);
  const auto failed = [&](YamlError error) {
    error.line += document.line;
    return Unexpected<YamlError>{std::move(error)};
  };
  if (!manifest) return failed(manifest.error());
  if (!*manifest) return Done{};
  if ((*manifest)->oddity) return failed(*(*manifest)->oddity);
  const std::size_t line = document.line + 1;
  if (Take(std::move((*manifest)->root), line, objects)) return Done{};
  return Unexpected<YamlError>{NoObject(line)};
}

// nullopt: it is no stream of JSON objects; YAML may begin with a brace, too.
std::optional<Objects> TakeJson(std::string_view text) {
  Objects objects;
  for (std::size_t at = 0; (at = text.find_first_not_of(kWhite, at)) != std::string_view::npos;) {
    auto manifest = ReadJson(text.substr(at));
    if (!manifest || !manifest->oddity.empty()) return std::nullopt;
    const std::size_t line = ErrorAtByte(text, at, "").line;
    if (!Take(std::move(manifest->root), line, objects)) return std::nullopt;
    at += manifest->size;
  }
  return objects;
}

}  // namespace

Result<std::vector<ManifestObject>, YamlError> ReadManifests(std::string_view text) {
  if (auto error = FindIllegalByte(text)) return Unexpected<YamlError>{*error};
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  const std::size_t first = text.find_first_not_of(kWhite);
  if (first != std::string_view::npos && text[first] == '{') {
    if (auto objects = TakeJson(text)) return *std::move(objects);
  }
  Objects objects;
  for (const YamlDocument& document : SplitYaml(text)) {
    if (auto taken = TakeYaml(document, objects); !taken) return Unexpected{taken.error()};
  }
  return objects;
}

}  // namespace cluster_watcher

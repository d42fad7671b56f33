// Manifests as YAML.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "watcher/admission/manifest/manifest_node.h"

namespace cluster_watcher {

struct YamlManifest {
  ManifestNode root;  // aliases and merge keys are expanded
  // What makes it unfit to be changed, though kubectl may take it: a key that is there twice, a
  // list as a key, a number that JSON can't write, …
  std::optional<ManifestError> oddity;
};

// The one document in `text`; nullopt: there are only comments, directives and markers. Bounded in
// time and memory, whatever aliases make of it.
Result<std::optional<YamlManifest>, ManifestError> ReadYaml(std::string_view text);

// `node` is a map. In block style where it was, with a newline at the end. Scalars keep their
// meaning, numbers and booleans also how they were written.
std::string WriteYaml(const ManifestNode& node);

}  // namespace cluster_watcher

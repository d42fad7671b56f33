// Reads and writes manifests as YAML: by libyaml, whose words are kubectl's, and by yaml-cpp, which
// leaves less in quotes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "watcher/admission/manifest/manifest_node.h"

namespace cluster_watcher {

struct YamlManifest {
  ManifestNode root;  // aliases and merge keys are expanded
  // Why it can't be changed safely, though kubectl may accept it: a duplicate key, a list as a key,
  // a number that JSON can't express, …
  std::optional<ManifestError> oddity;
};

// Reads the only document in `text`; nullopt if there are only comments, directives and markers.
// Time and memory are bounded, whatever aliases expand to.
Result<std::optional<YamlManifest>, ManifestError> ReadYaml(std::string_view text);

// Writes a map, in block style where it had it, with a newline at the end. Scalars keep their
// meaning; numbers and booleans also keep their spelling.
std::string WriteYaml(const ManifestNode& node);

}  // namespace cluster_watcher

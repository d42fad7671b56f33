// Reads a file of manifests into its objects.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "probes/base/result.h"
#include "probes/base/yaml_node.h"

namespace cluster_watcher {

struct ManifestObject {
  YamlNode root;         // a map
  std::size_t line = 0;  // of the file, counted from 1, where its document begins
};

// Returns the objects of `text`, YAML with any number of documents or a stream of JSON objects, in
// order; those of Lists one by one. An error names the line and the column, and so is what kubectl
// would read otherwise than it is written (a duplicate key).
Result<std::vector<ManifestObject>, YamlError> ReadManifests(std::string_view text);

}  // namespace cluster_watcher

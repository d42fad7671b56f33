// Writes manifests as YAML, by yaml-cpp, which leaves less in quotes than libyaml.
#pragma once

#include <string>

#include "probes/base/yaml_node.h"

namespace cluster_watcher {

// Writes a map, in block style where it had it, with a newline at the end. Scalars keep their
// meaning; numbers and booleans also keep their spelling.
std::string WriteYaml(const YamlNode& node);

}  // namespace cluster_watcher

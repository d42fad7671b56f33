// Reads the injection's keys for the webhook and for `inject`.
#pragma once

#include <string>

#include "probes/base/result.h"
#include "watcher/settings/settings.h"

namespace cluster_watcher {

// `path` is
//  - a directory with one file for each key, as Kubernetes mounts a ConfigMap, or
//  - a file with the ConfigMap's manifest in YAML or JSON. Other objects in it are ignored; of
//    several ConfigMaps the one called "cluster-watcher" counts.
// One newline at the end of a value is removed. The meaning of the keys isn't checked here. An
// error names the file.
Result<TextMap> LoadInjectionConfig(const std::string& path);

}  // namespace cluster_watcher

// Where webhook and `inject` read the keys of the injection from.
#pragma once

#include <string>

#include "probes/base/result.h"
#include "watcher/settings/settings.h"

namespace cluster_watcher {

// `path` is
//  - a directory with one file for each key, as Kubernetes mounts a ConfigMap, or
//  - a file with the ConfigMap's manifest, YAML or JSON. Other objects in it are passed over; of
//    several ConfigMaps it is the one that is called "cluster-watcher".
// One newline at the end of a value is taken off. What the keys mean isn't looked at here. The
// error names the file.
Result<TextMap> LoadInjectionConfig(const std::string& path);

}  // namespace cluster_watcher

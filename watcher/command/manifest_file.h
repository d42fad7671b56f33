// The files of manifests that a command is given by -f.
#pragma once

#include <string>
#include <vector>

#include "watcher/admission/manifest/inject_manifests.h"

namespace cluster_watcher {

// Reads them in order; "-" is the standard input, and of a directory the files that end with .yaml,
// .yml or .json are read, by name, as kubectl does. What can't be read is added to `errors`.
std::vector<ManifestFile> ReadManifestFiles(const std::vector<std::string>& names,
                                            std::vector<std::string>& errors);

}  // namespace cluster_watcher

// The file of manifests that a command is given by -f.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "watcher/command/command_line.h"

namespace cluster_watcher {

struct ManifestFile {
  std::string name;  // in messages
  std::string text;
};

// Reads the one file that is given; "-" is the standard input. nullopt: an error was added.
std::optional<ManifestFile> ReadManifestFile(const Invocation& invocation,
                                             std::vector<std::string>& errors);

}  // namespace cluster_watcher

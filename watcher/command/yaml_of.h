// What is written for programs, as YAML.
#pragma once

#include <string>

#include "watcher/admission/manifest/json_manifest.h"
#include "watcher/admission/manifest/write_yaml.h"

namespace cluster_watcher {

// Returns what `json` says; what is too large for the writer stays as it is, which is YAML as well.
inline std::string YamlOf(std::string json) {
  const auto read = ReadJson(json);
  return read ? WriteYaml(read->root) : std::move(json);
}

}  // namespace cluster_watcher

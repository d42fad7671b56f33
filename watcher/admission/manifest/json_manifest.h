// Reads manifests in JSON.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "probes/base/yaml_node.h"

namespace cluster_watcher {

struct JsonManifest {
  YamlNode root;
  std::size_t size = 0;  // bytes that it takes, including white space before it
  // Why it can't be changed safely; "" if it can.
  std::string oddity;
};

// Reads the first value in `text`.
Result<JsonManifest> ReadJson(std::string_view text);

}  // namespace cluster_watcher

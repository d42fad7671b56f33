// Reads YAML by libyaml, whose words are kubectl's.
#pragma once

#include <optional>
#include <string_view>

#include "probes/base/json.h"
#include "probes/base/result.h"
#include "probes/base/yaml_node.h"

namespace cluster_watcher {

struct YamlContent {
  YamlNode root;  // aliases and merge keys are expanded
  // Why it can't be changed safely, though kubectl may accept it: a duplicate key, a list as a key,
  // a number that JSON can't express, …
  std::optional<YamlError> oddity;
};

// Reads the only document in `text`; nullopt if there are only comments, directives and markers.
// Time and memory are bounded, whatever aliases expand to.
Result<std::optional<YamlContent>, YamlError> ReadYaml(std::string_view text);

// Reads the first document in `text`, as kubectl reads configurations: as the JSON that it stands
// for, null if there is none. What would be an oddity is an error.
Result<JsonDocument, YamlError> ReadYamlAsJson(std::string_view text);

}  // namespace cluster_watcher

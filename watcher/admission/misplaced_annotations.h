// Finds annotations that people put on a workload instead of its pods.
#pragma once

#include <string>
#include <vector>

#include "probes/base/json.h"

namespace cluster_watcher {

// Returns one line about those of our annotations on `object` that count only on its pods, and that
// neither its pod template nor `before`, what the object was, has; none if there are none, or it is
// no built-in workload. A framework's resource may have them.
std::vector<std::string> MisplacedAnnotations(JsonValue object, JsonValue before = JsonValue());

}  // namespace cluster_watcher

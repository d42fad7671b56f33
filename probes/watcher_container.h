// The watcher's container in a pod or a pod template, and what it is told there.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "probes/base/json.h"

namespace cluster_watcher {

// A container of a pod, or of a pod template. Settings that envFrom gives can't be seen.
struct PodContainer {
  JsonValue pod;
  JsonValue self;  // absent: there is none

  // Returns the value of a flag among the words that start it; "true" for one without. The last
  // counts.
  std::optional<std::string> Flag(std::string_view flag, bool is_boolean = false) const;
  std::optional<std::string> Variable(std::string_view name) const;
};

// Returns the one that is named `cluster-watcher`, else one that has its image or is given an
// owner. Pure.
PodContainer WatcherContainerOf(JsonValue pod);

// Whether `pod` can't start before its watcher ends: each container that may be the watcher's is an
// init container, but no sidecar. An API server before Kubernetes 1.29 makes one of a sidecar by
// dropping its restartPolicy.
bool WaitsForItsWatcher(JsonValue pod);

// Whether a watcher runs in `pod`, which isn't told to stop, nor waits for that watcher to end.
bool IsWatched(JsonValue pod);

}  // namespace cluster_watcher

// How far a pod is.
#pragma once

#include <optional>
#include <string_view>

#include "probes/base/json.h"

namespace cluster_watcher {

// A field selector: pods that haven't ended.
inline constexpr char kUnendedPods[] = "status.phase!=Succeeded,status.phase!=Failed";

bool HasEnded(JsonValue pod);  // Succeeded or Failed: an evicted one has, and says nothing more
// Whether the container has ended and won't be started again; nullopt: the pod has none of that
// name. Source: kubernetes.io "Pod Lifecycle", restart policy of pods and of containers.
std::optional<bool> HasContainerEnded(JsonValue pod, std::string_view container);
bool IsRunning(JsonValue pod);  // neither ended nor terminating; it may not be started yet

}  // namespace cluster_watcher

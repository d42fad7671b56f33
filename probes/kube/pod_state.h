// How far a pod is.
#pragma once

#include "probes/base/json.h"

namespace cluster_watcher {

// A field selector: pods that haven't ended.
inline constexpr char kUnendedPods[] = "status.phase!=Succeeded,status.phase!=Failed";

bool HasEnded(JsonValue pod);   // Succeeded or Failed: an evicted one has, and says nothing more
bool IsRunning(JsonValue pod);  // neither ended nor terminating; it may not be started yet

}  // namespace cluster_watcher

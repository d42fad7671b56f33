// Reads what the injection has written down on a pod, cluster-watcher/status:
// {"image": "cluster-watcher:0.1.0", "port": 9090, …}.
#pragma once

#include <cstdint>
#include <optional>

#include "probes/base/json.h"

namespace cluster_watcher {

// Returns the sidecar's port; nullopt: nothing is written there, or no port.
std::optional<std::int64_t> PortInStatus(JsonValue pod);

}  // namespace cluster_watcher

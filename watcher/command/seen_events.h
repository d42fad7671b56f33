// The Events that regard a cluster, as `kubectl describe` shows them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "probes/base/clock.h"
#include "probes/kube/kube_client.h"

namespace cluster_watcher {

struct SeenEvent {
  std::string type;    // "Warning"
  std::string reason;  // "ClusterCondemned"
  std::string from;    // "cluster-watcher"
  std::string message;
  std::optional<WallTime> first;  // nullopt: it has no such time
  std::optional<WallTime> last;
  std::int64_t count = 1;
};

// Reads the Events that regard any of these objects, the latest last.
Result<std::vector<SeenEvent>, ApiError> ReadEvents(KubeClient& client,
                                                    const std::vector<KubeObject>& regarding,
                                                    const Patience& patience);

// An indented table; none of its cells forges a line.
std::string EventTable(const std::vector<SeenEvent>& events, WallTime now);

}  // namespace cluster_watcher

// Claims that a deletion has left to a later sweep (`--volumes=collect`), and whose time is over.
#pragma once

#include <functional>
#include <string>

#include "watcher/driver/driver_tools.h"
#include "watcher/settings/settings.h"
#include "watcher/sweep/swept_cluster.h"

namespace cluster_watcher {

struct ClaimSweep {
  const DriverTools& driver;
  const Settings& settings;
  std::string ns;     // empty: all namespaces
  std::string label;  // of clusters
};

// Deletes, by UID and resourceVersion, each claim that is due, unless a pod mounts it, a
// StatefulSet would, an object carries the label of its cluster, its namespace is held, or it is
// annotated to be kept. What can't be read keeps it. A claim whose cluster is complete again
// (ClusterStatus::kRunning) is no longer left to a sweep, due or not. `told` hears of each claim
// that was due or is used again: "lab", "claim data-0".
void CollectDueClaims(
    const ClaimSweep& sweep,
    const std::function<void(const std::string& ns, const std::string& claim, Swept swept)>& told);

}  // namespace cluster_watcher

// Waits until an application may use its cluster.
#pragma once

#include "watcher/driver/claim.h"

namespace cluster_watcher {

// Tells whether a cluster can be used, by one look at it.
struct Readiness {
  DriverOutcome outcome;
  bool is_final = true;  // false: it may change, so look again until the time is over
};
// kDone: the cluster is complete and not condemned, and shared or the application's own.
// kNoCluster: nothing of it is there. kOthers: it is another application's; not final while that
// one's owner is over, because its watcher is about to delete it. kNotReady: the error names what
// it lacks.
Readiness ReadinessFor(const DriverTools& tools, const ClusterView& view, const Application& app);
// "cluster bob lacks a worker", or what else keeps it from being ready.
DriverOutcome NotReady(const ClusterView& view);

// Looks until the outcome is final or the time is over. kUnknown, too, when it is over; at once
// where the account may not read the cluster.
DriverOutcome Await(const DriverTools& tools, const ClusterId& cluster, const OwnerName& app,
                    Duration timeout);

}  // namespace cluster_watcher

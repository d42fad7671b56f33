// Waits until an application may use its cluster.
#pragma once

#include "watcher/driver/claim.h"

namespace cluster_watcher {

// kDone: the cluster is complete and neither condemned nor being created, and shared or the
// application's own, whose word on how it ended is taken off before. kNoCluster: nothing of the
// cluster is there; kOthers: it is another application's; both at once. kNotReady, kUnknown: when
// the time is over; the second at once where the account may not read the cluster.
DriverOutcome Await(const DriverTools& tools, const ClusterId& cluster, const OwnerName& app,
                    Duration timeout);

}  // namespace cluster_watcher

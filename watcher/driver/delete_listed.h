// Deletes a cluster that has no master root to bear marks: none, or several.
#pragma once

#include "watcher/driver/deletion_work.h"
#include "watcher/driver/outcome.h"

namespace cluster_watcher {

// Deletes what carries the cluster's label now, by its UIDs, but for owners that the cluster's
// objects name. Ends where there is a master that wasn't there: that is somebody's new cluster.
// kFailed: there is no such cluster, it changes, or not all of it could be deleted.
DriverOutcome DeleteListed(const DeletionWork& work, const ClusterId& cluster);

}  // namespace cluster_watcher

// Deletes a cluster that has no master root to bear marks: none, or several.
#pragma once

#include <string>

#include "watcher/driver/deletion_work.h"
#include "watcher/driver/outcome.h"

namespace cluster_watcher {

// Deletes what carries the cluster's label now, by its UIDs, but for owners that the cluster's
// objects name and for objects that say that they use the cluster. Ends where there is a master
// that wasn't there: that is somebody's new cluster. kFailed: there is no such cluster, it changes,
// or not all of it could be deleted. `why`: who asked for it, for people.
DriverOutcome DeleteListed(const DeletionWork& work, const ClusterId& cluster,
                           const std::string& why);

}  // namespace cluster_watcher

// Deletes a cluster that has no master root to bear marks: none, or several.
#pragma once

#include <string>
#include <vector>

#include "watcher/driver/deletion_work.h"
#include "watcher/driver/outcome.h"

namespace cluster_watcher {

// Deletes what carries the cluster's label now, by its UIDs, but for owners that the cluster's
// objects name. Ends where there is a master that wasn't there: that is somebody's new cluster.
// kNoCluster: there is none. kFailed: it changes, or not all of it could be deleted.
// Warns whose hold it passed over.
DriverOutcome DeleteListed(const DeletionWork& work, const ClusterId& cluster);
// Says what a dry run would delete, and where it isn't the command's own, why it is one.
DriverOutcome WouldBeDeleted(const DeletionWork& work, const ClusterId& cluster,
                             const std::vector<std::string>& objects);
// Warns of a hold that a person's delete passed over: "namespace lab is held until …".
std::string PassedOver(const std::string& hold);

}  // namespace cluster_watcher

// Finds out in which framework's words a cluster is called by its name.
#pragma once

#include <string>

#include "probes/profile.h"
#include "watcher/driver/driver_tools.h"
#include "watcher/driver/outcome.h"

namespace cluster_watcher {

// Returns the profile under which there is something of the cluster; null: there is nothing, or
// only what the default profile may know. Fails where that can't be read, and where several know
// it.
Result<SharedProfile, DriverOutcome> FindProfile(const DriverTools& tools, const std::string& ns,
                                                 const std::string& name);

// Returns the profiles of which there may be clusters: those whose custom resource is served, or
// that need none.
Result<std::vector<SharedProfile>, ApiError> ServedProfiles(const DriverTools& tools);

}  // namespace cluster_watcher

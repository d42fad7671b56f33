// The rights that an account needs before it begins to delete a cluster.
#pragma once

#include <optional>
#include <string>

#include "probes/cluster_probe.h"
#include "watcher/driver/driver_tools.h"
#include "watcher/settings/settings.h"

namespace cluster_watcher {

// Which permissions are missing, of those without which a deletion comes to nothing or to half;
// nullopt: none is known to be. `root`: the cluster's master root; nullptr: it has none.
std::optional<std::string> WhyNotAllowed(const DriverTools& tools, const Settings& settings,
                                         const ClusterId& cluster, const KubeObject* root);

}  // namespace cluster_watcher

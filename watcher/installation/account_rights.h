// The accounts of a namespace that may do what watchers may.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "watcher/driver/driver_tools.h"

namespace cluster_watcher {

struct AccountRights {
  // May do what a watcher may, by whatever binding, and not everything. Sorted.
  std::vector<std::string> watchers;
  // Watchers' that may make workloads too, which the guard refuses them.
  std::vector<std::string> shared;
  // Why there may be more of both: then `watchers` are only those that RoleBindings name.
  std::optional<ApiError> unknown;
};

// Asks the API server about each ServiceAccount of the namespace, as the guard and the brake ask;
// reads RoleBindings where it may not.
AccountRights ReadAccountRights(const DriverTools& tools, const std::string& ns);

}  // namespace cluster_watcher

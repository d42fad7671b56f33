// Who a command is to others: what `created-by` and `condemned-by` name.
#pragma once

#include <string>

#include "watcher/driver/driver_tools.h"
#include "watcher/protocol/marks.h"

namespace cluster_watcher {

// The pod that the command runs in, if it is one of the namespace `ns` and can be read: whether it
// is there tells others whether the command still is. Else "cli/RANDOM". `pod`: its name as the
// environment says, and `pod_ns` its namespace; empty: none.
WatcherId WhoActs(const DriverTools& tools, const std::string& ns, const std::string& pod,
                  const std::string& pod_ns);

// "cli/RANDOM", another one each time.
WatcherId SomeCommand();

}  // namespace cluster_watcher

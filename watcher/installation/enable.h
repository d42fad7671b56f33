// Makes what a namespace needs for watchers: an account that only masters run under, the right to
// act under it, and the label that turns the injection and the guard on.
#pragma once

#include <string>

#include "watcher/driver/driver_tools.h"
#include "watcher/driver/outcome.h"

namespace cluster_watcher {

struct EnableOrder {
  std::string ns;
  std::string account;  // not "default"
};

// Writes nothing before all that is there was read and fits, and nothing that is there. Said again
// it makes what is missing. The warnings tell what will refuse masters, and whom else the guard
// binds.
DriverOutcome Enable(const DriverTools& tools, const EnableOrder& order);

}  // namespace cluster_watcher

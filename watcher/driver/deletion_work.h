// The tools of a deletion by a command.
#pragma once

#include "watcher/driver/driver_tools.h"
#include "watcher/engine/engine.h"

namespace cluster_watcher {

// All of it is about one cluster.
struct DeletionWork {
  const DriverTools& driver;
  const Tools& tools;
  Observer& observer;
  Announcer& announcer;
  const Dial& dial;  // reaches the servers of steps
  StepsAt steps_at;
  WatcherId me;
};

}  // namespace cluster_watcher

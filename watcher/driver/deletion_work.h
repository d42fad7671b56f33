// The tools of a deletion by a command.
#pragma once

#include "watcher/deletion/reaper.h"
#include "watcher/driver/driver_tools.h"

namespace cluster_watcher {

// All of it is about one cluster.
struct DeletionWork {
  const DriverTools& driver;
  const Tools& tools;
  Observer& observer;
  Reaper& reaper;
  Announcer& announcer;
  WatcherId me;
};

}  // namespace cluster_watcher

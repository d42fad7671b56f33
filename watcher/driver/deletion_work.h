// The tools of a deletion by a command.
#pragma once

#include "watcher/deletion/step_runner.h"
#include "watcher/deletion/tools.h"
#include "watcher/driver/driver_tools.h"
#include "watcher/observation/observer.h"
#include "watcher/reporting/announcer.h"

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

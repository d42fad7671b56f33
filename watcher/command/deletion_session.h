// What commands that delete clusters work with besides.
#pragma once

#include <memory>
#include <string>

#include <prometheus/registry.h>

#include "metrics/watcher_metrics.h"
#include "watcher/command/driver_session.h"
#include "watcher/deletion/reaper.h"
#include "watcher/driver/delete.h"
#include "watcher/observation/observer.h"
#include "watcher/reporting/announcer.h"
#include "watcher/reporting/events.h"
#include "watcher/reporting/logging.h"

namespace cluster_watcher {

// Who we are to watchers: the pod that we run in, if it is in the cluster's namespace; else
// "cli/RANDOM".
struct Caller {
  WatcherId id;
  std::string pod_uid;  // empty: we are in no pod, or it can't be read
  std::string warning;  // why it can't be read; may be empty
};
Caller FindCaller(const DriverTools& tools, const std::string& ns, const Environment& environment);

class DeletionSession {
 public:
  DeletionSession(DriverSession& session, const Environment& environment, StepsAt steps_at);

  const Caller& caller() const { return caller_; }
  Tools& tools() { return tools_; }
  DeletionWork work() { return {session_.tools(), tools_, observer_, reaper_, caller_.id}; }

 private:
  DriverSession& session_;
  const Caller caller_;
  Log log_;
  prometheus::Registry registry_;  // for nobody: nothing serves it
  WatcherMetrics metrics_;
  Tools tools_;
  Observer observer_;
  EventRecorder events_;
  Announcer announcer_;
  Reaper reaper_;
};

}  // namespace cluster_watcher

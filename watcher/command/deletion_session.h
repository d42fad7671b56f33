// The further tools of commands that delete clusters.
#pragma once

#include <memory>
#include <string>

#include <prometheus/registry.h>

#include "metrics/watcher_metrics.h"
#include "watcher/command/driver_session.h"
#include "watcher/deletion/step_runner.h"
#include "watcher/driver/delete.h"
#include "watcher/driver/who_acts.h"
#include "watcher/observation/observer.h"
#include "watcher/reporting/announcer.h"
#include "watcher/reporting/events.h"
#include "watcher/reporting/logging.h"
#include "watcher/sweep/swept_cluster.h"

namespace cluster_watcher {

// The reader of the log where neither its level nor its format is given.
enum class LogReader {
  kPerson,     // see StatusSink
  kCollector,  // gets warnings with their times
};

class DeletionSession {
 public:
  // `until`: as in Tools.
  DeletionSession(DriverSession& session, const Environment& environment, StepsAt steps_at,
                  Until until, LogReader reader = LogReader::kPerson);

  const Actor& actor() const { return actor_; }
  // For many clusters; `settings` are the session's.
  SweepTools sweep(const SettingsInForce::WithAnnotations& settings) {
    return {session_.tools(), settings, metrics_, log_, events_, dial_, WhoAsks(session_.tools())};
  }
  DeletionWork work() {
    return {session_.tools(), tools_, observer_, announcer_, dial_, steps_at_, actor_.id};
  }

 private:
  DriverSession& session_;
  const Actor actor_;
  Log log_;
  prometheus::Registry registry_;  // for nobody: nothing serves it
  WatcherMetrics metrics_;
  const Tools tools_;
  Observer observer_;
  EventRecorder events_;
  Announcer announcer_;
  const Dial dial_;
  const StepsAt steps_at_;
};

}  // namespace cluster_watcher

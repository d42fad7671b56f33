// Who is told, and what: each decision once, as a line in the log with all that it rests on, and
// where it leads to a deletion or away from one as Events, which outlive the pod. Nothing here has
// a say in what is done.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "probes/clock.h"
#include "watcher/events.h"
#include "watcher/logging.h"
#include "watcher/rules.h"
#include "watcher/survey.h"

namespace cluster_watcher {

// How far an abandoned cluster is on its way to be condemned.
struct Abandonment {
  Duration lasted{0};  // since the first of these verdicts
  int confirmations = 0;
  Duration due_in{0};    // the deletion, at the earliest
  bool dry_run = false;  // there will be none
};

// What a deletion came to.
struct DeletionReport {
  std::size_t found = 0;               // members
  std::map<std::string, int> deletes;  // by result, as the metrics have it: {"deleted": 4}
  std::vector<std::string> left;       // "service/x: kept"
  bool overdue = false;                // something was left at the deadline
  bool root_deleted = false;
  Duration took{0};
};

class Announcer {
 public:
  Announcer(EventRecorder& events, Clock& clock, Log& log)
      : events_(events), clock_(clock), log_(log) {}

  // Another verdict than the one before; only the log is told. `abandonment`: where it is one.
  void Verdict(const Snapshot& snapshot, const Decision& decision,
               const std::optional<Abandonment>& abandonment);
  // The cluster begins to look abandoned: when it will be deleted, and how that is prevented.
  void Warn(const Snapshot& snapshot, const Decision& decision, const Abandonment& abandonment);
  // After that it is kept again.
  void CameBack(const Snapshot& snapshot, const Decision& decision, Duration abandoned_for);
  // In a dry run: it would be deleted now, with these objects.
  void WouldDelete(const Snapshot& snapshot, const Decision& decision,
                   const std::vector<std::string>& objects);

  void Condemned(const Snapshot& snapshot, const Decision& decision,
                 const Abandonment& abandonment);
  // `refusal`: the metric's word for it.
  void Spared(const Snapshot& snapshot, const char* refusal, const std::string& detail);
  // `why`: of the verdict, or which deletion goes on.
  void Deleting(const Snapshot& snapshot, const std::string& why);
  // What comes up while it is deleted; `action` is a verb ("TakingOver").
  void Trouble(const Snapshot& snapshot, const char* action, const std::string& what);
  void Deleted(const Snapshot& snapshot, const DeletionReport& report);

 private:
  struct Line {
    const char* decision;  // "condemned"
    std::string message;
    spdlog::level::level_enum level = spdlog::level::warn;
  };

  void Write(const Line& line, const Snapshot& snapshot, const Log::Keys& more);
  void Record(const std::vector<Regarding>& regarding, const Snapshot& snapshot, EventType type,
              const char* reason, const char* action, const std::string& note);

  EventRecorder& events_;
  Clock& clock_;
  Log& log_;
  std::optional<ClusterId> cluster_;  // as last seen
};

}  // namespace cluster_watcher

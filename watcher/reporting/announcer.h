// Who is told, and what: each decision once, as a line in the log with all that it rests on, and
// where it leads to a deletion or away from one as Events, which outlive the pod. Nothing here has
// a say in what is done, and none of it takes longer than an Event may take (2 s, or twice that
// where the owner's namespace refuses it).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "probes/base/clock.h"
#include "watcher/decision/confirmation.h"
#include "watcher/decision/rules.h"
#include "watcher/observation/survey.h"
#include "watcher/reporting/deletion_report.h"
#include "watcher/reporting/events.h"
#include "watcher/reporting/logging.h"

namespace cluster_watcher {

class Announcer {
 public:
  Announcer(EventRecorder& events, Clock& clock, Log& log)
      : events_(events), clock_(clock), log_(log) {}

  // Another verdict than the one before; only the log is told. `abandonment`: where it is one.
  void Verdict(const Snapshot& snapshot, const Decision& decision,
               const std::optional<Abandonment>& abandonment);
  // The cluster looks abandoned: when it will be deleted, and how that is prevented. The snapshot
  // has a master root. False: nobody could be told.
  bool Warn(const Snapshot& snapshot, const Decision& decision, const Abandonment& abandonment,
            std::stop_token stop);
  // It is kept again, so long after a warning.
  void CameBack(const Snapshot& snapshot, const Decision& decision, Duration since_warning,
                std::stop_token stop);
  // In a dry run: it would be deleted now, with these objects.
  void WouldDelete(const Snapshot& snapshot, const Decision& decision,
                   const std::vector<std::string>& objects);

  void Condemned(const Snapshot& snapshot, const Decision& decision,
                 const Abandonment& abandonment);
  // `refusal`: the metric's word for it, or empty; `decision`: of the look that spares it, if that
  // does. The same refusal again within an hour is told to the log alone, at level debug.
  void Spared(const Snapshot& snapshot, const char* refusal, const std::string& detail,
              const Decision* decision = nullptr);
  // Whether the last sparing was one more of the same.
  bool spares_again() const { return spares_again_; }
  void TakenOver(const Snapshot& snapshot, const std::string& from);
  // `why`: of the verdict, or which deletion goes on.
  void Deleting(const Snapshot& snapshot, const std::string& why);
  // What comes up while it is deleted, which the log knows; `action` is a verb ("RunningSteps").
  void Trouble(const Snapshot& snapshot, const char* action, const std::string& what);
  void Deleted(const Snapshot& snapshot, const DeletionReport& report);

 private:
  // Whom it is about, as far as the last looks showed it.
  struct Subject {
    ClusterId cluster;
    std::optional<KubeObject> root;
    std::string owner_ns;
    std::optional<KubeObject> owner;  // nullopt: there is none
  };
  struct Line {
    const char* decision;  // "condemned"
    std::string message;
    spdlog::level::level_enum level = spdlog::level::warn;
  };
  enum class Audience {
    kOwnerAndRoot,  // an object that survives, and the one that people look at
    kAllWhoCare,    // those, and who looks at the driver's namespace
    kSurvivor,      // the first of them
  };
  struct Occasion {
    EventType type;
    const char* reason;
    const char* action;
  };

  void Learn(const Snapshot& snapshot);
  std::string Name() const;  // "Cluster spark"; with its namespace where the owner is in another
  void Write(const Line& line, const Snapshot& snapshot, const Log::Keys& more);
  // True: at least one was written.
  bool Record(Audience audience, const Occasion& occasion, const std::string& note,
              std::stop_token stop = {});

  EventRecorder& events_;
  Clock& clock_;
  Log& log_;
  std::optional<Subject> subject_;
  std::optional<std::string> spared_for_;  // the refusal, while there was nothing else to tell
  MonotonicTime spared_at_{};
  bool spares_again_ = false;
};

}  // namespace cluster_watcher

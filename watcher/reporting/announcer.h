// Tells people of each decision once: as a line in the log with all that it rests on and, if it
// leads to a deletion or away from one, as Events, which outlive the pod. Nothing here changes what
// is done. No call takes longer than an Event may take: 2 s, or twice that if the owner's namespace
// refuses it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "probes/base/clock.h"
#include "watcher/decision/confirmation.h"
#include "watcher/decision/rules.h"
#include "watcher/observation/snapshot.h"
#include "watcher/reporting/deletion_report.h"
#include "watcher/reporting/events.h"
#include "watcher/reporting/logging.h"

namespace cluster_watcher {

// Returns the command that keeps the cluster of a look that has a master root, for a day from `due`
// on: "kubectl annotate ...".
std::string HoldCommand(const Snapshot& look, WallTime due);

class Announcer {
 public:
  Announcer(EventRecorder& events, Clock& clock, Log& log)
      : events_(events), clock_(clock), log_(log) {}

  // `user`, as the API server knows them, asks for what follows, which is no warning then.
  void AskedBy(const std::string& user) { asker_ = user; }
  // The same by a sweep, which decides as a watcher does.
  void SweptBy(const std::string& user) { sweeper_ = user; }

  // The verdict differs from the one before. Only the log is told. `abandonment`: if it is
  // abandoned.
  void Verdict(const Snapshot& snapshot, const Decision& decision,
               const std::optional<Abandonment>& abandonment);
  // The cluster looks abandoned: says when it will be deleted, and how to prevent that. The
  // snapshot has a master root. False: nobody could be told.
  bool Warn(const Snapshot& snapshot, const Decision& decision, const Abandonment& abandonment,
            std::stop_token stop);
  // The cluster is kept again, this long after a warning.
  void CameBack(const Snapshot& snapshot, const Decision& decision, Duration since_warning,
                std::stop_token stop);
  // In a dry run: it would be deleted now, with these objects.
  void WouldDelete(const Snapshot& snapshot, const Decision& decision,
                   const std::vector<std::string>& objects);

  // `abandonment` without confirmations: none were asked for.
  void Condemned(const Snapshot& snapshot, const Decision& decision,
                 const Abandonment& abandonment);
  // The cluster is not deleted after all. `refusal`: if a deletion that was due is held back;
  // `decision`: of the look that spares it, if one does. The same refusal again within an hour only
  // goes to the log, at level debug.
  void Spared(const Snapshot& snapshot, std::optional<Refusal> refusal, const std::string& detail,
              const Decision* decision = nullptr);
  // A deletion is resumed: what comes of it is told even if that repeats itself.
  void Resuming() { spared_for_.reset(); }
  // Whether the last sparing repeated the one before it.
  bool spares_again() const { return spares_again_; }
  // `marks` name the watcher that the deletion is taken over from.
  void TakenOver(const Snapshot& snapshot, const Marks& marks);
  // `marks` as they are written now. `why`: the verdict's detail, or which deletion is resumed.
  void Deleting(const Snapshot& snapshot, const Marks& marks, const std::string& why);
  // Something went wrong while the cluster is deleted. The log has it already; `action` is a verb
  // ("RunningSteps").
  void Trouble(const Snapshot& snapshot, const char* action, const std::string& what);
  // `reason` of the deletion, as in its mark.
  void Deleted(const Snapshot& snapshot, const std::string& reason, const DeletionReport& report);

 private:
  // The objects that an Event is about, as far as the last looks showed them.
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
    kOwnerAndRoot,  // on the owner or its Namespace, which survive, and on the master root
    kAllWhoCare,    // on those, and always on the owner's Namespace
    kSurvivor,      // only on the owner or its Namespace
  };
  struct Occasion {
    EventType type;
    const char* reason;
    const char* action;
  };

  void Learn(const Snapshot& snapshot);
  spdlog::level::level_enum LevelOf(std::string_view reason) const;
  // Returns ". Asked for by admin", and whose deletion it was before; empty: a watcher's own.
  std::string AskedText(const char* asked = "Asked") const;
  std::string Name() const;  // "Cluster spark"; with its namespace if the owner is in another
  void Write(const Line& line, const Snapshot& snapshot, const Log::Keys& more);
  // True: at least one was written.
  bool Record(Audience audience, const Occasion& occasion, const std::string& note,
              std::stop_token stop = {});

  EventRecorder& events_;
  Clock& clock_;
  Log& log_;
  std::string asker_;           // of a command; empty: a watcher or a sweep decides
  std::string sweeper_;         // empty: it is no sweep
  std::optional<Marks> begun_;  // as whoever began the deletion left them, if it was taken over
  std::optional<Subject> subject_;
  std::optional<std::string> spared_for_;  // the refusal, while there was nothing else to tell
  MonotonicTime spared_at_{};
  bool spares_again_ = false;
};

}  // namespace cluster_watcher

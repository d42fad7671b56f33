// The protocol that leads to a deletion: condemn, last look, point of no return, steps, first
// delete. Each is written on the master root before it is taken, so that whoever comes after a
// crash knows where it stood. Up to the first delete every doubt that a look shows goes back to
// watching; behind it nothing does: half a cluster is no cluster.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <spdlog/logger.h>

#include "metrics/watcher_metrics.h"
#include "probes/base/clock.h"
#include "watcher/deletion/deletion.h"
#include "watcher/deletion/step_runner.h"
#include "watcher/observation/survey.h"
#include "watcher/reporting/announcer.h"
#include "watcher/reporting/warn_once.h"

namespace cluster_watcher {

// Who is being judged: tells one owner from its successor.
std::string OwnerIdentity(const Snapshot& snapshot);

// How long the deletion has lasted that the marks in `look` tell of, across restarts, by the API
// server's clock; 0 where they don't say since when, never negative.
Duration DeletionAge(const Snapshot& look, Clock& clock);

class Reaper {
 public:
  enum class Outcome {
    kSpared,     // back to watching
    kOvertaken,  // another watcher goes on with it
    kDone,       // the cluster is gone: the master root's deletion was accepted
  };

  // `dial` reaches the servers of steps. `turn` is called again and again while it works, and told
  // how long the next thing may take where that is long.
  Reaper(Survey& survey, Clock& clock, WatcherMetrics& metrics, Announcer& announcer,
         spdlog::logger& log, Dial dial, std::function<void(Duration)> turn);

  // Condemns the cluster in the name of `me` ("POD/UID"), under the resourceVersion that `snapshot`
  // read, and carries that through if a new look still says that it is abandoned by the same owner.
  // `snapshot` is the confirming look, other drivers included, `decision` what it came to. `stop`
  // is heeded up to the point of no return.
  Outcome Condemn(const std::string& me, const Snapshot& snapshot, const Decision& decision,
                  const Abandonment& abandonment, std::stop_token stop);

  // Goes on with a deletion that the marks in `snapshot` say is in the hands of `me`.
  Outcome Resume(const std::string& me, const Snapshot& snapshot);

  // Takes the deletion that another began into the hands of `me`, under the resourceVersion that
  // `snapshot` read; its marks are then as they are written. False: it could not be written.
  bool TakeOver(const std::string& me, Snapshot& snapshot);

  // When the pod is told to stop (`--on-termination=finish`): where somebody takes the cluster down
  // by hand and its driver is gone, its members go too. In every other case all stays as it is.
  // True: they are gone.
  bool FinishOnTermination();

  // One pass of deletes with dryRun=All: no marks, nothing changes.
  void Rehearse(const Snapshot& snapshot, const Decision& decision);

  // Writes `changes` on the root, under the resourceVersion that the snapshot read.
  ApiResult WriteMarks(const Snapshot& snapshot, AnnotationChanges changes,
                       Duration timeout = std::chrono::seconds(5));

 private:
  // A look behind which the point of no return was written; its marks as they are now.
  struct Condemned {
    Snapshot snapshot;
    Decision decision;
  };

  // The last look, the steps before and the deletion. `owner_identity` empty: the owner that the
  // marks name.
  Outcome CarryThrough(const std::string& me, const std::string& owner_identity,
                       std::stop_token stop);
  // The error: kSpared or kOvertaken.
  Result<Condemned, Outcome> LastLook(const std::string& me, const std::string& owner_identity,
                                      std::stop_token stop);
  Outcome Spare(const std::string& me, const Snapshot& snapshot, const char* refusal,
                const std::string& detail, const Decision* decision);
  // What has the master root's name now; nullopt: it can't be read, or there is nothing.
  std::optional<ObjectMeta> ReadRoot(const Snapshot& snapshot, Duration timeout);
  void Refuse(const Snapshot& snapshot, const char* reason, const std::string& detail,
              const Decision* decision = nullptr);
  void StandBack(const char* reason);
  bool TakeMarksOff(const std::string& me, const Snapshot& snapshot);
  // True: some were run, which took its time.
  bool RunStepsBefore(const Condemned& condemned);
  bool RunStepsAfter(const Snapshot& condemned);
  void RunSteps(const std::vector<Step>& steps, const char* prefix, const Snapshot& condemned,
                Duration allowed);
  void MarkStepsDone(const Snapshot& condemned);
  // nullopt: the first delete could not be sent in time.
  std::optional<Outcome> Delete(const Snapshot& condemned, const std::string& why);
  Outcome StopBecause(Deletion::Outcome why, const Snapshot& condemned, const Deletion& deletion);
  void TellEnd(const Deletion& deletion, const Snapshot& condemned, bool root_deleted,
               MonotonicTime began);
  void AnnounceDeletion(const Snapshot& condemned, const std::string& why);

  // A spared cluster's marks, which could not be written yet: nothing was deleted, and nothing is
  // on the strength of them.
  bool marks_to_take_off_ = false;
  // Of the deletion that is under way, also where it could not be marked.
  std::set<std::string> steps_done_;
  bool announced_ = false;
  Survey& survey_;
  Clock& clock_;
  WatcherMetrics& metrics_;
  Announcer& announcer_;
  spdlog::logger& log_;
  WarnOnce warn_once_;
  std::function<void(Duration)> turn_;
  StepRunner steps_;
};

}  // namespace cluster_watcher

// The protocol that leads to a deletion: condemn, last look, point of no return, steps, another
// last look, first delete. Each is written on the master root before it is taken, so that a watcher
// that comes after a crash knows how far it went. Until the first delete, every doubt that a look
// shows leads back to watching; after it nothing does but a master root that is to be kept: half a
// cluster is no cluster. Whoever resumes a deletion judges the cluster again unless it is proven
// half.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "watcher/decision/confirmation.h"
#include "watcher/deletion/deletion.h"
#include "watcher/deletion/deletion_order.h"
#include "watcher/deletion/judged_look.h"
#include "watcher/deletion/step_runner.h"
#include "watcher/deletion/tools.h"
#include "watcher/reporting/announcer.h"
#include "watcher/reporting/warn_once.h"

namespace cluster_watcher {

class Reaper {
 public:
  enum class Outcome {
    kSpared,     // back to watching
    kOvertaken,  // another watcher finishes the deletion
    kDone,       // the cluster is gone: the master root's delete was accepted
  };

  // `dial` reaches the servers of steps.
  Reaper(const Tools& tools, Observer& observer, Announcer& announcer, Dial dial,
         StepsAt steps_at = StepsAt::kMaster);

  // Condemns the cluster in the name of `me`, under the resourceVersion that `snapshot` read, and
  // carries that through if a new look still says that it is abandoned by the same owner.
  // `snapshot` is the confirming look, `decision` what it came to, other drivers included. With the
  // reason kAsked no rule is asked then, and `keep` on the master root doesn't bind it. `stop` is
  // heeded up to the point of no return.
  Outcome Condemn(const WatcherId& me, const Snapshot& snapshot, const Decision& decision,
                  const Abandonment& abandonment, std::stop_token stop);

  // Resumes the deletion that the marks on the root of `snapshot` tell of, or takes it over in the
  // name of `me`, under the resourceVersion that `snapshot` read. If they are only left over from a
  // cluster that was spared, takes them off instead. kSpared also if it has to wait.
  Outcome Resume(const WatcherId& me, const Snapshot& snapshot);

  // Whether the last of these came to nothing because an admission policy, such as the brake,
  // refused to have the cluster condemned or deleted.
  bool is_refused_by_policy() const { return refused_by_policy_; }
  // Why the last of these was given up at its deadline, as these tools ask for; empty: it wasn't.
  const std::string& given_up() const { return given_up_; }

  // For a command that is told to stop: takes its condemnation off `root`, if that still bears it.
  void TakeCondemnationOff(const WatcherId& me, const KubeObject& root);

  // The one way back to watching: shows it, and tells it. `refusal`: if a deletion of this
  // watcher's that was due is held back. `decision`: of the look that spares the cluster, if one
  // does.
  void BackToWatching(const Snapshot& snapshot, std::optional<Refusal> refusal,
                      const std::string& detail, const Decision* decision = nullptr);

  // For when the pod is told to stop (`--on-termination=finish`): if somebody takes the cluster
  // down by hand and its driver is gone, deletes its members too. In every other case all stays as
  // it is. True: they are gone.
  bool FinishOnTermination();

  // One pass of deletes with dryRun=All: no marks, nothing changes.
  void Rehearse(const Snapshot& snapshot, const Decision& decision);

 private:
  // What is done already of a deletion that is under way, even if it could not be marked.
  struct Progress {
    std::set<std::string> steps_done;
    bool announced = false;
    std::optional<MonotonicTime> began;  // the point of no return was last written
    std::optional<MonotonicTime> tried;  // the members were first listed
    int fruitless = 0;                   // rounds in which no delete was accepted
    bool any_open = false;               // a delete of theirs may have been carried out
    std::vector<std::string> gone;       // before the cluster was judged again
  };

  // Whose deletion it is, and of whose cluster.
  struct Case {
    WatcherId me;
    std::string owner_identity;  // empty: the owner that the marks name
    bool is_asked;               // by a person, whatever the rules say
    KubeObject root;             // as it was condemned, or its deletion resumed
  };
  // The last look, the steps before and the deletion.
  Outcome CarryThrough(const Case& of, Progress progress, std::stop_token stop);
  // Looks again and writes the point of no return or, with `first`, that deletes are begun and what
  // is deleted first. The error: kSpared or kOvertaken.
  Result<DeletionOrder, Outcome> LastLook(const Case& of, const Progress& progress,
                                          const std::vector<FirstDelete>* first,
                                          std::stop_token stop);
  // The deletion that was begun goes on if the cluster is half. nullopt: it may be whole.
  std::optional<Outcome> GoOnIfHalf(const DeletionOrder& condemned, Progress& progress);
  bool GivesUp(const Progress& progress) const;
  // What may be half a cluster keeps its marks, for whoever comes later.
  Outcome GiveUp(const DeletionOrder& condemned, const Progress& progress);
  // Whether a policy, such as the brake, keeps the deletion that was begun from going on.
  bool IsHeldByPolicy(const WatcherId& me, const Snapshot& snapshot);
  // Writes that the deletion is that of `me` now. The marks as they are then; nullopt: it could not
  // be written.
  std::optional<Marks> TakeOver(const WatcherId& me, const Snapshot& snapshot, bool is_half);
  // Nothing more is deleted, because of what was made of the master root.
  Outcome EndWithRoot(const WatcherId& me, const Snapshot& snapshot, Refusal refusal,
                      const std::string& why, const std::vector<std::string>& gone);
  // Why `look` spares the cluster that `me` has condemned; nullopt: it doesn't.
  struct Doubt {
    Refusal refusal;
    std::string detail;
  };
  // The refusal that a write of marks came to that failed for good; else `otherwise`.
  Refusal NotePolicy(const ApiError& error, Refusal otherwise);
  static std::optional<Doubt> FindDoubt(const Case& of, const JudgedLook& look);
  // Looks, and decides by the rules unless the deletion is asked for.
  JudgedLook LookAt(const Case& of, const std::stop_token& stop);
  Outcome Overtaken();
  // Takes the marks off the root of the case, whatever the look has found. As the other one.
  bool TakeMarksOff(const Case& of, const Snapshot& snapshot);
  // Takes the marks of `me` off. False: they may still be there.
  bool TakeMarksOff(const WatcherId& me, const Snapshot& snapshot);
  void ShowWatching(std::optional<Refusal> refusal);
  bool AnyToRun(const std::vector<Step>& steps, const char* prefix, const Progress& progress) const;
  // Whether a policy, such as the brake, keeps the steps before from being run.
  bool AreStepsHeld(const DeletionOrder& condemned, const Progress& progress);
  // True: some were run, which took its time.
  bool RunStepsBefore(const DeletionOrder& condemned, Progress& progress);
  bool RunStepsAfter(const DeletionOrder& condemned, Progress& progress);
  void RunSteps(const std::vector<Step>& steps, const char* prefix, const DeletionOrder& condemned,
                Duration allowed, Progress& progress);
  void MarkStepsDone(const DeletionOrder& condemned, const Progress& progress);
  // Both: nullopt if no delete was accepted in time, so that a new look is needed.
  std::optional<Outcome> BeginAndFinish(const Case& of, const DeletionOrder& condemned,
                                        Progress& progress);
  std::optional<Outcome> Finish(const DeletionOrder& condemned, Deletion& deletion,
                                Progress& progress);
  // Waits, and as long as the API server asks for by Retry-After.
  void Wait(Duration backoff, const std::stop_token& stop);
  // When the deletion began: the deadline counts from then.
  MonotonicTime BeganAt(const DeletionOrder& condemned, const Progress& progress) const;
  void AnnounceDeletion(const DeletionOrder& condemned, Progress& progress);
  void TellEnd(const Deletion& deletion, const DeletionOrder& condemned, MonotonicTime began);

  const Tools tools_;
  Observer& observer_;
  Announcer& announcer_;
  WarnOnce warn_once_;
  StepRunner steps_;
  // The marks of a cluster that was spared could not be taken off yet. Nothing was deleted, and
  // nothing is on the strength of them.
  bool marks_to_take_off_ = false;
  bool refused_by_policy_ = false;
  std::string given_up_;
  // A deletion that was begun stands still because of one. Its time begins anew when it goes on.
  bool held_ = false;
  bool resumed_ = false;  // what this watcher found begun when it was started
};

}  // namespace cluster_watcher

// The protocol that leads to a deletion: condemn, last look, point of no return, steps, another
// last look, first delete. Each is written on the master root before it is taken, so that a watcher
// that comes after a crash knows how far it went. Until the first delete, every doubt that a look
// shows leads back to watching; behind it the last look is repeated once a minute until the root's
// delete, and a doubt waits for as long as the deadline lets it. Marks are no evidence: whoever
// resumes a deletion looks again, and goes on only if the cluster is abandoned still.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "watcher/decision/confirmation.h"
#include "watcher/decision/next_step.h"
#include "watcher/deletion/deletion_order.h"
#include "watcher/deletion/judged_look.h"
#include "watcher/deletion/marked_steps.h"
#include "watcher/deletion/tools.h"
#include "watcher/reporting/announcer.h"
#include "watcher/reporting/warn_once.h"

namespace cluster_watcher {

class Deletion;
enum class DeletionEnd;

class Reaper {
 public:
  enum class Outcome {
    kSpared,     // back to watching, or it has to wait: look again
    kOvertaken,  // another watcher finishes the deletion
    kDone,       // the cluster is gone, as far as Tools::until asks for
  };

  // `dial` reaches the servers of steps.
  Reaper(const Tools& tools, Observer& observer, Announcer& announcer, Dial dial,
         StepsAt steps_at = StepsAt::kMaster);

  // Condemns the cluster in the name of `me`, under the resourceVersion that `snapshot` read, and
  // carries that through if a new look still says that it is abandoned by the same owner.
  // `snapshot` is the confirming look, `decision` what it came to, other drivers included. With the
  // reason kAsked no rule is asked then, `keep` on the master root doesn't bind it, and another's
  // marks are overwritten. `stop` is heeded up to the point of no return, and by what isn't a
  // watcher while the end is waited for.
  Outcome Condemn(const WatcherId& me, const Snapshot& snapshot, const Decision& decision,
                  const Abandonment& abandonment, std::stop_token stop);

  // Resumes the deletion that the marks on the root of `snapshot` tell of, or takes it over in the
  // name of `me`, under the resourceVersion that `snapshot` read. It is judged again first.
  Outcome Resume(const WatcherId& me, const Snapshot& snapshot, const std::stop_token& stop);

  // Whether the last of these came to nothing because an admission policy, such as the brake,
  // refused to have the cluster condemned or deleted.
  bool is_refused_by_policy() const { return refused_by_policy_; }
  // Why the last of these did not come to its end: the master root must stay, something was left,
  // or it was given up at its deadline, as these tools ask for; empty: it did.
  const std::string& given_up() const { return given_up_; }

  // Takes the marks of `me` off `root`, whatever its look has found. For a command that is told to
  // stop: with `condemnation_only` those of a deletion that was begun stay. False: they may still
  // be there.
  bool TakeMarksOff(const WatcherId& me, const KubeObject& root, bool condemnation_only = false);

  // The one way back to watching: shows it, and tells it. `refusal`: if a deletion of this
  // watcher's that was due is held back. `decision`: of the look that spares the cluster, if one
  // does.
  void BackToWatching(const Snapshot& snapshot, std::optional<Refusal> refusal,
                      const std::string& detail, const Decision* decision = nullptr);

 private:
  // Whose deletion it is, and of whose cluster.
  struct Case : Condemnation {
    KubeObject root;            // as it was condemned, or its deletion resumed
    Deletion* begun = nullptr;  // once a delete was accepted
    std::string gone = {};      // for people: what this deletion has deleted already
  };
  // How far a deletion is, even if it could not be marked.
  struct Progress {
    bool announced = false;
    MonotonicTime began{};  // the point of no return was first written
  };

  // The last look, the steps before and the deletion.
  Outcome CarryThrough(Case of, const std::stop_token& stop);
  // Looks again and writes the point of no return. The error: kSpared or kOvertaken. What is begun
  // needs no other mark, and waits for a definite look until its deadline; nullopt: there is none.
  Result<std::optional<DeletionOrder>, Outcome> LastLook(const Case& of, const Progress& progress,
                                                         const std::stop_token& stop);
  // Acts on a look that doesn't let the deletion go on.
  Outcome TurnBack(const Case& of, const JudgedLook& look, const AfterCondemning& next);
  // Writes the point of no return on what `look` read; the error is that of the write, or kNotSent:
  // its evidence grew old.
  Result<DeletionOrder, ApiError> WritePointOfNoReturn(const Case& of, JudgedLook& look,
                                                       const std::stop_token& stop);
  // Writes that the deletion is that of `me` now.
  bool TakeOver(const WatcherId& me, const Snapshot& snapshot);
  // For people: what a root that is terminating leaves where the cluster is kept; else empty.
  std::string LeftOf(const Snapshot& look);
  // The refusal that a write of marks came to that failed permanently; else `otherwise`.
  Refusal NotePolicy(const ApiError& error, Refusal otherwise);
  // Takes the marks off, and goes back to watching.
  Outcome SpareIt(const Case& of, const Snapshot& snapshot, const Spare& why,
                  const Decision* decision = nullptr);
  // Looks, and decides by the rules unless the deletion is asked for.
  JudgedLook LookAt(const Case& of, const std::stop_token& stop);
  Outcome Overtaken();
  void ShowWatching(std::optional<Refusal> refusal);
  DeletionEnd Delete(const DeletionOrder& condemned, Deletion& deletion, Progress& progress);
  // Acts on the end of `deletion`.
  Outcome End(const Case& of, const DeletionOrder& condemned, Deletion& deletion,
              const Progress& progress, DeletionEnd outcome, const std::stop_token& stop);
  static AnnotationChanges CondemnedMarks(const WatcherId& me, Reason reason, Phase phase);
  // The pause before an attempt; after a round that came to nothing, up to 5 s.
  static Duration Backoff(int attempt);
  static Duration LongBackoff(int round);
  // Waits, and as long as the API server asks for by Retry-After.
  void Wait(Duration backoff, const std::stop_token& stop);
  MonotonicTime DeadlineOf(const Progress& progress) const {
    return progress.began + OwnTimeOf(tools_, tools_.settings->delete_deadline);
  }
  void AnnounceDeletion(const DeletionOrder& condemned, Progress& progress);
  void NoteOverdue(const Deletion& deletion);
  void TellEnd(const Deletion& deletion, const DeletionOrder& condemned, const Progress& progress);

  const Tools tools_;
  Observer& observer_;
  Announcer& announcer_;
  WarnOnce warn_once_;
  MarkedSteps steps_;
  // The marks of a cluster that was spared could not be taken off yet. Nothing is deleted on the
  // strength of them.
  bool marks_to_take_off_ = false;
  bool refused_by_policy_ = false;
  std::string given_up_;
};

}  // namespace cluster_watcher

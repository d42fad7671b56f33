// Carries a cluster's case from look to look: decides on each, counts, says what that and the marks
// on the master root ask for, and does it. `watch`, `sweep` and `delete` differ in who they are,
// and in what they tell of the outcome.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "watcher/decision/next_step.h"
#include "watcher/deletion/reaper.h"
#include "watcher/engine/abandoned_since.h"
#include "watcher/engine/judge.h"
#include "watcher/engine/warning.h"
#include "watcher/reporting/warn_once.h"

namespace cluster_watcher {

class Engine {
 public:
  enum class Outcome {
    kKept,       // nothing was asked for
    kConfirms,   // further looks decide
    kMarked,     // a mark was written: other writes need the resourceVersion of another look
    kWaits,      // somebody else is at it, or a deletion that was begun goes on later
    kUnmarked,   // spared, because the cluster can't be marked as abandoned: see unmarked()
    kSpared,     // spared by its last look, or since its condemnation could not be written
    kOvertaken,  // somebody else finishes the deletion
    kDone,       // the cluster is gone, as far as Tools::until asks for
  };

  // `dial` reaches the servers of steps.
  Engine(const Tools& tools, Observer& observer, Announcer& announcer, Dial dial, StepsAt steps_at,
         Caller caller);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Decides on the sure look that has just ended, and counts it. A watcher adopts an owner that was
  // made again.
  Decision Decide(const Snapshot& look, const std::stop_token& stop);
  // The owner to be recorded, as the last Decide of a watcher left it; nullopt: it isn't known.
  const std::optional<RecordedOwner>& owner() const { return owner_; }

  // How far an abandoned cluster is on its way to its deletion; nullopt: it isn't, or is marked.
  std::optional<Abandonment> OnItsWay(const Snapshot& look) const;
  // Tells people of that, see Warning.
  void Warn(const Snapshot& look, const Decision& decision, const std::stop_token& stop);

  // Returns what a look that has a root, and the decision on it, ask for. `me` is this watcher or
  // command.
  CaseStep Next(const WatcherId& me, const Snapshot& look, const Decision& decision,
                const std::stop_token& stop);
  // Does what the last Next has said, with the same arguments. It may be a whole deletion.
  Outcome CarryOut(CaseStep step, const WatcherId& me, const Snapshot& look,
                   const Decision& decision, const std::stop_token& stop);

  // For a command that is told to stop, see Reaper.
  void TakeMarksOff(const WatcherId& me, const KubeObject& root) {
    reaper_.TakeMarksOff(me, root, true);
  }
  // One pass of deletes with dryRun=All. What would be deleted: "service/x".
  std::vector<std::string> WouldDelete(const Snapshot& look, const Decision& decision);

  const Judge& judge() const { return judge_; }
  // The count of confirmations starts again, and that of clusters abandoned at once.
  void ResetCount() { judge_.Reset(); }
  // Both as Reaper has it.
  const std::string& given_up() const { return reaper_.given_up(); }
  bool is_refused_by_policy() const { return reaper_.is_refused_by_policy(); }
  const std::optional<ApiError>& unmarked() const { return abandoned_since_.problem(); }
  // False: marks are still to be written or taken off, which is worth another look soon.
  bool is_settled() const { return marks_ != Marked::kUnsettled && abandoned_since_.is_settled(); }
  // Whether a write of marks was refused permanently, and is tried again after a while.
  bool is_refused() const { return marks_ == Marked::kRefused || abandoned_since_.is_refused(); }
  // Tells a command about the marks that the last Next has found.
  OthersAtIt others() const { return SeeOthers(view_.on_marks, seen_, tools_.clock.Now()); }
  // Whose deletion these marks are of; nullopt: there are none, or whoever asks doesn't heed them.
  std::optional<WatcherId> deleted_by() const;
  // The guard refused another mark of this watcher's.
  void NoteGuard() { judge_.NoteGuard(); }

 private:
  Confirmed HowConfirmed(const Decision& decision) const;
  OnMarks SeeMarksOf(const WatcherId& me, const Snapshot& look, const std::stop_token& stop);
  bool ClearMarks(const Snapshot& look);
  Outcome Resume(const WatcherId& me, const Snapshot& look, const std::stop_token& stop);
  Outcome SpareUnmarked(const Snapshot& look);
  Outcome Condemn(const WatcherId& me, const Snapshot& look, const Decision& decision,
                  const std::stop_token& stop);
  Outcome Do(CaseStep step, const WatcherId& me, const Snapshot& look, const Decision& decision,
             const std::stop_token& stop);

  const Tools& tools_;
  Observer& observer_;
  Announcer& announcer_;
  const Caller caller_;
  Reaper reaper_;
  Judge judge_;
  AbandonedSince abandoned_since_;
  Warning warning_;
  WarnOnce warn_once_;
  std::optional<RecordedOwner> owner_;
  CaseView view_{};  // of the last Next
  std::optional<MarksSeen> seen_;
  // Marks of a deletion, or of another object, on the root.
  enum class Marked {
    kNot,
    kUnsettled,
    kRefused,  // they can't be taken off
  } marks_ = Marked::kNot;
  bool rehearsed_ = false;  // this abandonment was shown
};

}  // namespace cluster_watcher

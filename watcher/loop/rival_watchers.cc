#include "watcher/loop/rival_watchers.h"

#include "watcher/protocol/gone_watcher.h"

namespace cluster_watcher {

RivalWatchers::RivalWatchers(const Tools& tools, Reaper& reaper, Judge& judge)
    : tools_(tools), reaper_(reaper), judge_(judge), warn_once_(tools.log) {}

RivalWatchers::Outcome RivalWatchers::Act(const WatcherId& me, const Snapshot& snapshot,
                                          const std::stop_token& stop) {
  const Marks& marks = snapshot.marks;
  seen_ = SeeMarks(seen_, marks, tools_.clock.Now());
  const MarksView view{snapshot,
                       me,
                       seen_,
                       tools_.clock.Now(),
                       ServerNow(snapshot, tools_.clock),
                       tools_.settings->delete_deadline};
  const bool is_gone =
      MayBeOurs(view) && IsGone(tools_.client, marks.condemned_by, snapshot.cluster->ns, stop);
  const OnMarks next = NextOnMarks(view, is_gone);
  const bool is_anothers = next == OnMarks::kWait || next == OnMarks::kTakeOver;
  if (is_anothers && marks.phase == Phase::kDeleting) {
    warn_once_("the cluster is being deleted by " + marks.condemned_by.ToText());
  }
  switch (next) {
    case OnMarks::kNone:
      if (HasVoidMarks(snapshot.root->meta)) {
        TakeMarksOff(snapshot);
      } else {
        refused_ = refused_by_guard_ = false;
      }
      return Outcome::kNoMarks;
    case OnMarks::kAnotherCluster:
      warn_once_("the deletion of cluster " + *snapshot.root->meta.Label(snapshot.cluster->label) +
                 " is not this watcher's: its cluster is " + snapshot.cluster->name);
      return Outcome::kWait;
    case OnMarks::kWait:
      break;
    case OnMarks::kCallOff:
      CallOff(snapshot,
              "its condemnation by " + marks.condemned_by.ToText() + " was not carried through");
      break;
    case OnMarks::kResume:
    case OnMarks::kTakeOver:
      return Resume(me, snapshot, stop);
  }
  if (marks.phase == Phase::kCondemned) judge_.Reset();
  return Outcome::kWait;
}

RivalWatchers::Outcome RivalWatchers::Resume(const WatcherId& me, const Snapshot& snapshot,
                                             const std::stop_token& stop) {
  judge_.Reset();
  const auto outcome = reaper_.Resume(me, snapshot, stop);
  if (reaper_.is_refused_by_policy()) judge_.NotePolicy();
  return outcome == Reaper::Outcome::kDone ? Outcome::kDone : Outcome::kWait;
}

bool RivalWatchers::TakeMarksOff(const Snapshot& snapshot) {
  MasterRoot root(tools_.client, *snapshot.root);
  auto written = root.WriteMarks(WithoutProtocolMarks(), kMarksTimeout);
  refused_ = !written && !IsTransient(written.error().failure);
  refused_by_guard_ = !written && IsOfGuard(written.error().policy);
  if (!written && written.error().failure != ApiFailure::kConflict) {
    warn_once_("marks could not be taken off: " + written.error().message);
  }
  return written.has_value();
}

void RivalWatchers::CallOff(const Snapshot& snapshot, const std::string& why) {
  if (TakeMarksOff(snapshot)) reaper_.BackToWatching(snapshot, std::nullopt, why);
}

}  // namespace cluster_watcher

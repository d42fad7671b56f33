#include "watcher/loop/rival_watchers.h"

#include <algorithm>

#include "watcher/protocol/gone_watcher.h"

namespace cluster_watcher {
namespace {

// How long another watcher's condemnation may stand.
constexpr Duration kPatienceWithOthers = std::chrono::minutes(1);

}  // namespace

RivalWatchers::RivalWatchers(const Tools& tools, Reaper& reaper, Judge& judge)
    : tools_(tools), reaper_(reaper), judge_(judge), warn_once_(tools.log) {}

RivalWatchers::Outcome RivalWatchers::Act(const WatcherId& me, const Snapshot& snapshot,
                                          const std::stop_token& stop) {
  switch (snapshot.marks.phase) {
    case Phase::kWatching:
    case Phase::kDone:
      condemned_by_other_.reset();
      deletion_seen_.reset();
      if (HasVoidMarks(snapshot.root->meta)) {
        TakeMarksOff(snapshot);
      } else {
        refused_ = refused_by_guard_ = false;
      }
      return Outcome::kNoMarks;
    case Phase::kDeleting:
      return ActOnDeletion(me, snapshot, stop);
    case Phase::kCondemned:
      ActOnCondemnation(me, snapshot, stop);
      return Outcome::kWait;
  }
  return Outcome::kNoMarks;
}

void RivalWatchers::ActOnCondemnation(const WatcherId& me, const Snapshot& snapshot,
                                      const std::stop_token& stop) {
  const WatcherId& by = snapshot.marks.condemned_by;
  if (!condemned_by_other_ || condemned_by_other_->by != by) {
    condemned_by_other_ = Seen{by, tools_.clock.Now()};
  }
  const bool stale = tools_.clock.Now() - condemned_by_other_->since >= kPatienceWithOthers;
  if (by == me || stale || IsGone(tools_.client, by, snapshot.cluster->ns, stop)) {
    CallOff(snapshot, "its condemnation by " + by.ToText() + " was not carried through");
  }
  judge_.Reset();
}

RivalWatchers::Outcome RivalWatchers::ActOnDeletion(const WatcherId& me, const Snapshot& snapshot,
                                                    const std::stop_token& stop) {
  const auto label = snapshot.root->meta.Label(snapshot.cluster->label);
  if (label && *label != snapshot.cluster->name) {
    warn_once_("the deletion of cluster " + *label + " is not this watcher's: its cluster is " +
               snapshot.cluster->name);
    return Outcome::kWait;
  }
  const WatcherId& by = snapshot.marks.condemned_by;
  const auto& deleting_since = snapshot.marks.deleting_since;
  if (!deletion_seen_ || deletion_seen_->by != by ||
      deletion_seen_->deleting_since != deleting_since) {
    deletion_seen_ = DeletionSeen{by, deleting_since, tools_.clock.Now()};
  }
  if (by != me) {
    warn_once_("the cluster is being deleted by " + by.ToText());
    if (!MayTakeOver(snapshot, stop)) return Outcome::kWait;
  }
  judge_.Reset();
  const auto outcome = reaper_.Resume(me, snapshot, stop);
  if (reaper_.is_refused_by_policy()) judge_.NotePolicy();
  return outcome == Reaper::Outcome::kDone ? Outcome::kDone : Outcome::kWait;
}

// The mark may be missing, be no time, or lie in the future.
Duration RivalWatchers::AgeOfDeletion(const Snapshot& snapshot) const {
  const Duration marked = DeletionAge(snapshot.marks, snapshot, tools_.clock);
  if (!deletion_seen_) return marked;
  const auto seen = tools_.clock.Now() - deletion_seen_->since;
  return std::max(marked, std::chrono::duration_cast<Duration>(seen));
}

bool RivalWatchers::MayTakeOver(const Snapshot& snapshot, const std::stop_token& stop) const {
  return AgeOfDeletion(snapshot) > tools_.settings->delete_deadline ||
         IsGone(tools_.client, snapshot.marks.condemned_by, snapshot.cluster->ns, stop);
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

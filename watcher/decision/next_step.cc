#include "watcher/decision/next_step.h"

#include <algorithm>

namespace cluster_watcher {
namespace {

// How long another watcher's condemnation may stand, and how long until it has been called off.
constexpr Duration kPatienceWithOthers = std::chrono::minutes(1);
constexpr Duration kPatienceWithCalledOff = std::chrono::seconds(90);

// How long the deletion has lasted: by its mark, and as long as it is seen.
bool IsOverdue(const MarksView& view) {
  return IsPastDeadline(view.look.marks, view.server_now, view.delete_deadline) ||
         (view.seen && view.now - view.seen->since > view.delete_deadline);
}

}  // namespace

bool IsPastDeadline(const Marks& marks, WallTime server_now, Duration delete_deadline) {
  return marks.deleting_since && server_now - *marks.deleting_since > delete_deadline;
}

std::optional<MarksSeen> SeeMarks(const std::optional<MarksSeen>& before, const Marks& marks,
                                  MonotonicTime now) {
  if (marks.phase == Phase::kWatching || marks.phase == Phase::kDone) return std::nullopt;
  const bool is_deleting = marks.phase == Phase::kDeleting;
  const std::optional<WallTime> since = is_deleting ? marks.deleting_since : std::nullopt;
  const bool is_same = before && before->phase == marks.phase && before->by == marks.condemned_by &&
                       before->deleting_since == since;
  if (!is_same) return MarksSeen{marks.phase, marks.condemned_by, since, now};
  MarksSeen seen = *before;
  ++seen.looks;
  return seen;
}

OnMarks NextOnMarks(const MarksView& view, bool is_gone) {
  const Marks& marks = view.look.marks;
  const bool is_mine = marks.condemned_by == view.me;
  switch (marks.phase) {
    case Phase::kWatching:
    case Phase::kDone:
      return OnMarks::kNone;
    case Phase::kCondemned: {
      const bool is_stale = view.seen && view.now - view.seen->since >= kPatienceWithOthers;
      return is_mine || is_stale || is_gone ? OnMarks::kCallOff : OnMarks::kWait;
    }
    case Phase::kDeleting:
      break;
  }
  if (is_mine) return OnMarks::kResume;
  if (view.look.cluster->AnothersLabel(view.look.root->meta)) return OnMarks::kAnotherCluster;
  return is_gone || IsOverdue(view) ? OnMarks::kTakeOver : OnMarks::kWait;
}

bool DependsOnWhetherGone(const MarksView& view) {
  return NextOnMarks(view, false) == OnMarks::kWait;
}

OthersAtIt SeeOthers(OnMarks on_marks, const std::optional<MarksSeen>& seen, MonotonicTime now) {
  if (!seen) return OthersAtIt::kMaybe;
  if (seen->phase == Phase::kCondemned) {
    return now - seen->since < kPatienceWithCalledOff ? OthersAtIt::kMaybe : OthersAtIt::kStays;
  }
  // A single look doesn't tell: the deletion may have just been taken over.
  return on_marks == OnMarks::kWait && seen->looks > 1 ? OthersAtIt::kDeletes : OthersAtIt::kMaybe;
}

CaseStep NextOnCase(const CaseView& view) {
  const bool is_due =
      view.confirmed == Confirmed::kYes || view.confirmed == Confirmed::kButForSurge;
  const bool is_abandoned = is_due || view.confirmed == Confirmed::kNotYet;
  if (view.dry_run) {
    if (view.confirmed == Confirmed::kYes) return CaseStep::kRehearse;
    return is_abandoned ? CaseStep::kConfirm : CaseStep::kKeep;
  }
  if (view.caller == Caller::kPerson) return CaseStep::kCondemn;
  switch (view.on_marks) {
    case OnMarks::kNone:
      break;
    case OnMarks::kAnotherCluster:
      return CaseStep::kKeep;
    case OnMarks::kWait:
      return CaseStep::kWait;
    case OnMarks::kCallOff:
      return CaseStep::kCallOff;
    case OnMarks::kResume:
      return CaseStep::kResume;
    case OnMarks::kTakeOver:
      // One that can't judge could only hold up another that can.
      return view.confirmed == Confirmed::kUnknown ? CaseStep::kWait : CaseStep::kTakeOver;
  }
  // A condemnation overwrites them.
  if (view.has_void_marks && !is_due) return CaseStep::kClear;
  if (view.caller == Caller::kWatcher) {
    if (view.since == SinceMark::kToWrite) return CaseStep::kMarkSince;
    if (view.since == SinceMark::kRefused && is_due) return CaseStep::kSpare;
  }
  switch (view.confirmed) {
    case Confirmed::kKept:
    case Confirmed::kUnknown:
      return CaseStep::kKeep;
    case Confirmed::kNotYet:
    case Confirmed::kButForSurge:
      return CaseStep::kConfirm;
    case Confirmed::kYes:
      break;
  }
  return CaseStep::kCondemn;
}

bool LeadsToDeletes(CaseStep step) {
  return step == CaseStep::kResume || step == CaseStep::kTakeOver || step == CaseStep::kCondemn;
}

bool IsOnMarks(CaseStep step) {
  return step == CaseStep::kWait || step == CaseStep::kCallOff || step == CaseStep::kResume ||
         step == CaseStep::kTakeOver;
}

AfterCondemning NextAfterCondemning(const Condemnation& of, const Snapshot& look,
                                    const Decision& decision, bool dry_run) {
  const Marks& marks = look.marks;
  if (dry_run) return Spare{Refusal::kHold, "it is for a dry run now"};
  if (of.is_resumed && decision.reason == Reason::kUnknown) return AwaitRead{};
  if (!decision.abandoned()) return Spare{RefusalOf(decision.reason), decision.detail};
  const std::string recorded = marks.owner ? marks.owner->uid : "";
  const std::string seen = look.seen ? look.seen->uid : "";
  const bool is_same_owner =
      of.owner_identity.empty() ? recorded == seen : look.OwnerIdentity() == of.owner_identity;
  if (!of.is_asked && !is_same_owner) {
    return Spare{Refusal::kOwnerBack, "the owner is another one now"};
  }
  const bool is_ours = look.pod && look.pod->meta.uid == of.me.uid;
  if (is_ours && look.IsPodTerminating() && marks.phase == Phase::kCondemned) {
    return Spare{Refusal::kConflict, "the watcher's own pod is being deleted"};
  }
  const bool is_mine = marks.condemned_by == of.me;
  if (marks.phase == Phase::kDeleting && !is_mine) return Yield{};
  if (marks.phase == Phase::kWatching || !is_mine) {
    return Spare{Refusal::kConflict, "the marks on the master root no longer name us"};
  }
  return Begin{};
}

}  // namespace cluster_watcher

#include "watcher/engine/engine.h"

#include <utility>

#include "watcher/deletion/deletion.h"
#include "watcher/protocol/gone_watcher.h"
#include "watcher/protocol/master_root.h"

namespace cluster_watcher {

Engine::Engine(const Tools& tools, Observer& observer, Announcer& announcer, Dial dial,
               StepsAt steps_at, Caller caller)
    : tools_(tools),
      observer_(observer),
      announcer_(announcer),
      caller_(caller),
      reaper_(tools, observer, announcer, std::move(dial), steps_at),
      judge_(tools, observer),
      abandoned_since_(tools),
      warning_(tools, announcer),
      warn_once_(tools.log) {}

Decision Engine::Decide(const Snapshot& look, const std::stop_token& stop) {
  switch (caller_) {
    case Caller::kPerson:
      return AskedFor();
    case Caller::kApplication:
      return DecideWithOthers(observer_, look, stop);
    case Caller::kWatcher:
      break;
  }
  Decision decision = judge_.DecideOn(look, stop);
  const bool is_replaced = look.facts.owner &&
                           look.facts.owner->observation == Observation::kReplaced &&
                           decision.reason != Reason::kUnknown;
  owner_ = is_replaced ? observer_.Adopt(look) : look.seen;
  if (!decision.abandoned() && std::exchange(rehearsed_, false)) tools_.metrics.SetMembers(0, 0);
  return decision;
}

std::optional<Abandonment> Engine::OnItsWay(const Snapshot& look) const {
  const bool is_marked = look.marks.phase != Phase::kWatching && !tools_.settings->dry_run;
  if (judge_.confirmation().count() == 0 || is_marked || look.IsPodTerminating()) {
    return std::nullopt;
  }
  return judge_.AbandonmentNow();
}

void Engine::Warn(const Snapshot& look, const Decision& decision, const std::stop_token& stop) {
  warning_.Tell(look, decision, rehearsed_ ? std::nullopt : OnItsWay(look), stop);
}

CaseStep Engine::Next(const WatcherId& me, const Snapshot& look, const Decision& decision,
                      const std::stop_token& stop) {
  view_ = {caller_,           tools_.settings->dry_run,
           OnMarks::kNone,    HasVoidMarks(look.root->meta),
           SinceMark::kRight, HowConfirmed(decision)};
  const bool heeds_marks = caller_ != Caller::kPerson && !view_.dry_run;
  if (heeds_marks) view_.on_marks = SeeMarksOf(me, look, stop);
  if (heeds_marks && view_.on_marks == OnMarks::kNone) {
    if (!view_.has_void_marks) marks_ = Marked::kNot;
    view_.since = abandoned_since_.Update(look, decision, judge_.surge());
  }
  return NextOnCase(view_);
}

std::optional<WatcherId> Engine::deleted_by() const {
  const bool is_theirs = view_.on_marks == OnMarks::kWait;
  if (!seen_ || !is_theirs || seen_->phase != Phase::kDeleting) return std::nullopt;
  return seen_->by;
}

Confirmed Engine::HowConfirmed(const Decision& decision) const {
  if (decision.reason == Reason::kUnknown) return Confirmed::kUnknown;
  if (!decision.abandoned()) return Confirmed::kKept;
  if (caller_ != Caller::kWatcher || judge_.MayCondemn()) return Confirmed::kYes;
  return judge_.IsDue() ? Confirmed::kButForSurge : Confirmed::kNotYet;
}

OnMarks Engine::SeeMarksOf(const WatcherId& me, const Snapshot& look, const std::stop_token& stop) {
  const Marks& marks = look.marks;
  const MonotonicTime now = tools_.clock.Now();
  seen_ = SeeMarks(seen_, marks, now);
  const MarksView view{
      look, me, seen_, now, ServerNow(look, tools_.clock), tools_.settings->delete_deadline};
  const bool is_gone = DependsOnWhetherGone(view) &&
                       IsGone(tools_.client, marks.condemned_by, look.cluster->ns, stop);
  const OnMarks next = NextOnMarks(view, is_gone);
  if (next == OnMarks::kAnotherCluster) {
    warn_once_("a deletion of " + *look.cluster->AnothersLabel(look.root->meta) +
               " is not this watcher's: its cluster is " + look.cluster->name);
  } else if (marks.phase == Phase::kDeleting && marks.condemned_by != me) {
    warn_once_("the cluster is being deleted by " + marks.condemned_by.ToText());
  }
  return next;
}

Engine::Outcome Engine::CarryOut(CaseStep step, const WatcherId& me, const Snapshot& look,
                                 const Decision& decision, const std::stop_token& stop) {
  const Outcome outcome = Do(step, me, look, decision, stop);
  if (IsOnMarks(step) && look.marks.phase == Phase::kCondemned) judge_.Reset();
  const bool is_marked = look.marks.phase != Phase::kWatching || HasVoidMarks(look.root->meta) ||
                         outcome == Outcome::kMarked || step == CaseStep::kCondemn;
  if (is_marked && !view_.dry_run && marks_ != Marked::kRefused) marks_ = Marked::kUnsettled;
  return outcome;
}

Engine::Outcome Engine::Do(CaseStep step, const WatcherId& me, const Snapshot& look,
                           const Decision& decision, const std::stop_token& stop) {
  switch (step) {
    case CaseStep::kKeep:
      return Outcome::kKept;
    case CaseStep::kConfirm:
      return Outcome::kConfirms;
    case CaseStep::kWait:
      return Outcome::kWaits;
    case CaseStep::kCallOff:
      if (ClearMarks(look)) {
        reaper_.BackToWatching(
            look, std::nullopt,
            "its condemnation by " + look.marks.condemned_by.ToText() + " was not carried through");
      }
      return Outcome::kWaits;
    case CaseStep::kResume:
    case CaseStep::kTakeOver:
      return Resume(me, look, stop);
    case CaseStep::kClear:
      if (ClearMarks(look)) return Outcome::kMarked;
      view_.has_void_marks = false;  // they are in nobody's way
      return Do(NextOnCase(view_), me, look, decision, stop);
    case CaseStep::kMarkSince:
      if (abandoned_since_.Write(look, judge_.surge())) return Outcome::kMarked;
      // Nothing is condemned in a step that was to mark.
      if (!unmarked()) return decision.abandoned() ? Outcome::kConfirms : Outcome::kKept;
      view_.since = SinceMark::kRefused;
      return Do(NextOnCase(view_), me, look, decision, stop);
    case CaseStep::kSpare:
      return SpareUnmarked(look);
    case CaseStep::kCondemn:
      return Condemn(me, look, decision, stop);
    case CaseStep::kRehearse:
      if (!std::exchange(rehearsed_, true)) {
        announcer_.WouldDelete(look, decision, WouldDelete(look, decision));
      }
      break;
  }
  return Outcome::kKept;
}

bool Engine::ClearMarks(const Snapshot& look) {
  auto written =
      MasterRoot(tools_.client, *look.root).WriteMarks(WithoutProtocolMarks(), kMarksTimeout);
  marks_ = Marked::kUnsettled;
  if (written) return true;
  const ApiError& error = written.error();
  if (!IsTransient(error.failure)) marks_ = Marked::kRefused;
  if (IsOfGuard(error.policy)) judge_.NoteGuard();
  if (error.failure != ApiFailure::kConflict) {
    warn_once_("marks could not be taken off: " + error.message);
  }
  return false;
}

Engine::Outcome Engine::Resume(const WatcherId& me, const Snapshot& look,
                               const std::stop_token& stop) {
  judge_.Reset();
  const auto outcome = reaper_.Resume(me, look, stop);
  if (reaper_.is_refused_by_policy()) judge_.NotePolicy();
  return outcome == Reaper::Outcome::kDone ? Outcome::kDone : Outcome::kWaits;
}

// Spares as if the condemnation could not be written.
Engine::Outcome Engine::SpareUnmarked(const Snapshot& look) {
  const ApiError& problem = *unmarked();
  const bool is_held = !problem.policy.empty() && !IsOfGuard(problem.policy);
  const bool is_conflict = problem.failure == ApiFailure::kConflict;
  reaper_.BackToWatching(look,
                         is_held       ? Refusal::kHold
                         : is_conflict ? Refusal::kConflict
                                       : Refusal::kUnknown,
                         problem.message);
  judge_.Reset();
  if (!problem.policy.empty()) judge_.NotePolicy();
  warning_.Spared();
  return Outcome::kUnmarked;
}

Engine::Outcome Engine::Condemn(const WatcherId& me, const Snapshot& look, const Decision& decision,
                                const std::stop_token& stop) {
  const Abandonment abandonment =
      caller_ == Caller::kWatcher ? judge_.AbandonmentNow() : Abandonment();
  const auto outcome = reaper_.Condemn(me, look, decision, abandonment, stop);
  judge_.Reset();
  if (reaper_.is_refused_by_policy()) judge_.NotePolicy();
  switch (outcome) {
    case Reaper::Outcome::kDone:
      return Outcome::kDone;
    case Reaper::Outcome::kOvertaken:
      return Outcome::kOvertaken;
    case Reaper::Outcome::kSpared:
      break;
  }
  warning_.Spared();
  return Outcome::kSpared;
}

std::vector<std::string> Engine::WouldDelete(const Snapshot& look, const Decision& decision) {
  return Deletion(tools_, {look, look.marks, decision.detail}, tools_.clock.Now()).Rehearse();
}

}  // namespace cluster_watcher

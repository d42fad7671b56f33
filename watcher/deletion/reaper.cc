#include "watcher/deletion/reaper.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "probes/base/duration_text.h"
#include "probes/base/names.h"
#include "probes/base/time_text.h"

namespace cluster_watcher {
namespace {

// Controllers write status all the time, so a conflict is nothing unusual.
constexpr int kMostLastLooks = 20;
constexpr Duration kBetweenLooks{10};  // doubled each time
constexpr int kMostDoublings = 5;
constexpr Duration kLongestAskedWait{20'000};
// What steps are called in marks and logs: as their annotations.
constexpr const char* kBefore = annotation::kBeforeDelete + std::size(annotation::kPrefix) - 1;
constexpr const char* kAfter = annotation::kAfterDelete + std::size(annotation::kPrefix) - 1;
constexpr int kMostStepMarks = 5;
constexpr Duration kStepMarkTimeout{2'000};
constexpr int kMostMarksOff = 5;

AnnotationChanges CondemnedMarks(const WatcherId& me, Reason reason, Phase phase) {
  return {{annotation::kPhase, ToString(phase)},
          {annotation::kReason, ToString(reason)},
          {annotation::kCondemnedBy, me.ToText()}};
}

Duration Backoff(int attempt) { return kBetweenLooks * (1 << std::min(attempt, kMostDoublings)); }

bool AnyToRun(const std::vector<Step>& steps, const char* prefix,
              const std::set<std::string>& done) {
  return std::any_of(steps.begin(), steps.end(),
                     [&](const Step& step) { return !done.contains(StepId(prefix, step)); });
}

}  // namespace

Reaper::Reaper(const Tools& tools, Observer& observer, Announcer& announcer, Dial dial)
    : tools_(tools),
      observer_(observer),
      announcer_(announcer),
      warn_once_(tools.log),
      steps_(std::move(dial), tools.clock, tools.metrics, tools.log, tools.turn) {}

Reaper::Outcome Reaper::Condemn(const WatcherId& me, const Snapshot& snapshot,
                                const Decision& decision, const Abandonment& abandonment,
                                std::stop_token stop) {
  tools_.turn({});
  marks_to_take_off_ = false;
  if (snapshot.root->meta.deleting) {
    BackToWatching(snapshot, Refusal::kConflict,
                   "the master root is being deleted by another's hand");
    return Outcome::kSpared;
  }
  AnnotationChanges marks = WithoutProtocolMarks();  // what an earlier one left
  for (auto& [key, value] : CondemnedMarks(me, decision.reason, Phase::kCondemned)) {
    marks[key] = value;
  }
  MasterRoot root(tools_.client, *snapshot.root);
  auto written = root.WriteMarks(std::move(marks), kMarksTimeout);
  if (!written) {
    const bool conflict = written.error().failure == ApiFailure::kConflict;
    BackToWatching(snapshot, conflict ? Refusal::kConflict : Refusal::kUnknown,
                   written.error().message);
    return Outcome::kSpared;
  }
  tools_.metrics.SetPhase(ToString(Phase::kCondemned));
  announcer_.Condemned(snapshot, decision, abandonment);
  return CarryThrough(me, snapshot.OwnerIdentity(), stop);
}

Reaper::Outcome Reaper::Resume(const WatcherId& me, const Snapshot& snapshot, const Marks& marks) {
  if (marks_to_take_off_) {
    marks_to_take_off_ = !TakeMarksOff(me, snapshot);
    return Outcome::kSpared;
  }
  tools_.log.warn("resuming the deletion of cluster {}", snapshot.cluster->name);
  if (!marks.deletes_begun) return CarryThrough(me, "", {});
  const std::string since = marks.deleting_since ? FormatTime(*marks.deleting_since) : "earlier";
  Progress progress{marks.steps_done, false};
  return Delete({snapshot, marks, "what was begun " + since + " goes on (" + marks.reason + ")"},
                progress)
      .value_or(Outcome::kSpared);
}

std::optional<Marks> Reaper::TakeOver(const WatcherId& me, const Snapshot& snapshot) {
  MasterRoot root(tools_.client, *snapshot.root);
  auto written = root.WriteMarks({{annotation::kCondemnedBy, me.ToText()}}, kMarksTimeout);
  if (!written) {
    warn_once_("the deletion that " + snapshot.marks.condemned_by.ToText() +
               " began can't be taken over: " + written.error().message);
    return std::nullopt;
  }
  marks_to_take_off_ = false;
  announcer_.TakenOver(snapshot, snapshot.marks);
  Marks marks = snapshot.marks;
  marks.condemned_by = me;
  return marks;
}

void Reaper::BackToWatching(const Snapshot& snapshot, std::optional<Refusal> refusal,
                            const std::string& detail, const Decision* decision) {
  ShowWatching(refusal);
  announcer_.Spared(snapshot, refusal, detail, decision);
}

void Reaper::ShowWatching(std::optional<Refusal> refusal) {
  if (refusal) tools_.metrics.Refused(ToString(*refusal));
  tools_.metrics.SetPhase(ToString(Phase::kWatching));
  tools_.metrics.SetMembers(0, 0);
  tools_.metrics.SetDeletionDuration({});
  tools_.metrics.SetDeletionDeadline(std::nullopt);
  tools_.metrics.SetDeletionDue(std::nullopt);
  tools_.metrics.SetConfirmations(0);
}

// The other watcher tells people how it ends.
Reaper::Outcome Reaper::Overtaken() {
  tools_.log.warn("another watcher has taken the deletion over");
  ShowWatching(Refusal::kConflict);
  return Outcome::kOvertaken;
}

Reaper::Outcome Reaper::CarryThrough(const WatcherId& me, const std::string& owner_identity,
                                     std::stop_token stop) {
  Progress progress;
  for (;;) {
    auto condemned = LastLook(me, owner_identity, stop);
    if (!condemned) return condemned.error();
    stop = {};  // there is no return
    progress.steps_done.merge(std::set<std::string>(condemned->marks.steps_done));
    // Steps take their time, and meanwhile the cluster, still whole, may be in use again.
    if (RunStepsBefore(*condemned, progress)) continue;
    if (auto outcome = Delete(*condemned, progress)) return *outcome;
    tools_.log.warn("the first delete could not be sent in time: looking again");
  }
}

std::optional<Reaper::Doubt> Reaper::FindDoubt(const WatcherId& me,
                                               const std::string& owner_identity,
                                               const JudgedLook& look) {
  const Snapshot& snapshot = look.snapshot;
  const Marks& marks = snapshot.marks;
  if (!look.decision.abandoned())
    return Doubt{RefusalOf(look.decision.reason), look.decision.detail};
  const bool same_owner = owner_identity.empty() ? marks.owner && snapshot.seen &&
                                                       marks.owner->uid == snapshot.seen->uid
                                                 : snapshot.OwnerIdentity() == owner_identity;
  if (!same_owner) {
    return Doubt{Refusal::kOwnerBack, snapshot.seen ? "the owner is another one now"
                                                    : "it isn't written whose deletion was begun"};
  }
  if (snapshot.root->meta.deleting) {
    return Doubt{Refusal::kConflict, "the master root is being deleted by another's hand"};
  }
  const bool overtaken = marks.phase == Phase::kDeleting && marks.condemned_by != me;
  if (!overtaken && (marks.condemned_by != me || marks.phase == Phase::kWatching)) {
    return Doubt{Refusal::kConflict, "the marks on the master root no longer name us"};
  }
  return std::nullopt;
}

Result<DeletionOrder, Reaper::Outcome> Reaper::LastLook(const WatcherId& me,
                                                        const std::string& owner_identity,
                                                        std::stop_token stop) {
  const auto spare = [&](const JudgedLook& look, const Doubt& doubt) {
    marks_to_take_off_ = !TakeMarksOff(me, look.snapshot);
    if (marks_to_take_off_) tools_.log.warn("the marks could not be taken off yet");
    BackToWatching(look.snapshot, doubt.refusal, doubt.detail,
                   look.decision.abandoned() ? nullptr : &look.decision);
    return Unexpected{Outcome::kSpared};
  };
  JudgedLook look;
  for (int attempt = 0; attempt < kMostLastLooks && !stop.stop_requested(); ++attempt) {
    tools_.turn({});
    if (attempt > 0) {
      const Duration asked = std::min(tools_.client.TakeRetryAfter(), kLongestAskedWait);
      tools_.clock.WaitUntil(tools_.clock.Now() + std::max(Backoff(attempt), asked), stop);
    }
    look = LookAndDecide(observer_, stop);
    if (stop.stop_requested()) break;
    if (auto doubt = FindDoubt(me, owner_identity, look)) return spare(look, *doubt);
    const Snapshot& snapshot = look.snapshot;
    if (snapshot.marks.condemned_by != me) return Unexpected{Overtaken()};
    const auto age = std::chrono::duration_cast<Duration>(tools_.clock.Now() - snapshot.began);
    if (age >= kFreshEvidence) {
      tools_.log.info("the last look took {} and is repeated", FormatDuration(age));
      continue;
    }
    Marks marks = snapshot.marks;
    marks.phase = Phase::kDeleting;
    marks.reason = ToString(look.decision.reason);
    marks.deletes_begun = false;  // if that was written in vain, nothing was deleted
    AnnotationChanges changes = CondemnedMarks(me, look.decision.reason, marks.phase);
    changes[annotation::kDeletesBegun] = std::nullopt;
    if (!marks.deleting_since) {
      marks.deleting_since = ServerNow(snapshot, tools_.clock);
      changes[annotation::kDeletingSince] = FormatTime(*marks.deleting_since);
    }
    MasterRoot root(tools_.client, *snapshot.root);
    auto written = root.WriteMarks(std::move(changes), kFreshEvidence - age);
    if (written) {
      return DeletionOrder{std::move(look.snapshot), std::move(marks), look.decision.detail};
    }
    if (!IsTransient(written.error().failure)) {
      return spare(look, {Refusal::kConflict, written.error().message});
    }
    tools_.log.info("the last look is repeated: {}", written.error().message);
  }
  // Marks that can't be written stay, and are taken off when they are seen again. If the watcher is
  // told to stop, the next one does that (RivalWatchers).
  if (!stop.stop_requested()) {
    marks_to_take_off_ = true;
    BackToWatching(look.snapshot, Refusal::kConflict,
                   "the point of no return could not be written in time");
  }
  return Unexpected{Outcome::kSpared};
}

bool Reaper::TakeMarksOff(const WatcherId& me, const Snapshot& snapshot) {
  if (!snapshot.root) return false;
  MasterRoot root(tools_.client, *snapshot.root);
  for (int attempt = 0; attempt < kMostMarksOff; ++attempt) {
    if (root.marks().condemned_by != me) return true;
    auto written = root.WriteMarks(WithoutProtocolMarks(), kMarksTimeout);
    if (written) return true;
    warn_once_("marks: " + written.error().message);
    // Controllers write status all the time.
    if (written.error().failure != ApiFailure::kConflict) return false;
    const RootState state = root.Read();
    if (state != RootState::kOurs && state != RootState::kTerminating) return false;
  }
  return false;
}

bool Reaper::RunStepsBefore(const DeletionOrder& condemned, Progress& progress) {
  const std::vector<Step>& steps = condemned.look.steps.before;
  if (!AnyToRun(steps, kBefore, progress.steps_done)) return false;
  AnnounceDeletion(condemned, progress);
  const Duration age = DeletionAge(condemned.marks, condemned.look, tools_.clock);
  RunSteps(steps, kBefore, condemned,
           std::min(tools_.settings->steps_deadline, tools_.settings->delete_deadline - age),
           progress);
  return true;
}

bool Reaper::RunStepsAfter(const DeletionOrder& condemned, Progress& progress) {
  const std::vector<Step>& steps = condemned.look.steps.after;
  if (!AnyToRun(steps, kAfter, progress.steps_done)) return false;
  RunSteps(steps, kAfter, condemned, tools_.settings->steps_deadline, progress);
  return true;
}

void Reaper::RunSteps(const std::vector<Step>& steps, const char* prefix,
                      const DeletionOrder& condemned, Duration allowed, Progress& progress) {
  const auto troubles = steps_.Run(steps, prefix, allowed, progress.steps_done,
                                   [&] { MarkStepsDone(condemned, progress); });
  // What there was no time for isn't run later either.
  for (const Step& step : steps) progress.steps_done.insert(StepId(prefix, step));
  if (!troubles.empty()) {
    announcer_.Trouble(condemned.look, "RunningSteps",
                       std::string(prefix) + " steps: " + Joined(troubles));
  }
}

// So that a watcher that resumes doesn't run them again. A few attempts: a step that is run twice
// is better than a deletion that waits.
void Reaper::MarkStepsDone(const DeletionOrder& condemned, const Progress& progress) {
  MasterRoot root(tools_.client, *condemned.look.root);
  for (int attempt = 0; attempt < kMostStepMarks; ++attempt) {
    tools_.turn({});
    const RootState state = root.Read({}, kStepMarkTimeout);
    if (state == RootState::kReplaced) return;
    if (state == RootState::kOurs || state == RootState::kTerminating) {
      if (root.marks().condemned_by != condemned.marks.condemned_by) return;
      if (root.WriteMarks({{annotation::kStepsDone, StepsMark(progress.steps_done)}},
                          kStepMarkTimeout)) {
        return;
      }
    }
    tools_.clock.WaitUntil(tools_.clock.Now() + Backoff(attempt), {});
  }
  tools_.log.warn("the steps that are done could not be marked");
}

void Reaper::AnnounceDeletion(const DeletionOrder& condemned, Progress& progress) {
  tools_.metrics.SetPhase(ToString(Phase::kDeleting));
  tools_.metrics.SetDeletionDeadline(tools_.clock.WallNow() + tools_.settings->delete_deadline -
                                     DeletionAge(condemned.marks, condemned.look, tools_.clock));
  if (progress.announced) return;
  progress.announced = true;
  announcer_.Deleting(condemned.look, condemned.marks, condemned.why);
}

std::optional<Reaper::Outcome> Reaper::Delete(const DeletionOrder& condemned, Progress& progress) {
  AnnounceDeletion(condemned, progress);
  const MonotonicTime began =
      tools_.clock.Now() - DeletionAge(condemned.marks, condemned.look, tools_.clock);
  const MonotonicTime deadline = began + tools_.settings->delete_deadline;
  Deletion deletion(tools_, condemned, began);
  Deletion::Outcome outcome = deletion.DeleteMembers(deadline);
  if (outcome == Deletion::Outcome::kStale) return std::nullopt;
  if (outcome == Deletion::Outcome::kDone && !deletion.overdue().empty()) {
    announcer_.Trouble(condemned.look, "Overdue",
                       "its deadline has passed; " + Joined(deletion.overdue()));
  }
  if (outcome == Deletion::Outcome::kDone && RunStepsAfter(condemned, progress)) {
    // Meanwhile something may have been made again, even the master root.
    outcome = deletion.DeleteMembers(deadline);
  }
  if (outcome != Deletion::Outcome::kDone) return Stop(outcome, condemned, deletion);
  outcome = deletion.DeleteRoot();
  if (outcome == Deletion::Outcome::kOvertaken) return Overtaken();
  TellEnd(deletion, condemned, began);
  if (outcome == Deletion::Outcome::kReplaced) {
    // Somebody's new cluster: it is watched over from now on.
    tools_.log.warn("another object has the master root's name");
    ShowWatching(Refusal::kUidChanged);
    return Outcome::kSpared;
  }
  return Outcome::kDone;
}

// A deletion that ends before its members are gone.
Reaper::Outcome Reaper::Stop(Deletion::Outcome why, const DeletionOrder& condemned,
                             const Deletion& deletion) {
  if (why == Deletion::Outcome::kOvertaken) return Overtaken();
  const bool replaced = why == Deletion::Outcome::kReplaced;
  const std::string deletes = deletion.Report().DeletesText();
  BackToWatching(condemned.look, replaced ? Refusal::kUidChanged : Refusal::kConflict,
                 std::string("its deletion ends here: ") +
                     (replaced ? "another object has the master root's name"
                               : "the marks on the master root were taken off, or it is being "
                                 "deleted") +
                     (deletes.empty() ? "" : "; " + deletes));
  return Outcome::kSpared;
}

void Reaper::TellEnd(const Deletion& deletion, const DeletionOrder& condemned,
                     MonotonicTime began) {
  DeletionReport report = deletion.Report();
  report.took = std::chrono::duration_cast<Duration>(tools_.clock.Now() - began);
  {
    // Before people are told, which may take a while.
    const auto together = tools_.metrics.Together();
    tools_.metrics.SetDeletionDuration(report.took);
    tools_.metrics.SetDeletionDeadline(std::nullopt);
    tools_.metrics.SetDeletionDue(std::nullopt);
    tools_.metrics.SetConfirmations(0);
    tools_.metrics.SetPhase(ToString(Phase::kDone));
  }
  announcer_.Deleted(condemned.look, condemned.marks.reason, report);
}

bool Reaper::FinishOnTermination() {
  const auto look_and_decide = [this]() -> std::optional<JudgedLook> {
    auto snapshot = observer_.TerminationLook();
    if (!snapshot) return std::nullopt;
    Decision decision = DecideWithOthers(observer_, *snapshot, {});
    if (!decision.abandoned()) return std::nullopt;
    return JudgedLook{*std::move(snapshot), std::move(decision)};
  };
  auto judged = look_and_decide();
  if (!judged) return false;
  const Decision& decision = judged->decision;
  const MonotonicTime began = tools_.clock.Now();
  const Duration allowed = tools_.settings->delete_deadline;
  tools_.log.warn("the master root is being taken down and the driver is gone");
  {
    const auto together = tools_.metrics.Together();
    const Snapshot& look = judged->snapshot;
    tools_.metrics.Polled(look.facts.ObservationText(), look.ended - look.began,
                          tools_.clock.WallNow());
    tools_.metrics.SetVerdict(decision.verdict(), ToString(decision.reason));
    tools_.metrics.SetPhase(ToString(Phase::kDeleting));
    tools_.metrics.SetDeletionDeadline(tools_.clock.WallNow() + allowed);
  }
  Marks marks = judged->snapshot.marks;
  marks.reason = ToString(decision.reason);
  const DeletionOrder condemned{
      std::move(judged->snapshot), std::move(marks),
      "it is taken down by hand and its driver is gone: " + decision.detail};
  // There may be two seconds left in all: people are told once the first deletes are sent.
  bool told = false;
  const auto tell = [&] {
    if (!told) announcer_.Deleting(condemned.look, condemned.marks, condemned.why);
    told = true;
  };
  Deletion deletion(tools_, condemned, began);
  const bool finished = deletion.FinishMembers(began + allowed, [&] {
    tell();
    return look_and_decide().has_value();
  });
  tell();
  if (!finished) {
    const char* why = "the members were not finished: that is not, or no longer, ours to do";
    tools_.log.warn("{}", why);
    announcer_.Trouble(condemned.look, "Stopping", why);
    return false;
  }
  TellEnd(deletion, condemned, began);
  return true;
}

void Reaper::Rehearse(const Snapshot& snapshot, const Decision& decision) {
  Deletion rehearsal(tools_, {snapshot, snapshot.marks, decision.detail}, tools_.clock.Now());
  announcer_.WouldDelete(snapshot, decision, rehearsal.Rehearse());
}

}  // namespace cluster_watcher

#include "watcher/deletion/reaper.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "probes/base/duration_text.h"
#include "probes/base/names.h"
#include "probes/base/time_text.h"
#include "watcher/deletion/half_proof.h"
#include "watcher/protocol/member_annotations.h"

namespace cluster_watcher {
namespace {

// Controllers write status all the time, so a conflict is nothing unusual.
constexpr int kMostLastLooks = 20;
constexpr int kMostCondemnations = 3;
constexpr Duration kBetweenLooks{10};  // doubled each time
constexpr int kMostDoublings = 5;
constexpr Duration kLongestAskedWait{20'000};
// What steps are called in marks and logs: as their annotations.
constexpr const char* kBefore = annotation::kBeforeDelete + std::size(annotation::kPrefix) - 1;
constexpr const char* kAfter = annotation::kAfterDelete + std::size(annotation::kPrefix) - 1;
constexpr int kMostStepMarks = 5;
constexpr Duration kStepMarkTimeout{2'000};
constexpr int kMostMarksOff = 5;

constexpr const char* kRootIsKept = "the master root is annotated cluster-watcher/keep";

AnnotationChanges CondemnedMarks(const WatcherId& me, Reason reason, Phase phase) {
  return {{annotation::kPhase, ToString(phase)},
          {annotation::kReason, ToString(reason)},
          {annotation::kCondemnedBy, me.ToText()}};
}

Duration Backoff(int attempt) { return kBetweenLooks * (1 << std::min(attempt, kMostDoublings)); }
// After a round that came to nothing: up to 5 s.
Duration LongBackoff(int round) { return kBetweenLooks * (1 << std::min(round + 5, 9)); }

constexpr const char* kNotAllDeleted = "not all of it could be deleted by the deadline";
constexpr const char* kNothingDeleted = "nothing of it could be deleted by the deadline";

}  // namespace

Reaper::Reaper(const Tools& tools, Observer& observer, Announcer& announcer, Dial dial,
               StepsAt steps_at)
    : tools_(tools),
      observer_(observer),
      announcer_(announcer),
      warn_once_(tools.log),
      steps_(std::move(dial), steps_at, tools.clock, tools.metrics, tools.log, tools.turn) {}

Reaper::Outcome Reaper::Condemn(const WatcherId& me, const Snapshot& snapshot,
                                const Decision& decision, const Abandonment& abandonment,
                                std::stop_token stop) {
  tools_.turn({});
  marks_to_take_off_ = false;
  refused_by_policy_ = false;
  given_up_.clear();
  held_ = false;
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
  auto written = root.WriteMarks(marks, kMarksTimeout);
  // Else what fails in passing would cost another grace period.
  for (int attempt = 1; attempt < kMostCondemnations && !written && written.error().in_passing &&
                        !stop.stop_requested();
       ++attempt) {
    Wait(Backoff(attempt), stop);
    written = root.WriteMarks(marks, kMarksTimeout);
  }
  if (!written) {
    const bool conflict = written.error().failure == ApiFailure::kConflict;
    BackToWatching(snapshot,
                   NotePolicy(written.error(), conflict ? Refusal::kConflict : Refusal::kUnknown),
                   written.error().message);
    return Outcome::kSpared;
  }
  tools_.metrics.SetPhase(ToString(Phase::kCondemned));
  announcer_.Condemned(snapshot, decision, abandonment);
  return CarryThrough(
      {me, snapshot.OwnerIdentity(), decision.reason == Reason::kAsked, *snapshot.root}, {}, stop);
}

Refusal Reaper::NotePolicy(const ApiError& error, Refusal otherwise) {
  refused_by_policy_ = !error.policy.empty();
  return refused_by_policy_ && !IsOfGuard(error.policy) ? Refusal::kHold : otherwise;
}

Reaper::Outcome Reaper::Resume(const WatcherId& me, const Snapshot& snapshot) {
  Marks marks = snapshot.marks;
  const bool own = marks.condemned_by == me;
  given_up_.clear();
  // It may have been held before this watcher was restarted.
  const bool begins = own && marks.deletes_begun && !std::exchange(resumed_, true);
  refused_by_policy_ = (held_ || begins) && IsHeldByPolicy(me, snapshot);
  if (refused_by_policy_) return Outcome::kSpared;
  if (own && marks_to_take_off_) {
    marks_to_take_off_ = !TakeMarksOff(me, snapshot);
    return Outcome::kSpared;
  }
  const HalfProof proof = ProveHalf(tools_, warn_once_, *snapshot.cluster, snapshot.root->meta.uid,
                                    marks, ServerNow(snapshot, tools_.clock));
  if (proof.wholeness == Wholeness::kUnknown) return Outcome::kSpared;
  // The marks of a member may be of a deletion that ended where the cluster was made anew.
  const bool half = proof.wholeness == Wholeness::kHalf && !snapshot.root_is_stand_in;
  if (marks.deletes_begun) announcer_.Resuming();
  const auto asked = IsAskedFor(marks) ? IsStillAsked(tools_, warn_once_, *snapshot.cluster,
                                                      snapshot.root->meta.uid, marks,
                                                      ServerNow(snapshot, tools_.clock))
                                       : std::optional(false);
  if (!asked) return Outcome::kSpared;
  if (IsKept(snapshot.root->meta) && !*asked) {
    return EndWithRoot(marks.condemned_by, snapshot, Refusal::kHold, kRootIsKept, proof.gone);
  }
  if (!own || held_ || (marks.deletes_begun && !half)) {
    auto taken = TakeOver(me, snapshot, half);
    if (!taken) return Outcome::kSpared;
    marks = *std::move(taken);
  }
  tools_.log.warn("resuming the deletion of cluster {}", snapshot.cluster->name);
  Progress progress;
  progress.steps_done = marks.steps_done;
  progress.gone = proof.gone;
  if (!half) return CarryThrough({me, "", *asked, *snapshot.root}, std::move(progress), {});
  DeletionOrder order{snapshot, marks, "what was begun goes on (" + marks.reason + ")"};
  // The marks may be this watcher's only now, and it takes off no other's.
  order.look.root->meta.common.Edit().annotations[annotation::kCondemnedBy] = me.ToText();
  Deletion deletion(tools_, order, BeganAt(order, progress));
  return Finish(order, deletion, progress).value_or(Outcome::kSpared);
}

// What the brake does not refuse is to write the deletion's age anew: the time under it doesn't
// count, also for a watcher that is restarted.
bool Reaper::IsHeldByPolicy(const WatcherId& me, const Snapshot& snapshot) {
  MasterRoot root(tools_.client, *snapshot.root);
  const auto policy = root.PolicyAgainstMarks();
  if (!policy || IsOfGuard(*policy)) return false;
  const bool is_new = !std::exchange(held_, true);
  const Marks& marks = snapshot.marks;
  const WallTime now = ServerNow(snapshot, tools_.clock);
  const bool is_old =
      marks.deleting_since && now - *marks.deleting_since >= tools_.settings->delete_deadline / 2;
  const bool renews = is_old && marks.condemned_by == me && marks.deletes_begun;
  if (!is_new && !renews) return true;
  const HalfProof proof =
      ProveHalf(tools_, warn_once_, *snapshot.cluster, snapshot.root->meta.uid, marks, now);
  if (is_new) BackToWatching(snapshot, Refusal::kHold, *policy + WhatIsGone(proof.gone));
  // What was made since could not be told any more.
  if (renews && proof.wholeness == Wholeness::kHalf && proof.is_sure) {
    auto written = root.WriteMarks({{annotation::kDeletingSince, FormatTime(now)}}, kMarksTimeout);
    if (!written) warn_once_(written.error().message);
  }
  return true;
}

std::optional<Marks> Reaper::TakeOver(const WatcherId& me, const Snapshot& snapshot, bool is_half) {
  Marks marks = snapshot.marks;
  const WatcherId before = std::exchange(marks.condemned_by, me);
  AnnotationChanges changes = {{annotation::kCondemnedBy, me.ToText()}};
  if (is_half) {
    marks.deleting_since = ServerNow(snapshot, tools_.clock);
    changes[annotation::kDeletingSince] = FormatTime(*marks.deleting_since);
  } else {
    // What can't be proven is judged again, also by whoever comes after a crash.
    marks.deletes_begun = false;
    marks.first_deletes.clear();
    changes[annotation::kDeletesBegun] = std::nullopt;
    changes[annotation::kFirstDeletes] = std::nullopt;
  }
  MasterRoot root(tools_.client, *snapshot.root);
  auto written = root.WriteMarks(changes, kMarksTimeout);
  if (!written) {
    if (NotePolicy(written.error(), Refusal::kConflict) == Refusal::kHold) held_ = true;
    warn_once_("the deletion that " + before.ToText() +
               " began can't be taken over: " + written.error().message);
    return std::nullopt;
  }
  marks_to_take_off_ = false;
  held_ = false;
  if (before != me) announcer_.TakenOver(snapshot, snapshot.marks);
  return marks;
}

Reaper::Outcome Reaper::EndWithRoot(const WatcherId& me, const Snapshot& snapshot, Refusal refusal,
                                    const std::string& why, const std::vector<std::string>& gone) {
  marks_to_take_off_ = !TakeMarksOff(me, snapshot);
  BackToWatching(snapshot, refusal, why + WhatIsGone(gone));
  return Outcome::kSpared;
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

Reaper::Outcome Reaper::CarryThrough(const Case& of, Progress progress, std::stop_token stop) {
  for (;;) {
    auto condemned = LastLook(of, progress, nullptr, stop);
    if (!condemned) return condemned.error();
    stop = {};  // there is no return
    // Rounds that come to nothing, as where all members are stuck already, end at the deadline.
    if (!progress.began || progress.fruitless == 0) progress.began = tools_.clock.Now();
    progress.steps_done.merge(std::set<std::string>(condemned->marks.steps_done));
    AnnounceDeletion(*condemned, progress);
    if (AreStepsHeld(*condemned, progress)) return Outcome::kSpared;
    // Steps take their time, and meanwhile the cluster, still whole, may be in use again.
    if (RunStepsBefore(*condemned, progress)) continue;
    if (auto outcome = BeginAndFinish(of, *condemned, progress)) return *outcome;
    if (GivesUp(progress)) return GiveUp(*condemned, progress);
    tools_.log.warn("no delete was accepted in time: looking again");
    Wait(LongBackoff(progress.fruitless++), {});
    if (!progress.any_open) continue;
    if (auto outcome = GoOnIfHalf(*condemned, progress)) return *outcome;
  }
}

// A delete whose answer was lost may have been carried out. The root alone tells, not a whole look:
// our own pod may be gone, which would be a look's problem for ever.
std::optional<Reaper::Outcome> Reaper::GoOnIfHalf(const DeletionOrder& condemned,
                                                  Progress& progress) {
  MasterRoot root(tools_.client, *condemned.look.root);
  for (int attempt = 0;; ++attempt) {
    tools_.turn({});
    const RootState state = root.Read(RepeatedReads(tools_));
    // What else it may be is told by the next last look.
    if (state == RootState::kGone || state == RootState::kReplaced) return std::nullopt;
    if (state != RootState::kUnknown) {
      const Marks marks = root.marks();
      const WatcherId& me = condemned.marks.condemned_by;
      if (marks.condemned_by != me || marks.phase != Phase::kDeleting) return std::nullopt;
      const HalfProof proof =
          ProveHalf(tools_, warn_once_, *condemned.look.cluster, root.object().meta.uid, marks,
                    ServerNow(condemned.look, tools_.clock));
      progress.gone = proof.gone;
      if (proof.wholeness == Wholeness::kMayWhole) return std::nullopt;
      if (proof.wholeness == Wholeness::kHalf) {
        const DeletionOrder order{condemned.look, marks, condemned.why};
        Deletion deletion(tools_, order, BeganAt(order, progress));
        return Finish(order, deletion, progress);
      }
    } else {
      warn_once_(root.problem().message);
    }
    if (GivesUp(progress)) return GiveUp(condemned, progress);
    Wait(LongBackoff(attempt), {});
  }
}

bool Reaper::GivesUp(const Progress& progress) const {
  return tools_.gives_up && progress.began &&
         tools_.clock.Now() - *progress.began >= tools_.settings->delete_deadline;
}

Reaper::Outcome Reaper::GiveUp(const DeletionOrder& condemned, const Progress& progress) {
  given_up_ = progress.any_open ? kNotAllDeleted : kNothingDeleted;
  if (progress.any_open) return Outcome::kSpared;
  marks_to_take_off_ = !TakeMarksOff(condemned.marks.condemned_by, condemned.look);
  BackToWatching(condemned.look, Refusal::kConflict, given_up_ + WhatIsGone(progress.gone));
  return Outcome::kSpared;
}

std::optional<Reaper::Doubt> Reaper::FindDoubt(const Case& of, const JudgedLook& look) {
  const Snapshot& snapshot = look.snapshot;
  const Marks& marks = snapshot.marks;
  if (!look.decision.abandoned())
    return Doubt{RefusalOf(look.decision.reason), look.decision.detail};
  const bool same_owner =
      of.is_asked || (of.owner_identity.empty()
                          ? marks.owner && snapshot.seen && marks.owner->uid == snapshot.seen->uid
                          : snapshot.OwnerIdentity() == of.owner_identity);
  if (!same_owner) {
    return Doubt{Refusal::kOwnerBack, snapshot.seen ? "the owner is another one now"
                                                    : "it isn't written whose deletion was begun"};
  }
  if (snapshot.root->meta.deleting) {
    return Doubt{Refusal::kConflict, "the master root is being deleted by another's hand"};
  }
  const bool is_ours = snapshot.pod && snapshot.pod->meta.uid == of.me.uid;
  if (is_ours && snapshot.IsPodTerminating()) {
    return Doubt{Refusal::kConflict, "the watcher's own pod is being deleted"};
  }
  const bool overtaken = marks.phase == Phase::kDeleting && marks.condemned_by != of.me;
  if (!overtaken && (marks.condemned_by != of.me || marks.phase == Phase::kWatching)) {
    return Doubt{Refusal::kConflict, "the marks on the master root no longer name us"};
  }
  return std::nullopt;
}

JudgedLook Reaper::LookAt(const Case& of, const std::stop_token& stop) {
  if (!of.is_asked) return LookAndDecide(observer_, stop);
  Snapshot snapshot = observer_.SureLook(stop);
  Decision decision = snapshot.root ? AskedFor() : Decide(snapshot.facts);
  return {std::move(snapshot), std::move(decision)};
}

Result<DeletionOrder, Reaper::Outcome> Reaper::LastLook(const Case& of, const Progress& progress,
                                                        const std::vector<FirstDelete>* first,
                                                        std::stop_token stop) {
  const auto spare = [&](const JudgedLook& look, const Doubt& doubt) {
    marks_to_take_off_ = !TakeMarksOff(of, look.snapshot);
    if (marks_to_take_off_) tools_.log.warn("the marks could not be taken off yet");
    BackToWatching(look.snapshot, doubt.refusal, doubt.detail + WhatIsGone(progress.gone),
                   look.decision.abandoned() || !progress.gone.empty() ? nullptr : &look.decision);
    return Unexpected{Outcome::kSpared};
  };
  JudgedLook look;
  for (int attempt = 0; attempt < kMostLastLooks && !stop.stop_requested(); ++attempt) {
    tools_.turn({});
    if (attempt > 0) Wait(Backoff(attempt), stop);
    look = LookAt(of, stop);
    if (stop.stop_requested()) break;
    if (auto doubt = FindDoubt(of, look)) return spare(look, *doubt);
    const Snapshot& snapshot = look.snapshot;
    if (snapshot.marks.condemned_by != of.me) return Unexpected{Overtaken()};
    const Duration age = snapshot.EvidenceAge(tools_.clock, tools_.client);
    if (age >= kFreshEvidence) {
      tools_.log.info("the evidence of the last look is {} old: looking again",
                      FormatDuration(age));
      continue;
    }
    Marks marks = snapshot.marks;
    marks.phase = Phase::kDeleting;
    marks.reason = ToString(look.decision.reason);
    AnnotationChanges changes = CondemnedMarks(of.me, look.decision.reason, marks.phase);
    marks.deletes_begun = first != nullptr;
    marks.first_deletes = first != nullptr ? *first : std::vector<FirstDelete>();
    changes[annotation::kDeletesBegun] = first ? std::optional("true") : std::nullopt;
    changes[annotation::kFirstDeletes] =
        first != nullptr ? std::optional(FirstDeletesMark(*first)) : std::nullopt;
    const bool anew = first == nullptr && progress.fruitless == 0;
    if (anew || !marks.deleting_since) {
      marks.deleting_since = ServerNow(snapshot, tools_.clock);
      changes[annotation::kDeletingSince] = FormatTime(*marks.deleting_since);
    }
    MasterRoot root(tools_.client, *snapshot.root);
    // To write may take its time, and the machine may be suspended.
    const auto is_fresh = [&] {
      return snapshot.EvidenceAge(tools_.clock, tools_.client) < kFreshEvidence;
    };
    auto written =
        root.WriteMarks(changes, kFreshEvidence - age,
                        Patience::While([&] { return !stop.stop_requested() && is_fresh(); }));
    if (written && !is_fresh()) {
      tools_.log.info("the evidence is older than what was written on it: looking again");
      continue;
    }
    if (written) {
      return DeletionOrder{std::move(look.snapshot), std::move(marks), look.decision.detail};
    }
    if (!IsTransient(written.error().failure)) {
      return spare(look,
                   {NotePolicy(written.error(), Refusal::kConflict), written.error().message});
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

void Reaper::Wait(Duration backoff, const std::stop_token& stop) {
  const Duration asked = std::min(tools_.client.TakeRetryAfter(), kLongestAskedWait);
  tools_.clock.WaitUntil(tools_.clock.Now() + std::max(backoff, asked), stop);
}

bool Reaper::TakeMarksOff(const Case& of, const Snapshot& snapshot) {
  if (snapshot.root && snapshot.root->meta.uid == of.root.meta.uid) {
    return TakeMarksOff(of.me, snapshot);
  }
  // The look has found another root, or none.
  MasterRoot root(tools_.client, of.root);
  const RootState state = root.Read({}, kMarksTimeout);
  if (state == RootState::kGone || state == RootState::kReplaced) return true;
  if (state == RootState::kUnknown) return false;
  Snapshot condemned;
  condemned.root = root.object();
  return TakeMarksOff(of.me, condemned);
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

void Reaper::TakeCondemnationOff(const WatcherId& me, const KubeObject& root) {
  MasterRoot now(tools_.client, root);
  const RootState state = now.Read({}, kMarksTimeout);
  if (state != RootState::kOurs || now.marks().phase != Phase::kCondemned) return;
  Snapshot look;
  look.root = now.object();
  TakeMarksOff(me, look);
}

bool Reaper::AnyToRun(const std::vector<Step>& steps, const char* prefix,
                      const Progress& progress) const {
  if (steps_.at() == StepsAt::kNowhere) return false;
  return std::any_of(steps.begin(), steps.end(), [&](const Step& step) {
    return !progress.steps_done.contains(StepId(prefix, step));
  });
}

// Marks that are there already are written again under a brake.
bool Reaper::AreStepsHeld(const DeletionOrder& condemned, const Progress& progress) {
  if (!AnyToRun(condemned.look.steps.before, kBefore, progress)) return false;
  const auto policy = MasterRoot(tools_.client, *condemned.look.root).PolicyAgainstMarks();
  if (!policy || IsOfGuard(*policy)) return false;
  refused_by_policy_ = held_ = true;
  BackToWatching(condemned.look, Refusal::kHold, *policy + WhatIsGone(progress.gone));
  return true;
}

bool Reaper::RunStepsBefore(const DeletionOrder& condemned, Progress& progress) {
  const std::vector<Step>& steps = condemned.look.steps.before;
  if (!AnyToRun(steps, kBefore, progress)) return false;
  const auto left =
      BeganAt(condemned, progress) + tools_.settings->delete_deadline - tools_.clock.Now();
  RunSteps(steps, kBefore, condemned,
           std::min(tools_.settings->steps_deadline, std::chrono::duration_cast<Duration>(left)),
           progress);
  return true;
}

bool Reaper::RunStepsAfter(const DeletionOrder& condemned, Progress& progress) {
  const std::vector<Step>& steps = condemned.look.steps.after;
  if (!AnyToRun(steps, kAfter, progress)) return false;
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
    if (state == RootState::kReplaced || state == RootState::kGone) return;
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

MonotonicTime Reaper::BeganAt(const DeletionOrder& condemned, const Progress& progress) const {
  if (progress.began) return *progress.began;
  return tools_.clock.Now() - DeletionAge(condemned.marks, condemned.look, tools_.clock);
}

void Reaper::AnnounceDeletion(const DeletionOrder& condemned, Progress& progress) {
  tools_.metrics.SetPhase(ToString(Phase::kDeleting));
  const auto age =
      std::chrono::duration_cast<Duration>(tools_.clock.Now() - BeganAt(condemned, progress));
  tools_.metrics.SetDeletionDeadline(tools_.clock.WallNow() + tools_.settings->delete_deadline -
                                     age);
  if (progress.announced) return;
  progress.announced = true;
  announcer_.Deleting(condemned.look, condemned.marks, condemned.why);
}

std::optional<Reaper::Outcome> Reaper::BeginAndFinish(const Case& of,
                                                      const DeletionOrder& condemned,
                                                      Progress& progress) {
  Deletion deletion(tools_, condemned, BeganAt(condemned, progress));
  if (!progress.tried) progress.tried = tools_.clock.Now();
  if (!deletion.Prepare(*progress.tried, progress.fruitless > 0)) {
    deletion.TakeBack();
    return std::nullopt;
  }
  auto begun = LastLook(of, progress, &deletion.first_deletes(), {});
  if (!begun) {
    deletion.TakeBack();
    return begun.error();
  }
  deletion.Begin(*begun);
  return Finish(*begun, deletion, progress);
}

std::optional<Reaper::Outcome> Reaper::Finish(const DeletionOrder& condemned, Deletion& deletion,
                                              Progress& progress) {
  AnnounceDeletion(condemned, progress);
  const MonotonicTime began = BeganAt(condemned, progress);
  const MonotonicTime deadline = began + tools_.settings->delete_deadline;
  Deletion::Outcome outcome = deletion.DeleteMembers(deadline);
  if (outcome == Deletion::Outcome::kDone && !deletion.overdue().empty()) {
    announcer_.Trouble(condemned.look, "Overdue",
                       "its deadline has passed; " + Joined(deletion.overdue()));
  }
  if (outcome == Deletion::Outcome::kDone && RunStepsAfter(condemned, progress)) {
    // Meanwhile something may have been made again, even the master root.
    outcome = deletion.DeleteMembers(deadline);
  }
  const bool members_are_gone = outcome == Deletion::Outcome::kDone;
  if (members_are_gone) outcome = deletion.DeleteRoot(deadline);
  const auto all_gone = [&] {
    std::vector<std::string> gone = progress.gone;
    const auto& deleted = deletion.first_deleted();
    gone.insert(gone.end(), deleted.begin(), deleted.end());
    return gone;
  };
  switch (outcome) {
    case Deletion::Outcome::kDone:
      TellEnd(deletion, condemned, began);
      return Outcome::kDone;
    case Deletion::Outcome::kStale:
      deletion.TakeBack();
      progress.any_open = progress.any_open || deletion.any_open();
      return std::nullopt;
    case Deletion::Outcome::kKept:
    case Deletion::Outcome::kRelabelled: {
      deletion.TakeBack();
      const bool is_kept = outcome == Deletion::Outcome::kKept;
      return EndWithRoot(condemned.marks.condemned_by, condemned.look,
                         is_kept ? Refusal::kHold : Refusal::kConflict,
                         is_kept ? kRootIsKept : "the master root is labelled with another cluster",
                         all_gone());
    }
    case Deletion::Outcome::kOtherMaster:
      marks_to_take_off_ = !TakeMarksOff(condemned.marks.condemned_by, condemned.look);
      BackToWatching(condemned.look, Refusal::kConflict,
                     std::string("its deletion ends here: ") +
                         (condemned.look.root_is_stand_in
                              ? "a master of the cluster"
                              : "the master root is taken down by another's hand, and another "
                                "master of the cluster") +
                         " is there" + WhatIsGone(deletion.first_deleted()));
      return Outcome::kSpared;
    case Deletion::Outcome::kOvertaken:
      return Overtaken();
    case Deletion::Outcome::kHeld:
      deletion.TakeBack();
      refused_by_policy_ = held_ = true;
      BackToWatching(condemned.look, Refusal::kHold, deletion.policy() + WhatIsGone(all_gone()));
      return Outcome::kSpared;
    case Deletion::Outcome::kGivenUp:
      if (deletion.IsWhole()) deletion.TakeBack();
      progress.any_open = progress.any_open || deletion.any_open() || !deletion.IsWhole();
      return GiveUp(condemned, progress);
    case Deletion::Outcome::kCalledOff:
      deletion.TakeBack();
      BackToWatching(condemned.look, Refusal::kConflict,
                     "its deletion ends here: the marks on the master root no longer name us" +
                         WhatIsGone(deletion.first_deleted()));
      return Outcome::kSpared;
    case Deletion::Outcome::kReplaced:
      // Somebody's new cluster: it is watched over from now on.
      if (members_are_gone) {
        TellEnd(deletion, condemned, began);
        tools_.log.warn("another object has the master root's name");
        ShowWatching(Refusal::kUidChanged);
      } else {
        const std::string deletes = deletion.Report().DeletesText();
        BackToWatching(condemned.look, Refusal::kUidChanged,
                       "its deletion ends here: another object has the master root's name" +
                           (deletes.empty() ? "" : "; " + deletes));
      }
      return Outcome::kSpared;
  }
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
  bool told_hold = false;
  const bool finished = deletion.FinishMembers(
      began + allowed,
      [&] {
        tell();
        const auto again = look_and_decide();
        return again ? std::optional(again->snapshot.evidence_since) : std::nullopt;
      },
      [&] {
        if (std::exchange(told_hold, true)) return;
        tools_.metrics.Refused(ToString(Refusal::kHold));
        announcer_.Trouble(condemned.look, "Stopping",
                           "its members can't be deleted as long as this holds, and stay if this "
                           "pod ends before: " +
                               deletion.policy());
      });
  if (finished || !deletion.first_deleted().empty()) tell();
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

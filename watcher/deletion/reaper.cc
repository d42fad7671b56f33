#include "watcher/deletion/reaper.h"

#include <algorithm>
#include <utility>

#include "probes/base/names.h"
#include "probes/base/time_text.h"
#include "watcher/deletion/deletion.h"
#include "watcher/deletion/pace.h"

namespace cluster_watcher {
namespace {

constexpr int kMostCondemnations = 3;
constexpr Duration kBetweenLooks{10};  // doubled each time
constexpr int kMostDoublings = 5;
constexpr int kMostMarksOff = 5;

// For people, after what else is said.
std::string WhatIsGone(const std::vector<std::string>& gone) {
  return gone.empty() ? "" : "; already deleted: " + Joined(gone);
}

}  // namespace

Duration Reaper::Backoff(int attempt) {
  return kBetweenLooks * (1 << std::min(attempt, kMostDoublings));
}
Duration Reaper::LongBackoff(int round) { return kBetweenLooks * (1 << std::min(round + 5, 9)); }

AnnotationChanges Reaper::CondemnedMarks(const WatcherId& me, Reason reason, Phase phase) {
  return {{annotation::kPhase, ToString(phase)},
          {annotation::kReason, ToString(reason)},
          {annotation::kCondemnedBy, me.ToText()}};
}

Reaper::Reaper(const Tools& tools, Observer& observer, Announcer& announcer, Dial dial,
               StepsAt steps_at)
    : tools_(tools),
      observer_(observer),
      announcer_(announcer),
      warn_once_(tools.log),
      steps_(tools_, announcer, std::move(dial), steps_at) {}

Reaper::Outcome Reaper::Condemn(const WatcherId& me, const Snapshot& snapshot,
                                const Decision& decision, const Abandonment& abandonment,
                                std::stop_token stop) {
  tools_.turn({});
  marks_to_take_off_ = false;
  refused_by_policy_ = false;
  given_up_.clear();
  AnnotationChanges marks = CondemnedMarks(me, decision.reason, Phase::kCondemned);
  // For whoever resumes it, also where no watcher has recorded the owner.
  marks.merge(snapshot.seen ? OwnerMarks(*snapshot.seen)
                            : AnnotationChanges{{annotation::kRecordedOwner, std::nullopt}});
  marks.merge(WithoutProtocolMarks());  // what an earlier one left
  MasterRoot root(tools_.client, *snapshot.root);
  auto written = root.WriteMarks(marks, kMarksTimeout);
  // A failure that passes must not cost another grace period.
  for (int attempt = 1; attempt < kMostCondemnations && !written &&
                        written.error().may_repeat_at_once && !stop.stop_requested();
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
  const bool is_asked = decision.reason == Reason::kAsked;
  steps_.Begin(snapshot.pod_says.steps, {});
  return CarryThrough({{me, snapshot.OwnerIdentity(), is_asked, false}, *snapshot.root}, stop);
}

Refusal Reaper::NotePolicy(const ApiError& error, Refusal otherwise) {
  refused_by_policy_ = !error.policy.empty();
  return refused_by_policy_ && !IsOfGuard(error.policy) ? Refusal::kHold : otherwise;
}

Reaper::Outcome Reaper::Resume(const WatcherId& me, const Snapshot& snapshot,
                               const std::stop_token& stop) {
  given_up_.clear();
  const bool own = snapshot.marks.condemned_by == me;
  if (own && marks_to_take_off_) {
    marks_to_take_off_ = !TakeMarksOff(me, *snapshot.root);
    return Outcome::kSpared;
  }
  const auto policy = MasterRoot(tools_.client, *snapshot.root).PolicyAgainstMarks(me);
  const bool was_refused = std::exchange(refused_by_policy_, policy && !IsOfGuard(*policy));
  if (refused_by_policy_) {
    if (!was_refused) BackToWatching(snapshot, Refusal::kHold, *policy);
    return Outcome::kSpared;
  }
  if (!own && !TakeOver(me, snapshot)) return Outcome::kSpared;
  // By then nothing is on its way that another, or this one before a restart, had sent.
  tools_.clock.WaitUntil(tools_.clock.Now() + kFreshEvidence, stop);
  announcer_.Resuming();
  tools_.log.warn("resuming the deletion of cluster {}", snapshot.cluster->name);
  steps_.Begin(snapshot.pod_says.steps, snapshot.marks.steps_done);
  return CarryThrough({{me, "", false, true}, *snapshot.root}, stop);
}

bool Reaper::TakeOver(const WatcherId& me, const Snapshot& snapshot) {
  // With a time of its own: to nobody else it is overdue then.
  const auto written =
      MasterRoot(tools_.client, *snapshot.root)
          .WriteMarks({{annotation::kCondemnedBy, me.ToText()},
                       {annotation::kDeletingSince, FormatTime(ServerNow(snapshot, tools_.clock))}},
                      kMarksTimeout);
  if (!written) {
    NotePolicy(written.error(), Refusal::kConflict);
    warn_once_("the deletion that " + snapshot.marks.condemned_by.ToText() +
               " began can't be taken over: " + written.error().message);
    return false;
  }
  marks_to_take_off_ = false;
  announcer_.TakenOver(snapshot, snapshot.marks);
  return true;
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

Reaper::Outcome Reaper::SpareIt(const Case& of, const Snapshot& snapshot, const Spare& why,
                                const Decision* decision) {
  marks_to_take_off_ = !TakeMarksOff(of.me, of.root);
  BackToWatching(snapshot, why.refusal, why.detail, decision);
  return Outcome::kSpared;
}

// The other watcher tells people how it ends.
Reaper::Outcome Reaper::Overtaken() {
  tools_.log.warn("another watcher has taken the deletion over");
  ShowWatching(Refusal::kConflict);
  return Outcome::kOvertaken;
}

Reaper::Outcome Reaper::CarryThrough(Case of, const std::stop_token& stop) {
  std::optional<DeletionOrder> condemned;
  std::optional<Deletion> deletion;
  Progress progress;
  for (int rounds = 0;;) {
    const bool heeds_stop = !progress.announced || (of.begun != nullptr && tools_.heeds_stop);
    auto look = LastLook(of, progress, heeds_stop ? stop : std::stop_token());
    if (!look) return look.error();
    if (*look) condemned = *std::move(look);
    if (!progress.announced) progress.began = tools_.clock.Now();
    if (!deletion) deletion.emplace(tools_, *condemned, progress.began);
    *look ? deletion->Take(*condemned) : deletion->GoOn(*condemned);
    if (steps_.HasBefore(*condemned) && deletion->FindWhyRootStays()) {
      return End(of, *condemned, *deletion, progress, DeletionEnd::kRootMustStay, stop);
    }
    AnnounceDeletion(*condemned, progress);
    // Steps take their time, and meanwhile the cluster, still whole, may be in use again.
    if (steps_.RunBefore(*condemned, DeadlineOf(progress))) continue;
    const auto outcome = Delete(*condemned, *deletion, progress);
    if (outcome != DeletionEnd::kStale) {
      return End(of, *condemned, *deletion, progress, outcome, stop);
    }
    tools_.log.info("the evidence is old: looking again");
    of.is_resumed = of.is_resumed || !deletion->IsWhole();
    of.begun = deletion->HasDeleted() ? &*deletion : nullptr;
    of.gone = WhatIsGone(deletion->first_deleted());
    Wait(LongBackoff(rounds++), {});
  }
}

void Reaper::Wait(Duration backoff, const std::stop_token& stop) {
  const Duration asked = std::min(tools_.client.TakeRetryAfter(), kLongestAskedWait);
  tools_.clock.WaitUntil(tools_.clock.Now() + std::max(backoff, asked), stop);
}

bool Reaper::TakeMarksOff(const WatcherId& me, const KubeObject& object, bool condemnation_only) {
  MasterRoot root(tools_.client, object);
  for (int attempt = 0; attempt < kMostMarksOff; ++attempt) {
    const RootState state = root.Read({}, kMarksTimeout);
    if (state == RootState::kGone || state == RootState::kReplaced) return true;
    if (state == RootState::kUnknown) return false;
    const Marks marks = root.marks();
    if (marks.condemned_by != me) return true;
    if (condemnation_only && marks.phase == Phase::kDeleting) return true;
    steps_.CallOff(object, marks);
    const auto written = root.WriteMarks(WithoutProtocolMarks(), kMarksTimeout);
    if (written) return true;
    warn_once_("marks: " + written.error().message);
    // Controllers write status all the time.
    if (written.error().failure != ApiFailure::kConflict) return false;
  }
  return false;
}

void Reaper::AnnounceDeletion(const DeletionOrder& condemned, Progress& progress) {
  tools_.metrics.SetPhase(ToString(Phase::kDeleting));
  const auto left = std::chrono::duration_cast<Duration>(DeadlineOf(progress) - tools_.clock.Now());
  tools_.metrics.SetDeletionDeadline(tools_.clock.WallNow() + left);
  if (std::exchange(progress.announced, true)) return;
  announcer_.Deleting(condemned.look, condemned.marks, condemned.why);
}

DeletionEnd Reaper::Delete(const DeletionOrder& condemned, Deletion& deletion, Progress& progress) {
  const MonotonicTime deadline = DeadlineOf(progress);
  DeletionEnd outcome = deletion.DeleteMembers(deadline);
  // Meanwhile something may have been made again, even the master root.
  if (outcome == DeletionEnd::kDone && steps_.RunAfter(condemned)) {
    outcome = deletion.DeleteMembers(deadline);
  }
  return outcome == DeletionEnd::kDone ? deletion.DeleteRoot(deadline) : outcome;
}

Reaper::Outcome Reaper::End(const Case& of, const DeletionOrder& condemned, Deletion& deletion,
                            const Progress& progress, DeletionEnd outcome,
                            const std::stop_token& stop) {
  const std::string gone = WhatIsGone(deletion.first_deleted());
  const auto ends = [&](Refusal refusal, const std::string& why) {
    if (!deletion.Remaining().empty()) given_up_ = "its deletion ends here: " + why;
    BackToWatching(condemned.look, refusal, "its deletion ends here: " + why + gone);
    return Outcome::kSpared;
  };
  const auto spare = [&](Refusal refusal, const std::string& why) {
    return SpareIt(of, condemned.look, {refusal, why + gone});
  };
  switch (outcome) {
    case DeletionEnd::kDone:
      NoteOverdue(deletion);
      outcome = deletion.Await(DeadlineOf(progress), stop);
      if (outcome != DeletionEnd::kDone) {
        const bool is_enough = stop.stop_requested() || tools_.until == Until::kAccepted;
        if (is_enough) return Outcome::kDone;
        return End(of, condemned, deletion, progress, outcome, stop);
      }
      TellEnd(deletion, condemned, progress);
      return Outcome::kDone;
    case DeletionEnd::kKept:
      return spare(Refusal::kHold, "the master root is annotated cluster-watcher/keep");
    case DeletionEnd::kRootMustStay:
      given_up_ = "the master root stays: " + deletion.root_held_back();
      return spare(Refusal::kUnknown, given_up_);
    case DeletionEnd::kReplaced:
      return ends(Refusal::kUidChanged, "another object has the master root's name");
    case DeletionEnd::kRootGone:
      return ends(Refusal::kConflict,
                  "somebody deleted the master root" + WhatIsLeft(deletion.Remaining()));
    case DeletionEnd::kNewMaster:
      return ends(Refusal::kConflict, "there is another master");
    case DeletionEnd::kCalledOff:
      return spare(Refusal::kConflict, "the marks on the master root no longer name us");
    case DeletionEnd::kOvertaken:
      return Overtaken();
    case DeletionEnd::kHeld:
      refused_by_policy_ = true;
      BackToWatching(condemned.look, Refusal::kHold, deletion.policy() + gone);
      return Outcome::kSpared;
    case DeletionEnd::kStale:  // doesn't come here
    case DeletionEnd::kGivenUp:
      given_up_ = (deletion.IsWhole() ? "nothing" : "not all") +
                  std::string(" of it could be deleted by the deadline") +
                  WhatIsLeft(deletion.StillThere());
      tools_.log.warn("{}", given_up_);
      announcer_.Trouble(condemned.look, "GivingUp", given_up_);
      return Outcome::kSpared;
  }
  return Outcome::kSpared;
}

void Reaper::NoteOverdue(const Deletion& deletion) {
  if (!deletion.overdue().empty()) given_up_ = "not all deleted" + WhatIsLeft(deletion.overdue());
}

void Reaper::TellEnd(const Deletion& deletion, const DeletionOrder& condemned,
                     const Progress& progress) {
  NoteOverdue(deletion);
  DeletionReport report = deletion.Report();
  report.took = std::chrono::duration_cast<Duration>(tools_.clock.Now() - progress.began);
  {
    // Before people are told, which may take a while.
    const auto together = tools_.metrics.Together();
    tools_.metrics.SetDeletionDuration(report.took);
    tools_.metrics.SetDeletionDeadline(std::nullopt);
    tools_.metrics.SetDeletionDue(std::nullopt);
    tools_.metrics.SetConfirmations(0);
    tools_.metrics.SetMembers(static_cast<std::int64_t>(report.found),
                              static_cast<std::int64_t>(report.overdue));
    tools_.metrics.SetPhase(ToString(Phase::kDone));
  }
  announcer_.Deleted(condemned.look, condemned.marks.reason, report);
}

}  // namespace cluster_watcher

#include "watcher/deletion/reaper.h"

#include <algorithm>

#include "probes/base/duration_text.h"
#include "probes/base/names.h"

namespace cluster_watcher {
namespace {

// Controllers write status all the time, so a conflict is nothing unusual.
constexpr int kMostLastLooks = 20;
constexpr Duration kBetweenLooks{10};  // doubled each time
constexpr int kMostDoublings = 5;
constexpr Duration kLongestAskedWait{20'000};
// What steps are called by in marks and logs: as their annotations.
constexpr const char* kBefore = annotation::kBeforeDelete + std::size(annotation::kPrefix) - 1;
constexpr const char* kAfter = annotation::kAfterDelete + std::size(annotation::kPrefix) - 1;
constexpr int kMostStepMarks = 5;
constexpr Duration kStepMarkTimeout{2'000};
constexpr int kMostMarksOff = 5;

const char* RefusalOf(Reason reason) {
  switch (reason) {
    case Reason::kHeld:
      return "hold";
    case Reason::kInUse:
      return "in-use";
    case Reason::kUnknown:
    case Reason::kAmbiguous:
    case Reason::kMisconfigured:
    case Reason::kShared:
    case Reason::kOwnerMismatch:
      return "unknown";
    case Reason::kDriverRunning:
    case Reason::kOwnerAdopted:
    case Reason::kSharedByReplicas:
    case Reason::kActive:
    case Reason::kOwnerAbsent:
    case Reason::kOwnerDeleting:
    case Reason::kOwnerReplaced:
    case Reason::kScaledToZero:
    case Reason::kCompleted:
      return "owner-back";
  }
  return "unknown";
}

AnnotationChanges CondemnedMarks(const std::string& me, Reason reason) {
  return {{annotation::kPhase, "condemned"},
          {annotation::kReason, ToString(reason)},
          {annotation::kCondemnedBy, me}};
}

}  // namespace

Duration DeletionAge(const Snapshot& look, Clock& clock) {
  const auto& since = look.marks.deleting_since;
  if (!since) return Duration(0);
  return std::max(Duration(0),
                  std::chrono::duration_cast<Duration>(ServerNow(look, clock) - *since));
}

std::string OwnerIdentity(const Snapshot& snapshot) {
  if (!snapshot.owner_name) return "";
  return snapshot.owner_ns + "/" + snapshot.owner_name->name + "/" +
         (snapshot.seen ? snapshot.seen->uid : "");
}

Reaper::Reaper(Survey& survey, Clock& clock, WatcherMetrics& metrics, Announcer& announcer,
               spdlog::logger& log, Dial dial, std::function<void(Duration)> turn)
    : survey_(survey),
      clock_(clock),
      metrics_(metrics),
      announcer_(announcer),
      log_(log),
      warn_once_(log),
      turn_(std::move(turn)),
      steps_(std::move(dial), clock, metrics, log, turn_) {}

ApiResult Reaper::WriteMarks(const Snapshot& snapshot, AnnotationChanges changes,
                             Duration timeout) {
  const KubeObject& root = *snapshot.root;
  ApiRequest request = ApiRequest::MergePatch(root.type, snapshot.cluster->ns, root.meta.name,
                                              MarksPatch(root.meta, std::move(changes)));
  request.http.timeout = timeout;
  return survey_.client().Do(request, {});
}

std::optional<ObjectMeta> Reaper::ReadRoot(const Snapshot& snapshot, Duration timeout) {
  const KubeObject& root = *snapshot.root;
  ApiRequest request = ApiRequest::GetMetadata(root.type, snapshot.cluster->ns, root.meta.name);
  request.http.timeout = timeout;
  auto answer = survey_.client().Do(request, {});
  auto meta = answer ? ReadObjectMeta(answer->document.root()) : Result<ObjectMeta>(Failure(""));
  return meta ? std::optional(*std::move(meta)) : std::nullopt;
}

void Reaper::Refuse(const Snapshot& snapshot, const char* reason, const std::string& detail,
                    const Decision* decision) {
  StandBack(reason);
  announcer_.Spared(snapshot, reason, detail, decision);
}

void Reaper::StandBack(const char* reason) {
  metrics_.Refused(reason);
  metrics_.SetPhase(ToString(Phase::kWatching));
  metrics_.SetMembers(0, 0);
  metrics_.SetDeletionDuration({});
  metrics_.SetDeletionDeadline(std::nullopt);
  metrics_.SetDeletionDue(std::nullopt);
  metrics_.SetConfirmations(0);
}

Reaper::Outcome Reaper::Condemn(const std::string& me, const Snapshot& snapshot,
                                const Decision& decision, const Abandonment& abandonment,
                                std::stop_token stop) {
  turn_({});
  marks_to_take_off_ = false;
  if (snapshot.root->meta.deleting) {
    Refuse(snapshot, "conflict", "the master root is being deleted by another's hand");
    return Outcome::kSpared;
  }
  AnnotationChanges marks = WithoutProtocolMarks();  // what an earlier one left
  for (auto& [key, value] : CondemnedMarks(me, decision.reason)) marks[key] = value;
  auto written = WriteMarks(snapshot, std::move(marks));
  if (!written) {
    const bool conflict = written.error().failure == ApiFailure::kConflict;
    Refuse(snapshot, conflict ? "conflict" : "unknown", written.error().message);
    return Outcome::kSpared;
  }
  metrics_.SetPhase(ToString(Phase::kCondemned));
  announcer_.Condemned(snapshot, decision, abandonment);
  return CarryThrough(me, OwnerIdentity(snapshot), stop);
}

Reaper::Outcome Reaper::Resume(const std::string& me, const Snapshot& snapshot) {
  const Marks& marks = snapshot.marks;
  if (marks_to_take_off_) {
    marks_to_take_off_ = !TakeMarksOff(me, snapshot);
    return Outcome::kSpared;
  }
  log_.warn("resuming the deletion of cluster {}", snapshot.cluster->name);
  if (!marks.deletes_begun) return CarryThrough(me, "", {});
  steps_done_ = marks.steps_done;
  announced_ = false;
  const std::string since = marks.deleting_since ? FormatTime(*marks.deleting_since) : "earlier";
  auto outcome = Delete(snapshot, "what was begun " + since + " goes on (" + marks.reason + ")");
  return outcome.value_or(Outcome::kSpared);
}

bool Reaper::TakeOver(const std::string& me, Snapshot& snapshot) {
  auto written = WriteMarks(snapshot, {{annotation::kCondemnedBy, me}});
  if (!written) {
    warn_once_("the deletion that " + snapshot.marks.condemned_by +
               " began can't be taken over: " + written.error().message);
    return false;
  }
  marks_to_take_off_ = false;
  announcer_.TakenOver(snapshot, snapshot.marks.condemned_by);
  snapshot.marks.condemned_by = me;
  return true;
}

Reaper::Outcome Reaper::CarryThrough(const std::string& me, const std::string& owner_identity,
                                     std::stop_token stop) {
  steps_done_.clear();
  announced_ = false;
  for (;;) {
    auto condemned = LastLook(me, owner_identity, stop);
    if (!condemned) return condemned.error();
    stop = {};  // there is no return
    steps_done_.merge(std::set<std::string>(condemned->snapshot.marks.steps_done));
    // Steps take their time, and meanwhile the cluster, still whole, may be in use again.
    if (RunStepsBefore(*condemned)) continue;
    if (auto outcome = Delete(condemned->snapshot, condemned->decision.detail)) return *outcome;
    log_.warn("the first delete could not be sent in time: looking again");
  }
}

Result<Reaper::Condemned, Reaper::Outcome> Reaper::LastLook(const std::string& me,
                                                            const std::string& owner_identity,
                                                            std::stop_token stop) {
  const auto spare = [&](const Snapshot& snapshot, const char* refusal, const std::string& detail,
                         const Decision* decision = nullptr) {
    return Unexpected{Spare(me, snapshot, refusal, detail, decision)};
  };
  Snapshot snapshot;
  for (int look = 0; look < kMostLastLooks && !stop.stop_requested(); ++look) {
    turn_({});
    if (look > 0) {
      const Duration asked = std::min(survey_.client().TakeRetryAfter(), kLongestAskedWait);
      const Duration pause = kBetweenLooks * (1 << std::min(look, kMostDoublings));
      clock_.WaitUntil(clock_.Now() + std::max(pause, asked), stop);
    }
    snapshot = survey_.SureLook(true, stop);
    const Decision decision = Decide(snapshot.facts);
    const auto& marked = snapshot.marks.owner;
    const bool same_owner = owner_identity.empty()
                                ? marked && snapshot.seen && marked->uid == snapshot.seen->uid
                                : OwnerIdentity(snapshot) == owner_identity;
    if (stop.stop_requested()) break;
    if (!decision.abandoned()) {
      return spare(snapshot, RefusalOf(decision.reason), decision.detail, &decision);
    }
    if (!same_owner) {
      return spare(snapshot, "owner-back",
                   snapshot.seen ? "the owner is another one now"
                                 : "it isn't written whose deletion was begun");
    }
    if (snapshot.root->meta.deleting) {
      return spare(snapshot, "conflict", "the master root is being deleted by another's hand");
    }
    if (snapshot.marks.phase == Phase::kDeleting && snapshot.marks.condemned_by != me) {
      log_.warn("another watcher has taken the deletion over");
      StandBack("conflict");
      return Unexpected{Outcome::kOvertaken};
    }
    if (snapshot.marks.condemned_by != me || snapshot.marks.phase == Phase::kWatching) {
      return spare(snapshot, "conflict", "the marks on the master root no longer name us");
    }
    const auto age = std::chrono::duration_cast<Duration>(clock_.Now() - snapshot.began);
    if (age >= kFreshEvidence) {
      log_.info("the last look took {} and is repeated", FormatDuration(age));
      continue;
    }
    AnnotationChanges changes = CondemnedMarks(me, decision.reason);
    changes[annotation::kPhase] = "deleting";
    // Where it was written in vain, nothing was deleted.
    changes[annotation::kDeletesBegun] = std::nullopt;
    if (!snapshot.marks.deleting_since) {
      snapshot.marks.deleting_since = ServerNow(snapshot, clock_);
      changes[annotation::kDeletingSince] = FormatTime(*snapshot.marks.deleting_since);
    }
    auto written = WriteMarks(snapshot, std::move(changes), kFreshEvidence - age);
    if (written) {
      snapshot.marks.phase = Phase::kDeleting;
      snapshot.marks.reason = ToString(decision.reason);
      snapshot.marks.deletes_begun = false;
      return Condemned{std::move(snapshot), decision};
    }
    if (!IsTransient(written.error().failure)) {
      return spare(snapshot, "conflict", written.error().message);
    }
    log_.info("the last look is repeated: {}", written.error().message);
  }
  // The marks stay where they can't be written: they are taken off when they are seen again.
  if (!stop.stop_requested()) {
    marks_to_take_off_ = true;
    Refuse(snapshot, "conflict", "the point of no return could not be written in time");
  }
  return Unexpected{Outcome::kSpared};
}

Reaper::Outcome Reaper::Spare(const std::string& me, const Snapshot& snapshot, const char* refusal,
                              const std::string& detail, const Decision* decision) {
  marks_to_take_off_ = !TakeMarksOff(me, snapshot);
  if (marks_to_take_off_) log_.warn("the marks could not be taken off yet");
  Refuse(snapshot, refusal, detail, decision);
  return Outcome::kSpared;
}

// False: they may still be there and name us.
bool Reaper::TakeMarksOff(const std::string& me, const Snapshot& snapshot) {
  if (!snapshot.root) return false;
  Snapshot now = snapshot;
  for (int attempt = 0; attempt < kMostMarksOff; ++attempt) {
    if (now.marks.condemned_by != me) return true;
    auto written = WriteMarks(now, WithoutProtocolMarks());
    if (written) return true;
    warn_once_("marks: " + written.error().message);
    // Controllers write status all the time.
    if (written.error().failure != ApiFailure::kConflict) return false;
    auto meta = ReadRoot(now, HttpRequest().timeout);
    if (!meta || meta->uid != now.root->meta.uid) return false;
    now.marks = ReadMarks(*meta);
    now.root->meta = *std::move(meta);
  }
  return false;
}

bool Reaper::RunStepsBefore(const Condemned& condemned) {
  const Snapshot& snapshot = condemned.snapshot;
  const auto is_due = [&](const Step& step) {
    return !steps_done_.contains(StepId(kBefore, step));
  };
  const std::vector<Step>& steps = snapshot.steps.before;
  if (std::none_of(steps.begin(), steps.end(), is_due)) return false;
  AnnounceDeletion(snapshot, condemned.decision.detail);
  const Settings& settings = survey_.settings().settings;
  RunSteps(
      steps, kBefore, snapshot,
      std::min(settings.steps_deadline, settings.delete_deadline - DeletionAge(snapshot, clock_)));
  return true;
}

bool Reaper::RunStepsAfter(const Snapshot& condemned) {
  const std::vector<Step>& steps = condemned.steps.after;
  const bool any = std::any_of(steps.begin(), steps.end(), [&](const Step& step) {
    return !steps_done_.contains(StepId(kAfter, step));
  });
  if (any) {
    RunSteps(steps, kAfter, condemned, survey_.settings().settings.steps_deadline);
  }
  return any;
}

void Reaper::RunSteps(const std::vector<Step>& steps, const char* prefix, const Snapshot& condemned,
                      Duration allowed) {
  const auto troubles =
      steps_.Run(steps, prefix, allowed, steps_done_, [&] { MarkStepsDone(condemned); });
  // What there was no time for isn't run later either.
  for (const Step& step : steps) steps_done_.insert(StepId(prefix, step));
  if (!troubles.empty()) {
    announcer_.Trouble(condemned, "RunningSteps",
                       std::string(prefix) + " steps: " + Joined(troubles));
  }
}

// So that who resumes doesn't run them again. A few attempts: a step that is run twice is better
// than a deletion that waits.
void Reaper::MarkStepsDone(const Snapshot& condemned) {
  Snapshot now = condemned;
  for (int attempt = 0; attempt < kMostStepMarks; ++attempt) {
    turn_({});
    if (auto meta = ReadRoot(now, kStepMarkTimeout)) {
      const bool same = meta->uid == now.root->meta.uid &&
                        ReadMarks(*meta).condemned_by == condemned.marks.condemned_by;
      if (!same) return;
      now.root->meta = *std::move(meta);
      if (WriteMarks(now, {{annotation::kStepsDone, StepsMark(steps_done_)}}, kStepMarkTimeout)) {
        return;
      }
    }
    clock_.WaitUntil(clock_.Now() + kBetweenLooks * (1 << std::min(attempt, kMostDoublings)), {});
  }
  log_.warn("the steps that are done could not be marked");
}

void Reaper::AnnounceDeletion(const Snapshot& condemned, const std::string& why) {
  metrics_.SetPhase(ToString(Phase::kDeleting));
  metrics_.SetDeletionDeadline(clock_.WallNow() + survey_.settings().settings.delete_deadline -
                               DeletionAge(condemned, clock_));
  if (announced_) return;
  announced_ = true;
  announcer_.Deleting(condemned, why);
}

std::optional<Reaper::Outcome> Reaper::Delete(const Snapshot& condemned, const std::string& why) {
  AnnounceDeletion(condemned, why);
  const Duration age = DeletionAge(condemned, clock_);
  const MonotonicTime began = clock_.Now() - age;
  const Duration allowed = survey_.settings().settings.delete_deadline;
  const MonotonicTime deadline = began + allowed;
  Deletion deletion(survey_, clock_, metrics_, log_, condemned, began, [this] { turn_({}); });
  const Deletion::Outcome members = deletion.DeleteMembers(deadline);
  if (members == Deletion::Outcome::kStale) return std::nullopt;
  if (members != Deletion::Outcome::kGone) return StopBecause(members, condemned, deletion);
  if (!deletion.overdue().empty()) {
    announcer_.Trouble(condemned, "Overdue",
                       "its deadline has passed; " + Joined(deletion.overdue()));
  }
  if (RunStepsAfter(condemned)) {
    // Meanwhile something may have been made anew, the master root itself included.
    const Deletion::Outcome again = deletion.DeleteMembers(deadline);
    if (again != Deletion::Outcome::kGone) return StopBecause(again, condemned, deletion);
  }
  const auto root = deletion.DeleteRoot();
  if (root == Deletion::RootOutcome::kOvertaken) {
    return StopBecause(Deletion::Outcome::kOvertaken, condemned, deletion);
  }
  TellEnd(deletion, condemned, root == Deletion::RootOutcome::kDeleted, began);
  if (root == Deletion::RootOutcome::kReplaced) {
    // Somebody's new cluster: it is watched over from now on.
    log_.warn("another object has the master root's name");
    StandBack("uid-changed");
    return Outcome::kSpared;
  }
  return Outcome::kDone;
}

Reaper::Outcome Reaper::StopBecause(Deletion::Outcome why, const Snapshot& condemned,
                                    const Deletion& deletion) {
  const char* refusal = "conflict";
  const char* detail = "the marks on the master root were taken off, or it is being deleted";
  switch (why) {
    case Deletion::Outcome::kGone:
    case Deletion::Outcome::kStale:
    case Deletion::Outcome::kCalledOff:
      break;
    case Deletion::Outcome::kRootReplaced:
      refusal = "uid-changed";
      detail = "another object has the master root's name";
      break;
    case Deletion::Outcome::kOvertaken:
      log_.warn("another watcher has taken the deletion over");
      StandBack(refusal);
      return Outcome::kOvertaken;
  }
  const std::string deletes = deletion.Report().DeletesText();
  Refuse(
      condemned, refusal,
      std::string("its deletion ends here: ") + detail + (deletes.empty() ? "" : "; " + deletes));
  return Outcome::kSpared;
}

void Reaper::TellEnd(const Deletion& deletion, const Snapshot& condemned, bool root_deleted,
                     MonotonicTime began) {
  DeletionReport report = deletion.Report();
  report.root_deleted = root_deleted;
  report.took = std::chrono::duration_cast<Duration>(clock_.Now() - began);
  {
    // Before people are told, which may take a while.
    const auto together = metrics_.Together();
    metrics_.SetDeletionDuration(report.took);
    metrics_.SetDeletionDeadline(std::nullopt);
    metrics_.SetDeletionDue(std::nullopt);
    metrics_.SetConfirmations(0);
    metrics_.SetPhase(ToString(Phase::kDone));
  }
  announcer_.Deleted(condemned, report);
}

bool Reaper::FinishOnTermination() {
  auto look = survey_.TerminationLook();
  if (!look) return false;
  const Decision decision = Decide(look->facts);
  if (!decision.abandoned()) return false;
  look->marks.reason = ToString(decision.reason);
  const MonotonicTime began = clock_.Now();
  const Duration allowed = survey_.settings().settings.delete_deadline;
  log_.warn("the master root is being taken down and the driver is gone");
  {
    const auto together = metrics_.Together();
    metrics_.Polled(look->facts.ObservationText(), look->ended - look->began, clock_.WallNow());
    metrics_.SetVerdict(decision.verdict(), ToString(decision.reason));
    metrics_.SetPhase(ToString(Phase::kDeleting));
    metrics_.SetDeletionDeadline(clock_.WallNow() + allowed);
  }
  bool told = false;
  // There may be two seconds left in all: people are told once the first deletes are sent.
  const auto tell = [&] {
    if (!told) {
      announcer_.Deleting(*look,
                          "it is taken down by hand and its driver is gone: " + decision.detail);
    }
    told = true;
  };
  Deletion deletion(survey_, clock_, metrics_, log_, *look, began, [this] { turn_({}); });
  const auto may_go_on = [&] {
    tell();
    const auto again = survey_.TerminationLook();
    return again && Decide(again->facts).abandoned();
  };
  const bool finished = deletion.FinishMembers(began + allowed, may_go_on);
  tell();
  if (!finished) {
    const char* why = "the members were not finished: that is not, or no longer, ours to do";
    log_.warn("{}", why);
    announcer_.Trouble(*look, "Stopping", why);
    return false;
  }
  TellEnd(deletion, *look, false, began);
  return true;
}

void Reaper::Rehearse(const Snapshot& snapshot, const Decision& decision) {
  Deletion rehearsal(survey_, clock_, metrics_, log_, snapshot, clock_.Now(),
                     [this] { turn_({}); });
  announcer_.WouldDelete(snapshot, decision, rehearsal.Rehearse());
}

}  // namespace cluster_watcher

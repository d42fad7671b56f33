#include "watcher/reaper.h"

#include <algorithm>

#include "watcher/deletion.h"
#include "watcher/duration_text.h"

namespace cluster_watcher {
namespace {

// Controllers write status all the time, so a conflict is nothing unusual.
constexpr int kMostLastLooks = 20;
constexpr Duration kBetweenLooks{10};  // doubled each time
constexpr int kMostDoublings = 5;
constexpr int kMostStepMarks = 5;

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

// What is left of `allowed` since a mark was written: across restarts, and never longer for a wall
// clock that was set back.
Duration LeftOf(Duration allowed, const std::optional<WallTime>& since, WallTime now) {
  if (!since) return allowed;
  const auto left = std::chrono::duration_cast<Duration>(*since + allowed - now);
  return std::clamp(left, Duration(0), allowed);
}

// "before-delete" of "cluster-watcher/before-delete".
std::string StepPrefix(std::string_view annotation) {
  return std::string(annotation.substr(std::string_view(annotation::kPrefix).size()));
}

std::string StepId(std::string_view annotation, const Step& step) {
  return StepPrefix(annotation) + "/" + step.name;
}

Regarding Survivor(const Snapshot& snapshot) {
  const auto& owner = snapshot.facts.owner;
  return owner && owner->object ? Regarding::Object(*owner->object)
                                : Regarding::Namespace(snapshot.cluster->ns);
}

}  // namespace

std::string OwnerIdentity(const Snapshot& snapshot) {
  if (!snapshot.owner_name) return "";
  return snapshot.owner_ns + "/" + snapshot.owner_name->name + "/" +
         (snapshot.seen ? snapshot.seen->uid : "");
}

Reaper::Reaper(Survey& survey, Clock& clock, WatcherMetrics& metrics, EventRecorder& events,
               spdlog::logger& log, Dial dial, std::function<void(Duration)> turn)
    : survey_(survey),
      clock_(clock),
      metrics_(metrics),
      events_(events),
      log_(log),
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

void Reaper::Refuse(const char* reason, const std::string& detail) {
  metrics_.Refused(reason);
  metrics_.SetPhase(ToString(Phase::kWatching));
  log_.warn("the cluster is spared ({}): {}", reason, detail);
}

Reaper::Outcome Reaper::Condemn(const std::string& me, const Snapshot& snapshot,
                                const Decision& decision, std::stop_token stop) {
  turn_({});
  marks_to_take_off_ = false;
  if (snapshot.root->meta.deleting) {
    Refuse("conflict", "the master root is being deleted by another's hand");
    return Outcome::kSpared;
  }
  AnnotationChanges marks = WithoutProtocolMarks();  // what an earlier one left
  for (auto& [key, value] : CondemnedMarks(me, decision.reason)) marks[key] = value;
  auto written = WriteMarks(snapshot, std::move(marks));
  if (!written) {
    const bool conflict = written.error().failure == ApiFailure::kConflict;
    Refuse(conflict ? "conflict" : "unknown", written.error().message);
    return Outcome::kSpared;
  }
  metrics_.SetPhase(ToString(Phase::kCondemned));
  log_.warn("condemned: {} ({})", decision.detail, ToString(decision.reason));
  Announce(snapshot, EventType::kWarning, "ClusterCondemned", "Condemning",
           "Cluster " + snapshot.cluster->name + " is condemned: " + decision.detail);
  return CarryThrough(me, OwnerIdentity(snapshot), stop);
}

Reaper::Outcome Reaper::Resume(const std::string& me, const Snapshot& snapshot) {
  const Marks& marks = snapshot.marks;
  if (!marks.deletes_begun && marks_to_take_off_) {
    return Spare(me, snapshot, "conflict", "it was spared before");
  }
  log_.warn("resuming the deletion of cluster {}", snapshot.cluster->name);
  if (!marks.deletes_begun) return CarryThrough(me, "", {});
  steps_done_ = marks.steps_done;
  announced_ = false;
  const std::string since = marks.deleting_since ? FormatTime(*marks.deleting_since) : "earlier";
  auto outcome =
      Delete(snapshot, "the deletion begun " + since + " is finished (" + marks.reason + ")");
  return outcome.value_or(Outcome::kSpared);
}

Reaper::Outcome Reaper::CarryThrough(const std::string& me, const std::string& owner_identity,
                                     std::stop_token stop) {
  steps_done_.clear();
  announced_ = false;
  while (auto condemned = LastLook(me, owner_identity, stop)) {
    stop = {};  // there is no return
    steps_done_.merge(std::set<std::string>(condemned->snapshot.marks.steps_done));
    // Steps take their time, and meanwhile the cluster, still whole, may be in use again.
    if (RunStepsBefore(*condemned)) continue;
    if (auto outcome = Delete(condemned->snapshot, condemned->decision.detail)) return *outcome;
    log_.warn("the first delete could not be sent in time: looking again");
  }
  return Outcome::kSpared;
}

std::optional<Reaper::Condemned> Reaper::LastLook(const std::string& me,
                                                  const std::string& owner_identity,
                                                  std::stop_token stop) {
  const auto spare = [&](const Snapshot& snapshot, const char* refusal, const std::string& detail) {
    Spare(me, snapshot, refusal, detail);
    return std::nullopt;
  };
  for (int look = 0; look < kMostLastLooks && !stop.stop_requested(); ++look) {
    turn_({});
    if (look > 0) {
      clock_.WaitUntil(clock_.Now() + kBetweenLooks * (1 << std::min(look, kMostDoublings)), stop);
    }
    Snapshot snapshot = survey_.SureLook(true, stop);
    const Decision decision = Decide(snapshot.facts);
    const auto& marked = snapshot.marks.owner;
    const bool same_owner = owner_identity.empty()
                                ? marked && snapshot.seen && marked->uid == snapshot.seen->uid
                                : OwnerIdentity(snapshot) == owner_identity;
    if (stop.stop_requested()) break;
    if (!decision.abandoned()) {
      return spare(snapshot, RefusalOf(decision.reason), decision.detail);
    }
    if (!same_owner) return spare(snapshot, "owner-back", "the owner is another one now");
    if (snapshot.root->meta.deleting) {
      return spare(snapshot, "conflict", "the master root is being deleted by another's hand");
    }
    if (snapshot.marks.condemned_by != me || snapshot.marks.phase == Phase::kWatching) {
      return spare(snapshot, "conflict", "the marks on the master root no longer name us");
    }
    const auto age = std::chrono::duration_cast<Duration>(clock_.Now() - snapshot.began);
    if (age >= kFreshEvidence) continue;
    AnnotationChanges changes = CondemnedMarks(me, decision.reason);
    changes[annotation::kPhase] = "deleting";
    if (!snapshot.marks.deleting_since) {
      changes[annotation::kDeletingSince] = FormatTime(clock_.WallNow());
      snapshot.marks.deleting_since = clock_.WallNow();
    }
    auto written = WriteMarks(snapshot, std::move(changes), kFreshEvidence - age);
    if (written) {
      snapshot.marks.phase = Phase::kDeleting;
      snapshot.marks.reason = ToString(decision.reason);
      return Condemned{std::move(snapshot), decision};
    }
    log_.info("the last look is repeated: {}", written.error().message);
  }
  // The marks stay where they can't be written: they are taken off when they are seen again.
  if (!stop.stop_requested()) Refuse("conflict", "the point of no return could not be written");
  return std::nullopt;
}

Reaper::Outcome Reaper::Spare(const std::string& me, const Snapshot& snapshot, const char* refusal,
                              const std::string& detail) {
  Refuse(refusal, detail);
  marks_to_take_off_ = !snapshot.root;
  if (snapshot.root && snapshot.marks.condemned_by == me) {
    auto written = WriteMarks(snapshot, WithoutProtocolMarks());
    marks_to_take_off_ = !written;
    if (!written) {
      log_.warn("the marks could not be taken off yet: {}", written.error().message);
    }
  }
  if (snapshot.cluster) {
    Announce(snapshot, EventType::kWarning, "ClusterSpared", "Sparing",
             "Cluster " + snapshot.cluster->name + " is spared: " + detail);
  }
  return Outcome::kSpared;
}

// On one that survives, and on the one that people look at.
void Reaper::Announce(const Snapshot& snapshot, EventType type, const char* reason,
                      const char* action, const std::string& note) {
  std::vector<Regarding> regarding = {Survivor(snapshot)};
  if (snapshot.root) regarding.push_back(Regarding::Object(*snapshot.root));
  events_.Record(regarding, type, reason, action, note);
}

bool Reaper::RunStepsBefore(const Condemned& condemned) {
  const Snapshot& snapshot = condemned.snapshot;
  const auto is_due = [&](const Step& step) {
    return !steps_done_.contains(StepId(annotation::kBeforeDelete, step));
  };
  const std::vector<Step>& steps = snapshot.steps.before;
  if (std::none_of(steps.begin(), steps.end(), is_due)) return false;
  AnnounceDeletion(snapshot, condemned.decision.detail);
  const Duration allowed = survey_.settings().settings.steps_deadline;
  RunSteps(steps, annotation::kBeforeDelete, snapshot,
           clock_.Now() + LeftOf(allowed, snapshot.marks.deleting_since, clock_.WallNow()));
  return true;
}

void Reaper::RunStepsAfter(const Snapshot& condemned) {
  RunSteps(condemned.steps.after, annotation::kAfterDelete, condemned,
           clock_.Now() + survey_.settings().settings.steps_deadline);
}

void Reaper::RunSteps(const std::vector<Step>& steps, const char* annotation,
                      const Snapshot& condemned, MonotonicTime deadline) {
  const auto troubles = steps_.Run(steps, StepPrefix(annotation), deadline, steps_done_,
                                   [&] { MarkStepsDone(condemned); });
  // What there was no time for isn't run later either.
  for (const Step& step : steps) steps_done_.insert(StepId(annotation, step));
  for (const std::string& trouble : troubles) {
    Announce(condemned, EventType::kWarning, "ClusterDeleting", "RunningSteps",
             "Cluster " + condemned.cluster->name + ": step " + trouble);
  }
}

// So that who resumes doesn't run them again. A few attempts: a step that is run twice is better
// than a deletion that waits.
void Reaper::MarkStepsDone(const Snapshot& condemned) {
  const KubeObject& root = *condemned.root;
  for (int attempt = 0; attempt < kMostStepMarks; ++attempt) {
    turn_({});
    auto answer = survey_.client().Do(
        ApiRequest::GetMetadata(root.type, condemned.cluster->ns, root.meta.name), {});
    const auto meta =
        answer ? ReadObjectMeta(answer->document.root()) : Result<ObjectMeta>(Failure(""));
    if (meta && (meta->uid != root.meta.uid ||
                 ReadMarks(*meta).condemned_by != condemned.marks.condemned_by)) {
      return;
    }
    if (meta) {
      auto written = survey_.client().Do(
          ApiRequest::MergePatch(
              root.type, condemned.cluster->ns, root.meta.name,
              MarksPatch(*meta, {{annotation::kStepsDone, StepsMark(steps_done_)}})),
          {});
      if (written) return;
    }
    clock_.WaitUntil(clock_.Now() + kBetweenLooks * (1 << std::min(attempt, kMostDoublings)), {});
  }
  log_.warn("the steps that are done could not be marked");
}

void Reaper::AnnounceDeletion(const Snapshot& condemned, const std::string& why) {
  metrics_.SetPhase(ToString(Phase::kDeleting));
  if (announced_) return;
  announced_ = true;
  const std::string& cluster = condemned.cluster->name;
  log_.warn("deleting cluster {}: {}", cluster, why);
  Announce(condemned, EventType::kWarning, "ClusterDeleting", "Deleting",
           "Cluster " + cluster + " is being deleted: " + why);
}

std::optional<Reaper::Outcome> Reaper::Delete(const Snapshot& condemned, const std::string& why) {
  const MonotonicTime started = clock_.Now();
  const std::string& cluster = condemned.cluster->name;
  AnnounceDeletion(condemned, why);
  Deletion deletion(survey_, clock_, metrics_, log_, condemned, [this] { turn_({}); });
  const Duration allowed = survey_.settings().settings.delete_deadline;
  switch (deletion.DeleteMembers(
      started + LeftOf(allowed, condemned.marks.deleting_since, clock_.WallNow()))) {
    case Deletion::Outcome::kCalledOff:
      Refuse("conflict", "the marks on the master root were taken off, or it is being deleted");
      return Outcome::kSpared;
    case Deletion::Outcome::kStale:
      return std::nullopt;
    case Deletion::Outcome::kRootReplaced:
      Refuse("uid-changed", "another object has the master root's name");
      return Outcome::kSpared;
    case Deletion::Outcome::kOvertaken:
      Refuse("conflict", "another watcher has taken the deletion over");
      return Outcome::kSpared;
    case Deletion::Outcome::kGone:
      break;
  }
  if (!deletion.overdue().empty()) {
    std::string note = "Cluster " + cluster + ": the deadline of its deletion has passed";
    for (const std::string& object : deletion.overdue()) note += "; " + object;
    Announce(condemned, EventType::kWarning, "ClusterDeleting", "Overdue", note);
  }
  RunStepsAfter(condemned);
  if (!deletion.DeleteRoot()) {
    Refuse("conflict", "another watcher has taken the deletion over");
    return Outcome::kSpared;
  }
  const auto took = std::chrono::duration_cast<Duration>(clock_.Now() - started);
  metrics_.SetDeletionDuration(took);
  metrics_.SetPhase(ToString(Phase::kDone));
  std::string note = "Cluster " + cluster +
                     " is deleted: " + std::to_string(deletion.members_found()) +
                     " members and the master root, in " + FormatDuration(took);
  for (const std::string& object : deletion.left()) note += "; left: " + object;
  log_.warn("{}", note);
  const EventType type = deletion.overdue().empty() ? EventType::kNormal : EventType::kWarning;
  events_.Record({Survivor(condemned)}, type, "ClusterDeleted", "Deleting", note);
  return Outcome::kDone;
}

void Reaper::FinishOnTermination() {
  const auto look = survey_.TerminationLook();
  if (!look || !Decide(look->facts).abandoned()) return;
  const Decision decision = Decide(look->facts);
  log_.warn(
      "the master root is being taken down and the driver is gone: deleting the members of {}",
      look->cluster->name);
  metrics_.SetPhase(ToString(Phase::kDeleting));
  Announce(*look, EventType::kWarning, "ClusterDeleting", "Deleting",
           "Cluster " + look->cluster->name +
               " is taken down by hand and its driver is gone: " + decision.detail);
  Deletion deletion(survey_, clock_, metrics_, log_, *look, [this] { turn_({}); });
  deletion.FinishMembers(clock_.Now() + survey_.settings().settings.delete_deadline, [this] {
    const auto again = survey_.TerminationLook();
    return again && Decide(again->facts).abandoned();
  });
  metrics_.SetPhase(ToString(Phase::kDone));
}

void Reaper::WarnOf(const Snapshot& snapshot, const Decision& decision) {
  Announce(snapshot, EventType::kWarning, "ClusterAbandoned", "Watching",
           "Cluster " + snapshot.cluster->name + " looks abandoned: " + decision.detail);
}

void Reaper::Rehearse(const Snapshot& snapshot) {
  log_.warn("dry run: the cluster {} would be deleted", snapshot.cluster->name);
  Announce(snapshot, EventType::kWarning, "ClusterAbandoned", "Watching",
           "Cluster " + snapshot.cluster->name + " would be deleted (dry run)");
  Deletion(survey_, clock_, metrics_, log_, snapshot, [this] { turn_({}); }).Rehearse();
}

}  // namespace cluster_watcher

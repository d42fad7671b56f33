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

std::string OwnerIdentity(const Snapshot& snapshot) {
  if (!snapshot.owner_name) return "";
  return snapshot.owner_ns + "/" + snapshot.owner_name->name + "/" +
         (snapshot.seen ? snapshot.seen->uid : "");
}

Reaper::Reaper(Survey& survey, Clock& clock, WatcherMetrics& metrics, EventRecorder& events,
               spdlog::logger& log, std::function<void()> turn)
    : survey_(survey),
      clock_(clock),
      metrics_(metrics),
      events_(events),
      log_(log),
      turn_(std::move(turn)) {}

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
  turn_();
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
  Announce(snapshot, "ClusterCondemned", "Condemning",
           "Cluster " + snapshot.cluster->name + " is condemned: " + decision.detail);
  return LastLook(me, OwnerIdentity(snapshot), stop);
}

Reaper::Outcome Reaper::Resume(const std::string& me, const Snapshot& snapshot,
                               std::stop_token stop) {
  if (!snapshot.marks.deletes_begun && marks_to_take_off_) {
    return Spare(me, snapshot, "conflict", "it was spared before");
  }
  if (!snapshot.marks.deletes_begun) return LastLook(me, "", stop);
  log_.warn("resuming the deletion of cluster {}", snapshot.cluster->name);
  return Delete(snapshot, Decide(snapshot.facts));
}

Reaper::Outcome Reaper::LastLook(const std::string& me, const std::string& owner_identity,
                                 std::stop_token stop) {
  for (int look = 0; look < kMostLastLooks && !stop.stop_requested(); ++look) {
    turn_();
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
      return Spare(me, snapshot, RefusalOf(decision.reason), decision.detail);
    }
    if (!same_owner) return Spare(me, snapshot, "owner-back", "the owner is another one now");
    if (snapshot.root->meta.deleting) {
      return Spare(me, snapshot, "conflict", "the master root is being deleted by another's hand");
    }
    if (snapshot.marks.condemned_by != me || snapshot.marks.phase == Phase::kWatching) {
      return Spare(me, snapshot, "conflict", "the marks on the master root no longer name us");
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
    if (written) return Delete(snapshot, decision);
    log_.info("the last look is repeated: {}", written.error().message);
  }
  // The marks stay where they can't be written: they are taken off when they are seen again.
  if (!stop.stop_requested()) Refuse("conflict", "the point of no return could not be written");
  return Outcome::kSpared;
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
    Announce(snapshot, "ClusterSpared", "Sparing",
             "Cluster " + snapshot.cluster->name + " is spared: " + detail);
  }
  return Outcome::kSpared;
}

void Reaper::Announce(const Snapshot& snapshot, const char* reason, const char* action,
                      const std::string& note) {
  // One that survives, and the one that people look at.
  const auto& owner = snapshot.facts.owner;
  std::vector<Regarding> regarding = {owner && owner->object
                                          ? Regarding::Object(*owner->object)
                                          : Regarding::Namespace(snapshot.cluster->ns)};
  if (snapshot.root) regarding.push_back(Regarding::Object(*snapshot.root));
  events_.Record(regarding, EventType::kWarning, reason, action, note);
}

Reaper::Outcome Reaper::Delete(const Snapshot& condemned, const Decision& decision) {
  const MonotonicTime started = clock_.Now();
  const WallTime since = condemned.marks.deleting_since.value_or(clock_.WallNow());
  const Duration deadline = survey_.settings().settings.delete_deadline;
  // Across restarts, and never longer for a wall clock that was set back.
  const auto left = std::chrono::duration_cast<Duration>(since + deadline - clock_.WallNow());
  const std::string& cluster = condemned.cluster->name;
  metrics_.SetPhase(ToString(Phase::kDeleting));
  log_.warn("deleting cluster {}: {}", cluster, decision.detail);
  Announce(condemned, "ClusterDeleting", "Deleting",
           "Cluster " + cluster + " is being deleted: " + decision.detail);

  Deletion deletion(survey_, clock_, metrics_, log_, condemned, condemned.marks.condemned_by,
                    turn_);
  switch (deletion.Run(started + std::clamp(left, Duration(0), deadline))) {
    case Deletion::Outcome::kCalledOff:
      Refuse("conflict", "the marks on the master root were taken off, or it is being deleted");
      return Outcome::kSpared;
    case Deletion::Outcome::kStale:
      log_.warn("the first delete could not be sent in time: looking again");
      return Outcome::kSpared;
    case Deletion::Outcome::kRootReplaced:
      Refuse("uid-changed", "another object has the master root's name");
      return Outcome::kSpared;
    case Deletion::Outcome::kDone:
      break;
  }
  const auto took = std::chrono::duration_cast<Duration>(clock_.Now() - started);
  metrics_.SetDeletionDuration(took);
  metrics_.SetPhase(ToString(Phase::kDone));
  std::string note = "Cluster " + cluster +
                     " is deleted: " + std::to_string(deletion.members_found()) +
                     " members and the master root, in " + FormatDuration(took);
  for (const std::string& object : deletion.left()) note += "; left: " + object;
  log_.warn("{}", note);
  events_.Record({Regarding::Namespace(condemned.cluster->ns)}, EventType::kNormal,
                 "ClusterDeleted", "Deleting", note);
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
  Announce(*look, "ClusterDeleting", "Deleting",
           "Cluster " + look->cluster->name +
               " is taken down by hand and its driver is gone: " + decision.detail);
  Deletion deletion(survey_, clock_, metrics_, log_, *look, "", turn_);
  deletion.FinishMembers(clock_.Now() + survey_.settings().settings.delete_deadline, [this] {
    const auto again = survey_.TerminationLook();
    return again && Decide(again->facts).abandoned();
  });
  metrics_.SetPhase(ToString(Phase::kDone));
}

void Reaper::WarnOf(const Snapshot& snapshot, const Decision& decision) {
  Announce(snapshot, "ClusterAbandoned", "Watching",
           "Cluster " + snapshot.cluster->name + " looks abandoned: " + decision.detail);
}

void Reaper::Rehearse(const Snapshot& snapshot) {
  log_.warn("dry run: the cluster {} would be deleted", snapshot.cluster->name);
  Announce(snapshot, "ClusterAbandoned", "Watching",
           "Cluster " + snapshot.cluster->name + " would be deleted (dry run)");
  Deletion(survey_, clock_, metrics_, log_, snapshot, "", turn_).Rehearse();
}

}  // namespace cluster_watcher

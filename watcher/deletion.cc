#include "watcher/deletion.h"

#include <algorithm>

#include "probes/names.h"
#include "watcher/marks.h"
#include "watcher/owner_reference.h"

namespace cluster_watcher {
namespace {

constexpr Duration kFirstBackoff{50};
constexpr Duration kLongestBackoff{2'000};
// Within the patience of who asks whether the loop turns.
constexpr Duration kLongestAskedWait{20'000};
constexpr int kMostLatePasses = 5;
constexpr std::size_t kMostSaid = 200;
constexpr std::size_t kMostDeletesInABatch = 64;
// The garbage collector's time for what is left of a controller, before we do it ourselves.
constexpr Duration kLeftoverPatience{1'000};

constexpr const char* kBuiltInMembers[] = {"deployments.apps",
                                           "statefulsets.apps",
                                           "replicasets.apps",
                                           "replicationcontrollers",
                                           "daemonsets.apps",
                                           "jobs.batch",
                                           "cronjobs.batch",
                                           "pods",
                                           "services",
                                           "configmaps",
                                           "ingresses.networking.k8s.io",
                                           "networkpolicies.networking.k8s.io",
                                           "horizontalpodautoscalers.autoscaling",
                                           "poddisruptionbudgets.policy",
                                           "deploymentconfigs.apps.openshift.io",
                                           "routes.route.openshift.io",
                                           "rayclusters.ray.io",
                                           "daskclusters.kubernetes.dask.org",
                                           "flinkdeployments.flink.apache.org"};

std::vector<std::string> KindsToLookFor(const Settings& settings) {
  if (!settings.resources.empty()) return settings.resources;
  std::vector<std::string> kinds(std::begin(kBuiltInMembers), std::end(kBuiltInMembers));
  if (settings.volumes != Volumes::kPreserve) kinds.emplace_back("persistentvolumeclaims");
  return kinds;
}

std::string OwnerUidOf(const Snapshot& snapshot) {
  return snapshot.seen ? snapshot.seen->uid : std::string();
}

}  // namespace

MemberKinds FindMemberKinds(const Settings& settings, Discovery& discovery) {
  MemberKinds kinds;
  for (const std::string& kind : KindsToLookFor(settings)) {
    const KindName name = SplitKindName(kind);
    auto type = discovery.ByPlural(name.kind, name.group, {});
    if (!type) {
      kinds.errors.push_back(std::move(type).error());
    } else if (*type && (*type)->namespaced) {
      kinds.types.push_back(**type);
    } else if (!settings.resources.empty()) {
      kinds.not_served.push_back(kind);
    }
  }
  return kinds;
}

Deletion::Deletion(Survey& survey, Clock& clock, WatcherMetrics& metrics, spdlog::logger& log,
                   const Snapshot& condemned, std::function<void()> turn)
    : survey_(survey),
      clock_(clock),
      metrics_(metrics),
      log_(log),
      root_(*condemned.root),
      cluster_(*condemned.cluster),
      marks_(condemned.marks),
      seen_abandoned_(condemned.began),
      turn_(std::move(turn)),
      claims_(survey.client(), clock, survey.settings().settings, cluster_, root_),
      begun_(condemned.marks.deletes_begun),
      jitter_(static_cast<unsigned>(std::hash<std::string>()(root_.meta.uid))),
      backoff_(kFirstBackoff) {
  memory_.root_uid = root_.meta.uid;
  memory_.owner_uid = OwnerUidOf(condemned);
  memory_.mounted = condemned.mounted;
  memory_.volumes = survey.settings().settings.volumes;
  if (const auto& owner = condemned.facts.owner; owner && owner->object) {
    const OwnerReference* above = owner->object->meta.Controller();
    if (above != nullptr) memory_.owner_controller_uid = above->uid;
  }
}

Deletion::Outcome Deletion::DeleteMembers(MonotonicTime deadline) {
  const MonotonicTime started = clock_.Now();
  // What a deletion that was interrupted had listed counts as listed, even if the root is gone now.
  bool first_pass_of_resumed = begun_;
  for (int late_passes = 0;;) {
    turn_();
    metrics_.SetDeletionDuration(clock_.Now() - started);
    RootState root = ReadRoot();
    if (root == RootState::kReplaced) return Outcome::kRootReplaced;
    if (!begun_ && root != RootState::kUnknown) {
      if (root == RootState::kGone || !NamesUs(ReadMarks(root_now_))) return Outcome::kCalledOff;
      // The cluster is still whole, and by now it may be in use again. A process that was held up
      // doesn't know it, so it is counted from the look.
      if (clock_.Now() - seen_abandoned_ >= 2 * kFreshEvidence) return Outcome::kStale;
      begun_ = MarkDeletesBegun();
    } else if (root == RootState::kOurs) {
      if (IsOvertaken()) return Outcome::kOvertaken;
      RestoreMarks();
    }
    const bool past_deadline = clock_.Now() >= deadline;
    if (root != RootState::kUnknown && begun_) {
      if (first_pass_of_resumed) root = RootState::kOurs;
      first_pass_of_resumed = false;
      const PassResult result = DeletePass(root, past_deadline);
      if (result == PassResult::kNoneLeft) {
        log_.info("all {} members are gone{}", memory_.listed.size(),
                  mounted_.empty() ? "" : " but for what the master mounts");
        return Outcome::kGone;
      }
      if (past_deadline && (result == PassResult::kSomeLeft || ++late_passes >= kMostLatePasses)) {
        return Outcome::kGone;
      }
    }
    Pause(past_deadline ? MonotonicTime::max() : deadline);
  }
}

void Deletion::FinishMembers(MonotonicTime deadline, const std::function<bool()>& may_go_on) {
  memory_.made_before = survey_.root_seen_at();
  memory_.mounted.clear();
  for (bool first = true; clock_.Now() < deadline; first = false) {
    turn_();
    if ((!first && !may_go_on()) || ReadRoot() != RootState::kGone) return;
    // The first list is the one that counts; nothing that appears later is ours to delete.
    const PassResult result = DeletePass(first ? RootState::kOurs : RootState::kGone, false);
    if (result == PassResult::kNoneLeft) return;
    Pause(deadline);
  }
}

void Deletion::Rehearse() {
  MemberPass pass = SortMembers(ListObjects().objects, true, memory_);
  ShowMembers(pass);
  std::vector<const KubeObject*> all;
  for (const KubeObject& object : pass.to_delete) all.push_back(&object);
  for (const KubeObject& object : pass.mounted) all.push_back(&object);
  all.push_back(&root_);
  for (const KubeObject* object : all) log_.info("dry run: would delete {}", object->Describe());
  for (const KubeObject& claim : pass.to_collect) {
    log_.info("dry run: would mark {} for collection", claim.Describe());
  }
  for (const std::string& left : pass.left) log_.info("dry run: would leave {}", left);
  for (const std::string& mistake : pass.mistakes) log_.warn("dry run: {}", mistake);
  SendDeletes(all, Propagation(), true);
}

Deletion::RootState Deletion::ReadRoot() {
  auto answer =
      survey_.client().Do(ApiRequest::GetMetadata(root_.type, cluster_.ns, root_.meta.name), {});
  if (!answer && answer.error().failure == ApiFailure::kNotFound) return RootState::kGone;
  if (!answer) {
    NoteError(answer.error());
    return RootState::kUnknown;
  }
  auto meta = ReadObjectMeta(answer->document.root());
  if (!meta) return RootState::kUnknown;
  if (meta->uid != root_.meta.uid) return RootState::kReplaced;
  root_now_ = *std::move(meta);
  return root_now_.deleting ? RootState::kGone : RootState::kOurs;
}

bool Deletion::NamesUs(const Marks& marks) const {
  return marks.phase == Phase::kDeleting && marks.condemned_by == marks_.condemned_by;
}

bool Deletion::MarkDeletesBegun() {
  auto answer = survey_.client().Do(
      ApiRequest::MergePatch(root_.type, cluster_.ns, root_.meta.name,
                             MarksPatch(root_now_, {{annotation::kDeletesBegun, "true"}})),
      {});
  if (!answer) NoteError(answer.error());
  return answer.has_value();
}

bool Deletion::IsOvertaken() const {
  const Marks now = ReadMarks(root_now_);
  return now.phase == Phase::kDeleting && !NamesUs(now);
}

// Where somebody took them off the deletion goes on, and whoever comes after a crash must know.
void Deletion::RestoreMarks() {
  const Marks now = ReadMarks(root_now_);
  if (NamesUs(now) && now.deletes_begun) return;
  AnnotationChanges changes = {{annotation::kPhase, ToString(Phase::kDeleting)},
                               {annotation::kReason, marks_.reason},
                               {annotation::kCondemnedBy, marks_.condemned_by},
                               {annotation::kDeletesBegun, "true"}};
  if (marks_.deleting_since) {
    changes[annotation::kDeletingSince] = FormatTime(*marks_.deleting_since);
  }
  auto answer = survey_.client().Do(ApiRequest::MergePatch(root_.type, cluster_.ns, root_.meta.name,
                                                           MarksPatch(root_now_, changes)),
                                    {});
  if (!answer) NoteError(answer.error());
}

Deletion::Listed Deletion::ListObjects() {
  const Settings& settings = survey_.settings().settings;
  Listed listed;
  if (list_anew_) {
    if (auto fresh = survey_.discovery().Refresh({}); !fresh) NoteError(fresh.error());
  }
  const MemberKinds kinds = FindMemberKinds(settings, survey_.discovery());
  for (const ApiError& error : kinds.errors) NoteError(error);
  for (const std::string& kind : kinds.not_served) {
    SaySkipped(SplitKindName(kind).kind, "not-found", kind + ": not served");
  }
  if (most_readable_ == 0) {
    for (const ResourceType& type : kinds.types) metrics_.ExpectDeletesOf(type.plural);
  }
  auto listing = survey_.cluster_probe().List(kinds.types, cluster_,
                                              static_cast<std::size_t>(settings.concurrency), {});
  for (const auto& [type, error] : listing.skipped) {
    NoteError(error);
    SaySkipped(type.plural, "forbidden", type.QualifiedName() + ": the account may not list them");
  }
  for (const ApiError& error : listing.failed) NoteError(error);
  // What could be listed before isn't empty because it no longer can be.
  const std::size_t readable = kinds.types.size() - listing.skipped.size() - listing.failed.size();
  most_readable_ = std::max(most_readable_, readable);
  listed.complete =
      kinds.errors.empty() && listing.failed.empty() && readable > 0 && readable == most_readable_;
  list_anew_ = !listed.complete;
  listed.objects = std::move(listing.objects);
  return listed;
}

void Deletion::SaySkipped(const std::string& plural, const char* result, std::string why) {
  if (!skipped_.insert(why).second) return;
  metrics_.Deleted(plural, result);
  log_.warn("skipped {}", why);
  left_.push_back(std::move(why));
}

Deletion::PassResult Deletion::DeletePass(RootState root, bool past_deadline) {
  Listed listed = ListObjects();
  MemberPass pass = SortMembers(std::move(listed.objects), root == RootState::kOurs, memory_);
  for (const std::string& mistake : pass.mistakes) log_.warn("{}", mistake);
  for (const std::string& left : pass.left) log_.info("left alone: {}", left);
  left_.insert(left_.end(), pass.left.begin(), pass.left.end());
  ShowMembers(pass);
  std::vector<const KubeObject*> due = DueMembers(pass, memory_, past_deadline);
  std::erase_if(due, [&](const KubeObject* object) { return !IsDue(*object, past_deadline); });
  // Before a wave may begin, what its predecessors control must have gone as well.
  SendDeletes(due, memory_.HasWaves() ? PropagationPolicy::kForeground : Propagation(), false);
  Collect(pass.to_collect);
  // Only progress is followed closely, not objects that somebody makes again and again.
  if (pass.remaining() < remaining_) backoff_ = kFirstBackoff;
  remaining_ = pass.remaining();
  if (past_deadline) NameLeft(pass);
  mounted_ = std::move(pass.mounted);
  if (!listed.complete) return PassResult::kIncomplete;
  return remaining_ == 0 ? PassResult::kNoneLeft : PassResult::kSomeLeft;
}

void Deletion::NameLeft(const MemberPass& pass) {
  for (const auto* objects : {&pass.to_delete, &pass.leftovers, &pass.to_collect}) {
    for (const KubeObject& object : *objects) {
      const std::string text = object.Describe() + ": not gone by the deadline";
      if (std::find(overdue_.begin(), overdue_.end(), text) != overdue_.end()) continue;
      log_.warn("{}", text);
      left_.push_back(text);
      overdue_.push_back(text);
    }
  }
}

void Deletion::ShowMembers(const MemberPass& pass) {
  metrics_.SetMembers(static_cast<std::int64_t>(memory_.listed.size()),
                      static_cast<std::int64_t>(pass.remaining()));
}

// What is being deleted already is waited for, and what a deleted member controls is the garbage
// collector's for a while.
bool Deletion::IsDue(const KubeObject& object, bool past_deadline) const {
  if (object.meta.deleting) return false;
  const auto below = memory_.below.find(object.meta.uid);
  const OwnerReference* controller = object.meta.Controller();
  // Without one its controller was deleted by another's hand and has left it behind.
  if (below == memory_.below.end() || controller == nullptr || past_deadline) return true;
  // The garbage collector may have taken what is between before we did.
  auto deleted = memory_.deleted_since.find(controller->uid);
  if (deleted == memory_.deleted_since.end()) {
    deleted = memory_.deleted_since.find(below->second);
  }
  return deleted != memory_.deleted_since.end() &&
         clock_.Now() - deleted->second >= kLeftoverPatience;
}

void Deletion::Collect(const std::vector<KubeObject>& claims) {
  for (const KubeObject& claim : claims) {
    auto answer = survey_.client().Do(claims_.CollectRequest(claim), {});
    if (answer) {
      log_.info("{} is marked for collection", claim.Describe());
    } else {
      NoteError(answer.error());
    }
  }
}

void Deletion::SendDeletes(const std::vector<const KubeObject*>& objects,
                           PropagationPolicy propagation, bool dry_run) {
  const auto concurrency = static_cast<std::size_t>(survey_.settings().settings.concurrency);
  for (std::size_t next = 0; next < objects.size();) {
    // A batch at a time: there may be thousands, and each answer is an object.
    std::vector<const KubeObject*> batch;
    std::vector<ApiRequest> requests;
    for (; next < objects.size() && batch.size() < kMostDeletesInABatch; ++next) {
      const KubeObject& object = *objects[next];
      if (!dry_run && !ClaimsAreSettled(object)) continue;
      batch.push_back(&object);
      requests.push_back(ApiRequest::Delete(object.type, cluster_.ns, object.meta.name,
                                            object.meta.uid, propagation, dry_run));
    }
    const auto results = survey_.client().DoAll(requests, concurrency, {});
    for (std::size_t i = 0; i < batch.size(); ++i) {
      CountDelete(*batch[i], results[i], dry_run);
      if (results[i] || results[i].error().failure == ApiFailure::kNotFound) {
        memory_.deleted_since.try_emplace(batch[i]->meta.uid, clock_.Now());
      }
    }
    if (next < objects.size()) turn_();
  }
}

void Deletion::CountDelete(const KubeObject& object, const ApiResult& result, bool dry_run) {
  const std::string& resource = object.type.plural;
  if (result) {
    if (!dry_run) log_.info("deleted {}", object.Describe());
    return metrics_.Deleted(resource, dry_run ? "dry-run" : "deleted");
  }
  switch (result.error().failure) {
    case ApiFailure::kNotFound:
      return metrics_.Deleted(resource, "not-found");
    case ApiFailure::kConflict:
      // The next pass lists it again: under another UID it is somebody else's.
      return metrics_.Deleted(resource, "conflict");
    case ApiFailure::kForbidden:
      metrics_.Deleted(resource, "forbidden");
      break;
    case ApiFailure::kUnreachable:
    case ApiFailure::kStopped:
    case ApiFailure::kUnauthorized:
    case ApiFailure::kNotServed:
    case ApiFailure::kInvalid:
    case ApiFailure::kThrottled:
    case ApiFailure::kServer:
    case ApiFailure::kUnexpected:
      metrics_.Deleted(resource, "failed");
      break;
  }
  NoteError(result.error());
}

bool Deletion::ClaimsAreSettled(const KubeObject& object) {
  if (object.type.kind != "StatefulSet") return true;
  auto settled = claims_.Settle(object);
  if (!settled) NoteError(settled.error());
  return settled && *settled;
}

// What the master pod mounts stays until the master root is gone, so that a master pod that is
// rescheduled in the middle can still start: the garbage collector takes it along.
void Deletion::HandOver() {
  std::vector<const KubeObject*> refused;
  for (const KubeObject& object : mounted_) {
    auto answer =
        survey_.client().Do(ApiRequest::MergePatch(object.type, cluster_.ns, object.meta.name,
                                                   OwnerReferencePatch(object.meta, root_)),
                            {});
    if (answer) {
      log_.info("{} is mounted by the master and goes with it", object.Describe());
    } else {
      NoteError(answer.error());
      refused.push_back(&object);
    }
  }
  SendDeletes(refused, Propagation(), false);
}

void Deletion::DeleteRoot() {
  HandOver();
  for (backoff_ = kFirstBackoff;;) {
    turn_();
    SendDeletes({&root_}, Propagation(), false);
    // Not until it is gone: it may be waiting for our own pod to end.
    const RootState state = ReadRoot();
    if (state == RootState::kGone || state == RootState::kReplaced) return;
    Pause(MonotonicTime::max());
  }
}

PropagationPolicy Deletion::Propagation() const {
  switch (survey_.settings().settings.propagation) {
    case Propagation::kBackground:
      return PropagationPolicy::kBackground;
    case Propagation::kForeground:
      return PropagationPolicy::kForeground;
  }
  return PropagationPolicy::kBackground;
}

void Deletion::Pause(MonotonicTime until) {
  const Duration asked = survey_.client().TakeRetryAfter();
  const Duration base = std::max(backoff_, std::min(asked, kLongestAskedWait));
  const auto percent = std::uniform_int_distribution<int>(80, 120)(jitter_);
  clock_.WaitUntil(std::min(until, clock_.Now() + base * percent / 100), {});
  backoff_ = std::min(backoff_ * 2, kLongestBackoff);
}

void Deletion::NoteError(const ApiError& error) {
  if (said_.size() < kMostSaid && said_.insert(error.message).second) {
    log_.warn("{}", error.message);
  }
}

}  // namespace cluster_watcher

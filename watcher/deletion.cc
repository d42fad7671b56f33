#include "watcher/deletion.h"

#include <algorithm>

#include "probes/names.h"
#include "probes/owner_kinds.h"
#include "watcher/marks.h"

namespace cluster_watcher {
namespace {

constexpr Duration kFirstBackoff{50};
constexpr Duration kLongestBackoff{2'000};
// Within the patience of who asks whether the loop turns.
constexpr Duration kLongestAskedWait{20'000};
constexpr int kMostLatePasses = 5;
constexpr std::size_t kMostSaid = 200;
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

std::vector<std::string> MemberKinds(const Settings& settings) {
  if (!settings.resources.empty()) return settings.resources;
  return {std::begin(kBuiltInMembers), std::end(kBuiltInMembers)};
}

std::string OwnerUidOf(const Snapshot& snapshot) {
  return snapshot.seen ? snapshot.seen->uid : std::string();
}

// `root`'s owner references and one more, to `owner`, that blocks nothing.
std::string OwnerReferencePatch(const ObjectMeta& object, const KubeObject& owner) {
  JsonWriter patch;
  patch.StartObject().Key("metadata").StartObject();
  patch.Field("resourceVersion", object.resource_version);
  patch.Key("ownerReferences").StartArray();
  for (const OwnerReference& reference : object.owner_references) {
    if (reference.uid == owner.meta.uid) continue;
    patch.StartObject().Field("apiVersion", reference.api_version).Field("kind", reference.kind);
    patch.Field("name", reference.name).Field("uid", reference.uid);
    patch.Key("controller").Bool(reference.controller);
    patch.Key("blockOwnerDeletion").Bool(reference.block_owner_deletion).EndObject();
  }
  patch.StartObject().Field("apiVersion", owner.type.ApiVersion()).Field("kind", owner.type.kind);
  patch.Field("name", owner.meta.name).Field("uid", owner.meta.uid);
  patch.Key("controller").Bool(false).Key("blockOwnerDeletion").Bool(false).EndObject();
  return patch.EndArray().EndObject().EndObject().Text();
}

}  // namespace

std::vector<ResourceType> MemberTypes(const Settings& settings, Discovery& discovery,
                                      std::vector<ApiError>& errors) {
  std::vector<ResourceType> types;
  for (const std::string& kind : MemberKinds(settings)) {
    const KindName name = SplitKindName(kind);
    auto type = discovery.ByPlural(name.kind, name.group, {});
    if (!type) {
      errors.push_back(std::move(type).error());
    } else if (*type && (*type)->namespaced) {
      types.push_back(**type);
    }
  }
  return types;
}

Deletion::Deletion(Survey& survey, Clock& clock, WatcherMetrics& metrics, spdlog::logger& log,
                   const Snapshot& condemned, std::string me, std::function<void()> turn)
    : survey_(survey),
      clock_(clock),
      metrics_(metrics),
      log_(log),
      root_(*condemned.root),
      cluster_(*condemned.cluster),
      me_(std::move(me)),
      turn_(std::move(turn)),
      begun_(condemned.marks.deletes_begun),
      jitter_(static_cast<unsigned>(std::hash<std::string>()(root_.meta.uid))),
      backoff_(kFirstBackoff) {
  memory_.root_uid = root_.meta.uid;
  memory_.owner_uid = OwnerUidOf(condemned);
  memory_.mounted = condemned.mounted;
  if (const auto& owner = condemned.facts.owner; owner && owner->object) {
    const OwnerReference* above = owner->object->meta.Controller();
    if (above != nullptr) memory_.owner_controller_uid = above->uid;
  }
}

Deletion::Outcome Deletion::Run(MonotonicTime deadline) {
  const MonotonicTime started = clock_.Now();
  // What a deletion that was interrupted had listed counts as listed, even if the root is gone now.
  bool first_pass_of_resumed = begun_;
  for (int late_passes = 0;;) {
    turn_();
    RootState root = ReadRoot();
    if (root == RootState::kReplaced) return Outcome::kRootReplaced;
    if (!begun_ && root != RootState::kUnknown) {
      if (root == RootState::kGone || !IsStillOurs()) return Outcome::kCalledOff;
      // The cluster is still whole, and by now it may be in use again.
      if (clock_.Now() - started >= kFreshEvidence) return Outcome::kStale;
      begun_ = MarkDeletesBegun();
    }
    const bool past_deadline = clock_.Now() >= deadline;
    if (root != RootState::kUnknown && begun_) {
      if (first_pass_of_resumed) root = RootState::kOurs;
      first_pass_of_resumed = false;
      const PassResult result = DeletePass(root, past_deadline);
      if (result == PassResult::kNoneLeft) break;
      if (past_deadline && (result == PassResult::kSomeLeft || ++late_passes >= kMostLatePasses)) {
        break;
      }
    }
    Pause(past_deadline ? MonotonicTime::max() : deadline);
  }
  HandOver(mounted_);
  DeleteRoot();
  return Outcome::kDone;
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
  std::vector<KubeObject> all = std::move(pass.to_delete);
  all.insert(all.end(), pass.mounted.begin(), pass.mounted.end());
  all.push_back(root_);
  for (const KubeObject& object : all) log_.info("dry run: would delete {}", object.Describe());
  for (const std::string& left : pass.left) log_.info("dry run: would leave {}", left);
  SendDeletes(std::move(all), true);
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

bool Deletion::IsStillOurs() const {
  const Marks marks = ReadMarks(root_now_);
  return marks.phase == Phase::kDeleting && marks.condemned_by == me_;
}

bool Deletion::MarkDeletesBegun() {
  auto answer = survey_.client().Do(
      ApiRequest::MergePatch(root_.type, cluster_.ns, root_.meta.name,
                             MarksPatch(root_now_, {{annotation::kDeletesBegun, "true"}})),
      {});
  if (!answer) NoteError(answer.error());
  return answer.has_value();
}

Deletion::Listed Deletion::ListObjects() {
  const Settings& settings = survey_.settings().settings;
  Listed listed;
  if (list_anew_) {
    if (auto fresh = survey_.discovery().Refresh({}); !fresh) NoteError(fresh.error());
  }
  std::vector<ApiError> errors;
  const std::vector<ResourceType> types = MemberTypes(settings, survey_.discovery(), errors);
  for (const ApiError& error : errors) NoteError(error);
  auto listing = survey_.cluster_probe().List(types, cluster_,
                                              static_cast<std::size_t>(settings.concurrency), {});
  for (const ApiError& error : listing.skipped) NoteError(error);
  for (const ApiError& error : listing.failed) NoteError(error);
  // What could be listed before isn't empty because it no longer can be.
  const std::size_t readable = types.size() - listing.skipped.size() - listing.failed.size();
  most_readable_ = std::max(most_readable_, readable);
  listed.complete =
      errors.empty() && listing.failed.empty() && readable > 0 && readable == most_readable_;
  list_anew_ = !listed.complete;
  listed.objects = std::move(listing.objects);
  return listed;
}

Deletion::PassResult Deletion::DeletePass(RootState root, bool past_deadline) {
  const Listed listed = ListObjects();
  MemberPass pass = SortMembers(listed.objects, root == RootState::kOurs, memory_);
  for (const std::string& left : pass.left) log_.info("left alone: {}", left);
  left_.insert(left_.end(), pass.left.begin(), pass.left.end());
  ShowMembers(pass);
  mounted_ = pass.mounted;
  SendDeletes(DueIn(pass, past_deadline), false);
  // Only progress is followed closely, not objects that somebody makes again and again.
  if (pass.remaining() < remaining_) backoff_ = kFirstBackoff;
  remaining_ = pass.remaining();
  if (past_deadline) NameLeft(pass);
  if (!listed.complete) return PassResult::kIncomplete;
  return pass.remaining() == 0 ? PassResult::kNoneLeft : PassResult::kSomeLeft;
}

void Deletion::NameLeft(const MemberPass& pass) {
  for (const auto* objects : {&pass.to_delete, &pass.leftovers}) {
    for (const KubeObject& object : *objects) {
      const std::string text = object.Describe() + ": not gone by the deadline";
      if (std::find(left_.begin(), left_.end(), text) != left_.end()) continue;
      log_.warn("{}", text);
      left_.push_back(text);
    }
  }
}

void Deletion::ShowMembers(const MemberPass& pass) {
  metrics_.SetMembers(static_cast<std::int64_t>(memory_.listed.size()),
                      static_cast<std::int64_t>(pass.remaining()));
}

std::vector<KubeObject> Deletion::DueIn(const MemberPass& pass, bool past_deadline) const {
  std::vector<KubeObject> due;
  for (const KubeObject& member : pass.to_delete) {
    if (!member.meta.deleting) due.push_back(member);
  }
  for (const KubeObject& leftover : pass.leftovers) {
    // The garbage collector may have taken what is between before we did.
    auto deleted = memory_.deleted_since.find(leftover.meta.Controller()->uid);
    if (deleted == memory_.deleted_since.end()) {
      deleted = memory_.deleted_since.find(memory_.below.at(leftover.meta.uid));
    }
    const bool waited_enough = deleted != memory_.deleted_since.end() &&
                               clock_.Now() - deleted->second >= kLeftoverPatience;
    if (!leftover.meta.deleting && (waited_enough || past_deadline)) due.push_back(leftover);
  }
  return due;
}

void Deletion::SendDeletes(std::vector<KubeObject> objects, bool dry_run) {
  if (!dry_run) std::erase_if(objects, [&](const KubeObject& o) { return !ClaimsStay(o); });
  std::vector<ApiRequest> requests;
  for (const KubeObject& object : objects) {
    requests.push_back(ApiRequest::Delete(object.type, cluster_.ns, object.meta.name,
                                          object.meta.uid, Propagation(), dry_run));
  }
  const auto concurrency = static_cast<std::size_t>(survey_.settings().settings.concurrency);
  auto results = survey_.client().DoAll(requests, concurrency, {});
  for (std::size_t i = 0; i < objects.size(); ++i) {
    CountDelete(objects[i], results[i], dry_run);
    if (results[i] || results[i].error().failure == ApiFailure::kNotFound) {
      memory_.deleted_since.try_emplace(objects[i].meta.uid, clock_.Now());
    }
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

// A StatefulSet may take its claims with it (whenDeleted: Delete). They are to stay: the policy is
// changed first, and the controller must have let go of them before the StatefulSet is deleted.
// Source: kubernetes.io "StatefulSets", PersistentVolumeClaim retention.
bool Deletion::ClaimsStay(const KubeObject& object) {
  if (object.type.kind != "StatefulSet") return true;
  KubeClient& client = survey_.client();
  auto answer = client.Do(ApiRequest::Get(object.type, cluster_.ns, object.meta.name), {});
  if (!answer && answer.error().failure == ApiFailure::kNotFound) return true;
  if (!answer) {
    NoteError(answer.error());
    return false;
  }
  const auto meta = ReadObjectMeta(answer->document.root());
  if (!meta) return false;
  if (meta->uid != object.meta.uid) return true;  // the delete will meet the other UID
  const JsonValue spec = answer->document.root()["spec"];
  if (spec["volumeClaimTemplates"].size() == 0) return true;
  const JsonValue policy = spec["persistentVolumeClaimRetentionPolicy"];
  if (policy["whenDeleted"].AsString() == "Delete") {
    JsonWriter patch;
    patch.StartObject().Key("metadata").StartObject();
    patch.Field("resourceVersion", meta->resource_version).EndObject();
    patch.Key("spec").StartObject().Key("persistentVolumeClaimRetentionPolicy").StartObject();
    patch.Field("whenDeleted", "Retain").EndObject().EndObject().EndObject();
    auto patched = client.Do(
        ApiRequest::MergePatch(object.type, cluster_.ns, object.meta.name, patch.Text()), {});
    if (!patched) NoteError(patched.error());
    return false;
  }
  const ResourceType& claims = *FindBuiltInByName("persistentvolumeclaims", "");
  const auto fields = ReadOwnerFields(object.type, answer->document.root());
  if (!fields || fields->pod_selector.empty()) return false;
  auto pages = client.ListAll(
      ApiRequest::ListBySelector(claims, cluster_.ns, fields->pod_selector, true), {});
  if (!pages) {
    NoteError(pages.error());
    return false;
  }
  for (const ApiAnswer& page : *pages) {
    for (JsonValue item : page.document.root()["items"].Elements()) {
      auto claim = ReadObjectMeta(item);
      if (!claim) return false;
      for (const OwnerReference& owner : claim->owner_references) {
        if (owner.uid == object.meta.uid) return false;
      }
    }
  }
  return true;
}

// What the master pod mounts stays until the master root is gone, so that a master pod that is
// rescheduled in the middle can still start: the garbage collector takes it along.
void Deletion::HandOver(const std::vector<KubeObject>& mounted) {
  std::vector<KubeObject> ours;
  for (const KubeObject& object : mounted) {
    auto answer =
        survey_.client().Do(ApiRequest::MergePatch(object.type, cluster_.ns, object.meta.name,
                                                   OwnerReferencePatch(object.meta, root_)),
                            {});
    if (answer) {
      log_.info("{} is mounted by the master and goes with it", object.Describe());
    } else {
      NoteError(answer.error());
      ours.push_back(object);
    }
  }
  SendDeletes(std::move(ours), false);
}

void Deletion::DeleteRoot() {
  for (backoff_ = kFirstBackoff;;) {
    turn_();
    SendDeletes({root_}, false);
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

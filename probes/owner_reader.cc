#include "probes/owner_reader.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "probes/base/time_text.h"
#include "probes/pod_state.h"

namespace cluster_watcher {
namespace {

constexpr char kVersionAnnotation[] = "openshift.io/deployment-config.latest-version";
constexpr char kPhaseAnnotation[] = "openshift.io/deployment.phase";

constexpr int kLongestChain = 16;

const ResourceType& Pods() { return *FindBuiltInByName("pods", ""); }

ApiError Surprise(const KubeObject& object, const std::string& why) {
  return {ApiFailure::kUnexpected, object.Describe() + ": " + why, std::nullopt};
}

Unexpected<ApiError> CantFollow(const std::string& pod, const std::string& why) {
  return {ApiError{ApiFailure::kUnexpected, "the controllers of " + pod + " can't be told: " + why,
                   std::nullopt}};
}

// Returns the version of a DeploymentConfig's ReplicationController, counted from 1; 0 if unknown.
std::int64_t VersionOf(const ObjectMeta& meta) {
  const std::string text = meta.Annotation(kVersionAnnotation).value_or("");
  std::int64_t version = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), version);
  return read.ptr == text.data() + text.size() && version > 0 ? version : 0;
}

// Whether a workload makes objects of this kind.
bool IsMade(const ResourceType& type) {
  return type == Pods() || type.kind == "ReplicaSet" || type.kind == "ReplicationController" ||
         type.kind == "Job";
}

// What is made is named after its maker. The API server cuts the name from which it generates
// another. Source: k8s.io/apiserver/pkg/storage/names.
bool IsNamedAfter(const std::string& name, const OwnerOfPods& owner) {
  constexpr std::size_t kLongestBase = 58;
  return name.starts_with((owner.name + "-").substr(0, kLongestBase));
}

// Whether `meta` belongs to nobody and may have been made by `owner`.
bool IsNobodys(const ObjectMeta& meta, const OwnerOfPods& owner) {
  return meta.owner_references().empty() && IsNamedAfter(meta.name, owner);
}

bool IsJob(const OwnerReference& reference) {
  return reference.kind == "Job" && reference.api_version.starts_with("batch/");
}

// Whether `owner` is going, and has let go of what it has made.
bool IsLeftBehind(const ObjectMeta& meta, const OwnerOfPods& owner) {
  return owner.is_going && IsNobodys(meta, owner);
}

bool IsRunning(JsonValue pod, const ObjectMeta& meta) {
  return !meta.deleting && !HasEnded(pod);
}

// Source: kubernetes.io "Pod Lifecycle", container states. What runs and doesn't say since when may
// have been started at any time.
bool IsAnyStartedAfter(JsonValue pod, WallTime time) {
  for (JsonValue status : pod["status"]["containerStatuses"].Elements()) {
    for (JsonValue state : {status["state"]["running"], status["state"]["terminated"],
                            status["lastState"]["terminated"]}) {
      if (!state.IsObject()) continue;
      const auto started = ParseTime(state["startedAt"].AsString().value_or(""));
      if (!started || *started > time) return true;
    }
  }
  return false;
}

}  // namespace

bool ClusterOfPods::HasEnded(const ObjectMeta& pod, JsonValue json) const {
  const bool is_caller =
      caller_uid.empty() ? !caller.empty() && pod.name == caller : pod.uid == caller_uid;
  if (!is_caller && !all_have_ended) return false;
  if (!ended_by) return true;
  return pod.created && *pod.created <= *ended_by && !IsAnyStartedAfter(json, *ended_by);
}

bool ClusterOfPods::HasRunEnded(const ObjectMeta& run) const {
  return all_have_ended && ended_by && run.created && *run.created <= *ended_by;
}

// Climbs from pods that run to the owner, level by level.
class OwnerReader::Climb {
 public:
  // By apiVersion and kind: the UIDs of controllers, and one of the pods below each.
  using Level = std::map<std::pair<std::string, std::string>, std::map<std::string, std::string>>;

  // `selected`: its selector has found the pods, which carry the cluster's label. They are the
  // owner's unless a root of the cluster is above them.
  Climb(const OwnerOfPods& owner, const ClusterOfPods& but, bool selected)
      : owner_(owner), but_(but), selected_(selected) {}

  // Returns whether `pod` is the owner's by `meta`, which is the pod or above it.
  bool IsOfOwner(const ResourceType& type, const ObjectMeta& meta, const std::string& pod) {
    if (meta.uid == but_.root_uid) return false;
    // Some operators write ownerReferences that aren't a controller's.
    if (!owner_.uid.empty() && meta.IsOwnedBy(owner_.uid)) return true;
    if (const OwnerReference* controller = meta.Controller()) {
      if (controller->uid == but_.root_uid) return false;
      next_[{controller->api_version, controller->kind}].emplace(controller->uid, pod);
      return false;
    }
    if (!selected_) return false;
    return !but_.IsLabelled(meta) || (IsMade(type) && IsLeftBehind(meta, owner_));
  }
  // Returns whether a pod is the owner's of which the controller is gone.
  bool IsOfOwnerWithoutController() const { return selected_; }

  Level TakeLevel() { return std::exchange(next_, {}); }

 private:
  const OwnerOfPods& owner_;
  const ClusterOfPods& but_;
  const bool selected_;
  Level next_;
};

bool WantsToRun(const OwnerFields& fields) {
  return fields.replicas > 0 && !fields.suspended && !fields.completed;
}

Result<OwnerFields, ApiError> OwnerReader::Read(const KubeObject& object, JsonValue item,
                                                Freshness freshness, const Patience& patience,
                                                const ClusterOfPods& but, RolloutsByUid* known) {
  auto read = ReadOwnerFields(object.type, item);
  if (!read) return Unexpected{Surprise(object, "can't be judged: " + read.error().message)};
  OwnerFields fields = *std::move(read);
  if (fields.replicas_by_scale) {
    auto scale = ReadScale(object, freshness, fields, patience);
    if (!scale) return Unexpected{std::move(scale).error()};
  }
  if (freshness == Freshness::kGlance) return fields;
  const bool idle = fields.suspended || (fields.replicas_by_scale && fields.replicas == 0);
  const bool unless_pod = fields.suspended && fields.suspended_unless_pod;
  if (idle && (fields.idle_unless_run != nullptr || unless_pod)) {
    auto running = FindRunning({object.type, object.meta.ns(), object.meta.name, object.meta.uid,
                                fields.pod_selector, false},
                               but, patience);
    if (!running) return Unexpected{std::move(running).error()};
    fields.nothing_runs = running->empty();
    if (!fields.nothing_runs || (unless_pod && fields.pod_selector.empty())) {
      fields.suspended = false;
      fields.replicas = std::max<std::int64_t>(fields.replicas, 1);
    }
  }
  if (fields.may_be_in_rollout) {
    auto comes_back = MayComeBack(object, known, patience);
    if (!comes_back) return Unexpected{std::move(comes_back).error()};
    if (*comes_back) fields.replicas = 1;
  }
  return fields;
}

// Source: kubernetes.io "Custom Resources", scale subresource; k8s.io/api autoscaling/v1 Scale.
Result<Done, ApiError> OwnerReader::ReadScale(const KubeObject& object, Freshness freshness,
                                              OwnerFields& fields, const Patience& patience) {
  auto offer = discovery_.OfferOf(object.type, patience);
  if (!offer) return Unexpected{std::move(offer).error()};
  if (!*offer || !(*offer)->has_scale) return Done{};
  auto answer = client_.Do(
      ApiRequest::GetScale(object.type, object.meta.ns(), object.meta.name, freshness), patience);
  if (!answer) {
    // Only the kind's operator knows what that means.
    if (IsUnsetScale(answer.error())) return Done{};
    return Unexpected{std::move(answer).error()};
  }
  const JsonValue scale = answer->document.root();
  if (scale["metadata"]["uid"].AsString() != object.meta.uid) {
    return Unexpected{Surprise(object, "its scale is that of another object")};
  }
  const JsonValue replicas = scale["spec"]["replicas"];
  if (replicas.Exists() && (!replicas.AsInteger() || *replicas.AsInteger() < 0)) {
    return Unexpected{Surprise(object, "its scale's spec.replicas is not a count")};
  }
  fields.replicas = replicas.AsInteger().value_or(0);  // absent if 0
  return Done{};
}

Result<bool, ApiError> OwnerReader::AnyObject(const ApiRequest& list, const IsIt& is_it,
                                              const Patience& patience) {
  std::optional<ApiError> problem;
  auto found = client_.AnyItem(
      list,
      [&](JsonValue item) {
        auto meta = ReadObjectMeta(item);
        auto answer = meta ? is_it(*meta, item)
                           : Unexpected{ApiError{
                                 ApiFailure::kUnexpected,
                                 "list " + list.type.QualifiedName() + ": " + meta.error().message,
                                 std::nullopt}};
        if (!answer) problem = std::move(answer).error();
        return problem || *answer;
      },
      patience);
  if (problem) return Unexpected{*std::move(problem)};
  return found;
}

Result<std::string, ApiError> OwnerReader::FindRunning(const OwnerOfPods& owner,
                                                       const ClusterOfPods& but,
                                                       const Patience& patience) {
  if (owner.type == Pods() && but.ended_by) return FindItself(owner, but, patience);
  if (!owner.pod_selector.empty()) {
    auto pod = FindPod(owner, but, patience);
    if (!pod || !pod->empty()) return pod;
  }
  if (RunsOf(owner.type) != nullptr) return FindRun(owner, but, patience);
  // All pods that a workload controls match its selector.
  const bool selector_finds_all = IsWorkload(owner.type) && !owner.pod_selector.empty();
  if (owner.uid.empty() || owner.type == Pods() || selector_finds_all) return std::string();
  return FindPodByControllers(owner, but, patience);
}

// A pod that is the owner runs as long as it is there; what counts is what was started in it.
Result<std::string, ApiError> OwnerReader::FindItself(const OwnerOfPods& owner,
                                                      const ClusterOfPods& but,
                                                      const Patience& patience) {
  auto listed =
      client_.Do(ApiRequest::ListByName(Pods(), owner.ns, owner.name, Freshness::kSure), patience);
  if (!listed) return Unexpected{std::move(listed).error()};
  const JsonValue pod = OnlyItem(*listed);
  if (!pod.Exists()) return std::string();
  auto meta = ReadObjectMeta(pod);
  if (!meta) return Unexpected{ApiError{ApiFailure::kUnexpected, meta.error().message, {}}};
  const bool runs = meta->uid == owner.uid && IsRunning(pod, *meta) && !but.HasEnded(*meta, pod);
  return runs ? "pod/" + meta->name : std::string();
}

Result<std::string, ApiError> OwnerReader::FindPod(const OwnerOfPods& owner,
                                                   const ClusterOfPods& but,
                                                   const Patience& patience) {
  std::string running;
  Climb climb(owner, but, true);
  auto found = AnyObject(
      ApiRequest::ListBySelector(Pods(), owner.ns, owner.pod_selector, false),
      [&](const ObjectMeta& meta, JsonValue pod) -> Result<bool, ApiError> {
        if (!IsRunning(pod, meta) || but.HasEnded(meta, pod)) return false;
        const std::string name = "pod/" + meta.name;
        if (but.IsLabelled(meta) && !climb.IsOfOwner(Pods(), meta, name)) return false;
        running = name;
        return true;
      },
      patience);
  if (!found) return Unexpected{std::move(found).error()};
  return *found ? Result<std::string, ApiError>(running) : GoUp(climb, owner.ns, patience);
}

Result<std::string, ApiError> OwnerReader::FindRun(const OwnerOfPods& owner,
                                                   const ClusterOfPods& but,
                                                   const Patience& patience) {
  auto type = discovery_.Resolve(*RunsOf(owner.type), patience);
  if (!type) return Unexpected{std::move(type).error()};
  std::string running;
  if (!*type) return running;
  Runs runs;
  std::vector<OwnerOfPods> going;
  auto found = AnyObject(
      ApiRequest::List(**type, owner.ns),
      [&](const ObjectMeta& meta, JsonValue item) -> Result<bool, ApiError> {
        bool& is_going = runs[meta.uid];
        const bool owned = !owner.uid.empty() && meta.IsOwnedBy(owner.uid);
        if (!owned && !IsLeftBehind(meta, owner)) return false;
        // Nothing new of it comes, or so it was said; what there is of it is looked for below.
        if (meta.deleting || but.HasRunEnded(meta)) {
          const OwnerReference* const controller = meta.Controller();
          const bool controlled = controller != nullptr && controller->uid == owner.uid;
          is_going = controlled || !but.IsLabelled(meta);
          if (is_going) going.push_back({**type, meta.ns(), meta.name, meta.uid, "", false});
          return false;
        }
        const KubeObject run{**type, meta};
        auto fields = Read(run, item, Freshness::kSure, patience);
        if (!fields) return Unexpected{std::move(fields).error()};
        // A suspended run may be resumed, but nothing of it is running.
        if (!WantsToRun(*fields)) return false;
        running = run.Describe();
        return true;
      },
      patience);
  if (!found) return Unexpected{std::move(found).error()};
  if (!running.empty()) return running;
  if ((*type)->kind == "Job") return FindPodOfRuns(owner, runs, but, patience);
  // Those that somebody's finalizer holds have pods that run on.
  for (const OwnerOfPods& run : going) {
    auto left = FindPodByControllers(run, but, patience);
    if (!left || !left->empty()) return left;
  }
  return running;
}

// A Job that somebody's finalizer holds, that was deleted with --cascade=orphan, or whose pods the
// garbage collector has yet to delete, has pods that run on. Source: kubernetes.io "Well-Known
// Labels", job-name.
Result<std::string, ApiError> OwnerReader::FindPodOfRuns(const OwnerOfPods& owner, const Runs& runs,
                                                         const ClusterOfPods& but,
                                                         const Patience& patience) {
  std::string running;
  auto found = AnyObject(
      ApiRequest::ListUnendedPods(owner.ns, "job-name"),
      [&](const ObjectMeta& meta, JsonValue pod) -> Result<bool, ApiError> {
        if (!IsRunning(pod, meta) || but.HasEnded(meta, pod) || meta.uid == but.root_uid) {
          return false;
        }
        const OwnerReference* const run = meta.Controller();
        bool is_of_owner;
        if (run == nullptr) {
          is_of_owner = but.IsLabelled(meta) ? IsLeftBehind(meta, owner) : IsNobodys(meta, owner);
        } else if (const auto listed = runs.find(run->uid); listed != runs.end()) {
          is_of_owner = listed->second;
        } else {
          is_of_owner = IsJob(*run) && !but.IsLabelled(meta) && IsNamedAfter(run->name, owner);
        }
        if (!is_of_owner) return false;
        running = "pod/" + meta.name;
        return true;
      },
      patience);
  if (!found) return Unexpected{std::move(found).error()};
  return running;
}

Result<std::string, ApiError> OwnerReader::FindPodByControllers(const OwnerOfPods& owner,
                                                                const ClusterOfPods& but,
                                                                const Patience& patience) {
  std::string running;
  Climb climb(owner, but, false);
  auto found = AnyObject(
      ApiRequest::ListUnendedPods(owner.ns),
      [&](const ObjectMeta& meta, JsonValue pod) -> Result<bool, ApiError> {
        const std::string name = "pod/" + meta.name;
        const bool counts = IsRunning(pod, meta) && !but.HasEnded(meta, pod);
        if (!counts || !climb.IsOfOwner(Pods(), meta, name)) return false;
        running = name;
        return true;
      },
      patience);
  if (!found) return Unexpected{std::move(found).error()};
  return *found ? Result<std::string, ApiError>(running) : GoUp(climb, owner.ns, patience);
}

// Listing the controllers of a kind takes fewer requests than getting each of them, and takes none
// of a pod's that thousands of pods share.
Result<std::string, ApiError> OwnerReader::GoUp(Climb& climb, const std::string& ns,
                                                const Patience& patience) {
  Climb::Level level = climb.TakeLevel();
  for (int i = 0; !level.empty(); ++i) {
    if (i == kLongestChain) {
      return CantFollow(level.begin()->second.begin()->second, "they have no end");
    }
    for (auto& at_level : level) {
      const auto& kind = at_level.first;
      auto& controllers = at_level.second;  // clang 14 captures no structured binding
      auto type = discovery_.ByKind(kind.first, kind.second, patience);
      if (!type) return Unexpected{std::move(type).error()};
      if (!*type) return CantFollow(controllers.begin()->second, kind.second + " is not served");
      if (!(*type)->namespaced) continue;  // nothing in a namespace can control it
      std::string running;
      auto found = AnyObject(
          ApiRequest::ListMetadata(**type, ns),
          [&](const ObjectMeta& meta, JsonValue) -> Result<bool, ApiError> {
            const auto below = controllers.extract(meta.uid);
            if (below.empty() || !climb.IsOfOwner(**type, meta, below.mapped())) return false;
            running = below.mapped();
            return true;
          },
          patience);
      if (!found) return Unexpected{std::move(found).error()};
      if (*found) return running;
      if (!controllers.empty() && climb.IsOfOwnerWithoutController()) {
        return controllers.begin()->second;
      }
    }
    level = climb.TakeLevel();
  }
  return std::string();
}

// During a rollout a DeploymentConfig scales its ReplicationControllers to 0. The newest one comes
// up until its rollout has ended; if that failed, the latest one that completed does.
// Source: openshift/openshift-controller-manager pkg/apps.
Result<bool, ApiError> OwnerReader::MayComeBack(const KubeObject& object, RolloutsByUid* known,
                                                const Patience& patience) {
  const OwnerReference* controller = object.meta.Controller();
  if (controller == nullptr || controller->kind != "DeploymentConfig") return false;
  RolloutsByUid own_alone;
  RolloutsByUid& all = known == nullptr ? own_alone : *known;
  if (!all.contains(controller->uid)) {
    auto read = ReadRollouts(object, *controller, patience);
    if (!read) return Unexpected{std::move(read).error()};
    all[controller->uid] = *read;
  }
  const Rollouts& rollouts = all[controller->uid];
  const std::int64_t own = VersionOf(object.meta);
  const bool completed =
      own == rollouts.complete && (rollouts.always || !rollouts.latest_has_ended);
  const bool newest = own == rollouts.latest && !rollouts.latest_has_ended;
  return rollouts.scales_up && (own == 0 || completed || newest);
}

Result<Rollouts, ApiError> OwnerReader::ReadRollouts(const KubeObject& object,
                                                     const OwnerReference& controller,
                                                     const Patience& patience) {
  auto type = discovery_.ByKind(controller.api_version, controller.kind, patience);
  if (!type) return Unexpected{std::move(type).error()};
  if (!*type) return Unexpected{Surprise(object, "its controller's kind is not served")};
  auto listed = client_.Do(
      ApiRequest::ListByName(**type, object.meta.ns(), controller.name, Freshness::kSure),
      patience);
  if (!listed) return Unexpected{std::move(listed).error()};
  const JsonValue config = OnlyItem(*listed);
  Rollouts rollouts;
  // Without the DeploymentConfig, nobody scales them up again.
  if (config["metadata"]["uid"].AsString() != controller.uid) return rollouts;
  if (config["spec"]["replicas"].AsInteger() == 0) return rollouts;
  rollouts.scales_up = true;
  rollouts.always = !config["spec"]["test"].AsBool().value_or(false) &&
                    !config["spec"]["paused"].AsBool().value_or(false);

  const JsonValue latest_version = config["status"]["latestVersion"];  // absent if 0
  if (latest_version.Exists() && !latest_version.AsInteger()) {
    return Unexpected{Surprise(object, "its controller's status.latestVersion is not a version")};
  }
  rollouts.latest = latest_version.AsInteger().value_or(0);
  auto read = AnyObject(
      ApiRequest::List(object.type, object.meta.ns()),
      [&](const ObjectMeta& meta, JsonValue) -> Result<bool, ApiError> {
        if (!meta.IsOwnedBy(controller.uid)) return false;
        const std::int64_t version = VersionOf(meta);
        const auto phase = meta.Annotation(kPhaseAnnotation);
        if (phase == "Complete") rollouts.complete = std::max(rollouts.complete, version);
        if (version == rollouts.latest) {
          rollouts.latest_has_ended = phase == "Complete" || phase == "Failed";
        }
        return false;
      },
      patience);
  if (!read) return Unexpected{std::move(read).error()};
  return rollouts;
}

}  // namespace cluster_watcher

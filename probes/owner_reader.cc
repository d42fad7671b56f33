#include "probes/owner_reader.h"

#include <algorithm>
#include <charconv>
#include <map>

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

bool IsRunning(JsonValue pod, const ObjectMeta& meta) {
  const auto phase = pod["status"]["phase"].AsString();
  return !meta.deleting && phase != "Succeeded" && phase != "Failed";
}

}  // namespace

bool WantsToRun(const OwnerFields& fields) {
  return fields.replicas > 0 && !fields.suspended && !fields.completed;
}

Result<OwnerFields, ApiError> OwnerReader::Read(const KubeObject& object, JsonValue item,
                                                Freshness freshness, const Patience& patience,
                                                const Label& but) {
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
    auto running = FindRunning({object.type, object.meta.ns, object.meta.name, object.meta.uid,
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
    auto comes_back = MayComeBack(object, patience);
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
      ApiRequest::GetScale(object.type, object.meta.ns, object.meta.name, freshness), patience);
  if (!answer) {
    // The field behind the scale isn't set; only the kind's operator knows what that means.
    // Source: k8s.io/apiextensions-apiserver, scaleFromCustomResource.
    const std::string& message = answer.error().message;
    const bool unset = answer.error().failure == ApiFailure::kServer &&
                       message.find("the spec replicas field") != std::string::npos &&
                       message.find("does not exist") != std::string::npos;
    if (unset) return Done{};
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

Result<std::string, ApiError> OwnerReader::FindRunning(const OwnerOfPods& owner, const Label& but,
                                                       const Patience& patience) {
  if (!owner.pod_selector.empty()) {
    auto pod = FindPod(owner, but, patience);
    if (!pod || !pod->empty()) return pod;
  }
  if (RunsOf(owner.type) != nullptr) return FindRun(owner, patience);
  // All pods that a workload controls match its selector.
  const bool selector_finds_all = IsWorkload(owner.type) && !owner.pod_selector.empty();
  if (owner.uid.empty() || owner.type == Pods() || selector_finds_all) return std::string();
  return FindPodByControllers(owner, but, patience);
}

Result<std::string, ApiError> OwnerReader::FindPod(const OwnerOfPods& owner, const Label& but,
                                                   const Patience& patience) {
  std::string running;
  auto found = AnyObject(
      ApiRequest::ListBySelector(Pods(), owner.ns, owner.pod_selector, false),
      [&](const ObjectMeta& meta, JsonValue pod) -> Result<bool, ApiError> {
        if (!IsRunning(pod, meta) || meta.Label(but.first) == but.second) return false;
        running = "pod/" + meta.name;
        return true;
      },
      patience);
  if (!found) return Unexpected{std::move(found).error()};
  return running;
}

Result<std::string, ApiError> OwnerReader::FindRun(const OwnerOfPods& owner,
                                                   const Patience& patience) {
  auto type = discovery_.Resolve(*RunsOf(owner.type), patience);
  if (!type) return Unexpected{std::move(type).error()};
  std::string running;
  if (!*type) return running;
  // Runs are named after their maker.
  const auto is_of_owner = [&](const ObjectMeta& run) {
    const bool left_behind = owner.is_going && run.owner_references.empty();
    return (left_behind && run.name.starts_with(owner.name + "-")) ||
           (!owner.uid.empty() && run.IsOwnedBy(owner.uid));
  };
  auto found = AnyObject(
      ApiRequest::List(**type, owner.ns),
      [&](const ObjectMeta& meta, JsonValue item) -> Result<bool, ApiError> {
        if (meta.deleting || !is_of_owner(meta)) return false;
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
  return running;
}

// Goes up level by level. Listing the controllers of a kind takes fewer requests than getting each
// of them, and takes none of a pod's that thousands of pods share.
Result<std::string, ApiError> OwnerReader::FindPodByControllers(const OwnerOfPods& owner,
                                                                const Label& but,
                                                                const Patience& patience) {
  std::string running;
  // By apiVersion and kind: the UIDs of controllers, and one of the pods below each.
  std::map<std::pair<std::string, std::string>, std::map<std::string, std::string>> level;
  // Returns whether the owner is right above `meta`, which is `pod` or above it.
  const auto climb = [&](const ObjectMeta& meta, const std::string& pod) {
    // Some operators write ownerReferences that aren't a controller's.
    if (meta.IsOwnedBy(owner.uid)) {
      running = pod;
      return true;
    }
    const OwnerReference* controller = meta.Controller();
    if (controller != nullptr) {
      level[{controller->api_version, controller->kind}].emplace(controller->uid, pod);
    }
    return false;
  };
  auto found = AnyObject(
      ApiRequest::List(Pods(), owner.ns),
      [&](const ObjectMeta& meta, JsonValue pod) -> Result<bool, ApiError> {
        if (!IsRunning(pod, meta) || meta.Label(but.first) == but.second) return false;
        return climb(meta, "pod/" + meta.name);
      },
      patience);
  for (int i = 0;; ++i) {
    if (!found) return Unexpected{std::move(found).error()};
    if (*found || level.empty()) return running;
    if (i == kLongestChain) {
      return CantFollow(level.begin()->second.begin()->second, "they have no end");
    }
    for (const auto& [kind, controllers] : std::exchange(level, {})) {
      auto type = discovery_.ByKind(kind.first, kind.second, patience);
      if (!type) return Unexpected{std::move(type).error()};
      if (!*type) return CantFollow(controllers.begin()->second, kind.second + " is not served");
      if (!(*type)->namespaced) continue;  // nothing in a namespace can control it
      found = AnyObject(
          ApiRequest::ListMetadata(**type, owner.ns),
          [&](const ObjectMeta& meta, JsonValue) -> Result<bool, ApiError> {
            const auto below = controllers.find(meta.uid);
            return below != controllers.end() && climb(meta, below->second);
          },
          patience);
      if (!found || *found) break;
    }
  }
}

// During a rollout a DeploymentConfig scales its ReplicationControllers to 0. The newest one comes
// up until its rollout has ended; if that failed, the latest one that completed does.
// Source: openshift/openshift-controller-manager pkg/apps.
Result<bool, ApiError> OwnerReader::MayComeBack(const KubeObject& object,
                                                const Patience& patience) {
  const OwnerReference* controller = object.meta.Controller();
  if (controller == nullptr || controller->kind != "DeploymentConfig") return false;
  auto type = discovery_.ByKind(controller->api_version, controller->kind, patience);
  if (!type) return Unexpected{std::move(type).error()};
  if (!*type) return Unexpected{Surprise(object, "its controller's kind is not served")};
  auto listed = client_.Do(
      ApiRequest::ListByName(**type, object.meta.ns, controller->name, Freshness::kSure), patience);
  if (!listed) return Unexpected{std::move(listed).error()};
  const JsonValue config = OnlyItem(*listed);
  // Without the DeploymentConfig, nobody scales this up again.
  if (config["metadata"]["uid"].AsString() != controller->uid) return false;
  if (config["spec"]["replicas"].AsInteger() == 0) return false;

  const JsonValue latest_version = config["status"]["latestVersion"];  // absent if 0
  if (latest_version.Exists() && !latest_version.AsInteger()) {
    return Unexpected{Surprise(object, "its controller's status.latestVersion is not a version")};
  }
  const std::int64_t latest = latest_version.AsInteger().value_or(0);
  std::int64_t complete = 0;
  bool latest_has_ended = false;
  auto read = AnyObject(
      ApiRequest::List(object.type, object.meta.ns),
      [&](const ObjectMeta& meta, JsonValue) -> Result<bool, ApiError> {
        if (!meta.IsOwnedBy(controller->uid)) return false;
        const std::int64_t version = VersionOf(meta);
        const auto phase = meta.Annotation(kPhaseAnnotation);
        if (phase == "Complete") complete = std::max(complete, version);
        if (version == latest) latest_has_ended = phase == "Complete" || phase == "Failed";
        return false;
      },
      patience);
  if (!read) return Unexpected{std::move(read).error()};
  const std::int64_t own = VersionOf(object.meta);
  // A test or paused DeploymentConfig scales up only during a rollout.
  const bool scales = !config["spec"]["test"].AsBool().value_or(false) &&
                      !config["spec"]["paused"].AsBool().value_or(false);
  return own == 0 || (own == complete && (scales || !latest_has_ended)) ||
         (own == latest && !latest_has_ended);
}

}  // namespace cluster_watcher

#include "probes/owner_reader.h"

#include <algorithm>
#include <charconv>

namespace cluster_watcher {
namespace {

constexpr char kVersionAnnotation[] = "openshift.io/deployment-config.latest-version";
constexpr char kPhaseAnnotation[] = "openshift.io/deployment.phase";

ApiError Surprise(const KubeObject& object, const std::string& why) {
  return {ApiFailure::kUnexpected, object.Describe() + ": " + why, std::nullopt};
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
                                                Freshness freshness, const Patience& patience) {
  auto read = ReadOwnerFields(object.type, item);
  if (!read) return Unexpected{Surprise(object, "can't be judged: " + read.error().message)};
  OwnerFields fields = *std::move(read);
  if (fields.replicas_by_scale) {
    auto scale = ReadScale(object, freshness, fields, patience);
    if (!scale) return Unexpected{std::move(scale).error()};
  }
  if (freshness == Freshness::kGlance) return fields;
  const bool idle = fields.suspended || (fields.replicas_by_scale && fields.replicas == 0);
  if (idle && fields.idle_unless_run != nullptr) {
    auto run = HasRun(object, *fields.idle_unless_run, patience);
    if (!run) return Unexpected{std::move(run).error()};
    fields.suspended = fields.suspended && !*run;
    if (*run) fields.replicas = std::max<std::int64_t>(fields.replicas, 1);
  }
  if (fields.suspended && fields.suspended_unless_pod) {
    auto pods = CountRunningPods(object.meta.ns, fields.pod_selector, {}, patience);
    if (!pods) return Unexpected{std::move(pods).error()};
    fields.suspended = *pods == 0 && !fields.pod_selector.empty();
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

Result<std::size_t, ApiError> OwnerReader::CountRunningPods(
    const std::string& ns, const std::string& selector,
    const std::pair<std::string, std::string>& but, const Patience& patience) {
  std::size_t running = 0;
  if (selector.empty()) return running;
  const ResourceType& pods = *FindBuiltInByName("pods", "");
  auto read = client_.EachItem(
      ApiRequest::ListBySelector(pods, ns, selector, false),
      [&](JsonValue pod) {
        auto meta = ReadObjectMeta(pod);
        if (meta && IsRunning(pod, *meta) && meta->Label(but.first) != but.second) ++running;
      },
      patience);
  if (!read) return Unexpected{std::move(read).error()};
  return running;
}

Result<std::size_t, ApiError> OwnerReader::CountUnfinished(
    const ResourceType& runs, const std::string& ns,
    const std::function<bool(const ObjectMeta&)>& wanted, const Patience& patience) {
  std::size_t unfinished = 0;
  std::optional<ApiError> problem;
  auto read = client_.EachItem(
      ApiRequest::List(runs, ns),
      [&](JsonValue item) {
        auto meta = ReadObjectMeta(item);
        if (!meta || meta->deleting || !wanted(*meta)) return;
        auto fields = Read({runs, *std::move(meta)}, item, Freshness::kSure, patience);
        if (!fields) {
          problem = std::move(fields).error();
        } else if (WantsToRun(*fields)) {
          // A suspended run may be resumed, but nothing of it is running.
          ++unfinished;
        }
      },
      patience);
  if (!read) return Unexpected{std::move(read).error()};
  if (problem) return Unexpected{*std::move(problem)};
  return unfinished;
}

Result<bool, ApiError> OwnerReader::HasRun(const KubeObject& object, const ResourceType& runs,
                                           const Patience& patience) {
  auto type = discovery_.Resolve(runs, patience);
  if (!type) return Unexpected{std::move(type).error()};
  if (!*type) return Unexpected{Surprise(object, runs.QualifiedName() + " is not served")};
  auto owned = CountUnfinished(
      **type, object.meta.ns, [&](const ObjectMeta& run) { return run.IsOwnedBy(object.meta.uid); },
      patience);
  if (!owned) return Unexpected{std::move(owned).error()};
  return *owned > 0;
}

Result<std::size_t, ApiError> OwnerReader::CountLeftRuns(const ResourceType& type,
                                                         const std::string& ns,
                                                         const std::string& name,
                                                         const std::string& orphaning,
                                                         const Patience& patience) {
  const ResourceType* runs = RunsOf(type);
  if (runs == nullptr) return std::size_t{0};
  auto served = discovery_.Resolve(*runs, patience);
  if (!served) return Unexpected{std::move(served).error()};
  if (!*served) return std::size_t{0};
  // Runs are named after their maker. Owned ones are deleted with it, unless it is being orphaned.
  return CountUnfinished(
      **served, ns,
      [&](const ObjectMeta& run) {
        return run.owner_references.empty() ? run.name.starts_with(name + "-")
                                            : !orphaning.empty() && run.IsOwnedBy(orphaning);
      },
      patience);
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

  const std::int64_t latest = config["status"]["latestVersion"].AsInteger().value_or(0);
  std::int64_t complete = 0;
  bool latest_has_ended = false;
  auto read = client_.EachItem(
      ApiRequest::List(object.type, object.meta.ns),
      [&](JsonValue item) {
        auto meta = ReadObjectMeta(item);
        if (!meta || !meta->IsOwnedBy(controller->uid)) return;
        const std::int64_t version = VersionOf(*meta);
        const auto phase = meta->Annotation(kPhaseAnnotation);
        if (phase == "Complete") complete = std::max(complete, version);
        if (version == latest) latest_has_ended = phase == "Complete" || phase == "Failed";
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

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

// Of a DeploymentConfig's ReplicationController, counted from 1; 0: it says none.
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
                                                Freshness freshness, std::stop_token stop) {
  auto read = ReadOwnerFields(object.type, item);
  if (!read) return Unexpected{Surprise(object, "can't be judged: " + read.error().message)};
  OwnerFields fields = *std::move(read);
  if (fields.replicas_by_scale) {
    auto scale = ReadScale(object, freshness, fields, stop);
    if (!scale) return Unexpected{std::move(scale).error()};
  }
  if (freshness == Freshness::kGlance) return fields;
  if (fields.suspended && fields.suspended_unless_run != nullptr) {
    auto run = HasRun(object, *fields.suspended_unless_run, stop);
    if (!run) return Unexpected{std::move(run).error()};
    fields.suspended = !*run;
  }
  if (fields.suspended && fields.suspended_unless_pod) {
    auto pods = CountRunningPods(object.meta.ns, fields.pod_selector, stop);
    if (!pods) return Unexpected{std::move(pods).error()};
    fields.suspended = *pods == 0 && !fields.pod_selector.empty();
  }
  if (fields.may_be_in_rollout) {
    auto comes_back = MayComeBack(object, stop);
    if (!comes_back) return Unexpected{std::move(comes_back).error()};
    if (*comes_back) fields.replicas = 1;
  }
  return fields;
}

// Source: kubernetes.io "Custom Resources", scale subresource; k8s.io/api autoscaling/v1 Scale.
Result<Done, ApiError> OwnerReader::ReadScale(const KubeObject& object, Freshness freshness,
                                              OwnerFields& fields, std::stop_token stop) {
  auto offer = discovery_.OfferOf(object.type, stop);
  if (!offer) return Unexpected{std::move(offer).error()};
  if (!*offer || !(*offer)->has_scale) return Done{};
  auto answer = client_.Do(
      ApiRequest::GetScale(object.type, object.meta.ns, object.meta.name, freshness), stop);
  if (!answer) {
    // The field that it reads isn't set: what that means only the kind's operator knows. Source:
    // k8s.io/apiextensions-apiserver, scaleFromCustomResource.
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
  fields.replicas = replicas.AsInteger().value_or(0);  // left out where it is 0
  return Done{};
}

Result<std::size_t, ApiError> OwnerReader::CountRunningPods(const std::string& ns,
                                                            const std::string& selector,
                                                            std::stop_token stop) {
  if (selector.empty()) return std::size_t{0};
  const ResourceType& pods = *FindBuiltInByName("pods", "");
  auto pages = client_.ListAll(ApiRequest::ListBySelector(pods, ns, selector, false), stop);
  if (!pages) return Unexpected{std::move(pages).error()};
  std::size_t running = 0;
  for (const ApiAnswer& page : *pages) {
    for (JsonValue pod : page.document.root()["items"].Elements()) {
      auto meta = ReadObjectMeta(pod);
      if (meta && IsRunning(pod, *meta)) ++running;
    }
  }
  return running;
}

Result<bool, ApiError> OwnerReader::HasRun(const KubeObject& object, const ResourceType& runs,
                                           std::stop_token stop) {
  auto type = discovery_.Resolve(runs, stop);
  if (!type) return Unexpected{std::move(type).error()};
  if (!*type) return Unexpected{Surprise(object, runs.QualifiedName() + " is not served")};
  auto pages = client_.ListAll(ApiRequest::List(**type, object.meta.ns), stop);
  if (!pages) return Unexpected{std::move(pages).error()};
  for (const ApiAnswer& page : *pages) {
    for (JsonValue item : page.document.root()["items"].Elements()) {
      auto meta = ReadObjectMeta(item);
      if (!meta || !meta->IsOwnedBy(object.meta.uid)) continue;
      const KubeObject run{**type, *std::move(meta)};
      auto fields = Read(run, item, Freshness::kSure, stop);
      if (!fields) return Unexpected{std::move(fields).error()};
      // One that is suspended as well may still be resumed, but nothing of it runs.
      if (WantsToRun(*fields)) return true;
    }
  }
  return false;
}

// A DeploymentConfig scales its ReplicationControllers to 0 in the middle of a rollout. The newest
// one comes up until its rollout has ended; of those that did complete, the latest one does, when a
// newer one has failed. Source: openshift/openshift-controller-manager pkg/apps.
Result<bool, ApiError> OwnerReader::MayComeBack(const KubeObject& object, std::stop_token stop) {
  const OwnerReference* controller = object.meta.Controller();
  if (controller == nullptr || controller->kind != "DeploymentConfig") return false;
  auto type = discovery_.ByKind(controller->api_version, controller->kind, stop);
  if (!type) return Unexpected{std::move(type).error()};
  if (!*type) return Unexpected{Surprise(object, "its controller's kind is not served")};
  auto listed = client_.Do(
      ApiRequest::ListByName(**type, object.meta.ns, controller->name, Freshness::kSure), stop);
  if (!listed) return Unexpected{std::move(listed).error()};
  const JsonValue config = OnlyItem(*listed);
  // Without it nobody scales this up again.
  if (config["metadata"]["uid"].AsString() != controller->uid) return false;
  if (config["spec"]["replicas"].AsInteger() == 0) return false;

  auto pages = client_.ListAll(ApiRequest::List(object.type, object.meta.ns), stop);
  if (!pages) return Unexpected{std::move(pages).error()};
  const std::int64_t latest = config["status"]["latestVersion"].AsInteger().value_or(0);
  std::int64_t complete = 0;
  bool latest_has_ended = false;
  for (const ApiAnswer& page : *pages) {
    for (JsonValue item : page.document.root()["items"].Elements()) {
      auto meta = ReadObjectMeta(item);
      if (!meta || !meta->IsOwnedBy(controller->uid)) continue;
      const std::int64_t version = VersionOf(*meta);
      const auto phase = meta->Annotation(kPhaseAnnotation);
      if (phase == "Complete") complete = std::max(complete, version);
      if (version == latest) latest_has_ended = phase == "Complete" || phase == "Failed";
    }
  }
  const std::int64_t own = VersionOf(object.meta);
  return own == 0 || own == complete || (own == latest && !latest_has_ended);
}

}  // namespace cluster_watcher

// Whether a DeploymentConfig scales a ReplicationController up again: the part of OwnerReader that
// reads its rollouts.
#include <algorithm>
#include <charconv>
#include <utility>

#include "probes/owner_reader.h"

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

}  // namespace

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
      ApiRequest::ListByName(**type, object.meta.ns(), controller.name, Freshness::kConsistent),
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

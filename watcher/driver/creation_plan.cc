#include "watcher/driver/creation_plan.h"

#include <utility>

#include "probes/base/names.h"
#include "probes/permissions.h"

namespace cluster_watcher {
namespace {

DriverOutcome NoPlan(const ApiError& error) {
  const bool is_refused = error.failure == ApiFailure::kForbidden;
  return DriverOutcome::Of(is_refused ? DriverExit::kFailed : DriverExit::kUnknown, error);
}

bool MayBeTaken(const ClusterId& cluster, const KubeObject& object) {
  const auto label = object.meta.Label(cluster.label());
  return label == cluster.name || cluster.IsResource(object) ||
         (!label && object.type->kind == "PersistentVolumeClaim");
}

}  // namespace

Result<CreationPlan, DriverOutcome> Plan(const DriverTools& tools,
                                         std::span<const ClusterObject> objects) {
  CreationPlan plan;
  std::vector<std::string> scoped;
  std::vector<std::string> unknown;
  for (const ClusterObject& object : objects) {
    auto type = tools.discovery.ByKind(object.api_version, object.kind, tools.Reads());
    if (type && *type) type = tools.discovery.Resolve(**type, tools.Reads());
    const bool is_wrong = !type && type.error().failure == ApiFailure::kInvalid;
    if (!type && !is_wrong) return Unexpected{NoPlan(type.error())};
    if (is_wrong || !*type || (*type)->ApiVersion() != object.api_version) {
      unknown.push_back(object.Describe() + " is of " + object.api_version);
    } else if (!(*type)->namespaced) {
      scoped.push_back(object.Describe());
    } else {
      plan.push_back({&object, **type});
    }
  }
  if (!scoped.empty()) {
    return Unexpected{DriverOutcome::Of(
        DriverExit::kWrongUsage,
        "of no namespace, so of no cluster: " + Joined(scoped) + ": create them by kubectl")};
  }
  if (!unknown.empty()) {
    return Unexpected{DriverOutcome::Of(
        DriverExit::kFailed,
        "kinds that the API server doesn't serve: " + Joined(unknown) + ": install them first")};
  }
  return plan;
}

std::optional<DriverOutcome> LookUpNames(const DriverTools& tools, const ClusterId& cluster,
                                         CreationPlan& plan) {
  std::vector<ApiRequest> reads;
  for (const PlannedObject& one : plan) {
    reads.push_back(ApiRequest::GetMetadata(one.type, cluster.ns, one.object->name));
  }
  const auto answers = tools.client.DoAll(reads, kUrgentReadsSideBySide, tools.Reads());
  std::vector<std::string> strangers;
  std::vector<std::string> going;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    plan[i].present.reset();
    if (!answers[i] && answers[i].error().failure == ApiFailure::kNotFound) continue;
    if (!answers[i]) return NoPlan(answers[i].error());
    auto meta = ReadObjectMeta(answers[i]->document.root());
    if (!meta) return DriverOutcome::Of(DriverExit::kUnknown, meta.error().message);
    plan[i].present = KubeObject{plan[i].type, *std::move(meta)};
    if (!MayBeTaken(cluster, *plan[i].present)) {
      strangers.push_back(plan[i].Describe());
    } else if (plan[i].present->meta.deleting) {
      going.push_back(plan[i].Describe());
    }
  }
  if (!strangers.empty()) {
    return DriverOutcome::Of(DriverExit::kFailed, "not of the cluster " + cluster.name +
                                                      ", but there already: " + Joined(strangers) +
                                                      ": give other names, or label them " +
                                                      cluster.Selector());
  }
  if (!going.empty()) {
    return DriverOutcome::Of(DriverExit::kNotReady, "still being deleted: " + Joined(going));
  }
  return std::nullopt;
}

}  // namespace cluster_watcher

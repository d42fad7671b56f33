#include "watcher/observation/member_kinds.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "probes/base/names.h"

namespace cluster_watcher {
namespace {

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

MemberKinds FindKinds(const std::vector<std::string>& wanted, const Settings& settings,
                      Discovery& discovery, const Patience& patience) {
  MemberKinds kinds;
  std::vector<KindName> names;
  for (const std::string& kind : wanted) names.push_back(SplitKindName(kind));
  discovery.ConfirmMissingGroups(names, patience);
  for (const std::string& kind : wanted) {
    const KindName name = SplitKindName(kind);
    auto type = discovery.ByPlural(name, patience);
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

}  // namespace

Result<std::vector<ResourceType>, ApiError> NamedMemberTypes(const Settings& settings,
                                                             Discovery& discovery,
                                                             const Patience& patience) {
  std::vector<ResourceType> types;
  for (const std::string& member : MemberKindNames(settings)) {
    const KindName kind = SplitKindName(member);
    if (!Discovery::IsAlwaysServed(kind.group) && !discovery.Names(kind.group)) continue;
    auto type = discovery.ByPlural(kind, patience);
    if (!type) return Unexpected{std::move(type).error()};
    if (*type && (*type)->namespaced) types.push_back(**std::move(type));
  }
  return types;
}

bool Has(const std::vector<ResourceType>& types, const ResourceType& type) {
  return std::find(types.begin(), types.end(), type) != types.end();
}

std::vector<std::string> MemberKindNames(const Settings& settings) {
  if (!settings.resources.empty()) return settings.resources;
  std::vector<std::string> kinds(std::begin(kBuiltInMembers), std::end(kBuiltInMembers));
  if (settings.volumes != Volumes::kPreserve) kinds.emplace_back("persistentvolumeclaims");
  return kinds;
}

MemberKinds FindMemberKinds(const Settings& settings, Discovery& discovery,
                            const Patience& patience) {
  return FindKinds(MemberKindNames(settings), settings, discovery, patience);
}

}  // namespace cluster_watcher

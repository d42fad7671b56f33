// Finds other drivers of a cluster: the part of ClusterProbe that looks beyond its objects.
#include <algorithm>
#include <string>
#include <utility>

#include "probes/cluster_probe.h"
#include "probes/owner_kinds.h"

namespace cluster_watcher {
namespace {

// By the fields that its profile's row names.
ApiError CantTell(const KubeObject& user, const Error& error) {
  return {ApiFailure::kUnexpected,
          "what " + user.Describe() + " uses can't be told: " + error.message, std::nullopt};
}

}  // namespace

Result<bool, ApiError> ClusterProbe::IsControlledBy(KubeObject object, const std::string& uid,
                                                    const Patience& patience) {
  for (int i = 0; i < kLongestOwnerChain; ++i) {
    const OwnerReference* controller = object.meta.Controller();
    if (controller == nullptr) return false;
    if (controller->uid == uid) return true;
    auto next = ReadController(object, *controller, {}, patience, nullptr);
    if (!next && next.error().failure == ApiFailure::kNotFound) return false;
    if (!next) return Unexpected{std::move(next).error()};
    object = *std::move(next);
  }
  return Unexpected{Endless(object)};
}

void ClusterProbe::JudgeDriver(const ResourceType& type, JsonValue item, DriverSearch& search,
                               const Patience& patience) {
  const OwnerOfCluster& owner = search.owner;
  OtherDrivers& drivers = search.drivers;
  if (drivers.in_use_by) return;
  auto meta = ReadObjectMeta(item);
  if (!meta) {
    drivers.unknown = Malformed(type, meta.error());
    return;
  }
  if (meta->Label(kUsesClusterLabel) != search.cluster.name || meta->uid == owner.uid) return;
  const OwnerReference* controller = meta->Controller();
  const std::string above = controller == nullptr ? "" : controller->uid;
  if (search.below_owner.contains(above)) return;
  const KubeObject driver{type, *std::move(meta)};
  auto fields = reader_.Read(driver, item, Freshness::kConsistent, patience, &search.rollouts);
  if (!fields) {
    drivers.unknown = std::move(fields).error();
    return;
  }
  if (!WantsToRun(*fields)) return;
  auto controlled = IsControlledBy(driver, owner.uid, patience);
  if (!controlled) {
    drivers.unknown = std::move(controlled).error();
  } else if (!*controlled) {
    drivers.in_use_by = driver.Describe();
    last_user_ = driver;
  } else {
    search.below_owner.insert(above);
  }
}

Result<std::optional<ResourceType>, ApiError> ClusterProbe::UsesType(const ClusterId& cluster,
                                                                     const Patience& patience) {
  const auto& uses = cluster.profile->uses;
  if (!uses) return std::optional<ResourceType>();
  return discovery_.ByPlural(uses->resource, patience);
}

// The cluster's own resource may run a job, whatever else of the framework is served.
void ClusterProbe::FindOwnJob(DriverSearch& search, const Patience& patience) {
  OtherDrivers& drivers = search.drivers;
  const auto& uses = search.cluster.profile->uses;
  if (!uses->itself) return;
  JsonDocument whole;
  const auto resource = ResourceOf(search.cluster, patience, &whole);
  if (!resource) drivers.unknown = resource.error();
  if (!resource || !*resource) return;
  if (uses->HasEnded(whole.root())) return;
  const auto job = uses->itself->Locate(whole.root());
  if (!job) {
    drivers.unknown = CantTell(**resource, job.error());
  } else if (job->Exists() && !job->IsNull()) {
    drivers.in_use_by = "the job of " + (*resource)->Describe();
  }
}

// The framework's own resources name the cluster in their spec.
void ClusterProbe::FindUsesByName(DriverSearch& search, const Patience& patience) {
  const ClusterId& cluster = search.cluster;
  OtherDrivers& drivers = search.drivers;
  const auto& uses = cluster.profile->uses;
  if (!uses) return;
  FindOwnJob(search, patience);
  const auto type = UsesType(cluster, patience);
  if (!type) drivers.unknown = type.error();
  if (!type || !*type || drivers.Keeps()) return;
  const auto judge = [&](JsonValue item) {
    auto meta = ReadObjectMeta(item);
    if (!meta) {
      drivers.unknown = Malformed(**type, meta.error());
      return;
    }
    if (uses->HasEnded(item)) return;
    const auto is_of_cluster = uses->IsOf(item, cluster.name);
    if (is_of_cluster && !*is_of_cluster) return;
    const KubeObject user{**type, *std::move(meta)};
    if (user.meta.uid == search.owner.uid) return;
    if (!is_of_cluster) {
      drivers.unknown = CantTell(user, is_of_cluster.error());
      return;
    }
    const auto controlled = IsControlledBy(user, search.owner.uid, patience);
    if (!controlled) drivers.unknown = controlled.error();
    if (controlled && !*controlled) drivers.in_use_by = user.Describe();
  };
  const auto listed = client_.EachItem(ApiRequest::List(**type, cluster.ns), judge, patience);
  if (!listed) drivers.unknown = listed.error();
}

std::optional<OtherDrivers> ClusterProbe::FindLastUser(const ClusterId& cluster,
                                                       const OwnerOfCluster& owner,
                                                       const Patience& patience) {
  if (!last_user_) return std::nullopt;
  const KubeObject user = *std::exchange(last_user_, std::nullopt);
  const auto listed = client_.Do(
      ApiRequest::ListByName(user.type, user.meta.ns(), user.meta.name, Freshness::kConsistent),
      patience);
  if (!listed) return std::nullopt;
  DriverSearch search{cluster, owner};
  if (const JsonValue item = OnlyItem(*listed); item.Exists()) {
    JudgeDriver(user.type, item, search, patience);
  }
  if (!search.drivers.in_use_by) return std::nullopt;
  return std::move(search.drivers);
}

Result<std::vector<ResourceType>, ApiError> ClusterProbe::DriverTypes(const Patience& patience) {
  std::vector<KindName> names;
  for (const ResourceType& known : OwnerTypes()) names.push_back({known.plural, known.group});
  discovery_.ConfirmMissingGroups(names, patience);
  std::vector<ResourceType> types;
  for (const ResourceType& known : OwnerTypes()) {
    auto type = discovery_.Resolve(known, patience);
    if (!type) return Unexpected{std::move(type).error()};
    if (*type) types.push_back(**std::move(type));
  }
  return types;
}

Result<std::vector<ApiRequest>, ApiError> ClusterProbe::LabelledDrivers(const ClusterId& cluster,
                                                                        const OwnerOfCluster& owner,
                                                                        const Patience& patience) {
  const std::string selector = std::string(kUsesClusterLabel) + "=" + cluster.name;
  auto types = DriverTypes(patience);
  if (!types) return Unexpected{std::move(types).error()};
  std::vector<ApiRequest> requests;
  for (const ResourceType& type : *types) {
    requests.push_back(ApiRequest::ListBySelector(type, cluster.ns, selector, false));
    if (owner.ns == cluster.ns || owner.ns.empty()) continue;
    requests.push_back(ApiRequest::ListBySelector(type, owner.ns, selector, false));
  }
  return requests;
}

Result<std::vector<ApiRequest>, ApiError> ClusterProbe::DriverRequests(const ClusterId& cluster,
                                                                       const OwnerOfCluster& owner,
                                                                       const Patience& patience) {
  auto requests = LabelledDrivers(cluster, owner, patience);
  if (!requests) return requests;
  const auto type = UsesType(cluster, patience);
  if (!type) return Unexpected{type.error()};
  if (*type) requests->push_back(ApiRequest::List(**type, cluster.ns));
  return requests;
}

OtherDrivers ClusterProbe::FindOtherDrivers(const ClusterId& cluster, const OwnerOfCluster& owner,
                                            const Patience& patience) {
  DriverSearch search{cluster, owner};
  OtherDrivers& drivers = search.drivers;
  auto wanted = LabelledDrivers(cluster, owner, patience);
  if (!wanted) {
    drivers.unknown = std::move(wanted).error();
    return drivers;
  }
  const std::vector<ApiRequest>& requests = *wanted;
  auto lists = client_.EachItemSideBySide(
      requests, kReadsSideBySide,
      [&](std::size_t which, JsonValue item) {
        JudgeDriver(requests[which].type, item, search, patience);
      },
      patience);
  for (auto& list : lists) {
    if (!list) drivers.unknown = std::move(list).error();
  }
  if (!drivers.Keeps()) FindUsesByName(search, patience);
  return drivers;
}

}  // namespace cluster_watcher

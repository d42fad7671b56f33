#include "probes/cluster_probe.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "probes/base/names.h"
#include "probes/kube/resource_type.h"
#include "probes/owner_kinds.h"

namespace cluster_watcher {
namespace {

bool IsAlwaysBelow(const KubeObject& object, const ResourceType& controller) {
  return (object.type->kind == "ReplicaSet" && controller.kind == "Deployment") ||
         (object.type->kind == "ReplicationController" && controller.kind == "DeploymentConfig");
}

ApiRequest MemberRequest(const ResourceType& type, const ClusterId& cluster) {
  return ApiRequest::ListBySelector(type, cluster.ns, cluster.Selector(), true);
}

// Whether there is a pod that may have a watcher's container which neither its metadata nor a pod
// template that was listed tells of. What the cluster's custom resource makes tells by its labels.
bool HasUntoldPods(const ClusterListing& listing, const std::string& resource_uid) {
  std::set<std::string_view> told = {resource_uid};
  for (const KubeObject& object : listing.objects) {
    if (IsWorkload(object.type) && !IsPod(object.type)) told.insert(object.meta.uid);
  }
  return std::any_of(listing.objects.begin(), listing.objects.end(), [&](const auto& object) {
    if (!IsPod(object.type)) return false;
    const OwnerReference* controller = object.meta.Controller();
    return controller == nullptr || !told.contains(controller->uid);
  });
}

Unexpected<ApiError> Problem(ApiFailure failure, const KubeObject& object, std::string why) {
  return {ApiError{failure, object.Describe() + ": " + std::move(why), std::nullopt}};
}

ApiError Malformed(const ResourceType& type, const Error& error) {
  return {ApiFailure::kUnexpected, "list " + type.QualifiedName() + ": " + error.message,
          std::nullopt};
}

}  // namespace

Result<KubeObject, ApiError> ClusterProbe::ReadController(const KubeObject& object,
                                                          const OwnerReference& controller,
                                                          const KubeObjects& known,
                                                          const Patience& patience,
                                                          JsonDocument* whole) {
  auto same = std::find_if(known.begin(), known.end(), [&](const KubeObject& candidate) {
    return candidate.meta.uid == controller.uid;
  });
  if (same != known.end()) return *same;
  auto type = discovery_.ByKind(controller.api_version, controller.kind, patience);
  if (!type) return Unexpected{std::move(type).error()};
  if (!*type) {
    return Problem(ApiFailure::kUnexpected, object,
                   "its controller's kind, " + controller.kind + ", is not served");
  }
  const auto request = whole == nullptr
                           ? ApiRequest::GetMetadata(**type, object.meta.ns(), controller.name)
                           : ApiRequest::Get(**type, object.meta.ns(), controller.name);
  auto answer = client_.Do(request, patience);
  if (!answer) return Unexpected{std::move(answer).error()};
  auto meta = ReadObjectMeta(answer->document.root());
  if (!meta) return Problem(ApiFailure::kUnexpected, object, meta.error().message);
  if (meta->uid != controller.uid) {
    return Problem(ApiFailure::kNotFound, object,
                   "its controller " + controller.name + " is gone, another has its name");
  }
  if (whole != nullptr) *whole = std::move(answer->document);
  return KubeObject{**type, *std::move(meta)};
}

Result<std::optional<KubeObject>, ApiError> ClusterProbe::ResourceOf(const ClusterId& cluster,
                                                                     const Patience& patience,
                                                                     JsonDocument* whole) {
  const KindName& root = cluster.profile->root;
  if (!cluster.profile->HasRoot()) return std::optional<KubeObject>();
  auto type = discovery_.ByPlural(root.kind, root.group, patience);
  if (!type) return Unexpected{std::move(type).error()};
  // A label's value may be no name that an object can have.
  if (!*type || !IsDnsSubdomain(cluster.name)) return std::optional<KubeObject>();
  auto answer =
      client_.Do(whole == nullptr ? ApiRequest::GetMetadata(**type, cluster.ns, cluster.name)
                                  : ApiRequest::Get(**type, cluster.ns, cluster.name),
                 patience);
  if (!answer && answer.error().failure == ApiFailure::kNotFound) {
    return std::optional<KubeObject>();
  }
  if (!answer) return Unexpected{std::move(answer).error()};
  auto meta = ReadObjectMeta(answer->document.root());
  if (!meta) return Unexpected{Malformed(**type, meta.error())};
  if (whole != nullptr) *whole = std::move(answer->document);
  return std::optional(KubeObject{**type, *std::move(meta)});
}

// Reads what an object is below; nullopt: nothing.
Result<std::optional<KubeObject>, ApiError> ClusterProbe::ReadAbove(const KubeObject& object,
                                                                    const ClusterId& cluster,
                                                                    const KubeObjects& known,
                                                                    const Patience& patience,
                                                                    JsonDocument* whole) {
  if (const OwnerReference* above = cluster.Above(object.meta)) {
    auto read = ReadController(object, *above, known, patience, whole);
    if (!read) return Unexpected{std::move(read).error()};
    return std::optional(*std::move(read));
  }
  // KubeRay takes pods by their labels alone.
  if (!IsPod(object.type) || !cluster.Owns(object.meta)) return std::optional<KubeObject>();
  const auto resource = std::find_if(
      known.begin(), known.end(), [&](const KubeObject& one) { return cluster.IsResource(one); });
  if (resource != known.end()) return std::optional(*resource);
  return ResourceOf(cluster, patience, whole);
}

Result<KubeObject, ApiError> ClusterProbe::RootOf(KubeObject start, const ClusterId& cluster,
                                                  const KubeObjects& known,
                                                  const Patience& patience, JsonDocument* whole) {
  const auto is_of_cluster = [&](const KubeObject& below, const KubeObject& above) {
    const bool has_made_it = cluster.IsResource(below) && cluster.profile->IsTheirs(above.type) &&
                             above.meta.Annotation("cluster-watcher/owner");
    return IsAlwaysBelow(below, above.type) || cluster.Owns(above.meta) ||
           cluster.IsResource(above) || has_made_it;
  };
  KubeObject current = std::move(start);
  for (int i = 0; i < kLongestOwnerChain; ++i) {
    JsonDocument read;
    auto next = ReadAbove(current, cluster, known, patience, whole == nullptr ? nullptr : &read);
    if (!next) return Unexpected{std::move(next).error()};
    if (!*next || !is_of_cluster(current, **next)) return current;
    if (whole != nullptr) *whole = std::move(read);
    current = **std::move(next);
  }
  return Problem(ApiFailure::kUnexpected, current, "its chain of controllers has no end");
}

std::vector<ApiRequest> ClusterProbe::MakerRequests(std::span<const ResourceType> types,
                                                    const ClusterId& cluster,
                                                    const Patience& patience) {
  std::vector<ApiRequest> requests;
  for (const ResourceType& known : types) {
    auto type = discovery_.Resolve(known, patience);
    if (type && *type) requests.push_back(MakerRequest(**type, cluster));
  }
  const KindName& root = cluster.profile->root;
  if (!cluster.profile->HasRoot()) return requests;
  const auto type = discovery_.ByPlural(root.kind, root.group, patience);
  if (type && *type) requests.push_back(ApiRequest::GetMetadata(**type, cluster.ns, cluster.name));
  return requests;
}

ClusterListing ClusterProbe::List(std::span<const ResourceType> types, const ClusterId& cluster,
                                  std::size_t concurrency, const Patience& patience) {
  return ListAll(types, cluster, false, concurrency, patience);
}

void ClusterProbe::EachMember(std::span<const ResourceType> types, const ClusterId& cluster,
                              const std::function<void(const KubeObject&)>& show,
                              const Patience& patience) {
  const std::vector<ApiRequest> requests = MemberRequests(types, cluster);
  client_.EachItemSideBySide(
      requests, kReadsSideBySide,
      [&](std::size_t which, JsonValue item) {
        auto meta = ReadObjectMeta(item);
        if (meta && cluster.Owns(*meta)) show({requests[which].type, *std::move(meta)});
      },
      patience);
}

std::vector<ApiRequest> ClusterProbe::MemberRequests(std::span<const ResourceType> types,
                                                     const ClusterId& cluster) {
  std::vector<ApiRequest> requests;
  for (const ResourceType& type : types) requests.push_back(MemberRequest(type, cluster));
  return requests;
}

ApiRequest ClusterProbe::MakerRequest(const ResourceType& type, const ClusterId& cluster) const {
  const std::string selector = cluster.Selector();
  return IsPod(type) ? ApiRequest::ListUnendedPods(cluster.ns, selector, !reads_whole_pods_)
                     : ApiRequest::ListBySelector(type, cluster.ns, selector, false);
}

ClusterListing ClusterProbe::ListMakers(std::span<const ResourceType> types,
                                        const ClusterId& cluster, const KubeObject* resource,
                                        const Patience& patience) {
  Result<std::optional<KubeObject>, ApiError> read =
      resource != nullptr ? std::optional(*resource) : std::optional<KubeObject>();
  if (resource == nullptr) read = ResourceOf(cluster, patience);
  const std::string stands_for_it = read && *read ? (*read)->meta.uid : "";
  ClusterListing listing = ListAll(types, cluster, true, kReadsSideBySide, patience);
  const bool had_whole = std::exchange(reads_whole_pods_, HasUntoldPods(listing, stands_for_it));
  if (!had_whole && reads_whole_pods_) {
    listing = ListAll(types, cluster, true, kReadsSideBySide, patience);
  }
  if (!read) {
    listing.failed.push_back(std::move(read).error());
  } else if (*read) {
    // A label may have made it a member too.
    std::erase_if(listing.objects,
                  [&](const KubeObject& one) { return one.meta.uid == stands_for_it; });
    listing.masters.insert(stands_for_it);
    listing.objects.push_back(**std::move(read));
  }
  return listing;
}

ClusterListing ClusterProbe::ListAll(std::span<const ResourceType> types, const ClusterId& cluster,
                                     bool as_makers, std::size_t concurrency,
                                     const Patience& patience) {
  ClusterListing listing;
  std::vector<ApiRequest> requests;
  for (const ResourceType& known : types) {
    auto type = discovery_.Resolve(known, patience);
    if (!type) {
      listing.failed.push_back(std::move(type).error());
    } else if (*type) {
      requests.push_back(as_makers ? MakerRequest(**type, cluster)
                                   : MemberRequest(**type, cluster));
    }
  }
  std::vector<Shared<ResourceType>> listed;
  for (const ApiRequest& request : requests) listed.emplace_back(request.type);
  auto read = client_.EachItemSideBySide(
      requests, concurrency,
      [&](std::size_t which, JsonValue item) {
        auto meta = ReadObjectMeta(item);
        if (!meta) {
          listing.failed.push_back(
              {ApiFailure::kUnexpected,
               "list " + requests[which].type.QualifiedName() + ": " + meta.error().message,
               std::nullopt});
        } else if (cluster.Owns(*meta)) {
          const ResourceType& type = requests[which].type;
          const Profile& profile = *cluster.profile;
          if (as_makers && (IsMaster(type, *meta, profile) || IsMaster(type, item, profile))) {
            listing.masters.insert(meta->uid);
            if (type.kind == "ReplicaSet") {
              listing.templates[meta->uid] = PodTemplateText(PodTemplateOf(type, item));
            }
          }
          cluster.DropWhatSaysNothing(*meta);
          if (!listing.objects.empty()) meta->common.ShareWith(listing.objects.back().meta.common);
          listing.objects.push_back({listed[which], *std::move(meta)});
        }
      },
      patience);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (read[i]) {
      listing.read.insert(requests[i].type.QualifiedName());
    } else if (read[i].error().failure == ApiFailure::kForbidden) {
      listing.skipped.emplace_back(requests[i].type, std::move(read[i]).error());
    } else {
      listing.failed.push_back(std::move(read[i]).error());
    }
  }
  return listing;
}

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
  return Problem(ApiFailure::kUnexpected, object, "its chain of controllers has no end");
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
  return discovery_.ByPlural(uses->resource.kind, uses->resource.group, patience);
}

// The framework's own resources name the cluster in their spec; the cluster's own may run a job.
void ClusterProbe::FindUsesByName(DriverSearch& search, const Patience& patience) {
  const ClusterId& cluster = search.cluster;
  OtherDrivers& drivers = search.drivers;
  const auto& uses = cluster.profile->uses;
  const auto type = UsesType(cluster, patience);
  if (!type) drivers.unknown = type.error();
  if (!uses || !type || !*type || drivers.Keeps()) return;
  const auto judge = [&](JsonValue item) {
    auto meta = ReadObjectMeta(item);
    if (!meta) {
      drivers.unknown = Malformed(**type, meta.error());
      return;
    }
    const auto named = uses->cluster.Find(item);
    if (!named || *named != cluster.name || uses->HasEnded(item)) return;
    const KubeObject user{**type, *std::move(meta)};
    if (user.meta.uid == search.owner.uid) return;
    const auto controlled = IsControlledBy(user, search.owner.uid, patience);
    if (!controlled) drivers.unknown = controlled.error();
    if (controlled && !*controlled) drivers.in_use_by = user.Describe();
  };
  const auto listed = client_.EachItem(ApiRequest::List(**type, cluster.ns), judge, patience);
  if (!listed) drivers.unknown = listed.error();
  if (!uses->itself || drivers.Keeps()) return;
  JsonDocument whole;
  const auto resource = ResourceOf(cluster, patience, &whole);
  if (!resource) drivers.unknown = resource.error();
  if (!resource || !*resource) return;
  const auto job = uses->itself->Locate(whole.root());
  if (job && job->Exists() && !job->IsNull() && !uses->HasEnded(whole.root())) {
    drivers.in_use_by = "the job of " + (*resource)->Describe();
  }
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

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

// Whether what made the cluster's custom resource is the root of it.
bool StandsForWhatItMade(const KubeObject& maker, const ClusterId& cluster) {
  return cluster.Owns(maker.meta) || maker.meta.Annotation("cluster-watcher/owner");
}

// Whether `above`, which controls `below`, is of the cluster too.
bool IsOfCluster(const KubeObject& above, const KubeObject& below, const ClusterId& cluster) {
  return IsAlwaysBelow(below, above.type) || cluster.Owns(above.meta) ||
         cluster.IsResource(above) ||
         (cluster.IsResource(below) && cluster.profile->IsTheirs(above.type) &&
          StandsForWhatItMade(above, cluster));
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

}  // namespace

ApiError ClusterProbe::Malformed(const ResourceType& type, const Error& error) {
  return {ApiFailure::kUnexpected, "list " + type.QualifiedName() + ": " + error.message,
          std::nullopt};
}

ApiError ClusterProbe::Endless(const KubeObject& object) {
  return {ApiFailure::kUnexpected, object.Describe() + ": its chain of controllers has no end",
          std::nullopt};
}

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
  auto type = discovery_.ByPlural(root, patience);
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
  KubeObject current = std::move(start);
  for (int i = 0; i < kLongestOwnerChain; ++i) {
    JsonDocument read;
    auto next = ReadAbove(current, cluster, known, patience, whole == nullptr ? nullptr : &read);
    if (!next) return Unexpected{std::move(next).error()};
    if (!*next || !IsOfCluster(**next, current, cluster)) return current;
    if (whole != nullptr) *whole = std::move(read);
    current = **std::move(next);
  }
  return Unexpected{Endless(current)};
}

Result<bool, ApiError> ClusterProbe::IsStillRoot(const KubeObject& root, const ClusterId& cluster,
                                                 const Patience& patience) {
  const bool has_made_it = !cluster.IsResource(root) && cluster.profile->IsTheirs(root.type);
  if (has_made_it && !StandsForWhatItMade(root, cluster)) return false;
  auto above = ReadAbove(root, cluster, {}, patience, nullptr);
  if (!above) return Unexpected{std::move(above).error()};
  return !*above || !IsOfCluster(**above, root, cluster);
}

std::vector<ApiRequest> ClusterProbe::MakerRequests(std::span<const ResourceType> types,
                                                    const ClusterId& cluster,
                                                    const KubeObject* resource,
                                                    const Patience& patience) {
  std::vector<ApiRequest> requests;
  for (const ResourceType& known : types) {
    auto type = discovery_.Resolve(known, patience);
    if (type && *type) requests.push_back(MakerRequest(**type, cluster));
  }
  const KindName& root = cluster.profile->root;
  if (resource != nullptr || !cluster.profile->HasRoot()) return requests;
  const auto type = discovery_.ByPlural(root, patience);
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
        if (!meta || !cluster.Owns(*meta)) return;
        cluster.DropWhatSaysNothing(*meta);
        show({requests[which].type, *std::move(meta)});
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
          listing.failed.push_back(Malformed(requests[which].type, meta.error()));
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

}  // namespace cluster_watcher

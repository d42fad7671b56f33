// Which kinds the API server serves, from its discovery documents. A kind counts as not served only
// if they say so, never because a request failed. A group's absence from the list of groups isn't
// enough: a starting API server lists only a few groups for a while, and answers 503 under the
// paths of the others.
// Source: kubernetes.io "The Kubernetes API", discovery.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "probes/base/names.h"
#include "probes/kube/kube_client.h"

namespace cluster_watcher {

class Discovery {
 public:
  explicit Discovery(KubeClient& client) : client_(client) {}

  // Groups that every conforming API server has. They count as served without asking.
  static bool IsAlwaysServed(std::string_view group);

  // How a kind is served.
  struct Offer {
    bool has_status = false;     // has a status subresource
    bool offers_create = false;  // false: its definition is being deleted, or it is read-only
  };

  // Reads the list of API groups again and forgets their resources.
  Result<Done, ApiError> Refresh(const Patience& patience);

  // Returns the kind in a version that the server offers, `type.version` if possible; nullopt if it
  // isn't served. Kinds of always served groups are returned as they are.
  Result<std::optional<ResourceType>, ApiError> Resolve(const ResourceType& type,
                                                        const Patience& patience);

  // Finds what an ownerReference names: "apps/v1", "Deployment". nullopt: not served. The kinds
  // that FindBuiltInByKind knows are returned without asking whether they are served. An apiVersion
  // that names no version is an error.
  Result<std::optional<ResourceType>, ApiError> ByKind(std::string_view api_version,
                                                       std::string_view kind,
                                                       const Patience& patience);

  // Finds an entry of --resources: plural "rayclusters", group "ray.io", or empty for core and the
  // built-in kinds. nullopt: not served.
  Result<std::optional<ResourceType>, ApiError> ByPlural(std::string_view plural,
                                                         std::string_view group,
                                                         const Patience& patience);
  Result<std::optional<ResourceType>, ApiError> ByPlural(const KindName& name,
                                                         const Patience& patience) {
    return ByPlural(name.kind, name.group, patience);
  }

  // Whether the list of groups names this one, as it was last read. Custom resources' groups are
  // always named; one whose own API server is down may not be.
  bool Names(std::string_view group) const { return versions_.contains(group); }

  // Asks side by side what ByPlural would ask one after another about groups that aren't served.
  void ConfirmMissingGroups(std::span<const KindName> plurals, const Patience& patience);

  // Returns the kinds that people may mean by `name`, a plural, singular, kind or short name, in
  // its group or in any; empty if none is served. Without a group every group is read, and one that
  // can't be read is an error, because it might have such a kind, too.
  Result<std::vector<ResourceType>, ApiError> ByName(const KindName& name,
                                                     const Patience& patience);

  // Whether people may call the resolved `type` by this name.
  Result<bool, ApiError> IsCalled(const ResourceType& type, std::string_view name,
                                  const Patience& patience);

  // How the resolved `type` is served; nullopt if it isn't.
  Result<std::optional<Offer>, ApiError> OfferOf(const ResourceType& type,
                                                 const Patience& patience);
  // The same, from a new request.
  Result<std::optional<Offer>, ApiError> OfferNow(const ResourceType& type,
                                                  const Patience& patience);

 private:
  struct Resource {
    ResourceType type;
    std::string singular;
    std::vector<std::string> short_names;
    Offer offer;

    bool IsCalled(std::string_view name) const;
  };
  using Resources = std::vector<Resource>;

  Result<Done, ApiError> EnsureGroups(const Patience& patience);
  // Succeeds if the API server says that there is nothing under `path`.
  Result<Done, ApiError> ConfirmMissing(const std::string& path, const Patience& patience);
  Result<const Resources*, ApiError> ResourcesOf(const std::string& group,
                                                 const std::string& version,
                                                 const Patience& patience);
  Result<std::optional<ResourceType>, ApiError> FindIn(
      const std::string& group, const std::string& version,
      const std::function<bool(const Resource&)>& wanted, const Patience& patience);
  // In `version` if the group has the kind there, else in any version that it offers.
  Result<std::optional<ResourceType>, ApiError> FindInGroup(
      const std::string& group, const std::string& version,
      const std::function<bool(const Resource&)>& wanted, const Patience& patience);

  KubeClient& client_;
  bool read_ = false;
  std::map<std::string, std::vector<std::string>, std::less<>> versions_;  // preferred one first
  std::map<std::string, Resources, std::less<>> resources_;                // by "group/version"
  std::set<std::string, std::less<>> missing_;  // paths confirmed to be missing
};

}  // namespace cluster_watcher

// Which kinds the API server serves, from its discovery documents. A kind counts as not served only
// on their definite word, never because a request for it failed. That a group is missing from the
// list of groups is no such word: for a while after its start an API server lists few, and answers
// 503 under the others' paths. Source: kubernetes.io "The Kubernetes API", discovery.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "probes/base/names.h"
#include "probes/kube/kube_client.h"

namespace cluster_watcher {

class Discovery {
 public:
  explicit Discovery(KubeClient& client) : client_(client) {}

  // Groups that no conforming API server lacks; they aren't asked for.
  static bool IsAlwaysServed(std::string_view group);

  // How a kind is served.
  struct Offer {
    bool has_scale = false;      // a scale subresource
    bool offers_create = false;  // false: its definition is being deleted, or it can't be written
  };

  // Reads the list of API groups anew and forgets what was known of their resources.
  Result<Done, ApiError> Refresh(const Patience& patience);

  // The kind under the version that the server offers it in (`type.version` if it does); nullopt:
  // not served. Core and the groups that every API server has are not asked for.
  Result<std::optional<ResourceType>, ApiError> Resolve(const ResourceType& type,
                                                        const Patience& patience);

  // What an ownerReference names: "apps/v1", "Deployment". nullopt: not served.
  Result<std::optional<ResourceType>, ApiError> ByKind(std::string_view api_version,
                                                       std::string_view kind,
                                                       const Patience& patience);

  // What --resources names: plural "rayclusters", group "ray.io" or empty for any group that is
  // built in. nullopt: not served.
  Result<std::optional<ResourceType>, ApiError> ByPlural(std::string_view plural,
                                                         std::string_view group,
                                                         const Patience& patience);

  // The kinds that people may mean by `name`: a plural, singular, kind or short name, in its group
  // or in any. Empty: none is served. Without a group every group is read: that one of them can't
  // be is an error, for it might have such a kind too.
  Result<std::vector<ResourceType>, ApiError> ByName(const KindName& name,
                                                     const Patience& patience);

  // Whether people may call `type`, which was resolved, by this name.
  Result<bool, ApiError> IsCalled(const ResourceType& type, std::string_view name,
                                  const Patience& patience);

  // How `type`, which was resolved, is served; nullopt: not at all.
  Result<std::optional<Offer>, ApiError> OfferOf(const ResourceType& type,
                                                 const Patience& patience);
  // The same, asked for anew.
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
  // Done: the API server says that there is nothing under `path`.
  Result<Done, ApiError> ConfirmMissing(const std::string& path, const Patience& patience);
  Result<const Resources*, ApiError> ResourcesOf(const std::string& group,
                                                 const std::string& version,
                                                 const Patience& patience);
  Result<std::optional<ResourceType>, ApiError> FindIn(
      const std::string& group, const std::string& version,
      const std::function<bool(const Resource&)>& wanted, const Patience& patience);
  // In `version` if the group has it there, else in any that it offers.
  Result<std::optional<ResourceType>, ApiError> FindInGroup(
      const std::string& group, const std::string& version,
      const std::function<bool(const Resource&)>& wanted, const Patience& patience);

  KubeClient& client_;
  bool read_ = false;
  std::map<std::string, std::vector<std::string>, std::less<>> versions_;  // preferred one first
  std::map<std::string, Resources, std::less<>> resources_;                // by "group/version"
  std::set<std::string, std::less<>> missing_;                             // confirmed paths
};

}  // namespace cluster_watcher

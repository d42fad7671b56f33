// Which kinds the API server serves, from its discovery documents. A kind counts as not served only
// on their definite word, never because a request for it failed. Source: kubernetes.io "The
// Kubernetes API", discovery.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "probes/kube_client.h"

namespace cluster_watcher {

class Discovery {
 public:
  explicit Discovery(KubeClient& client) : client_(client) {}

  // Reads the list of API groups anew and forgets what was known of their resources.
  Result<Done, ApiError> Refresh(std::stop_token stop);

  // The kind under the version that the server offers it in (`type.version` if it does); nullopt:
  // not served. Core and the groups that every API server has are not asked for.
  Result<std::optional<ResourceType>, ApiError> Resolve(const ResourceType& type,
                                                        std::stop_token stop);

  // What an ownerReference names: "apps/v1", "Deployment". nullopt: not served.
  Result<std::optional<ResourceType>, ApiError> ByKind(std::string_view api_version,
                                                       std::string_view kind, std::stop_token stop);

  // What --resources names: plural "rayclusters", group "ray.io" or empty for any group that is
  // built in. nullopt: not served.
  Result<std::optional<ResourceType>, ApiError> ByPlural(std::string_view plural,
                                                         std::string_view group,
                                                         std::stop_token stop);

 private:
  using Resources = std::vector<ResourceType>;

  Result<Done, ApiError> EnsureGroups(std::stop_token stop);
  Result<const Resources*, ApiError> ResourcesOf(const std::string& group,
                                                 const std::string& version, std::stop_token stop);

  KubeClient& client_;
  bool read_ = false;
  std::map<std::string, std::vector<std::string>, std::less<>> versions_;  // preferred one first
  std::map<std::string, Resources, std::less<>> resources_;                // by "group/version"
};

}  // namespace cluster_watcher

// The kinds that the members of a cluster can be of.
#pragma once

#include <string>
#include <vector>

#include "probes/kube/discovery.h"
#include "watcher/settings/settings.h"

namespace cluster_watcher {

// The kinds that members can be.
struct MemberKinds {
  std::vector<ResourceType> types;      // the served ones
  std::vector<std::string> not_served;  // kinds of --resources: "widgets.example.com"
  std::vector<ApiError> errors;         // why it isn't known whether others are served
};
bool Has(const std::vector<ResourceType>& types, const ResourceType& type);
// Returns their names, "rayclusters.ray.io": the built-in list, or that of `--resources`.
std::vector<std::string> MemberKindNames(const Settings& settings);
// Returns the served ones, as far as the list of groups names theirs.
Result<std::vector<ResourceType>, ApiError> NamedMemberTypes(const Settings& settings,
                                                             Discovery& discovery,
                                                             const Patience& patience);
MemberKinds FindMemberKinds(const Settings& settings, Discovery& discovery,
                            const Patience& patience);

}  // namespace cluster_watcher

// Finds the kinds that an owner may be of, by the name that a person gave it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "probes/kube/discovery.h"
#include "probes/owner_sight.h"

namespace cluster_watcher {

class OwnerKindSearch {
 public:
  explicit OwnerKindSearch(Discovery& discovery) : discovery_(discovery) {}

  // Returns the kinds that the owner may be of. If there are none, `sight` says why.
  std::vector<ResourceType> Candidates(const OwnerQuery& query, OwnerSight& sight,
                                       const Patience& patience);

 private:
  std::optional<ResourceType> NamedKind(const KindName& kind, const OwnerQuery& query,
                                        OwnerSight& sight, const Patience& patience);
  // Returns what a kind's name without a group meant so far, to this process or by the recorded
  // owner; nullptr if that isn't known.
  Result<const ResourceType*, ApiError> RecallKind(const std::string& kind, const OwnerQuery& query,
                                                   const Patience& patience);

  Discovery& discovery_;
  struct FailedSearch {
    std::string why;
    int looks;  // how many more of them rely on it
  };
  std::map<std::string, FailedSearch> failed_;  // by kind name: unknown, ambiguous, or no driver
  std::map<std::string, ResourceType> named_;   // by kind name without a group
};

}  // namespace cluster_watcher

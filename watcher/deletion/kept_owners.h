// What is above objects that must survive. Deleted in the usual way, it would take them along.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "probes/kube/discovery.h"
#include "probes/kube/kube_client.h"

namespace cluster_watcher {

// Reads the metadata of an owner of an object in `ns`. nullopt: it is gone, or its kind is.
Result<std::optional<ObjectMeta>, ApiError> ReadOwner(KubeClient& client, Discovery& discovery,
                                                      const std::string& ns,
                                                      const OwnerReference& owner,
                                                      const Patience& patience);

// Returns the UIDs of all objects that own, directly or not, one of `objects` that `survives`. An
// owner that is not among `objects` is read; one that can't be read is an error. Source:
// kubernetes.io "Owners and Dependents".
Result<std::set<std::string>, ApiError> OwnersAbove(
    KubeClient& client, Discovery& discovery, const KubeObjects& objects,
    const std::function<bool(const KubeObject&)>& survives, const Patience& patience);

}  // namespace cluster_watcher

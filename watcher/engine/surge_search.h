// Looks whether many clusters of a namespace lost their drivers at once: counts the master roots
// that are marked abandoned since about the same time.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "probes/kube/discovery.h"
#include "probes/kube/kube_client.h"
#include "watcher/decision/surge.h"

namespace cluster_watcher {

// Returns the requests with which FindSurge begins: lists of the metadata of all that may be a
// master root beside `own`. These are the built-in workloads, of Pods only those that are labelled
// as masters, and what is of the own root's kind.
Result<std::vector<ApiRequest>, ApiError> MasterRootLists(Discovery& discovery,
                                                          const KubeObject& own,
                                                          const Patience& patience);

// Counts the master roots beside the cluster of `surge`, whose root is `own` and counts too, until
// they are more than `limit`. Says why it is a surge; empty: it is none. What may not be listed
// counts as above the limit.
Result<std::string, ApiError> FindSurge(KubeClient& client, std::span<const ApiRequest> lists,
                                        const KubeObject& own, const Surge& surge, int limit,
                                        const Patience& patience);

}  // namespace cluster_watcher

// Finds the owner that the settings or the master root of a look name, and compares all such names.
#pragma once

#include "probes/kube/kube_client.h"
#include "watcher/observation/snapshot.h"
#include "watcher/settings/settings.h"

namespace cluster_watcher {

// Sets owner_name and owner_ns of `snapshot`, and facts.given_owner where the name isn't the
// label's. A name that can't be parsed is among the setting errors.
void FindOwnerName(const Settings& settings, Snapshot& snapshot);

// Sets the facts on whether the annotation and the label of the root agree with the owner. May read
// a ReplicationController.
void CompareOwnerNames(KubeClient& client, const Settings& settings, Snapshot& snapshot,
                       const Patience& patience);

}  // namespace cluster_watcher

// Giving an object an owner: the garbage collector deletes it when its last owner has gone.
#pragma once

#include <string>

#include "probes/kube/object_meta.h"

namespace cluster_watcher {

// A JSON merge patch that adds an ownerReference to `owner` which controls and blocks nothing, and
// holds only for the resourceVersion in `object`. Source: kubernetes.io "Owners and Dependents".
std::string OwnerReferencePatch(const ObjectMeta& object, const KubeObject& owner);

}  // namespace cluster_watcher

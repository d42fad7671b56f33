// Takes owners off an object; the garbage collector deletes an object when its last owner is gone.
#pragma once

#include <set>
#include <string>

#include "probes/kube/object_meta.h"

namespace cluster_watcher {

// Returns a JSON merge patch that takes the ownerReferences to these UIDs off `object`. It applies
// only to the UID and the resourceVersion in `object`.
// Source: kubernetes.io "Owners and Dependents".
std::string WithoutOwnersPatch(const ObjectMeta& object, const std::set<std::string>& owner_uids);

}  // namespace cluster_watcher

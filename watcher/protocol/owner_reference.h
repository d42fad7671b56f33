// Adds an owner to an object; the garbage collector deletes the object when its last owner is gone.
#pragma once

#include <string>
#include <string_view>

#include "probes/kube/object_meta.h"

namespace cluster_watcher {

// Returns a JSON merge patch that adds an ownerReference to `owner`, which neither controls nor
// blocks. It applies only to the resourceVersion in `object`.
// Source: kubernetes.io "Owners and Dependents".
std::string OwnerReferencePatch(const ObjectMeta& object, const KubeObject& owner);
// The same that takes the ownerReference with this UID off.
std::string NoOwnerReferencePatch(const ObjectMeta& object, std::string_view owner_uid);

}  // namespace cluster_watcher

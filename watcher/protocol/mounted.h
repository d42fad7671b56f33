// What a pod needs in order to start: the objects that it mounts or takes its environment from.
#pragma once

#include <string>
#include <vector>

#include "probes/base/json.h"
#include "probes/kube/resource_type.h"

namespace cluster_watcher {

// An object in the pod's namespace: a ConfigMap, a Secret or a PersistentVolumeClaim.
struct MountedObject {
  ResourceType type;
  std::string name;
};

// What `pod` names, init containers and projected volumes included. Some may be there twice, some
// may not exist.
std::vector<MountedObject> MountedBy(JsonValue pod);

}  // namespace cluster_watcher

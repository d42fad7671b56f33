// The objects that a pod needs to start: what it mounts, reads its environment from or pulls images
// with.
#pragma once

#include <string>
#include <vector>

#include "probes/base/json.h"
#include "probes/kube/resource_type.h"

namespace cluster_watcher {

// A ConfigMap, Secret or PersistentVolumeClaim in the pod's namespace.
struct MountedObject {
  ResourceType type;
  std::string name;
};

// Returns the objects that `pod` names, including those of init containers and projected volumes.
// There may be duplicates, and some may not exist.
std::vector<MountedObject> MountedBy(JsonValue pod);

}  // namespace cluster_watcher

// Settings that stand on a master root, where nobody reads them.
#pragma once

#include <string>
#include <vector>

#include "probes/kube/object_meta.h"

namespace cluster_watcher {

// Adds an error for each setting that would keep the cluster, and each unknown annotation of ours,
// on the workload `root` that its pods don't have: `of_pods` are their annotations.
void AddMisplacedSettings(const KubeObject& root, const ObjectMeta::Texts& of_pods,
                          std::vector<std::string>& errors);

}  // namespace cluster_watcher

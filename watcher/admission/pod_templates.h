// Where in a Kubernetes object the pods are that it makes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "probes/base/json.h"

namespace cluster_watcher {

struct PodTemplate {
  std::string path;  // a JSON pointer into the object: "/spec/template"; "" for a Pod itself
  JsonValue pod;     // metadata and spec
};

// Whether objects of that kind have any.
bool HasPodTemplates(std::string_view api_version, std::string_view kind);

// Those of a Pod, of the built-in workloads, DeploymentConfigs, RayClusters, RayJobs and
// RayServices; none of anything else.
std::vector<PodTemplate> PodTemplatesOf(JsonValue object);

}  // namespace cluster_watcher

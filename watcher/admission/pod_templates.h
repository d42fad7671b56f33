// Finds the pod templates in a Kubernetes object.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "probes/base/json.h"

namespace cluster_watcher {

struct PodTemplate {
  std::string path;  // a JSON pointer into the object: "/spec/template"; "" for a Pod
  JsonValue pod;     // metadata and spec
};

// Whether objects of this kind have pod templates; a Pod counts as its own.
bool HasPodTemplates(std::string_view api_version, std::string_view kind);

// Says why the sidecar can't be written into an object of this kind although pods are made of it;
// "" for anything else.
std::string WhyOnlyAtAdmission(std::string_view api_version, std::string_view kind);

// Returns the templates of a Pod, a built-in workload, a DeploymentConfig, RayCluster, RayJob or
// RayService; none for anything else.
std::vector<PodTemplate> PodTemplatesOf(JsonValue object);

}  // namespace cluster_watcher

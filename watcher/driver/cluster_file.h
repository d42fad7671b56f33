// The objects of a cluster as a file has them, made ready to be created. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "probes/base/result.h"
#include "probes/base/yaml_node.h"
#include "probes/cluster_probe.h"
#include "watcher/admission/manifest/inject_manifests.h"

namespace cluster_watcher {

struct ClusterObject {
  std::string api_version;  // "apps/v1"
  std::string kind;         // "Deployment"
  std::string name;
  YamlNode node;

  std::string Describe() const;  // "Deployment spark-m"
  std::string Json() const;      // as the API server takes it
};

// Stands in a file for the cluster's name, in any string.
inline constexpr std::string_view kClusterVariable = "$(CLUSTER)";

struct ClusterFile {
  SharedProfile profile;
  std::vector<ClusterObject> objects;
};

// Reads the manifests: names the cluster in them, and puts its labels on all of them and on their
// pod templates, but not on the custom resource that stands for it; selectors stay. The master root
// comes first; what makes the cluster complete, a worker and the master's service, comes last.
// With `finds_profile` a custom resource that is called like the cluster says in whose words it is,
// not `cluster`. Errors name the file, the object and the remedy: it is no valid YAML or JSON, an
// object has no name of its own, is of another namespace or was exported, two are the same, or
// there isn't exactly one master: an object whose pods are masters, or a framework's cluster.
Result<ClusterFile, std::vector<std::string>> ReadClusterFiles(
    std::span<const ManifestFile> files, const ClusterId& cluster,
    const ProfileTable& profiles = ProfileTable::BuiltIn(), bool finds_profile = false);

// Sets a label of the object itself, and of the templates of its pods.
Result<Done> SetLabel(ClusterObject& object, const std::string& key, const std::string& value);
// The same of the object alone.
Result<Done> SetOwnLabel(ClusterObject& object, const std::string& key, const std::string& value);
// Sets an annotation of the object itself.
Result<Done> SetAnnotation(ClusterObject& object, const std::string& key, const std::string& value);

}  // namespace cluster_watcher

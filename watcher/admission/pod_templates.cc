#include "watcher/admission/pod_templates.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace cluster_watcher {
namespace {

// In a path "*" stands for every element of a list.
struct Kind {
  std::string_view group;
  std::string_view kind;
  std::vector<std::string_view> paths;
};

const std::vector<Kind>& Kinds() {
  static const std::vector<Kind> kinds = {
      {"", "Pod", {""}},
      {"", "PodTemplate", {"/template"}},
      {"", "ReplicationController", {"/spec/template"}},
      {"apps", "Deployment", {"/spec/template"}},
      {"apps", "ReplicaSet", {"/spec/template"}},
      {"apps", "StatefulSet", {"/spec/template"}},
      {"apps", "DaemonSet", {"/spec/template"}},
      {"batch", "Job", {"/spec/template"}},
      {"batch", "CronJob", {"/spec/jobTemplate/spec/template"}},
      {"apps.openshift.io", "DeploymentConfig", {"/spec/template"}},
      {"", "DeploymentConfig", {"/spec/template"}},  // as OpenShift 3 wrote it
      {"ray.io",
       "RayCluster",
       {"/spec/headGroupSpec/template", "/spec/workerGroupSpecs/*/template"}},
      {"ray.io",
       "RayJob",
       {"/spec/rayClusterSpec/headGroupSpec/template",
        "/spec/rayClusterSpec/workerGroupSpecs/*/template", "/spec/submitterPodTemplate"}},
      {"ray.io",
       "RayService",
       {"/spec/rayClusterConfig/headGroupSpec/template",
        "/spec/rayClusterConfig/workerGroupSpecs/*/template"}},
  };
  return kinds;
}

const Kind* FindKind(std::string_view api_version, std::string_view name) {
  const std::size_t slash = api_version.find('/');
  const std::string_view group =
      slash == std::string_view::npos ? std::string_view() : api_version.substr(0, slash);
  const auto found = std::find_if(Kinds().begin(), Kinds().end(), [&](const Kind& kind) {
    return kind.group == group && kind.kind == name;
  });
  return found == Kinds().end() ? nullptr : &*found;
}

// Adds the values that the path `rest` matches below `value`; `path` leads to `value`.
void Walk(JsonValue value, const std::string& path, std::string_view rest,
          std::vector<PodTemplate>& found) {
  if (rest.empty()) {
    if (value.IsObject()) found.push_back({path, value});
    return;
  }
  const std::size_t end = std::min(rest.find('/', 1), rest.size());
  const std::string_view key = rest.substr(1, end - 1);
  rest.remove_prefix(end);
  if (key != "*") return Walk(value[key], path + "/" + std::string(key), rest, found);
  for (std::size_t i = 0; i < value.size(); ++i) {
    Walk(value.At(i), path + "/" + std::to_string(i), rest, found);
  }
}

}  // namespace

std::string WhyOnlyAtAdmission(std::string_view api_version, std::string_view kind) {
  // Their definitions list the fields of a container, without that one.
  const bool drops_sidecars =
      (api_version.starts_with("kubernetes.dask.org/") &&
       (kind == "DaskCluster" || kind == "DaskJob")) ||
      (api_version.starts_with("flink.apache.org/") && kind == "FlinkDeployment");
  if (!drops_sidecars) return "";
  return "the watcher is not injected: the definition of a " + std::string(kind) +
         " drops restartPolicy of init containers, without which there is no sidecar. Its pods get "
         "the watcher when they are made, in a namespace labelled cluster-watcher/enabled=true";
}

bool HasPodTemplates(std::string_view api_version, std::string_view kind) {
  return FindKind(api_version, kind) != nullptr;
}

std::vector<PodTemplate> PodTemplatesOf(JsonValue object) {
  std::vector<PodTemplate> found;
  const Kind* kind = FindKind(object["apiVersion"].AsString().value_or(""),
                              object["kind"].AsString().value_or(""));
  if (kind == nullptr) return found;
  for (const std::string_view path : kind->paths) Walk(object, "", path, found);
  return found;
}

}  // namespace cluster_watcher

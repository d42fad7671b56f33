#include "probes/kube/resource_type.h"

#include <string>
#include <string_view>
#include <vector>

#include "probes/base/names.h"

namespace cluster_watcher {
namespace {

struct BuiltIn {
  ResourceType type;
  std::string short_name;  // kubectl's; empty if none
};

// Source: `kubectl api-resources`, OpenShift's API reference, the CRDs of KubeRay, Argo Workflows
// and of Spark's, Dask's and Flink's operator.
const std::vector<BuiltIn>& BuiltIns() {
  static const std::vector<BuiltIn> table = {
      {{"", "v1", "pods", "Pod"}, "po"},
      {{"", "v1", "services", "Service"}, "svc"},
      {{"", "v1", "configmaps", "ConfigMap"}, "cm"},
      {{"", "v1", "secrets", "Secret"}, ""},
      {{"", "v1", "serviceaccounts", "ServiceAccount"}, "sa"},
      {{"", "v1", "namespaces", "Namespace", false}, "ns"},
      {{"", "v1", "persistentvolumeclaims", "PersistentVolumeClaim"}, "pvc"},
      {{"", "v1", "replicationcontrollers", "ReplicationController"}, "rc"},
      {{"", "v1", "events", "Event"}, "ev"},
      {{"apps", "v1", "deployments", "Deployment"}, "deploy"},
      {{"apps", "v1", "replicasets", "ReplicaSet"}, "rs"},
      {{"apps", "v1", "statefulsets", "StatefulSet"}, "sts"},
      {{"apps", "v1", "daemonsets", "DaemonSet"}, "ds"},
      {{"batch", "v1", "jobs", "Job"}, ""},
      {{"batch", "v1", "cronjobs", "CronJob"}, "cj"},
      {{"networking.k8s.io", "v1", "ingresses", "Ingress"}, "ing"},
      {{"networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy"}, "netpol"},
      {{"autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler"}, "hpa"},
      {{"policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget"}, "pdb"},
      {{"apps.openshift.io", "v1", "deploymentconfigs", "DeploymentConfig"}, "dc"},
      {{"route.openshift.io", "v1", "routes", "Route"}, ""},
      {{"sparkoperator.k8s.io", "v1beta2", "sparkapplications", "SparkApplication"}, "sparkapp"},
      {{"sparkoperator.k8s.io", "v1beta2", "scheduledsparkapplications",
        "ScheduledSparkApplication"},
       "scheduledsparkapp"},
      {{"ray.io", "v1", "rayclusters", "RayCluster"}, ""},
      {{"ray.io", "v1", "rayjobs", "RayJob"}, ""},
      {{"argoproj.io", "v1alpha1", "workflows", "Workflow"}, "wf"},
      {{"kubernetes.dask.org", "v1", "daskclusters", "DaskCluster"}, "dsk"},
      {{"flink.apache.org", "v1beta1", "flinkdeployments", "FlinkDeployment"}, "flinkdep"},
  };
  return table;
}

const ResourceType* FindByName(std::string_view name, std::string_view group) {
  if (name.empty()) return nullptr;
  for (const BuiltIn& built_in : BuiltIns()) {
    const ResourceType& type = built_in.type;
    if (!group.empty() && group != type.group) continue;
    if (name == type.plural || name == LowerCase(type.kind) || name == built_in.short_name) {
      return FindBuiltInByKind(type.ApiVersion(), type.kind);
    }
  }
  return nullptr;
}

}  // namespace

std::string ResourceType::ApiVersion() const {
  return group.empty() ? version : group + "/" + version;
}

std::string ResourceType::QualifiedName() const {
  return group.empty() ? plural : plural + "." + group;
}

std::string ResourceType::SingularName() const {
  return group.empty() ? LowerCase(kind) : LowerCase(kind) + "." + group;
}

std::string ResourceType::CollectionPath(std::string_view ns) const {
  std::string path = group.empty() ? "/api/" : "/apis/" + PercentEncode(group) + "/";
  path += PercentEncode(version);
  if (namespaced && !ns.empty()) path += "/namespaces/" + PercentEncode(ns);
  return path + "/" + PercentEncode(plural);
}

std::string ResourceType::ObjectPath(std::string_view ns, std::string_view name) const {
  return CollectionPath(ns) + "/" + PercentEncode(name);
}

const ResourceType* FindBuiltInByKind(std::string_view api_version, std::string_view kind) {
  for (const ResourceType& type : BuiltInResourceTypes()) {
    if (type.kind == kind && type.ApiVersion() == api_version) return &type;
  }
  return nullptr;
}

const ResourceType* FindBuiltInByName(std::string_view name, std::string_view group) {
  const KindName wanted = SplitKindName(name);
  const std::string wanted_group = LowerCase(group);
  if (wanted.group.empty()) return FindByName(wanted.kind, wanted_group);
  if (!wanted_group.empty() && wanted_group != wanted.group) return nullptr;
  return FindByName(wanted.kind, wanted.group);
}

const std::vector<ResourceType>& BuiltInResourceTypes() {
  static const std::vector<ResourceType> types = [] {
    std::vector<ResourceType> all;
    for (const BuiltIn& built_in : BuiltIns()) all.push_back(built_in.type);
    return all;
  }();
  return types;
}

std::string PercentEncode(std::string_view text) {
  static constexpr std::string_view kHex = "0123456789ABCDEF";
  static constexpr std::string_view kUnreserved =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
  std::string encoded;
  for (const char c : text) {
    if (kUnreserved.find(c) != std::string_view::npos) {
      encoded += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      encoded += {'%', kHex[byte >> 4], kHex[byte & 0xf]};
    }
  }
  return encoded;
}

}  // namespace cluster_watcher

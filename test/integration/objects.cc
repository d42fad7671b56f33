#include "test/integration/objects.h"

#include <gtest/gtest.h>

#include "probes/base/json.h"

namespace cluster_watcher::integration {
namespace {

std::string PodTemplate(const Workload& workload, const std::string& restart_policy) {
  TextMap labels = workload.pod_labels;
  labels["app"] = workload.metadata.name;
  const bool has_grace =
      workload.pod_spec.find("terminationGracePeriodSeconds") != std::string::npos;
  return R"("template": {"metadata": {"labels": )" + Json(labels) + R"(, "annotations": )" +
         Json(workload.pod_annotations) + R"(}, "spec": {"restartPolicy": ")" + restart_policy +
         "\", " + workload.pod_spec + (has_grace ? "" : R"("terminationGracePeriodSeconds": 0, )") +
         R"(
             "containers": [{"name": "main", "image": "example.invalid/none"}]}})";
}

std::string Replicas(const Workload& workload) {
  return "\"replicas\": " + std::to_string(workload.replicas) + ", ";
}

std::string MatchLabels(const Workload& workload) {
  return R"("selector": {"matchLabels": {"app": )" + Json(workload.metadata.name) + "}}, ";
}

std::string Object(const Metadata& metadata, const std::string& rest) {
  return R"({"metadata": )" + metadata.Json() + rest + "}";
}

std::string WithSpec(const Workload& workload, const std::string& spec,
                     const std::string& restart_policy = "Always") {
  return Object(workload.metadata,
                ", \"spec\": {" + spec + PodTemplate(workload, restart_policy) + "}");
}

}  // namespace

std::string Json(const std::string& text) {
  JsonWriter json;
  json.String(text);
  return json.Text();
}

std::string Json(const TextMap& map) {
  JsonWriter json;
  json.StartObject();
  for (const auto& [key, value] : map) json.Field(key, value);
  return json.EndObject().Text();
}

std::string Metadata::Json() const {
  std::string json = R"({"name": )" + integration::Json(name) + R"(, "labels": )" +
                     integration::Json(labels) + R"(, "annotations": )" +
                     integration::Json(annotations);
  if (held) json += R"(, "finalizers": ["test.example/held"])";
  if (!owner_references.empty()) json += R"(, "ownerReferences": )" + owner_references;
  return json + "}";
}

std::string DeploymentOf(const Workload& workload) {
  return WithSpec(workload, Replicas(workload) + MatchLabels(workload));
}

std::string ReplicationControllerOf(const Workload& workload) {
  return WithSpec(workload, Replicas(workload) + R"("selector": {"app": )" +
                                Json(workload.metadata.name) + "}, ");
}

std::string StatefulSetOf(const Workload& workload) {
  return WithSpec(workload,
                  Replicas(workload) + MatchLabels(workload) + R"("serviceName": "none", )");
}

std::string StatefulSetWithClaimsOf(const Workload& workload) {
  return WithSpec(workload, Replicas(workload) + MatchLabels(workload) + R"("serviceName": "none",
      "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete"}, "volumeClaimTemplates": [{
        "metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}}}}], )");
}

std::string JobOf(const Workload& workload) { return WithSpec(workload, "", "Never"); }

std::string WorkloadOf(const std::string& plural, const Workload& workload) {
  if (plural == "deployments" || plural == "replicasets") return DeploymentOf(workload);
  if (plural == "replicationcontrollers") return ReplicationControllerOf(workload);
  if (plural == "statefulsets") return StatefulSetOf(workload);
  if (plural == "jobs") return JobOf(workload);
  ADD_FAILURE() << plural << " runs no pods";
  return "";
}

std::string ConfigMapOf(const Metadata& metadata) {
  return Object(metadata, R"(, "data": {"a": "b"})");
}

std::string ServiceOf(const Metadata& metadata, const std::string& app) {
  return Object(metadata, R"(, "spec": {"selector": {"app": )" + Json(app) +
                              R"(}, "ports": [{"port": 7077}]})");
}

std::string ClaimOf(const Metadata& metadata) {
  return Object(metadata, R"(, "spec": {"accessModes": ["ReadWriteOnce"],
                              "resources": {"requests": {"storage": "1Gi"}}})");
}

std::string CustomOf(const Metadata& metadata, const std::string& spec) {
  return Object(metadata, ", \"spec\": " + spec);
}

std::string NamedOf(const Metadata& metadata) { return Object(metadata, ""); }

std::string WatcherRoleOf(const Metadata& metadata) {
  return Object(metadata, R"(, "rules": [
      {"apiGroups": [""], "resources": ["pods", "services", "configmaps", "replicationcontrollers"],
       "verbs": ["get", "list", "patch", "delete"]},
      {"apiGroups": ["apps"],
       "resources": ["deployments", "replicasets", "statefulsets", "daemonsets"],
       "verbs": ["get", "list", "patch", "delete"]},
      {"apiGroups": ["batch"], "resources": ["jobs", "cronjobs"],
       "verbs": ["get", "list", "patch", "delete"]},
      {"apiGroups": ["networking.k8s.io"], "resources": ["ingresses", "networkpolicies"],
       "verbs": ["get", "list", "delete"]},
      {"apiGroups": ["autoscaling"], "resources": ["horizontalpodautoscalers"],
       "verbs": ["get", "list", "delete"]},
      {"apiGroups": ["policy"], "resources": ["poddisruptionbudgets"],
       "verbs": ["get", "list", "delete"]},
      {"apiGroups": ["apps.openshift.io"], "resources": ["deploymentconfigs"],
       "verbs": ["get", "list", "patch", "delete"]},
      {"apiGroups": [""], "resources": ["persistentvolumeclaims"], "verbs": ["list"]},
      {"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create"]}])");
}

std::string RoleBindingOf(const Metadata& metadata, const std::string& role,
                          const std::string& account) {
  return Object(metadata, R"(, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role",
                               "name": )" +
                              Json(role) + R"(},
                     "subjects": [{"kind": "ServiceAccount", "name": )" +
                              Json(account) + "}]");
}

}  // namespace cluster_watcher::integration

// The kinds that the program knows without asking the API server.
// Source: `kubectl api-resources`, OpenShift's API reference, the CRDs of KubeRay, Argo Workflows,
// Argo Rollouts, JobSet and of Spark's, Dask's and Flink's operator.
#pragma once

#include <array>
#include <string_view>

namespace cluster_watcher {

struct BuiltInType {
  std::string_view group;  // empty: core
  std::string_view version;
  std::string_view plural;
  std::string_view kind;
  std::string_view short_name;  // kubectl's; empty: none
  bool namespaced = true;
};

inline constexpr std::array kBuiltInTypes = {
    BuiltInType{"", "v1", "pods", "Pod", "po"},
    BuiltInType{"", "v1", "services", "Service", "svc"},
    BuiltInType{"", "v1", "configmaps", "ConfigMap", "cm"},
    BuiltInType{"", "v1", "secrets", "Secret", ""},
    BuiltInType{"", "v1", "serviceaccounts", "ServiceAccount", "sa"},
    BuiltInType{"", "v1", "namespaces", "Namespace", "ns", false},
    BuiltInType{"", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", "pvc"},
    BuiltInType{"", "v1", "replicationcontrollers", "ReplicationController", "rc"},
    BuiltInType{"", "v1", "events", "Event", "ev"},
    BuiltInType{"apps", "v1", "deployments", "Deployment", "deploy"},
    BuiltInType{"apps", "v1", "replicasets", "ReplicaSet", "rs"},
    BuiltInType{"apps", "v1", "statefulsets", "StatefulSet", "sts"},
    BuiltInType{"apps", "v1", "daemonsets", "DaemonSet", "ds"},
    BuiltInType{"batch", "v1", "jobs", "Job", ""},
    BuiltInType{"batch", "v1", "cronjobs", "CronJob", "cj"},
    BuiltInType{"networking.k8s.io", "v1", "ingresses", "Ingress", "ing"},
    BuiltInType{"networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy", "netpol"},
    BuiltInType{"autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler", "hpa"},
    BuiltInType{"policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", "pdb"},
    BuiltInType{"apps.openshift.io", "v1", "deploymentconfigs", "DeploymentConfig", "dc"},
    BuiltInType{"route.openshift.io", "v1", "routes", "Route", ""},
    BuiltInType{"sparkoperator.k8s.io", "v1beta2", "sparkapplications", "SparkApplication",
                "sparkapp"},
    BuiltInType{"sparkoperator.k8s.io", "v1beta2", "scheduledsparkapplications",
                "ScheduledSparkApplication", "scheduledsparkapp"},
    BuiltInType{"ray.io", "v1", "rayclusters", "RayCluster", ""},
    BuiltInType{"ray.io", "v1", "rayjobs", "RayJob", ""},
    BuiltInType{"ray.io", "v1", "raycronjobs", "RayCronJob", ""},
    BuiltInType{"argoproj.io", "v1alpha1", "workflows", "Workflow", "wf"},
    BuiltInType{"argoproj.io", "v1alpha1", "cronworkflows", "CronWorkflow", "cwf"},
    BuiltInType{"argoproj.io", "v1alpha1", "rollouts", "Rollout", "ro"},
    BuiltInType{"jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet", ""},
    BuiltInType{"kubernetes.dask.org", "v1", "daskclusters", "DaskCluster", "dsk"},
    BuiltInType{"kubernetes.dask.org", "v1", "daskjobs", "DaskJob", "djb"},
    BuiltInType{"flink.apache.org", "v1beta1", "flinkdeployments", "FlinkDeployment", "flinkdep"},
};

constexpr bool IsBuiltIn(std::string_view plural, std::string_view group) {
  for (const BuiltInType& type : kBuiltInTypes) {
    if (type.plural == plural && type.group == group) return true;
  }
  return false;
}

}  // namespace cluster_watcher

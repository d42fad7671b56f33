// The table of owner kinds: what owner_kinds.cc reads of each, and where. To judge one more kind,
// add a row, and the rules to read it to the Roles (CONTRIBUTING.md, "How to add").
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "probes/kube/built_in_types.h"

namespace cluster_watcher {

enum class Replicas {
  kOne,        // the kind has no replicas
  kSpec,       // spec.replicas, which the API server always writes
  kSpecOrOne,  // spec.replicas, 1 where it isn't written
};

// When an object that asks to be suspended is.
enum class Suspended {
  kNever,            // the kind can't be suspended
  kSpec,             // at once
  kSparkState,       // once status.applicationState says so
  kRayJobStatus,     // once status.jobDeploymentStatus says so
  kRayClusterState,  // once status.state or a condition says so
  kFlinkState,       // once status.lifecycleState says so; spec has its own field for it
};

enum class Completed {
  kNever,
  kUnknown,  // only --completed-when can tell
  kJobConditions,
  kJobSetConditions,
  kPodPhase,
  kSparkState,
  kRayJobStatus,
  kWorkflowPhase,
  kDaskJobStatus,
};

// Where to find the label selector of its pods.
enum class Pods {
  kNone,
  kSpecMap,       // spec.selector, labels
  kSpecSelector,  // spec.selector, a LabelSelector
  kLabel,         // the label `pods_label` holds the object's name
  kActiveJobs,    // by the names of the Jobs in status.active
  kRayJob,        // of its RayCluster, status.rayClusterName, until its job has ended
};

// Paths from the object's spec to the specs of the pods that it runs.
using PodSpecs = std::span<const std::string_view>;
inline constexpr std::string_view kItself[] = {""};
inline constexpr std::string_view kTemplate[] = {"template.spec"};
inline constexpr std::string_view kJobTemplate[] = {"jobTemplate.spec.template.spec"};
inline constexpr std::string_view kJobSet[] = {"replicatedJobs.template.spec.template.spec"};
inline constexpr std::string_view kSparkDriver[] = {"driver"};
inline constexpr std::string_view kSparkTemplate[] = {"template.driver"};
inline constexpr std::string_view kHeadGroup[] = {"headGroupSpec.template.spec"};
inline constexpr std::string_view kRayJob[] = {"rayClusterSpec.headGroupSpec.template.spec",
                                               "submitterPodTemplate.spec"};
inline constexpr std::string_view kDaskJob[] = {"job.spec"};
// For a kind without a row, which may follow one of those.
inline constexpr std::string_view kAnyOfThese[] = {
    kTemplate[0],  kJobTemplate[0], kSparkDriver[0], kSparkTemplate[0],
    kHeadGroup[0], kRayJob[0],      kRayJob[1]};

// Which of its pods count as something that runs. By default all do, as long as they run.
struct Counts {
  std::string_view container;  // a pod that has one counts until it has ended
  std::string_view but_label;  // pods with this label and value don't count
  std::string_view but_value;
};
// Source: apache/spark, resource-managers/kubernetes, Constants.
inline constexpr Counts kSparkDriverPod = {"spark-kubernetes-driver", "spark-role", "executor"};

struct KindRef {
  std::string_view plural;
  std::string_view group;
};

// One kind. A comment above a row names the project that defines its fields.
struct OwnerKind {
  std::string_view plural;
  std::string_view group;
  Replicas replicas = Replicas::kOne;
  Suspended suspended = Suspended::kNever;
  KindRef runs = {};  // the kind of the objects that it creates one after the other
  Completed completed = Completed::kNever;
  Pods pods = Pods::kNone;
  const char* pods_label = "";
  Counts counts = {};
  PodSpecs pod_specs = {};             // have its terminationGracePeriodSeconds
  bool bare_name = false;              // a bare name may mean this kind
  bool workload = true;                // a built-in kind that runs pods
  bool stands_for_controller = false;  // its controller is the owner
};

inline constexpr std::array kOwnerKinds = {
    OwnerKind{.plural = "replicationcontrollers",
              .group = "",
              .replicas = Replicas::kSpec,
              .pods = Pods::kSpecMap,
              .pod_specs = kTemplate,
              .bare_name = true},
    OwnerKind{.plural = "deployments",
              .group = "apps",
              .replicas = Replicas::kSpec,
              .pods = Pods::kSpecSelector,
              .pod_specs = kTemplate,
              .bare_name = true},
    OwnerKind{.plural = "deploymentconfigs",
              .group = "apps.openshift.io",
              .replicas = Replicas::kSpec,
              .pods = Pods::kSpecMap,
              .pod_specs = kTemplate,
              .bare_name = true},
    OwnerKind{.plural = "statefulsets",
              .group = "apps",
              .replicas = Replicas::kSpec,
              .pods = Pods::kSpecSelector,
              .pod_specs = kTemplate,
              .bare_name = true},
    // A Job's spec.parallelism doesn't count as replicas.
    OwnerKind{.plural = "jobs",
              .group = "batch",
              .suspended = Suspended::kSpec,
              .completed = Completed::kJobConditions,
              .pods = Pods::kSpecSelector,
              .pod_specs = kTemplate,
              .bare_name = true},
    OwnerKind{.plural = "replicasets",
              .group = "apps",
              .replicas = Replicas::kSpec,
              .pods = Pods::kSpecSelector,
              .pod_specs = kTemplate,
              .stands_for_controller = true},
    OwnerKind{.plural = "daemonsets",
              .group = "apps",
              .pods = Pods::kSpecSelector,
              .pod_specs = kTemplate},
    // status.active lacks Jobs that people created from it by hand, so its Jobs are listed.
    OwnerKind{.plural = "cronjobs",
              .group = "batch",
              .suspended = Suspended::kSpec,
              .runs = {"jobs", "batch"},
              .pods = Pods::kActiveJobs,
              .pod_specs = kJobTemplate},
    OwnerKind{.plural = "pods",
              .group = "",
              .completed = Completed::kPodPhase,
              .pod_specs = kItself,
              .stands_for_controller = true},
    // kubeflow/spark-operator, api/v1beta2
    OwnerKind{.plural = "sparkapplications",
              .group = "sparkoperator.k8s.io",
              .suspended = Suspended::kSparkState,
              .completed = Completed::kSparkState,
              .pods = Pods::kLabel,
              .pods_label = "sparkoperator.k8s.io/app-name",
              .counts = kSparkDriverPod,
              .pod_specs = kSparkDriver,
              .workload = false},
    OwnerKind{.plural = "scheduledsparkapplications",
              .group = "sparkoperator.k8s.io",
              .suspended = Suspended::kSpec,
              .runs = {"sparkapplications", "sparkoperator.k8s.io"},
              .counts = kSparkDriverPod,
              .pod_specs = kSparkTemplate,
              .workload = false},
    // ray-project/kuberay, ray-operator/apis/ray/v1
    OwnerKind{.plural = "rayjobs",
              .group = "ray.io",
              .suspended = Suspended::kRayJobStatus,
              .completed = Completed::kRayJobStatus,
              .pods = Pods::kRayJob,
              .pods_label = "ray.io/cluster",
              .pod_specs = kRayJob,
              .workload = false},
    OwnerKind{.plural = "rayclusters",
              .group = "ray.io",
              .suspended = Suspended::kRayClusterState,
              .pods = Pods::kLabel,
              .pods_label = "ray.io/cluster",
              .pod_specs = kHeadGroup,
              .workload = false},
    OwnerKind{.plural = "raycronjobs",
              .group = "ray.io",
              .suspended = Suspended::kSpec,
              .runs = {"rayjobs", "ray.io"},
              .workload = false},
    // argoproj/argo-workflows, pkg/apis/workflow/v1alpha1
    OwnerKind{.plural = "workflows",
              .group = "argoproj.io",
              .suspended = Suspended::kSpec,
              .completed = Completed::kWorkflowPhase,
              .pods = Pods::kLabel,
              .pods_label = "workflows.argoproj.io/workflow",
              .workload = false},
    OwnerKind{.plural = "cronworkflows",
              .group = "argoproj.io",
              .suspended = Suspended::kSpec,
              .runs = {"workflows", "argoproj.io"},
              .workload = false},
    // argoproj/argo-rollouts, pkg/apis/rollouts/v1alpha1. With a workloadRef the replicas are here.
    OwnerKind{.plural = "rollouts",
              .group = "argoproj.io",
              .replicas = Replicas::kSpecOrOne,
              .completed = Completed::kUnknown,
              .pods = Pods::kSpecSelector,
              .pod_specs = kTemplate,
              .workload = false},
    // kubernetes-sigs/jobset, api/jobset/v1alpha2
    OwnerKind{.plural = "jobsets",
              .group = "jobset.x-k8s.io",
              .suspended = Suspended::kSpec,
              .completed = Completed::kJobSetConditions,
              .pods = Pods::kLabel,
              .pods_label = "jobset.sigs.k8s.io/jobset-name",
              .pod_specs = kJobSet,
              .workload = false},
    // Their scale subresources count workers. A Flink job is FINISHED during each upgrade too.
    OwnerKind{.plural = "flinkdeployments",
              .group = "flink.apache.org",
              .suspended = Suspended::kFlinkState,
              .completed = Completed::kUnknown,
              .workload = false},
    // dask/dask-kubernetes, dask_kubernetes/operator
    OwnerKind{.plural = "daskclusters",
              .group = "kubernetes.dask.org",
              .completed = Completed::kUnknown,
              .pods = Pods::kLabel,
              .pods_label = "dask.org/cluster-name",
              .workload = false},
    OwnerKind{.plural = "daskjobs",
              .group = "kubernetes.dask.org",
              .completed = Completed::kDaskJobStatus,
              .pods = Pods::kLabel,
              .pods_label = "dask.org/cluster-name",
              .pod_specs = kDaskJob,
              .workload = false},
};

// Any other custom resource: nothing but its existence is known.
inline constexpr OwnerKind kAnyKind{.plural = "",
                                    .group = "",
                                    .completed = Completed::kUnknown,
                                    .pod_specs = kAnyOfThese,
                                    .workload = false};

constexpr bool AllAreBuiltIn() {
  for (const OwnerKind& kind : kOwnerKinds) {
    if (!IsBuiltIn(kind.plural, kind.group)) return false;
    if (!kind.runs.plural.empty() && !IsBuiltIn(kind.runs.plural, kind.runs.group)) return false;
  }
  return true;
}
static_assert(AllAreBuiltIn(), "add the kind and what it runs to probes/kube/built_in_types.h");

}  // namespace cluster_watcher

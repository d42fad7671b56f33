#include "probes/owner_kinds.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "probes/base/names.h"
#include "probes/base/time_text.h"
#include "probes/kube/built_in_types.h"

namespace cluster_watcher {
namespace {

enum class Replicas {
  kOne,    // the kind has no replicas
  kSpec,   // spec.replicas, which the API server always writes
  kScale,  // from its scale subresource, if it has one
};

// What may still run of a suspended object.
enum class Suspended {
  kNever,            // the kind can't be suspended
  kStatusActive,     // nothing, once status.active is 0 or an empty list
  kRuns,             // the objects of kind `runs` that it owns
  kPods,             // its pods
  kSparkState,       // its pods, once status.applicationState says so
  kRayJobStatus,     // nothing, once status.jobDeploymentStatus says so
  kRayClusterState,  // nothing, once status.state or a condition says so
  kFlinkState,       // nothing, once status.lifecycleState says so; spec has its own field for it
};

enum class Completed {
  kNever,
  kUnknown,  // only --completed-when can tell
  kJobConditions,
  kPodPhase,
  kSparkState,
  kRayJobStatus,
  kWorkflowPhase,
};

// Where to find the label selector of its pods.
enum class Pods {
  kNone,
  kSpecMap,       // spec.selector, labels
  kSpecSelector,  // spec.selector, a LabelSelector
  kLabel,         // the label `pods_label` holds the object's name
  kActiveJobs,    // by the names of the Jobs in status.active
  kRayCluster,    // by the name of its RayCluster, status.rayClusterName
};

// Paths from the object's spec to the specs of the pods that it runs.
using PodSpecs = std::span<const std::string_view>;
constexpr std::string_view kItself[] = {""};
constexpr std::string_view kTemplate[] = {"template.spec"};
constexpr std::string_view kJobTemplate[] = {"jobTemplate.spec.template.spec"};
constexpr std::string_view kSparkDriver[] = {"driver"};
constexpr std::string_view kSparkTemplate[] = {"template.driver"};
constexpr std::string_view kHeadGroup[] = {"headGroupSpec.template.spec"};
constexpr std::string_view kRayJob[] = {"rayClusterSpec.headGroupSpec.template.spec",
                                        "submitterPodTemplate.spec"};
// For a kind without a row, which may follow one of those.
constexpr std::string_view kAnyOfThese[] = {kTemplate[0],      kJobTemplate[0], kSparkDriver[0],
                                            kSparkTemplate[0], kHeadGroup[0],   kRayJob[0],
                                            kRayJob[1]};

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
  KindRef runs = {};  // the built-in kind of the objects that it creates one after the other
  Completed completed = Completed::kNever;
  Pods pods = Pods::kNone;
  const char* pods_label = "";
  PodSpecs pod_specs = {};                // have its terminationGracePeriodSeconds
  bool bare_name = false;                 // a bare name may mean this kind
  bool workload = true;                   // a built-in kind that runs pods
  bool stands_for_controller = false;     // its controller is the owner
  bool rolled_out_by_controller = false;  // its replicas may be 0 in the middle of a rollout
  bool runs_on_while_paused = false;      // ignores spec.replicas while paused
};

constexpr std::array kOwnerKinds = {
    OwnerKind{.plural = "replicationcontrollers",
              .group = "",
              .replicas = Replicas::kSpec,
              .pods = Pods::kSpecMap,
              .pod_specs = kTemplate,
              .bare_name = true,
              .rolled_out_by_controller = true},
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
              .bare_name = true,
              .runs_on_while_paused = true},
    OwnerKind{.plural = "statefulsets",
              .group = "apps",
              .replicas = Replicas::kSpec,
              .pods = Pods::kSpecSelector,
              .pod_specs = kTemplate,
              .bare_name = true},
    // A Job's spec.parallelism doesn't count as replicas.
    OwnerKind{.plural = "jobs",
              .group = "batch",
              .suspended = Suspended::kStatusActive,
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
              .suspended = Suspended::kRuns,
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
              .pod_specs = kSparkDriver,
              .workload = false},
    OwnerKind{.plural = "scheduledsparkapplications",
              .group = "sparkoperator.k8s.io",
              .suspended = Suspended::kRuns,
              .runs = {"sparkapplications", "sparkoperator.k8s.io"},
              .pod_specs = kSparkTemplate,
              .workload = false},
    // ray-project/kuberay, ray-operator/apis/ray/v1
    OwnerKind{.plural = "rayjobs",
              .group = "ray.io",
              .suspended = Suspended::kRayJobStatus,
              .completed = Completed::kRayJobStatus,
              .pods = Pods::kRayCluster,
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
              .suspended = Suspended::kRuns,
              .runs = {"rayjobs", "ray.io"},
              .workload = false},
    // argoproj/argo-workflows, pkg/apis/workflow/v1alpha1
    OwnerKind{.plural = "workflows",
              .group = "argoproj.io",
              .suspended = Suspended::kPods,
              .completed = Completed::kWorkflowPhase,
              .pods = Pods::kLabel,
              .pods_label = "workflows.argoproj.io/workflow",
              .workload = false},
    OwnerKind{.plural = "cronworkflows",
              .group = "argoproj.io",
              .suspended = Suspended::kRuns,
              .runs = {"workflows", "argoproj.io"},
              .workload = false},
    // Their scale subresources count workers. A Flink job is FINISHED during each upgrade too.
    OwnerKind{.plural = "flinkdeployments",
              .group = "flink.apache.org",
              .suspended = Suspended::kFlinkState,
              .completed = Completed::kUnknown,
              .workload = false},
    OwnerKind{.plural = "daskclusters",
              .group = "kubernetes.dask.org",
              .completed = Completed::kUnknown,
              .workload = false},
};

// Any other custom resource.
constexpr OwnerKind kAnyKind{.plural = "",
                             .group = "",
                             .replicas = Replicas::kScale,
                             .suspended = Suspended::kStatusActive,
                             .runs = {"pods", ""},
                             .completed = Completed::kUnknown,
                             .pod_specs = kAnyOfThese,
                             .workload = false};

// Runs of a kind that isn't built in would never be listed, and a suspended owner with active runs
// would count as idle.
constexpr bool RunsAreBuiltIn() {
  for (const OwnerKind& kind : kOwnerKinds) {
    const bool has_runs = kind.suspended == Suspended::kRuns;
    if (has_runs == kind.runs.plural.empty()) return false;
    if (has_runs && !IsBuiltIn(kind.runs.plural, kind.runs.group)) return false;
  }
  return IsBuiltIn(kAnyKind.runs.plural, kAnyKind.runs.group);
}
static_assert(RunsAreBuiltIn(), "add what the kind runs to probes/kube/built_in_types.h");

constexpr bool WorkloadsAreBuiltIn() {
  for (const OwnerKind& kind : kOwnerKinds) {
    if ((kind.bare_name || kind.workload) && !IsBuiltIn(kind.plural, kind.group)) return false;
  }
  return true;
}
static_assert(WorkloadsAreBuiltIn(), "add the kind to probes/kube/built_in_types.h");

// Returns nullptr for a built-in kind that runs nothing.
const OwnerKind* FindKind(const ResourceType& type) {
  for (const OwnerKind& kind : kOwnerKinds) {
    if (type.plural == kind.plural && type.group == kind.group) return &kind;
  }
  const bool built_in = FindBuiltInByName(type.plural, type.group) != nullptr || type.group.empty();
  return built_in ? nullptr : &kAnyKind;
}

std::vector<ResourceType> TypesWhere(bool (*wanted)(const OwnerKind&)) {
  std::vector<ResourceType> types;
  for (const OwnerKind& kind : kOwnerKinds) {
    if (!wanted(kind)) continue;
    types.push_back(*FindBuiltInByName(kind.plural, kind.group));
  }
  return types;
}

bool HasTrueCondition(JsonValue object, std::string_view name) {
  for (JsonValue condition : object["status"]["conditions"].Elements()) {
    if (condition["type"].AsString() == name && condition["status"].AsString() == "True") {
      return true;
    }
  }
  return false;
}

bool IsCompleted(Completed completed, JsonValue object) {
  const JsonValue status = object["status"];
  switch (completed) {
    case Completed::kNever:
    case Completed::kUnknown:
      return false;
    case Completed::kJobConditions:
      return HasTrueCondition(object, "Complete") || HasTrueCondition(object, "Failed");
    case Completed::kPodPhase: {
      const auto phase = status["phase"].AsString();
      return phase == "Succeeded" || phase == "Failed";
    }
    case Completed::kSparkState: {
      // Failed submissions and pending reruns have states of their own.
      const auto state = status["applicationState"]["state"].AsString();
      const bool restarts = object["spec"]["restartPolicy"]["type"].AsString() == "Always";
      return !restarts && (state == "COMPLETED" || state == "FAILED");
    }
    case Completed::kRayJobStatus: {
      const auto state = status["jobDeploymentStatus"].AsString();
      return state == "Complete" || state == "Failed";
    }
    case Completed::kWorkflowPhase: {
      const auto phase = status["phase"].AsString();
      return phase == "Succeeded" || phase == "Failed" || phase == "Error";
    }
  }
  return false;
}

bool SaysSuspended(const OwnerKind& kind, JsonValue spec) {
  if (kind.suspended == Suspended::kFlinkState) {
    return spec["job"]["state"].AsString() == "suspended";
  }
  return spec["suspend"].AsBool().value_or(false) ||
         (&kind == &kAnyKind && spec["suspended"].AsBool().value_or(false));
}

// Fills in whether `object`, whose spec says suspended, really is, or what else decides that.
Result<Done> ReadSuspended(const OwnerKind& kind, JsonValue object, OwnerFields& fields) {
  const JsonValue status = object["status"];
  switch (kind.suspended) {
    case Suspended::kNever:
      return Done{};
    case Suspended::kStatusActive: {
      // Jobs count their pods here, other kinds may list them; both omit it if there are none.
      const JsonValue active = status["active"];
      if (active.Exists() && !active.IsNull() && !active.IsArray() && !active.AsInteger()) {
        return Failure("status.active is neither a count nor a list");
      }
      // Pods that are terminating may still be computing.
      const bool terminating = status["terminating"].AsInteger().value_or(0) > 0;
      fields.suspended = active.AsInteger().value_or(0) == 0 && active.size() == 0 && !terminating;
      return Done{};
    }
    case Suspended::kRuns:
      fields.suspended = true;
      return Done{};
    case Suspended::kPods:
      fields.suspended = true;
      fields.suspended_unless_pod = true;
      return Done{};
    case Suspended::kSparkState:
      fields.suspended = status["applicationState"]["state"].AsString() == "SUSPENDED";
      fields.suspended_unless_pod = true;
      return Done{};
    case Suspended::kRayJobStatus:
      fields.suspended = status["jobDeploymentStatus"].AsString() == "Suspended";
      return Done{};
    case Suspended::kRayClusterState:
      fields.suspended = status["state"].AsString() == "suspended" ||
                         HasTrueCondition(object, "RayClusterSuspended");
      return Done{};
    case Suspended::kFlinkState:
      fields.suspended = status["lifecycleState"].AsString() == "SUSPENDED";
      return Done{};
  }
  return Done{};
}

// A label selector, or a part of one, as the API takes it in a query; nullopt if it is malformed.
using SelectorPart = std::optional<std::string>;

SelectorPart JoinMap(JsonValue map) {
  if (map.Exists() && !map.IsNull() && !map.IsObject()) return std::nullopt;
  std::string text;
  for (const auto& [key, value] : map.Members()) {
    if (!value.AsString()) return std::nullopt;
    if (!text.empty()) text += ",";
    text += std::string(key) + "=" + std::string(*value.AsString());
  }
  return text;
}

SelectorPart ExpressionText(JsonValue expression) {
  const std::string key(expression["key"].AsString().value_or(""));
  const auto operation = expression["operator"].AsString();
  if (key.empty()) return std::nullopt;
  if (operation == "Exists") return key;
  if (operation == "DoesNotExist") return "!" + key;
  if (operation != "In" && operation != "NotIn") return std::nullopt;
  std::string values;
  for (JsonValue value : expression["values"].Elements()) {
    if (!value.AsString()) return std::nullopt;
    if (!values.empty()) values += ",";
    values += *value.AsString();
  }
  return key + (operation == "NotIn" ? " notin (" : " in (") + values + ")";
}

SelectorPart LabelSelectorText(JsonValue selector) {
  auto text = JoinMap(selector["matchLabels"]);
  for (JsonValue expression : selector["matchExpressions"].Elements()) {
    auto part = ExpressionText(expression);
    if (!text || !part) return std::nullopt;
    *text += (text->empty() ? "" : ",") + *part;
  }
  return text;
}

std::string LabelText(const std::string& label, std::optional<std::string_view> name) {
  return name && IsLabelValue(*name) ? label + "=" + std::string(*name) : "";
}

SelectorPart SelectorText(const OwnerKind& kind, JsonValue object) {
  switch (kind.pods) {
    case Pods::kNone:
      return "";
    case Pods::kSpecMap:
      return JoinMap(object["spec"]["selector"]);
    case Pods::kSpecSelector:
      return LabelSelectorText(object["spec"]["selector"]);
    case Pods::kLabel:
      return LabelText(kind.pods_label, object["metadata"]["name"].AsString());
    case Pods::kRayCluster: {
      const bool made_for_it = !object["spec"]["clusterSelector"].Exists();
      const auto cluster = object["status"]["rayClusterName"].AsString();
      return made_for_it ? LabelText(kind.pods_label, cluster) : "";
    }
    case Pods::kActiveJobs: {
      std::string text;
      for (JsonValue job : object["status"]["active"].Elements()) {
        const auto name = job["name"].AsString().value_or("");
        if (!IsLabelValue(name)) continue;
        text += (text.empty() ? "job-name in (" : ",") + std::string(name);
      }
      return text.empty() ? text : text + ")";
    }
  }
  return "";
}

// Returns the value at a path such as "template.spec" below `from`; the empty path is `from`.
JsonValue At(JsonValue from, std::string_view path) {
  while (!path.empty()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    from = from[path.substr(0, dot)];
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return from;
}

// Returns the longest grace period of the pods that the kind describes.
std::optional<std::chrono::seconds> TerminationGrace(const OwnerKind& kind, JsonValue spec) {
  std::optional<std::chrono::seconds> longest;
  for (const std::string_view path : kind.pod_specs) {
    const auto grace = At(spec, path)["terminationGracePeriodSeconds"].AsInteger();
    if (!grace || *grace < 0) continue;
    const auto bounded =
        std::min<std::chrono::seconds>(std::chrono::seconds(*grace), std::chrono::hours(24 * 365));
    longest = std::max(longest.value_or(bounded), bounded);
  }
  return longest;
}

// Returns the kind of its runs; nullptr if it has none.
const ResourceType* Runs(const OwnerKind& kind) {
  return kind.runs.plural.empty() ? nullptr : FindBuiltInByName(kind.runs.plural, kind.runs.group);
}

}  // namespace

bool CanJudge(const ResourceType& type) { return FindKind(type) != nullptr; }

bool IsWorkload(const ResourceType& type) {
  const OwnerKind* kind = FindKind(type);
  return kind != nullptr && kind->workload;
}

bool StandsForItsController(const ResourceType& type) {
  const OwnerKind* kind = FindKind(type);
  return kind != nullptr && kind->stands_for_controller;
}

bool ReadsScale(const ResourceType& type) {
  const OwnerKind* kind = FindKind(type);
  return kind != nullptr && kind->replicas == Replicas::kScale;
}

bool IsJudgedBySpec(const ResourceType& type) {
  const OwnerKind* kind = FindKind(type);
  return kind != nullptr && kind->replicas != Replicas::kScale &&
         kind->suspended == Suspended::kNever && kind->completed == Completed::kNever &&
         !kind->runs_on_while_paused;
}

const ResourceType* RunsOf(const ResourceType& type) {
  const OwnerKind* kind = FindKind(type);
  return kind != nullptr && kind->suspended == Suspended::kRuns ? Runs(*kind) : nullptr;
}

std::span<const ResourceType> BareNameTypes() {
  static const std::vector<ResourceType> types =
      TypesWhere([](const OwnerKind& kind) { return kind.bare_name; });
  return types;
}

std::span<const ResourceType> WorkloadTypes() {
  static const std::vector<ResourceType> types =
      TypesWhere([](const OwnerKind& kind) { return kind.workload; });
  return types;
}

Result<OwnerFields> ReadOwnerFields(const ResourceType& type, JsonValue object) {
  const OwnerKind* kind = FindKind(type);
  if (kind == nullptr) return Failure(type.QualifiedName() + " runs no driver");
  const JsonValue spec = object["spec"];
  const bool custom = kind == &kAnyKind;
  if (!spec.IsObject() && !custom) return Failure("no spec");
  OwnerFields fields;
  if (kind->replicas == Replicas::kSpec) {
    const auto replicas = spec["replicas"].AsInteger();
    if (!replicas || *replicas < 0) return Failure("spec.replicas is not a count");
    fields.replicas = *replicas;
    const bool paused = kind->runs_on_while_paused && spec["paused"].AsBool().value_or(false);
    if (paused && object["status"]["replicas"].AsInteger().value_or(0) > 0 && *replicas == 0) {
      fields.replicas = 1;
    }
    fields.may_be_in_rollout = kind->rolled_out_by_controller && *replicas == 0;
  }
  fields.replicas_by_scale = kind->replicas == Replicas::kScale;
  fields.idle_unless_run = Runs(*kind);
  if (SaysSuspended(*kind, spec)) {
    if (auto read = ReadSuspended(*kind, object, fields); !read) {
      return Unexpected{std::move(read).error()};
    }
  }
  fields.completed = IsCompleted(kind->completed, object);
  if (kind->completed == Completed::kJobConditions) {
    fields.pods_to_complete = spec["completions"].AsInteger().value_or(0) -
                              object["status"]["succeeded"].AsInteger().value_or(0);
  }
  auto selector = SelectorText(*kind, object);
  if (!selector) return Failure("spec.selector is not a selector");
  fields.pod_selector = *std::move(selector);
  fields.termination_grace = TerminationGrace(*kind, spec);
  const JsonValue deletion = object["metadata"]["deletionTimestamp"];
  if (kind->completed == Completed::kPodPhase && !fields.completed && deletion.Exists() &&
      !deletion.IsNull()) {
    fields.terminates_by = ParseTime(deletion.AsString().value_or(""));
    if (!fields.terminates_by) return Failure("metadata.deletionTimestamp is not a time");
  }
  return fields;
}

}  // namespace cluster_watcher

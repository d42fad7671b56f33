#include "probes/owner_kinds.h"

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "probes/base/names.h"
#include "probes/base/time_text.h"
#include "probes/owner_table.h"

namespace cluster_watcher {
namespace {

// Returns nullptr for a kind without a row.
const OwnerKind* FindRow(const ResourceType& type) {
  for (const OwnerKind& kind : kOwnerKinds) {
    if (type.plural == kind.plural && type.group == kind.group) return &kind;
  }
  return nullptr;
}

// Returns nullptr for a built-in kind that runs nothing.
const OwnerKind* FindKind(const ResourceType& type) {
  if (const OwnerKind* row = FindRow(type)) return row;
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

bool HasTrueCondition(JsonValue status, std::string_view name) {
  for (JsonValue condition : status["conditions"].Elements()) {
    if (condition["type"].AsString() == name && condition["status"].AsString() == "True") {
      return true;
    }
  }
  return false;
}

bool IsOneOf(JsonValue value, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), value.AsString()) != words.end();
}

// Source: ray-project/ray, JobStatus.
bool HasRayJobEnded(JsonValue status) {
  return IsOneOf(status["jobStatus"], {"SUCCEEDED", "FAILED", "STOPPED"});
}

// Whether a RayJob runs in a RayCluster that wasn't made for it.
bool HasOthersRayCluster(JsonValue spec) { return spec["clusterSelector"].IsObject(); }

bool IsCompleted(Completed completed, JsonValue spec, JsonValue status) {
  switch (completed) {
    case Completed::kNever:
    case Completed::kUnknown:
      return false;
    case Completed::kJobConditions:
      return HasTrueCondition(status, "Complete") || HasTrueCondition(status, "Failed");
    case Completed::kJobSetConditions:
      return HasTrueCondition(status, "Completed") || HasTrueCondition(status, "Failed");
    case Completed::kPodPhase:
      return IsOneOf(status["phase"], {"Succeeded", "Failed"});
    case Completed::kSparkState:
      // Failed submissions and pending reruns have states of their own.
      return spec["restartPolicy"]["type"].AsString() != "Always" &&
             IsOneOf(status["applicationState"]["state"], {"COMPLETED", "FAILED"});
    case Completed::kRayJobStatus:
      // The pods of another's RayCluster don't tell whether its job goes on.
      return IsOneOf(status["jobDeploymentStatus"], {"Complete", "Failed"}) &&
             (!HasOthersRayCluster(spec) || HasRayJobEnded(status));
    case Completed::kWorkflowPhase:
      return IsOneOf(status["phase"], {"Succeeded", "Failed", "Error"});
    case Completed::kDaskJobStatus:
      return IsOneOf(status["jobStatus"], {"Successful", "Failed"});
  }
  return false;
}

// Source: kueue.sigs.k8s.io "Run Kubernetes Jobs"; k8s.io/api batch/v1 JobSpec.
bool IsHeldByQueue(JsonValue object) {
  return object["metadata"]["labels"]["kueue.x-k8s.io/queue-name"].Exists() ||
         object["spec"]["managedBy"].AsString().has_value();
}

bool IsSuspended(Suspended suspended, JsonValue spec, JsonValue status) {
  const bool asked = spec["suspend"].AsBool().value_or(false);
  switch (suspended) {
    case Suspended::kNever:
      return false;
    case Suspended::kSpec:
      return asked;
    case Suspended::kSparkState:
      return asked && status["applicationState"]["state"].AsString() == "SUSPENDED";
    case Suspended::kRayJobStatus:
      return asked && status["jobDeploymentStatus"].AsString() == "Suspended";
    case Suspended::kRayClusterState:
      return asked && (status["state"].AsString() == "suspended" ||
                       HasTrueCondition(status, "RayClusterSuspended"));
    case Suspended::kFlinkState:
      return spec["job"]["state"].AsString() == "suspended" &&
             status["lifecycleState"].AsString() == "SUSPENDED";
  }
  return false;
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

// `status`: as far as it counts.
SelectorPart SelectorText(const OwnerKind& kind, JsonValue object, JsonValue status) {
  switch (kind.pods) {
    case Pods::kNone:
      return "";
    case Pods::kSpecMap:
      return JoinMap(object["spec"]["selector"]);
    case Pods::kSpecSelector:
      return LabelSelectorText(object["spec"]["selector"]);
    case Pods::kLabel:
      return LabelText(kind.pods_label, object["metadata"]["name"].AsString());
    case Pods::kRayJob:
      if (HasOthersRayCluster(object["spec"]) || HasRayJobEnded(status)) return "";
      return LabelText(kind.pods_label, object["status"]["rayClusterName"].AsString());
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

// Takes the grace periods of the pods at a path such as "template.spec" below `from` into
// `longest`; the empty path is `from`. A list on the way stands for each of its elements.
void TakeGrace(JsonValue from, std::string_view path,
               std::optional<std::chrono::seconds>& longest) {
  if (from.IsArray()) {
    for (JsonValue element : from.Elements()) TakeGrace(element, path, longest);
    return;
  }
  if (!path.empty()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    const JsonValue next = from[path.substr(0, dot)];
    return TakeGrace(next, path.substr(std::min(dot + 1, path.size())), longest);
  }
  const auto grace = from["terminationGracePeriodSeconds"].AsInteger();
  if (!grace || *grace < 0) return;
  const auto bounded =
      std::min<std::chrono::seconds>(std::chrono::seconds(*grace), std::chrono::hours(24 * 365));
  longest = std::max(longest.value_or(bounded), bounded);
}

// Returns the replicas that the kind wants; nullopt if its field is not a count.
std::optional<std::int64_t> ReplicasOf(Replicas replicas, JsonValue field) {
  const bool is_written = field.Exists() && !field.IsNull();
  if (replicas == Replicas::kOne || (replicas == Replicas::kSpecOrOne && !is_written)) return 1;
  const auto count = field.AsInteger();
  return count && *count >= 0 ? count : std::nullopt;
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

bool HasOwnRow(const ResourceType& type) { return FindRow(type) != nullptr; }

bool IsJudgedBySpec(const ResourceType& type) {
  const OwnerKind* row = FindRow(type);
  return row != nullptr && row->suspended == Suspended::kNever &&
         row->completed == Completed::kNever;
}

const ResourceType* RunsOf(const ResourceType& type) {
  const OwnerKind* row = FindRow(type);
  if (row == nullptr || row->runs.plural.empty()) return nullptr;
  return FindBuiltInByName(row->runs.plural, row->runs.group);
}

std::span<const ResourceType> OwnerTypes() {
  static const std::vector<ResourceType> types = TypesWhere([](const OwnerKind&) { return true; });
  return types;
}

std::span<const ResourceType> BareNameTypes() {
  static const std::vector<ResourceType> types =
      TypesWhere([](const OwnerKind& kind) { return kind.bare_name; });
  return types;
}

bool IsBareNameKind(const std::string& kind) {
  return std::ranges::any_of(BareNameTypes(),
                             [&](const ResourceType& type) { return type.SingularName() == kind; });
}

std::span<const ResourceType> WorkloadTypes() {
  static const std::vector<ResourceType> types =
      TypesWhere([](const OwnerKind& kind) { return kind.workload; });
  return types;
}

bool IsStatusBehind(JsonValue object) {
  const JsonValue observed = object["status"]["observedGeneration"];
  const auto generation = object["metadata"]["generation"].AsInteger();
  if (!generation || !observed.Exists() || observed.IsNull()) return false;
  return observed.AsInteger().value_or(0) < *generation;
}

Result<OwnerFields> ReadOwnerFields(const ResourceType& type, JsonValue object,
                                    bool status_counts) {
  const OwnerKind* kind = FindKind(type);
  if (kind == nullptr) return Failure(type.QualifiedName() + " runs no driver");
  const JsonValue spec = object["spec"];
  const JsonValue status = status_counts ? object["status"] : JsonValue();
  if (!spec.IsObject() && kind != &kAnyKind) return Failure("no spec");
  OwnerFields fields;
  const auto replicas = ReplicasOf(kind->replicas, spec["replicas"]);
  if (!replicas) return Failure("spec.replicas is not a count");
  fields.replicas = *replicas;
  fields.suspended = IsSuspended(kind->suspended, spec, status) && !IsHeldByQueue(object);
  fields.completed = IsCompleted(kind->completed, spec, status);
  fields.status_counts = status_counts;
  if (kind->completed == Completed::kJobConditions) {
    fields.pods_to_complete = spec["completions"].AsInteger().value_or(0) -
                              object["status"]["succeeded"].AsInteger().value_or(0);
  }
  auto selector = SelectorText(*kind, object, status);
  if (!selector) return Failure("spec.selector is not a selector");
  fields.pod_selector = *std::move(selector);
  if (kind->pods == Pods::kRayJob && HasRayJobEnded(status)) fields.pods_not_below = "RayCluster";
  for (const std::string_view path : kind->pod_specs) {
    TakeGrace(spec, path, fields.termination_grace);
  }
  const JsonValue deletion = object["metadata"]["deletionTimestamp"];
  if (kind->completed == Completed::kPodPhase && !fields.completed && deletion.Exists() &&
      !deletion.IsNull()) {
    fields.terminates_by = ParseTime(deletion.AsString().value_or(""));
    if (!fields.terminates_by) return Failure("metadata.deletionTimestamp is not a time");
  }
  return fields;
}

bool LooksIntoPods(const ResourceType& type) {
  const OwnerKind* row = FindRow(type);
  return row != nullptr && !row->counts.container.empty();
}

bool RunsSomething(const ResourceType& type, const ObjectMeta& meta, JsonValue pod) {
  if (meta.deleting || IsOneOf(pod["status"]["phase"], {"Succeeded", "Failed"})) return false;
  const OwnerKind* row = FindRow(type);
  const Counts counts = row == nullptr ? Counts() : row->counts;
  if (!counts.but_label.empty() && meta.Label(std::string(counts.but_label)) == counts.but_value) {
    return false;
  }
  for (JsonValue container : pod["status"]["containerStatuses"].Elements()) {
    const bool is_it =
        !counts.container.empty() && container["name"].AsString() == counts.container;
    if (is_it && container["state"]["terminated"].IsObject()) return false;
  }
  return true;
}

}  // namespace cluster_watcher

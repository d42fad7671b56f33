#include "probes/owner_kinds.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <vector>

namespace cluster_watcher {
namespace {

enum class Replicas { kSpec, kNone };
enum class Selector { kNone, kMap, kLabelSelector };
enum class Completion { kNever, kJobConditions, kPodPhase };

struct OwnerKind {
  const char* plural;
  const char* group;
  Replicas replicas;
  bool has_suspend;
  Completion completion;
  Selector selector;
  bool is_bare_name_kind;
  bool is_owner_kind;  // false: known only as a workload that may use a cluster
};

constexpr std::array kOwnerKinds = {
    OwnerKind{"replicationcontrollers", "", Replicas::kSpec, false, Completion::kNever,
              Selector::kMap, true, true},
    OwnerKind{"deployments", "apps", Replicas::kSpec, false, Completion::kNever,
              Selector::kLabelSelector, true, true},
    OwnerKind{"deploymentconfigs", "apps.openshift.io", Replicas::kSpec, false, Completion::kNever,
              Selector::kMap, true, true},
    OwnerKind{"statefulsets", "apps", Replicas::kSpec, false, Completion::kNever,
              Selector::kLabelSelector, true, true},
    OwnerKind{"jobs", "batch", Replicas::kNone, true, Completion::kJobConditions,
              Selector::kLabelSelector, true, true},
    OwnerKind{"replicasets", "apps", Replicas::kSpec, false, Completion::kNever,
              Selector::kLabelSelector, false, true},
    OwnerKind{"daemonsets", "apps", Replicas::kNone, false, Completion::kNever,
              Selector::kLabelSelector, false, false},
    OwnerKind{"cronjobs", "batch", Replicas::kNone, true, Completion::kNever, Selector::kNone,
              false, false},
    OwnerKind{"pods", "", Replicas::kNone, false, Completion::kPodPhase, Selector::kNone, false,
              false},
};

const OwnerKind* FindKind(const ResourceType& type) {
  for (const OwnerKind& kind : kOwnerKinds) {
    if (type.plural == kind.plural && type.group == kind.group) return &kind;
  }
  return nullptr;
}

std::vector<ResourceType> TypesWhere(bool (*wanted)(const OwnerKind&)) {
  std::vector<ResourceType> types;
  for (const OwnerKind& kind : kOwnerKinds) {
    const ResourceType* type = FindBuiltInByName(kind.plural, kind.group);
    assert(type != nullptr);
    if (type != nullptr && wanted(kind)) types.push_back(*type);
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

bool IsCompleted(Completion completion, JsonValue object) {
  switch (completion) {
    case Completion::kNever:
      return false;
    case Completion::kJobConditions:
      return HasTrueCondition(object, "Complete") || HasTrueCondition(object, "Failed");
    case Completion::kPodPhase: {
      const auto phase = object["status"]["phase"].AsString();
      return phase == "Succeeded" || phase == "Failed";
    }
  }
  return false;
}

std::string JoinMap(JsonValue map) {
  std::string text;
  for (const auto& [key, value] : map.Members()) {
    if (!text.empty()) text += ",";
    text += std::string(key) + "=" + std::string(value.AsString().value_or(""));
  }
  return text;
}

std::string ExpressionText(JsonValue expression) {
  const std::string key(expression["key"].AsString().value_or(""));
  const auto operation = expression["operator"].AsString();
  if (operation == "Exists") return key;
  if (operation == "DoesNotExist") return "!" + key;
  std::string values;
  for (JsonValue value : expression["values"].Elements()) {
    if (!values.empty()) values += ",";
    values += value.AsString().value_or("");
  }
  return key + (operation == "NotIn" ? " notin (" : " in (") + values + ")";
}

std::string SelectorText(Selector style, JsonValue selector) {
  switch (style) {
    case Selector::kNone:
      return "";
    case Selector::kMap:
      return JoinMap(selector);
    case Selector::kLabelSelector:
      break;
  }
  std::string text = JoinMap(selector["matchLabels"]);
  for (JsonValue expression : selector["matchExpressions"].Elements()) {
    if (!text.empty()) text += ",";
    text += ExpressionText(expression);
  }
  return text;
}

}  // namespace

bool CanJudge(const ResourceType& type) {
  const OwnerKind* kind = FindKind(type);
  return kind != nullptr && kind->is_owner_kind;
}

std::span<const ResourceType> BareNameTypes() {
  static const std::vector<ResourceType> types =
      TypesWhere([](const OwnerKind& kind) { return kind.is_bare_name_kind; });
  return types;
}

std::span<const ResourceType> WorkloadTypes() {
  static const std::vector<ResourceType> types = TypesWhere([](const OwnerKind&) { return true; });
  return types;
}

Result<OwnerFields> ReadOwnerFields(const ResourceType& type, JsonValue object) {
  const OwnerKind* kind = FindKind(type);
  if (kind == nullptr) return Failure(type.QualifiedName() + " is no kind of owner that is known");
  const JsonValue spec = object["spec"];
  if (!spec.IsObject()) return Failure("no spec");
  OwnerFields fields;
  if (kind->replicas == Replicas::kSpec) {
    const auto replicas = spec["replicas"].AsInteger();
    if (!replicas || *replicas < 0) return Failure("spec.replicas is not a count");
    fields.replicas = *replicas;
  }
  if (kind->has_suspend && spec["suspend"].AsBool().value_or(false)) {
    // A count of a Job's pods, a list of a CronJob's Jobs; left out where there are none.
    const JsonValue active = object["status"]["active"];
    if (active.Exists() && !active.IsNull() && !active.IsArray() && !active.AsInteger()) {
      return Failure("status.active is neither a count nor a list");
    }
    // Pods that are terminating may still be computing.
    const bool terminating = object["status"]["terminating"].AsInteger().value_or(0) > 0;
    fields.suspended = active.AsInteger().value_or(0) == 0 && active.size() == 0 && !terminating;
  }
  fields.completed = IsCompleted(kind->completion, object);
  fields.pod_selector = SelectorText(kind->selector, spec["selector"]);
  const auto grace = spec["template"]["spec"]["terminationGracePeriodSeconds"].AsInteger();
  if (grace && *grace >= 0) {
    fields.termination_grace =
        std::min<std::chrono::seconds>(std::chrono::seconds(*grace), std::chrono::hours(24 * 365));
  }
  return fields;
}

Result<bool> WantsToRun(const ResourceType& type, JsonValue object) {
  auto fields = ReadOwnerFields(type, object);
  if (!fields) return Unexpected{std::move(fields).error()};
  return fields->replicas > 0 && !fields->suspended && !fields->completed;
}

}  // namespace cluster_watcher

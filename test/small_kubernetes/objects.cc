#include "test/small_kubernetes/objects.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "test/small_kubernetes/definitions.h"
#include "test/small_kubernetes/selectors.h"

namespace cluster_watcher::small_kubernetes {
namespace {

void Default(Value& object, std::string_view key, Value value) {
  if (Find(object, key) == nullptr) Set(object, key, std::move(value));
}

Value List(std::string_view only) {
  Value list = EmptyArray();
  Append(list, Text(only));
  return list;
}

void DefaultPodSpec(Value& spec) {
  Default(spec, "terminationGracePeriodSeconds", Number(30));
  Default(spec, "restartPolicy", Text("Always"));
  Default(spec, "dnsPolicy", Text("ClusterFirst"));
  Default(spec, "schedulerName", Text("default-scheduler"));
  Default(spec, "securityContext", EmptyObject());
}

void DefaultReplicationController(Value& body, Value& spec) {
  const Value* found = Find(spec, "template", "metadata", "labels");
  if (found == nullptr) return;
  const Value labels = Copy(*found);
  if (Find(spec, "selector") == nullptr) Set(spec, "selector", Copy(labels));
  Default(Child(body, "metadata"), "labels", Copy(labels));
}

void DefaultJob(Value& body, Value& spec, bool created) {
  if (Find(spec, "parallelism") == nullptr) Default(spec, "completions", Number(1));
  Default(spec, "parallelism", Number(1));
  Default(spec, "completionMode", Text("NonIndexed"));
  Default(spec, "backoffLimit", Number(6));
  Default(spec, "suspend", Value(false));
  if (!created || IsTrue(Find(spec, "manualSelector"))) return;
  Value& metadata = Child(body, "metadata");
  const Value uid = Copy(*Find(metadata, "uid"));
  const Value name = Copy(*Find(metadata, "name"));
  Value& labels = Child(Child(Child(spec, "template"), "metadata"), "labels");
  Set(labels, "batch.kubernetes.io/controller-uid", Copy(uid));
  Set(labels, "batch.kubernetes.io/job-name", Copy(name));
  Set(labels, "controller-uid", Copy(uid));
  Set(labels, "job-name", Copy(name));
  Set(Child(Child(spec, "selector"), "matchLabels"), "batch.kubernetes.io/controller-uid",
      Copy(uid));
}

void DefaultService(Value& body, Value& spec) {
  Default(spec, "type", Text("ClusterIP"));
  Default(spec, "sessionAffinity", Text("None"));
  if (Value* ports = Find(spec, "ports"); HasElements(ports)) {
    for (Value& port : ports->GetArray()) {
      if (!port.IsObject()) continue;
      Default(port, "protocol", Text("TCP"));
      if (const Value* number = Find(port, "port")) Default(port, "targetPort", Copy(*number));
    }
  }
  const std::size_t hash = std::hash<std::string_view>()(TextOf(Find(body, "metadata", "uid")));
  if (TextOf(Find(spec, "type")) != "ExternalName") {
    Default(
        spec, "clusterIP",
        Text("10.96." + std::to_string(hash / 250 % 250) + "." + std::to_string(1 + hash % 250)));
  }
}

void DefaultNamespace(Value& body) {
  Value& metadata = Child(body, "metadata");
  Set(Child(metadata, "labels"), "kubernetes.io/metadata.name", Copy(*Find(metadata, "name")));
  Set(Child(body, "spec"), "finalizers", List("kubernetes"));
  Set(Child(body, "status"), "phase", Text("Active"));
}

void DefaultNew(const Resource& resource, Value& body, Value& spec) {
  if (resource.kind == "Service") DefaultService(body, spec);
  if (resource.kind == "Namespace") DefaultNamespace(body);
  if (resource.kind == "Pod") {
    Default(spec, "serviceAccountName", Text("default"));
    Value& status = Child(body, "status");
    Default(status, "phase", Text("Pending"));
    Default(status, "qosClass", Text("BestEffort"));
  }
  if (resource.kind == "PersistentVolumeClaim") {
    Default(Child(body, "metadata"), "finalizers", List("kubernetes.io/pvc-protection"));
    Default(Child(body, "status"), "phase", Text("Pending"));
  }
}

bool IsLetterOrDigit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

bool IsDnsSubdomain(std::string_view name) {
  if (name.empty() || name.size() > 253) return false;
  char before = '.';
  for (char c : name) {
    if (!IsLetterOrDigit(c) && (c != '-' || before == '.') &&
        (c != '.' || !IsLetterOrDigit(before)))
      return false;
    before = c;
  }
  return IsLetterOrDigit(before);
}

constexpr std::string_view kSubdomainRule =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

Cause InvalidValue(std::string field, const Value* value, std::string_view why) {
  return {"FieldValueInvalid",
          "Invalid value: " + (value == nullptr ? "\"\"" : Write(*value)) + ": " + std::string(why),
          std::move(field)};
}

Cause Required(std::string field, std::string_view why = {}) {
  return {"FieldValueRequired", "Required value" + (why.empty() ? "" : ": " + std::string(why)),
          std::move(field)};
}

void ValidateMetadata(const Resource& resource, const Value& body, const Value* old,
                      std::vector<Cause>& causes) {
  const Value& metadata = *Find(body, "metadata");
  const std::string_view name = TextOf(Find(metadata, "name"));
  if (name.empty()) {
    causes.push_back(Required("metadata.name", "name or generateName is required"));
  } else if (resource.group != "rbac.authorization.k8s.io" && !IsDnsSubdomain(name)) {
    causes.push_back(InvalidValue("metadata.name", Find(metadata, "name"), kSubdomainRule));
  }
  if (const Value* owners = Find(metadata, "ownerReferences"); HasElements(owners)) {
    for (const Value& owner : owners->GetArray()) {
      for (const char* key : {"apiVersion", "kind", "name", "uid"}) {
        if (!TextOf(Find(owner, key)).empty()) continue;
        causes.push_back(Required(std::string("metadata.ownerReferences.") + key,
                                  std::string(key) + " must not be empty"));
      }
    }
  }
  if (old == nullptr) return;
  const Value* uid = Find(metadata, "uid");
  if (uid != nullptr && !Same(uid, Find(*old, "metadata", "uid"))) {
    causes.push_back(InvalidValue("metadata.uid", uid, "field is immutable"));
  }
  const Value* finalizers = Find(metadata, "finalizers");
  if (Find(*old, "metadata", "deletionTimestamp") == nullptr || !HasElements(finalizers)) return;
  const Value* before = Find(*old, "metadata", "finalizers");
  for (const Value& finalizer : finalizers->GetArray()) {
    if (HasElements(before) &&
        std::find(before->Begin(), before->End(), finalizer) != before->End())
      continue;
    causes.push_back({"FieldValueForbidden",
                      "Forbidden: no new finalizers can be added if the object is being deleted, "
                      "found new finalizers []string{" +
                          Write(finalizer) + "}",
                      "metadata.finalizers"});
  }
}

void ValidateSelector(const Value& body, const Value* old, std::vector<Cause>& causes) {
  const Value* selector = Find(body, "spec", "selector");
  if (selector == nullptr) {
    causes.push_back(Required("spec.selector"));
    return;
  }
  const Value* labels = Find(body, "spec", "template", "metadata", "labels");
  if (!LabelSelector::FromObject(selector).Matches(labels)) {
    causes.push_back(InvalidValue("spec.template.metadata.labels", labels,
                                  "`selector` does not match template `labels`"));
  }
  if (old != nullptr && !Same(selector, Find(*old, "spec", "selector"))) {
    causes.push_back(InvalidValue("spec.selector", selector, "field is immutable"));
  }
}

// `body` has the stored names.
void ValidateEvent(const Resource& resource, const Value& body, std::vector<Cause>& causes) {
  const std::string_view ns = TextOf(Find(body, "metadata", "namespace"));
  const Value* about = Find(body, "involvedObject", "namespace");
  const std::string_view about_ns = TextOf(about);
  const bool dated = !TextOf(Find(body, "eventTime")).empty();
  const bool strict = resource.group == "events.k8s.io";
  const bool fits = about_ns.empty() ? ns == "default" || (dated && ns == "kube-system")
                                     : dated || about_ns == ns;
  if (!fits) {
    causes.push_back(
        InvalidValue("involvedObject.namespace", about, "does not match event.namespace"));
  }
  if (dated) {
    if (TextOf(Find(body, "reportingComponent")).empty()) {
      causes.push_back(Required(strict ? "reportingController" : "reportingComponent"));
    }
    for (const char* key : {"reportingInstance", "action", "reason"}) {
      if (TextOf(Find(body, key)).empty()) causes.push_back(Required(key));
    }
    const Value* message = Find(body, "message");
    if (TextOf(message).size() > 1024) {
      causes.push_back({"FieldValueInvalid",
                        "Invalid value: \"\": can have at most 1024 characters", "message"});
    }
  }
  if (!strict) return;
  if (!dated) causes.push_back(Required("eventTime"));
  const std::string_view type = TextOf(Find(body, "type"));
  if (type != "Normal" && type != "Warning") {
    causes.push_back({"FieldValueInvalid",
                      "Invalid value: \"\": has invalid value: " + std::string(type), "type"});
  }
}

bool SpecChanged(const Object& old, const Value& body) {
  if (!old.resource->custom) return !Same(Find(old.body, "spec"), Find(body, "spec"));
  const auto changed = [&](const Value& one, const Value& other) {
    for (const auto& member : one.GetObject()) {
      const std::string_view key = View(member.name);
      if (key == "metadata" || (key == "status" && old.resource->has_status)) continue;
      if (!Same(&member.value, Find(other, key))) return true;
    }
    return false;
  };
  return changed(old.body, body) || changed(body, old.body);
}

void KeepFrom(const Value& old, Value& target, std::string_view key) {
  if (const Value* before = Find(old, key)) {
    Set(target, key, Copy(*before));
  } else {
    Remove(target, key);
  }
}

constexpr std::pair<std::string_view, std::string_view> kEventNames[] = {
    {"involvedObject", "regarding"},
    {"message", "note"},
    {"reportingComponent", "reportingController"},
    {"source", "deprecatedSource"},
    {"firstTimestamp", "deprecatedFirstTimestamp"},
    {"lastTimestamp", "deprecatedLastTimestamp"},
    {"count", "deprecatedCount"},
};

void Rename(Value& body, std::string_view from, std::string_view to) {
  if (Value* present = Find(body, from)) {
    Value value = std::move(*present);
    Remove(body, from);
    Set(body, to, std::move(value));
  }
}

}  // namespace

void SetDefaults(const Resource& resource, Value& body, bool created) {
  if (resource.custom) return;
  if (IsDefinition(resource)) return SetDefinitionDefaults(body);
  if (resource.has_status || resource.has_generation) {
    Value& spec = Child(body, "spec");
    if (resource.has_scale) Default(spec, "replicas", Number(1));
    if (resource.kind == "ReplicationController") DefaultReplicationController(body, spec);
    if (resource.kind == "Job") DefaultJob(body, spec, created);
    if (resource.kind == "CronJob") Default(spec, "suspend", Value(false));
    if (resource.kind == "StatefulSet") {
      Default(spec, "podManagementPolicy", Text("OrderedReady"));
      Value& retention = Child(spec, "persistentVolumeClaimRetentionPolicy");
      Default(retention, "whenDeleted", Text("Retain"));
      Default(retention, "whenScaled", Text("Retain"));
    }
    if (resource.kind == "Pod") DefaultPodSpec(spec);
    if (Value* pod = Find(spec, "template"); pod != nullptr && pod->IsObject()) {
      DefaultPodSpec(Child(*pod, "spec"));
    }
    if (created) DefaultNew(resource, body, spec);
  }
  if (resource.kind == "Secret") Default(body, "type", Text("Opaque"));
}

std::vector<Cause> Validate(const Resource& resource, const Value& body, const Value* old) {
  std::vector<Cause> causes;
  ValidateMetadata(resource, body, old, causes);
  if (resource.group == "apps" && !resource.custom) ValidateSelector(body, old, causes);
  if (resource.kind == "Event" && old == nullptr && !resource.custom) {
    ValidateEvent(resource, body, causes);
  }
  if (IsDefinition(resource)) {
    for (Cause& cause : ValidateDefinition(body)) causes.push_back(std::move(cause));
  }
  return causes;
}

void PrepareUpdate(const Object& old, Value& body, bool status) {
  const Resource& resource = *old.resource;
  if (status) {
    Value whole = Copy(old.body);
    if (Value* present = Find(body, "status")) {
      Set(whole, "status", std::move(*present));
    } else {
      Remove(whole, "status");
    }
    body = std::move(whole);
    return;
  }
  const Value& before = old.Metadata();
  Value& metadata = Child(body, "metadata");
  for (const char* key : {"name", "namespace", "uid", "creationTimestamp", "generation",
                          "deletionTimestamp", "deletionGracePeriodSeconds"}) {
    KeepFrom(before, metadata, key);
  }
  if (Find(metadata, "managedFields") == nullptr) KeepFrom(before, metadata, "managedFields");
  if (resource.has_status) KeepFrom(old.body, body, "status");
  const Value* address = Find(old.body, "spec", "clusterIP");
  if (address != nullptr && Find(Child(body, "spec"), "clusterIP") == nullptr) {
    Set(Child(body, "spec"), "clusterIP", Copy(*address));
  }
  if (!resource.has_generation) return;
  const bool annotations_count = resource.kind == "Deployment" && !resource.custom;
  if (SpecChanged(old, body) ||
      (annotations_count && !Same(Find(before, "annotations"), Find(metadata, "annotations")))) {
    Set(metadata, "generation", Number(NumberOf(Find(before, "generation"), 0) + 1));
  }
}

void ToStoredNames(const Resource& resource, Value& body) {
  if (resource.index == resource.storage || resource.custom) return;
  for (const auto& [stored, served] : kEventNames) Rename(body, served, stored);
}

void ToServedNames(const Resource& resource, Value& body) {
  if (resource.index == resource.storage || resource.custom) return;
  for (const auto& [stored, served] : kEventNames) Rename(body, stored, served);
}

bool HasFinalizer(const Object& object, std::string_view finalizer) {
  const Value* finalizers = Find(object.Metadata(), "finalizers");
  if (!HasElements(finalizers)) return false;
  return std::any_of(finalizers->Begin(), finalizers->End(),
                     [&](const Value& present) { return TextOf(&present) == finalizer; });
}

}  // namespace cluster_watcher::small_kubernetes

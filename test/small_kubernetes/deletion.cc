#include "test/small_kubernetes/deletion.h"

#include <utility>

#include "test/small_kubernetes/objects.h"

namespace cluster_watcher::small_kubernetes {
namespace {

enum class Grace { kOver, kBegun, kPending };

void Bump(Value& metadata) {
  if (const Value* generation = Find(metadata, "generation")) {
    Set(metadata, "generation", Number(NumberOf(generation, 0) + 1));
  }
}

void Mark(Store& store, Value& metadata, std::int64_t grace) {
  Set(metadata, "deletionTimestamp", Text(store.Timestamp(std::chrono::seconds(grace))));
  Set(metadata, "deletionGracePeriodSeconds", Number(grace));
}

// A pod ends after its grace period. Only a kubelet ends it; without a node it ends at once.
Grace BeginGrace(Store& store, const Object& pod, Value& metadata, const DeleteOptions& options) {
  if (pod.deleting) {
    const std::int64_t left = NumberOf(Find(metadata, "deletionGracePeriodSeconds"), 0);
    if (left == 0) return Grace::kOver;
    if (!options.grace_seconds || *options.grace_seconds >= left) return Grace::kPending;
    Mark(store, metadata, *options.grace_seconds);
    return *options.grace_seconds > 0 ? Grace::kBegun : Grace::kOver;
  }
  std::int64_t grace = options.grace_seconds.value_or(
      NumberOf(Find(pod.body, "spec", "terminationGracePeriodSeconds"), 0));
  const std::string_view phase = TextOf(Find(pod.body, "status", "phase"));
  const bool runs = !TextOf(Find(pod.body, "spec", "nodeName")).empty() && phase != "Succeeded" &&
                    phase != "Failed";
  if (!runs) grace = 0;
  if (grace < 0) grace = 1;
  Bump(metadata);
  Mark(store, metadata, grace);
  return grace > 0 ? Grace::kBegun : Grace::kOver;
}

// The garbage collector reads the propagation policy from these finalizers.
void SetPropagation(const Object& object, Value& metadata, const DeleteOptions& options) {
  if (object.resource->kind == "Event" || object.resource->kind == "Namespace") return;
  bool orphan = options.propagation == "Orphan";
  bool foreground = options.propagation == "Foreground";
  if (options.propagation.empty()) {
    orphan = HasFinalizer(object, kOrphan);
    foreground = HasFinalizer(object, kForeground);
    if (!orphan && !foreground) orphan = object.resource->orphans_by_default;
  }
  Value finalizers = EmptyArray();
  if (const Value* present = Find(metadata, "finalizers"); HasElements(present)) {
    for (const Value& finalizer : present->GetArray()) {
      const std::string_view name = TextOf(&finalizer);
      if (name != kOrphan && name != kForeground) Append(finalizers, Copy(finalizer));
    }
  }
  if (orphan) Append(finalizers, Text(kOrphan));
  if (foreground) Append(finalizers, Text(kForeground));
  if (finalizers.Empty()) {
    Remove(metadata, "finalizers");
  } else {
    Set(metadata, "finalizers", std::move(finalizers));
  }
}

DeleteOutcome DeleteNamespace(Store& store, const ObjectPtr& object, bool commit) {
  Value body = Copy(object->body);
  Value& metadata = Child(body, "metadata");
  if (!object->deleting) Set(metadata, "deletionTimestamp", Text(store.Timestamp()));
  Set(Child(body, "status"), "phase", Text("Terminating"));
  return {store.Update(object, std::move(body), commit), false};
}

DeleteOutcome DeleteDefinition(Store& store, const ObjectPtr& object, bool commit) {
  if (object->deleting) return {object, false};
  Value body = Copy(object->body);
  Value& metadata = Child(body, "metadata");
  Set(metadata, "deletionTimestamp", Text(store.Timestamp()));
  if (!HasElements(Find(metadata, "finalizers"))) Set(metadata, "finalizers", EmptyArray());
  Append(*Find(metadata, "finalizers"), Text(kDefinitionFinalizer));
  Value condition = EmptyObject();
  Set(condition, "type", Text("Terminating"));
  Set(condition, "status", Text("True"));
  Set(condition, "lastTransitionTime", Text(store.Timestamp()));
  Set(condition, "reason", Text("InstanceDeletionPending"));
  Set(condition, "message",
      Text("CustomResourceDefinition marked for deletion; CustomResource deletion will begin "
           "soon"));
  Value& status = Child(body, "status");
  if (!HasElements(Find(status, "conditions"))) Set(status, "conditions", EmptyArray());
  Append(*Find(status, "conditions"), std::move(condition));
  return {store.Update(object, std::move(body), commit), false};
}

}  // namespace

DeleteOutcome Delete(Store& store, const ObjectPtr& object, const DeleteOptions& options) {
  const Resource& resource = *object->resource;
  const bool commit = !options.dry_run;
  if (resource.kind == "Namespace" && resource.group.empty()) {
    return DeleteNamespace(store, object, commit);
  }
  if (resource.kind == "CustomResourceDefinition" && resource.group == "apiextensions.k8s.io") {
    return DeleteDefinition(store, object, commit);
  }
  Value body = Copy(object->body);
  Value& metadata = Child(body, "metadata");
  Grace grace = Grace::kOver;
  if (resource.kind == "Pod" && resource.group.empty()) {
    grace = BeginGrace(store, *object, metadata, options);
  }
  SetPropagation(*object, metadata, options);
  const bool held = HasElements(Find(metadata, "finalizers"));
  if (grace == Grace::kOver && held) {
    if (Find(metadata, "deletionTimestamp") == nullptr) {
      Bump(metadata);
      Mark(store, metadata, 0);
    }
    Set(metadata, "deletionGracePeriodSeconds", Number(0));
  }
  if (grace == Grace::kOver && !held) {
    if (commit) store.Remove(*object);
    return {object, true};
  }
  return {store.Update(object, std::move(body), commit), false};
}

ObjectPtr UpdateOrFinish(Store& store, const ObjectPtr& object, Value body, bool commit) {
  const Value& metadata = *Find(body, "metadata");
  const bool finished = object->deleting && !HasElements(Find(metadata, "finalizers")) &&
                        NumberOf(Find(metadata, "deletionGracePeriodSeconds"), 0) == 0 &&
                        !HasElements(Find(body, "spec", "finalizers"));
  if (!finished) return store.Update(object, std::move(body), commit);
  ObjectPtr last = store.Update(object, std::move(body), false);
  if (commit) store.Remove(*object);
  return last;
}

void RemoveFinalizer(Store& store, const ObjectPtr& object, std::string_view finalizer) {
  Value body = Copy(object->body);
  Value& metadata = Child(body, "metadata");
  Value kept = EmptyArray();
  if (const Value* present = Find(metadata, "finalizers"); HasElements(present)) {
    for (const Value& each : present->GetArray()) {
      if (TextOf(&each) != finalizer) Append(kept, Copy(each));
    }
  }
  Remove(metadata, "finalizers");
  if (!kept.Empty()) Set(metadata, "finalizers", std::move(kept));
  UpdateOrFinish(store, object, std::move(body));
}

}  // namespace cluster_watcher::small_kubernetes

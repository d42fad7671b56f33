// What each kind of owner means by replicas, suspended and completed. To judge one more kind, add a
// row to the table in owner_kinds.cc.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "probes/base/json.h"
#include "probes/base/result.h"
#include "probes/kube/object_meta.h"
#include "probes/kube/resource_type.h"

namespace cluster_watcher {

// What an owner's own fields say.
struct OwnerFields {
  std::int64_t replicas = 1;  // desired, never ready ones; 1 for kinds without replicas
  bool suspended = false;     // suspended, and nothing of it is running
  bool completed = false;     // it has ended and will not run again
  std::optional<std::chrono::seconds> termination_grace;  // of its pods
  std::string pod_selector;  // a label selector for its pods; empty: none is known

  // What its fields don't tell; other objects have to be asked (owner_reader.h).
  bool replicas_by_scale =
      false;  // `replicas` is what its scale subresource says, where it has one
  // `suspended`, and a scale of 0, hold unless an object of this kind, that it owns, wants to run
  // ...
  const ResourceType* idle_unless_run = nullptr;
  bool suspended_unless_pod = false;  // ... unless a pod that `pod_selector` finds is running
  // `replicas` 0 doesn't count while a rollout of what controls it is under way.
  bool may_be_in_rollout = false;
};

// Whether an object of this kind can be the owner. Kinds that aren't built in all can.
bool CanJudge(const ResourceType& type);
// Whether it is a built-in kind that runs pods.
bool IsWorkload(const ResourceType& type);
// Whether the kind only stands in for what controls it: a Pod, a ReplicaSet.
bool StandsForItsController(const ResourceType& type);
// Whether its replicas are what its scale subresource says, where it has one.
bool ReadsScale(const ResourceType& type);
// The kind of what it runs, which is asked for where it is suspended; nullptr: it isn't.
const ResourceType* RunsOf(const ResourceType& type);

// The kinds that a bare name is looked for as, in this order.
std::span<const ResourceType> BareNameTypes();

// Reads `object`, which is of `type`. An error where a field that the API server always writes is
// missing or of the wrong type.
Result<OwnerFields> ReadOwnerFields(const ResourceType& type, JsonValue object);

// The built-in kinds that run pods.
std::span<const ResourceType> WorkloadTypes();

}  // namespace cluster_watcher

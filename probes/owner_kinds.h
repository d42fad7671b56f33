// Reads from an owner of any kind whether it wants to run. To judge one more kind, add a row to the
// table in owner_kinds.cc.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "probes/base/clock.h"
#include "probes/base/json.h"
#include "probes/base/result.h"
#include "probes/kube/object_meta.h"
#include "probes/kube/resource_type.h"

namespace cluster_watcher {

// The state of an owner by its own fields.
struct OwnerFields {
  std::int64_t replicas = 1;  // desired, not ready ones; 1 for kinds without replicas
  bool suspended = false;     // suspended, and nothing of it runs any more
  bool completed = false;     // ended, and will not run again
  // Of a Job with `completions`: how many pods have yet to succeed.
  std::int64_t pods_to_complete = 0;
  std::optional<std::chrono::seconds> termination_grace;  // of its pods
  // Until when a Pod that is terminating may go on computing, by the API server's clock: its
  // deletionTimestamp.
  std::optional<WallTime> terminates_by;
  std::string pod_selector;  // a label selector for its pods; empty: none is known

  // Questions that only other objects can answer (owner_reader.h).
  bool replicas_by_scale =
      false;  // `replicas` is to be read from its scale subresource, if it has one
  // `suspended`, and a scale of 0, hold only if nothing of it runs, such as objects of this kind.
  const ResourceType* idle_unless_run = nullptr;
  bool suspended_unless_pod = false;  // `suspended` holds only if no pod of it runs
  // `replicas` 0 doesn't count while its controller is in the middle of a rollout.
  bool may_be_in_rollout = false;

  bool nothing_runs = false;  // an OwnerReader has looked, and found nothing of it running
};

// Whether an object of this kind can be the owner. All kinds that aren't built in can.
bool CanJudge(const ResourceType& type);
// Whether it is a built-in kind that runs pods.
bool IsWorkload(const ResourceType& type);
// Whether an object of this kind stands for its controller: a Pod, a ReplicaSet.
bool StandsForItsController(const ResourceType& type);
// Whether its replicas are read from its scale subresource, if it has one.
bool ReadsScale(const ResourceType& type);
// Whether its spec and its metadata say what it wants, and not its status.
bool IsJudgedBySpec(const ResourceType& type);
// Returns the kind of its runs if a suspended one is idle only without active runs, else nullptr.
const ResourceType* RunsOf(const ResourceType& type);

// The kinds that a bare name is looked for as, in this order.
std::span<const ResourceType> BareNameTypes();

// Reads `object`, which is of `type`. Fails if the kind can't be judged, or if a field that the API
// server always writes is missing or of the wrong type.
Result<OwnerFields> ReadOwnerFields(const ResourceType& type, JsonValue object);

// The built-in kinds that run pods.
std::span<const ResourceType> WorkloadTypes();

}  // namespace cluster_watcher

// Reads from an owner of any kind whether it wants to run. To judge one more kind, add a row to the
// table in owner_table.h.
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
  bool suspended = false;     // something of it may run all the same
  bool completed = false;     // ended, and will not run again; something may run all the same
  bool status_counts = true;  // false: its status is of an older generation, and wasn't read
  // The pods of a Job with `completions` that have yet to succeed.
  std::int64_t pods_to_complete = 0;
  std::optional<std::chrono::seconds> termination_grace;  // of its pods
  // Until when a Pod that is terminating may go on computing, by the API server's clock: its
  // deletionTimestamp.
  std::optional<WallTime> terminates_by;
  std::string pod_selector;    // a label selector for its pods; empty: none is known
  std::string pods_not_below;  // pods that objects of this kind control don't count; may be empty
};

// Whether an object of this kind can be the owner. All kinds that aren't built in can.
bool CanJudge(const ResourceType& type);
// Whether it is a built-in kind that runs pods.
bool IsWorkload(const ResourceType& type);
// Whether an object of this kind stands for its controller: a Pod, a ReplicaSet.
bool StandsForItsController(const ResourceType& type);
// Whether the table has a row for it. Of any other kind only the existence counts.
bool HasOwnRow(const ResourceType& type);
// Whether its spec and its metadata say what it wants, and not its status.
bool IsJudgedBySpec(const ResourceType& type);
// Returns the kind of the objects that it creates one after the other; nullptr if it has none.
const ResourceType* RunsOf(const ResourceType& type);

// The kinds that a bare name is looked for as, in this order.
std::span<const ResourceType> BareNameTypes();
// Whether `kind`, as ResourceType::SingularName has it, is one of those.
bool IsBareNameKind(const std::string& kind);

// All kinds that have a row.
std::span<const ResourceType> OwnerTypes();

// The built-in kinds that run pods.
std::span<const ResourceType> WorkloadTypes();

// Whether the status says that it is of an older generation. Of a kind without a status subresource
// each status does: there a write of the status counts up the generation.
bool IsStatusBehind(JsonValue object);

// Reads `object`, which is of `type`. Fails if the kind can't be judged, or if a field that the API
// server always writes is missing or of the wrong type. Without `status_counts` it is neither
// suspended nor completed by its status.
Result<OwnerFields> ReadOwnerFields(const ResourceType& type, JsonValue object,
                                    bool status_counts = true);

// Whether RunsSomething reads more of a pod than its metadata and phase.
bool LooksIntoPods(const ResourceType& type);
// Whether something of an owner of this kind runs in `pod`, which is one of its pods and has the
// metadata `meta`: it is neither terminating nor finished, nor one that doesn't count.
bool RunsSomething(const ResourceType& type, const ObjectMeta& meta, JsonValue pod);

}  // namespace cluster_watcher

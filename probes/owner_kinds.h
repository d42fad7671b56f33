// What each kind of owner means by replicas, suspended and completed. To judge one more kind, add a
// row to the table in owner_kinds.cc.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "probes/json.h"
#include "probes/resource_type.h"
#include "probes/result.h"

namespace cluster_watcher {

// What an owner's own fields say.
struct OwnerFields {
  std::int64_t replicas = 1;  // desired, never ready ones; 1 for kinds without replicas
  bool suspended = false;     // suspended, and nothing of it is running
  bool completed = false;     // it has ended and will not run again
  std::optional<std::chrono::seconds> termination_grace;  // of its pods
  std::string pod_selector;  // a label selector for its pods; empty: none is known
};

// Whether the program can judge an owner of this kind.
bool CanJudge(const ResourceType& type);

// The kinds that a bare name is looked for as, in this order.
std::span<const ResourceType> BareNameTypes();

// Reads `object`, which is of `type`. An error where a field that the API server always writes is
// missing or of the wrong type.
Result<OwnerFields> ReadOwnerFields(const ResourceType& type, JsonValue object);

// Whether `object`, a workload, wants to run: desired replicas above 0, or unfinished. Knows every
// built-in workload kind; an error as above.
Result<bool> WantsToRun(const ResourceType& type, JsonValue object);

// The built-in kinds that run pods.
std::span<const ResourceType> WorkloadTypes();

}  // namespace cluster_watcher

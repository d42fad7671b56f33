// The kinds of patches that an API server takes.
#pragma once

#include "test/small_kubernetes/json.h"

namespace cluster_watcher::small_kubernetes {

// RFC 7386.
void MergePatch(Value& target, const Value& patch);

// A merge patch in which well-known lists of objects are merged element by element (containers by
// name, ports by containerPort, ...), finalizers as a set, and `$patch: delete` takes elements off.
void StrategicMergePatch(Value& target, const Value& patch);

// RFC 6902: add, remove, replace, test. False: it doesn't apply; `target` is left half changed.
bool JsonPatch(Value& target, const Value& patch);

}  // namespace cluster_watcher::small_kubernetes

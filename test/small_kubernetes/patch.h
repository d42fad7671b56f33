// The patch formats of an API server.
#pragma once

#include "test/small_kubernetes/json.h"

namespace cluster_watcher::small_kubernetes {

// Source: RFC 7386.
void MergePatch(Value& target, const Value& patch);

// A merge patch that merges well-known lists of objects element by element (containers by name,
// ports by containerPort, ...) and finalizers as a set; `$patch: delete` removes an element.
void StrategicMergePatch(Value& target, const Value& patch);

// RFC 6902: add, remove, replace and test. Returns false if it doesn't apply; `target` is then half
// changed.
bool JsonPatch(Value& target, const Value& patch);

}  // namespace cluster_watcher::small_kubernetes

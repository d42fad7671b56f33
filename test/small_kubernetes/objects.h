// The API server's defaults and validation.
#pragma once

#include <vector>

#include "test/small_kubernetes/json.h"
#include "test/small_kubernetes/resource_table.h"
#include "test/small_kubernetes/status.h"
#include "test/small_kubernetes/store.h"

namespace cluster_watcher::small_kubernetes {

// Fills in the defaults, as far as a watcher can see them. With `created` also what admission and
// registries add to new objects (phases, cluster IPs, finalizers); this needs metadata.uid.
void SetDefaults(const Resource& resource, Value& body, bool created);

// Returns what is wrong with an object; empty if nothing is. `old` is null for a new object.
std::vector<Cause> Validate(const Resource& resource, const Value& body, const Value* old);

// Completes the body of an update. Fields that belong to the server stay as in `old`, and so does
// .status; for the status subresource (`status`) everything but .status stays. The generation
// increases if the kind has one and the spec has changed.
void PrepareUpdate(const Object& old, Value& body, bool status);

// Events are stored as core/v1; events.k8s.io/v1 shows the same fields under other names.
void ToStoredNames(const Resource& resource, Value& body);
void ToServedNames(const Resource& resource, Value& body);

bool HasFinalizer(const Object& object, std::string_view finalizer);

}  // namespace cluster_watcher::small_kubernetes

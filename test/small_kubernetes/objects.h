// What an API server fills into objects, and what it refuses.
#pragma once

#include <vector>

#include "test/small_kubernetes/json.h"
#include "test/small_kubernetes/resource_table.h"
#include "test/small_kubernetes/status.h"
#include "test/small_kubernetes/store.h"

namespace cluster_watcher::small_kubernetes {

// Fills in what was left open, as the real defaults do for what a watcher can see. `created`: also
// what admission and the registries add to new objects (phases, cluster IPs, finalizers); needs
// metadata.uid.
void SetDefaults(const Resource& resource, Value& body, bool created);

// What is wrong with an object; empty: nothing. `old` is null for a new one.
std::vector<Cause> Validate(const Resource& resource, const Value& body, const Value* old);

// Brings the body of an update into the form that is stored: what belongs to the server stays as in
// `old`, .status too unless `status` says that this is the status subresource, of which everything
// but .status stays; the generation goes up where the kind has one and the spec has changed.
void PrepareUpdate(const Object& old, Value& body, bool status);

// Events are stored as core/v1 and shown under other names in events.k8s.io/v1.
void ToStoredNames(const Resource& resource, Value& body);
void ToServedNames(const Resource& resource, Value& body);

bool HasFinalizer(const Object& object, std::string_view finalizer);

}  // namespace cluster_watcher::small_kubernetes

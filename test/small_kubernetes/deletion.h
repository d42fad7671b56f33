// How objects are deleted: at once, after a grace period, or when the last finalizer is removed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "test/small_kubernetes/store.h"

namespace cluster_watcher::small_kubernetes {

// The finalizers of a propagationPolicy.
inline constexpr std::string_view kOrphan = "orphan";
inline constexpr std::string_view kForeground = "foregroundDeletion";

struct DeleteOptions {
  std::optional<std::string> uid;  // preconditions
  std::optional<std::string> resource_version;
  std::string propagation;  // "Background", "Foreground", "Orphan"; empty: the kind's default
  std::optional<std::int64_t> grace_seconds;
  bool dry_run = false;
};

struct DeleteOutcome {
  ObjectPtr object;   // as it is now, or was last
  bool gone = false;  // false: a finalizer, dependents or a grace period hold it
};

// Holds a deleted CustomResourceDefinition until the objects of its kind are gone.
inline constexpr std::string_view kDefinitionFinalizer =
    "customresourcecleanup.apiextensions.k8s.io";

// Ignores the preconditions.
DeleteOutcome Delete(Store& store, const ObjectPtr& object, const DeleteOptions& options);

// Stores a new body, or removes the object if it is being deleted and nothing holds it any more.
ObjectPtr UpdateOrFinish(Store& store, const ObjectPtr& object, Value body, bool commit = true);

void RemoveFinalizer(Store& store, const ObjectPtr& object, std::string_view finalizer);

}  // namespace cluster_watcher::small_kubernetes

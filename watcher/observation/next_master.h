// What a master pod tells the watcher in it, how it runs that, and whether the pods that are to
// follow it tell theirs something else: then a rollout is under way to another driver, whose
// cluster this is. Pure.
#pragma once

#include <optional>
#include <string>

#include "probes/base/json.h"
#include "probes/owner_kinds.h"
#include "probes/owner_name.h"
#include "watcher/settings/settings.h"

namespace cluster_watcher {

struct Snapshot;

// The settings are taken from flag, environment or annotation, in that order. Those that envFrom
// gives can't be seen.
struct WatcherOrders {
  std::string owner;            // as written; empty: none is given
  std::string owner_kind;       // the same
  std::string owner_namespace;  // the same
  bool dry_run = false;
  bool opted_out = false;  // cluster-watcher/inject: "false"
};

// Reads them from a Pod or a pod template. The watcher's container is the one that is named
// `cluster-watcher`, else one that has its image or is given an owner.
WatcherOrders ReadWatcherOrders(JsonValue pod);

// For whoever sees to a cluster from outside of its pods: adds to `annotations` of `pod`, a Pod or
// a pod template, the settings that its watcher has by flags and environment, which go before them,
// as if they were annotations.
void AddSettingsOfWatcher(JsonValue pod, TextMap& annotations);

// Returns the template of the pods that `root` makes; absent if it isn't a built-in workload.
JsonValue PodTemplateOf(const ResourceType& type, JsonValue root);

// Whether the pods that a workload makes, which was read whole, are labelled as masters.
bool MakesMasters(const ResourceType& type, JsonValue workload);

// Whether `pod` can't start before its watcher ends: each container that may be the watcher's is an
// init container, but no sidecar. An API server before Kubernetes 1.29 makes one of a sidecar by
// dropping its restartPolicy.
bool WaitsForItsWatcher(JsonValue pod);

bool HasEnded(JsonValue pod);  // Succeeded or Failed

// Whether a watcher runs in `pod`, which isn't told to stop.
bool IsWatched(JsonValue pod);

// Returns the owner that they name; nullopt: none, or it can't be told.
std::optional<OwnerName> OwnerNamedBy(const WatcherOrders& orders);

// Whether `next`, which leads elsewhere, does so only by the owner that it names.
bool RunsAnotherDriver(const Snapshot& look, const WatcherOrders& next);

// Says how `next` leads away from the owner of the look ("names no owner"); nullopt: it doesn't.
std::optional<std::string> LeadsElsewhere(const Snapshot& look, const WatcherOrders& next);

}  // namespace cluster_watcher

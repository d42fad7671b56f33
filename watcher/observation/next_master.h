// Reads what a master pod tells the watcher in it, how it runs that, and whether the pods that are
// to follow it tell theirs something else: then a rollout is under way to another driver, whose
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
// as if they were annotations. Returns why some may be missing; empty: none is.
std::string AddSettingsOfWatcher(JsonValue pod, TextMap& annotations);

// Returns the owner that they name; nullopt: none, or it can't be told.
std::optional<OwnerName> OwnerNamedBy(const WatcherOrders& orders);

// Says how `next` leads to another driver than the owner of the look ("names another owner, …");
// nullopt: it doesn't. `ns_unsaid`: the owner's namespace where they say none; empty: any.
std::optional<std::string> NamesAnotherDriver(const Snapshot& look, const WatcherOrders& next,
                                              const std::string& ns_unsaid);

// Says how `next` leads to no driver ("names no owner"), where ours leads to one; nullopt: it
// doesn't.
std::optional<std::string> LeadsNowhere(const Snapshot& look, const WatcherOrders& next);

}  // namespace cluster_watcher

// The tools of all that read or write in the cluster after a look.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>

#include <spdlog/logger.h>

#include "metrics/watcher_metrics.h"
#include "probes/base/clock.h"
#include "probes/kube/discovery.h"
#include "probes/kube/kube_client.h"
#include "probes/kube/look_reads.h"
#include "probes/owner_kinds.h"
#include "watcher/settings/settings_in_force.h"

namespace cluster_watcher {

// How far a deletion goes before its end is said.
enum class Until {
  kAccepted,  // the master root's delete was accepted; members that are terminating count as gone
  kGone,      // the root and the cluster's pods are gone, our own aside
  kAllGone,   // so is every member: deletes are sent in the foreground
};

struct Tools {
  KubeClient& client;
  Discovery& discovery;
  Clock& clock;
  const SettingsInForce& settings;
  WatcherMetrics& metrics;
  spdlog::logger& log;
  // The heartbeat: called again and again by whoever works for long, and told how long the next
  // thing may take if that is long.
  std::function<void(Duration may_take)> turn;
  Until until = Until::kGone;
  // Whether a deletion that comes to nothing is left at its deadline to whoever comes later, and
  // members that are terminating count as gone. A caller with other clusters waiting can't keep
  // trying.
  bool gives_up = false;
  // Whether the wait for what is going ends when it is told to stop. A watcher goes on.
  bool heeds_stop = false;
  // Once it is requested, what is terminating is no longer waited for.
  std::stop_token hurry = {};
};

// How much of the time that a cluster's settings allow it gets: with gives_up many others wait.
inline Duration OwnTimeOf(const Tools& tools, Duration allowed) {
  constexpr Duration kLongestOfMany = std::chrono::minutes(20);
  return tools.gives_up ? std::min(allowed, kLongestOfMany) : allowed;
}

// How deletes are sent where no wave needs more.
inline PropagationPolicy PropagationOf(const Tools& tools) {
  return tools.until == Until::kAllGone ? PropagationPolicy::kForeground
                                        : PropagationPolicy::kBackground;
}
// How the delete of the master root is sent. A custom resource's operator ends what it made in its
// own order; AwaitGone goes on in the foreground where it doesn't.
inline PropagationPolicy RootPropagationOf(const Tools& tools, const ResourceType& root) {
  return IsWorkload(root) ? PropagationOf(tools) : PropagationPolicy::kBackground;
}

// For the reads of one pass of a deletion. Without it, where requests fail now and then, hardly a
// pass would read everything.
inline Patience RepeatedReads(const Tools& tools) {
  constexpr Duration kLongest{5'000};
  return Patience::Repeating(std::make_shared<LookReads>(tools.clock, kLongest));
}

}  // namespace cluster_watcher

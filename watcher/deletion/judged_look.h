// A look and what it comes to, other drivers included: what a deletion rests on, and what `check`
// shows.
#pragma once

#include <optional>

#include "watcher/decision/rules.h"
#include "watcher/observation/observer.h"

namespace cluster_watcher {

struct JudgedLook {
  Snapshot snapshot;
  Decision decision;
};

// Decides on `snapshot`. Other drivers are looked for if all else abandons the cluster.
Decision DecideWithOthers(Observer& observer, const Snapshot& snapshot,
                          const std::stop_token& stop);

// Asks an admission policy, such as the brake, about an abandoned verdict: by a dry run of a mark
// on the master root. `decision` stays as it is where none refuses, or that isn't known, but names
// a webhook that can't be called.
// A guard lets each mark in its own name alone: `pod`, or nullopt, a command.
Decision AskPolicy(KubeClient& client, const std::optional<WatcherId>& pod,
                   const Snapshot& snapshot, Decision decision);
// The pod that the look is about; nullopt: there is none.
std::optional<WatcherId> PodOf(const Snapshot& snapshot);

// Takes a sure look and decides on it so.
JudgedLook LookAndDecide(Observer& observer, const std::stop_token& stop,
                         OtherDriversToo others = OtherDriversToo::kYes);

}  // namespace cluster_watcher

// Finds what holds a cluster: the one place that knows where a hold may stand, and how long it
// lasts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "probes/base/clock.h"
#include "probes/kube/object_meta.h"

namespace cluster_watcher {

// A hold-until annotation.
struct Hold {
  std::string where;              // "namespace spark", "pod bob-m-1"
  std::string text;               // as written
  std::optional<WallTime> until;  // nullopt: it doesn't parse, and holds
  std::string reason = {};        // as a person gave it; empty: none

  // Whether it holds by the local clock, `now`, or by the API server's.
  bool IsOn(WallTime now, const std::optional<WallTime>& server_time) const;
};

// Returns the hold that is written on an object, which `where` names; nullopt: none is.
std::optional<Hold> HoldOn(const std::string& where, const ObjectMeta::Texts& annotations);

// Where a hold counts; nullptr: there is no such thing, or it may not be read.
struct HoldPlaces {
  const ObjectMeta* ns = nullptr;
  const KubeObject* root = nullptr;
  const ObjectMeta::Texts* pod_template = nullptr;  // its annotations
  std::vector<const ObjectMeta*> pods = {};  // the root's that haven't ended, terminating or not
  const KubeObject* resource = nullptr;  // that stands for the cluster, where the root has made it
};
std::vector<Hold> FindHolds(const HoldPlaces& places);

}  // namespace cluster_watcher

// Whether a rollout of the master is under way to something else: a driver whose cluster this is,
// or none. Its old pod's watcher must not delete the cluster under it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "probes/owner_probe.h"
#include "watcher/observation/surroundings.h"

namespace cluster_watcher {

class MasterRollouts {
 public:
  MasterRollouts(KubeClient& client, Clock& clock, OwnerProbe& owner_probe,
                 const SettingsInForce& settings)
      : client_(client), clock_(clock), owner_probe_(owner_probe), settings_(settings) {}

  // Adds to the ambiguities of `look` what leads elsewhere: another pod of the root, older or
  // newer, or its pod template. The driver that one names keeps the cluster unless it is gone for
  // as long as one that was never seen must be. `cluster` is whose pods aren't a driver's.
  void Find(Snapshot& look, const Surroundings& around, const ClusterOfPods& cluster,
            const Patience& patience);

  // A thing that was seen to be gone may have come back meanwhile.
  void Forget() { gone_since_.clear(); }
  // Returns what showed that something is gone; the next look reads it ahead.
  std::vector<ApiRequest> TakeAsked();

 private:
  struct Next {
    std::string what;  // "the pod template of deployment.apps/bob-m"
    std::string how;   // "names another owner, …"
    const WatcherOrders* orders;
  };
  bool Keeps(const Snapshot& look, const Next& next, const ClusterOfPods& cluster,
             const std::map<std::string, MonotonicTime>& gone_before, const Patience& patience);
  bool IsGone(const Snapshot& look, const WatcherOrders& orders, const ClusterOfPods& cluster,
              const Patience& patience);

  KubeClient& client_;
  Clock& clock_;
  OwnerProbe& owner_probe_;
  const SettingsInForce& settings_;
  // By the owners that rollouts name and that every look since has found abandoned.
  std::map<std::string, MonotonicTime> gone_since_;
  std::vector<ApiRequest> asked_;
};

// The requests of a look that the next one can ask for side by side.
std::vector<ApiRequest> ThatCanBeReadAhead(std::vector<ApiRequest> requests);

// Whether the owner that was found is a member of the cluster or its master root.
bool IsOwnMember(const std::optional<ClusterId>& cluster, const std::optional<KubeObject>& root,
                 const OwnerSight& sight);

}  // namespace cluster_watcher

// Keeps, marks or hands over PersistentVolumeClaims (--volumes). The claims of a StatefulSet carry
// its selector's labels but not always the cluster's. They can't be found once it is gone, so they
// are settled first. Source: kubernetes.io "StatefulSets", PersistentVolumeClaim retention.
#pragma once

#include <vector>

#include "probes/base/clock.h"
#include "probes/cluster_probe.h"
#include "probes/kube/kube_client.h"
#include "watcher/settings/settings.h"

namespace cluster_watcher {

class Claims {
 public:
  // `root` is the master root. Claims are marked with `collect_after`, in whole seconds.
  Claims(KubeClient& client, const Settings& settings, ClusterId cluster, KubeObject root,
         WallTime collect_after);

  // Settles the claims of `set`: they stay (preserve), are marked (collect), or get an
  // ownerReference to the master root and go with it (delete). Returns true if `set` may be deleted
  // now; false if not yet, then call again.
  Result<bool, ApiError> Settle(const KubeObject& set);

  // The claims that Settle() gave that ownerReference, as they were before.
  const std::vector<KubeObject>& handed() const { return handed_; }

  // Returns the request that marks a claim for `sweep`.
  ApiRequest CollectRequest(const KubeObject& claim) const;

 private:
  Result<bool, ApiError> Retain(const KubeObject& set, JsonValue object);
  Result<bool, ApiError> IsStillThere(const KubeObject& set);
  Result<Done, ApiError> Hand(const std::vector<KubeObject>& claims);

  KubeClient& client_;
  const Settings& settings_;
  const ClusterId cluster_;
  const KubeObject root_;
  const WallTime collect_after_;
  std::vector<KubeObject> handed_;
};

}  // namespace cluster_watcher

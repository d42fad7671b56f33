// What becomes of PersistentVolumeClaims (--volumes). Those of a StatefulSet carry its selector's
// labels and not always the cluster's, so they can't be found any more once it has gone: they are
// seen to before. Source: kubernetes.io "StatefulSets", PersistentVolumeClaim retention.
#pragma once

#include <vector>

#include "probes/base/clock.h"
#include "probes/cluster_probe.h"
#include "probes/kube/kube_client.h"
#include "watcher/settings/settings.h"

namespace cluster_watcher {

class Claims {
 public:
  // `root`: the master root. `collect_after`, to the second: what claims are marked with.
  Claims(KubeClient& client, const Settings& settings, ClusterId cluster, KubeObject root,
         WallTime collect_after);

  // Sees to the claims of `set`: they stay (preserve), are marked (collect), or get an
  // ownerReference to the master root and go with it (delete). True: it may be deleted now; false:
  // not yet, ask again.
  Result<bool, ApiError> Settle(const KubeObject& set);

  // Marks a claim for `sweep`.
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
};

}  // namespace cluster_watcher

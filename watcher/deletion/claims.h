// Keeps, marks or finds PersistentVolumeClaims (--volumes). The claims of a StatefulSet carry its
// selector's labels but not always the cluster's. They can't be found once it is gone, so they are
// settled first. Source: kubernetes.io "StatefulSets", PersistentVolumeClaim retention.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "probes/base/clock.h"
#include "probes/cluster_probe.h"
#include "probes/kube/kube_client.h"
#include "watcher/settings/settings.h"

namespace cluster_watcher {

// Returns the StatefulSet of that name as it is now; nullopt: there is none.
Result<std::optional<ObjectMeta>, ApiError> ReadSet(KubeClient& client, const std::string& ns,
                                                    const std::string& name,
                                                    const Patience& patience);

class Claims {
 public:
  // Claims are marked with `collect_after`, in whole seconds.
  Claims(KubeClient& client, const Settings& settings, ClusterId cluster, WallTime collect_after);

  struct Settled {
    bool now = false;        // the set may be deleted; false: not yet, call again
    KubeObjects due;         // claims that are to be deleted before it
    KubeObjects used_again;  // they stay, and are marked since an earlier deletion
  };
  // Settles the claims of `set`: they stay (preserve), are marked (collect), or are due (delete).
  Result<Settled, ApiError> Settle(const KubeObject& set);

  // Returns the request that marks a claim for `sweep`, or that takes the mark off.
  ApiRequest CollectRequest(const KubeObject& claim) const;
  ApiRequest PreserveRequest(const KubeObject& claim) const;

 private:
  Result<bool, ApiError> Retain(const KubeObject& set, JsonValue object);
  Result<bool, ApiError> IsStillThere(const KubeObject& set);
  Result<Done, ApiError> Mark(const KubeObjects& claims);
  bool MayGo(const ObjectMeta& claim, const KubeObject& set) const;
  bool MayGo(const ObjectMeta& meta) const;

  KubeClient& client_;
  const Settings& settings_;
  const ClusterId cluster_;
  const WallTime collect_after_;
};

}  // namespace cluster_watcher

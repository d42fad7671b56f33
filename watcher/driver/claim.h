// Which application uses a cluster: the label `uses-oshinko-cluster` on its owner, and where the
// cluster is ephemeral the label `ephemeral` and the annotation `cluster-watcher/owner` on the
// master root.
#pragma once

#include "watcher/driver/application.h"
#include "watcher/driver/cluster_view.h"
#include "watcher/driver/driver_tools.h"
#include "watcher/driver/outcome.h"
#include "watcher/driver/write_meta.h"

namespace cluster_watcher {

enum class Belonging {
  kNobodys,   // it is shared
  kOurs,      // the application's
  kAnothers,  // another one's
};
Belonging BelongingTo(const ClusterView& view, const Application& app);
// "cluster bob belongs to X, not Y".
DriverOutcome BelongsToAnother(const ClusterView& view, const Application& app);
// "owner X unknown: CAUSE", or that there is none.
DriverOutcome WithoutOwner(const Application& app);

// The other cluster that the owner uses, if that still exists; empty: none.
Result<std::string, ApiError> UsesAnother(const DriverTools& tools, const ClusterId& cluster,
                                          const Application& app);
// "cluster bob is used by X" where somebody else than `app` does, which may be null, or why that
// isn't known; nullopt: nobody does.
std::optional<DriverOutcome> UsedByAnother(const DriverTools& tools, const ClusterId& cluster,
                                           const Application* app);
// What makes a cluster the owner's own, on its master root.
MetaChanges EphemeralMeta(const KubeObject& owner);

// Labels the owner as a user of the cluster, and then, with `ephemeral`, the cluster as its own. A
// watcher that is about to delete the cluster sees the first or has written its mark before, so
// that at most one of them wins: kNotReady where it is condemned. kOthers: it is another's, or the
// owner uses another cluster, or with `ephemeral` somebody else uses it.
DriverOutcome Claim(const DriverTools& tools, const ClusterId& cluster, const OwnerName& app,
                    bool ephemeral);

// Takes that off again. An ephemeral cluster becomes a shared one, with a warning. Done as well
// where it wasn't claimed.
DriverOutcome Release(const DriverTools& tools, const ClusterId& cluster, const OwnerName& app);

}  // namespace cluster_watcher

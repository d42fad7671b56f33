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

// Whether an owner that is written on a cluster is the application's.
bool Means(const OwnerName& written, const Application& app);
// Whether `owner`, which is there, is the object that was found for the application in the
// namespace `ns`, or one controls the other. Where none was found, one of another namespace may be.
bool IsTheSame(const KubeObject& owner, const Application& app, const std::string& ns);

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

// The first owner that is written on the cluster and isn't `app`; empty: there is none.
std::string AnotherOwner(const ClusterView& view, const Application& app);

// Why `app`, whose owner is there, may not use this cluster: it uses another, which exists, or that
// isn't known. nullopt: it may.
std::optional<DriverOutcome> WhyNotAnother(const DriverTools& tools, const ClusterId& cluster,
                                           const Application& app);
// Why `app`, whose owner is there, can't use a shared cluster: watchers look for users of some
// kinds only. nullopt: it can.
std::optional<DriverOutcome> WhyNotAUser(const DriverTools& tools, const Application& app);
// "cluster bob is used by X" where somebody else than `app` does, or why that isn't known; nullopt:
// nobody does.
std::optional<DriverOutcome> UsedByAnother(const DriverTools& tools, const ClusterId& cluster,
                                           const Application& app);
// Labels the owner of `app` as a user of the cluster, unless it has said of another cluster
// meanwhile that it uses that. nullopt: done.
std::optional<DriverOutcome> LabelAsUser(const DriverTools& tools, const ClusterId& cluster,
                                         Application& app, MonotonicTime deadline);
// Marks that make a cluster the owner's own, on its master root: the label `ephemeral` says a name
// alone, so owners whose kind a bare name isn't looked for as have the annotation only.
MetaChanges EphemeralMeta(const KubeObject& owner);

// Labels the owner as a user of the cluster, and then, with `ephemeral`, the cluster as its own. A
// watcher that is about to delete the cluster sees the first or has written its mark before, so
// that at most one of them wins: kNotReady where it is condemned. kOthers: it is another's, or the
// owner uses another cluster, or with `ephemeral` somebody else uses it. kWrongUsage: WhyNotAUser.
DriverOutcome Claim(const DriverTools& tools, const ClusterId& cluster, const OwnerName& app,
                    bool ephemeral);

// Takes that off again. An ephemeral cluster becomes a shared one, with a warning. Done as well
// where it wasn't claimed. kOthers: it is another's, and the owner isn't labelled as its user.
DriverOutcome Release(const DriverTools& tools, const ClusterId& cluster, const OwnerName& app);

}  // namespace cluster_watcher

// Everything that one sure look read: a value. Once it has ended only a deletion adds to it, by
// what its own write of marks has made of the root's metadata.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "probes/base/clock.h"
#include "probes/cluster_probe.h"
#include "probes/kube/look_reads.h"
#include "probes/owner_probe.h"
#include "watcher/observation/facts.h"
#include "watcher/observation/next_master.h"
#include "watcher/protocol/marks.h"
#include "watcher/protocol/mounted.h"
#include "watcher/protocol/steps.h"

namespace cluster_watcher {

// Nothing that leads to a deletion is done on older evidence.
inline constexpr Duration kFreshEvidence{5'000};

struct LookTimes {
  MonotonicTime began;
  MonotonicTime ended;
  // Since what could keep the cluster was read, all of it after the owner, which was read again
  // after it. Very old if nothing was read.
  EvidenceSince evidence;
};

enum class WatcherInPod {
  kNone,  // none that runs
  kRuns,
  kBlocksIt,  // the pod doesn't start before its watcher ends
};

// The master pod's part in a look.
struct PodSays {
  std::vector<MountedObject> mounted;
  WatcherOrders orders;  // to its watcher; where there is none, as next_orders
  // The settings of watchers to come, by the root's pod template; nullopt: it wasn't read, or has
  // none.
  std::optional<WatcherOrders> next_orders;
  Steps steps;  // of the pod, else of the master root
  WatcherInPod watcher = WatcherInPod::kNone;
};

// Found to be missing, so that the look has ended.
enum class Missing {
  kNothing,
  kPod,      // our own is NotFound, or another pod has its name
  kCluster,  // there is nothing of it
};

struct Snapshot {
  Facts facts;
  LookTimes when;
  std::optional<OtherDrivers> others;  // nullopt: they weren't looked for

  std::optional<ClusterId> cluster;
  std::optional<KubeObject> pod;   // nullopt: not read, or there is none
  std::optional<KubeObject> root;  // the master root
  PodSays pod_says;
  Marks marks;  // of `root`
  Missing missing = Missing::kNothing;
  bool root_changed = false;  // another object is the master root now
  bool forbidden = false;     // the API server refused a request on which others depend

  std::optional<OwnerName> owner_name;  // the one given, else the label's
  std::string owner_ns;
  std::optional<RecordedOwner> seen;  // the owner as last seen, in this look or an earlier one

  // Whether nothing that was read so far settles the verdict: further reads may count.
  bool GoesOn() const { return facts.problem.empty() && missing == Missing::kNothing; }
  // Whether the owner may be over, so that all that could keep the cluster counts. One that is
  // active keeps it whatever it does next, unless its application has completed.
  bool NeedsProof() const;
  // Returns how old the evidence is. `client` is the one that read it.
  Duration EvidenceAge(Clock& clock, const KubeClient& client) const {
    return AgeOf(when.evidence, clock, client.dates());
  }
  // Whether our own pod is being deleted. Then nothing is condemned: the next pod's watcher judges.
  bool IsPodTerminating() const { return pod && pod->meta.deleting; }
  // "deployment.apps/bob", as far as it is known; empty: nothing is.
  std::string OwnerText() const;
  std::string StepsText() const;  // "1/2", the steps that have ended, while it is being deleted
  std::string OwnerUid() const;   // empty: it was never seen
  // Tells one owner from its successor; empty: there is no owner.
  std::string OwnerIdentity() const;
};

// The time by the API server's clock, if the look saw that, else by `clock`. What is written is
// compared with what others write.
WallTime ServerNow(const Snapshot& snapshot, Clock& clock);

// Adds `error` as what makes the verdict of `snapshot` unknown, unless something does already.
void NoteProblem(Snapshot& snapshot, const ApiError& error);

}  // namespace cluster_watcher

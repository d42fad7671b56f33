// The look: reads everything that the rules need, and nothing is decided here. A sure look reads it
// all, consistently; a glance reads the owner alone, from the API server's cache.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "probes/base/clock.h"
#include "probes/cluster_probe.h"
#include "probes/owner_probe.h"
#include "watcher/decision/rules.h"
#include "watcher/protocol/marks.h"
#include "watcher/protocol/mounted.h"
#include "watcher/protocol/steps.h"
#include "watcher/settings/settings.h"

namespace cluster_watcher {

// What one sure look read.
struct Snapshot {
  Facts facts;
  MonotonicTime began;
  MonotonicTime ended;

  std::optional<ClusterId> cluster;
  std::optional<KubeObject> pod;   // nullopt: not read, or there is none
  std::optional<KubeObject> root;  // the master root
  std::vector<MountedObject> mounted;
  Steps steps;  // of the pod, else of `root`
  Marks marks;  // of `root`

  bool pod_gone = false;      // our pod is NotFound, or another pod has its name
  bool root_changed = false;  // another object is the master root now
  bool no_such_cluster = false;
  bool forbidden = false;  // something that was asked for first was refused

  std::optional<OwnerName> owner_name;  // as it came out
  std::string owner_ns;
  std::optional<RecordedOwner> seen;  // the owner as last seen, this look included

  // "deployment.apps/bob", as far as it is known; empty: nothing is.
  std::string OwnerText() const;
  std::string OwnerUid() const;  // empty: it was never seen
};

// By the API server's clock where the look saw it: what is written is compared with what others
// write.
WallTime ServerNow(const Snapshot& snapshot, Clock& clock);

class Survey {
 public:
  // `settings` without the pod's annotations; they are added once the pod was read.
  Survey(KubeClient& client, Clock& clock, ResolvedSettings settings,
         std::function<ResolvedSettings(const TextMap& annotations)> with_annotations);

  // All that the rules ask for. Another driver that uses the cluster is looked for if
  // `with_other_drivers`, and only where all else says abandoned.
  Snapshot SureLook(bool with_other_drivers, std::stop_token stop);

  // Adds to `snapshot`, of this very look, whether another driver uses the cluster, where all else
  // says abandoned.
  void LookForOtherDrivers(Snapshot& snapshot, std::stop_token stop);

  // When the pod itself is told to stop: all that the rules ask for where the master root is gone
  // or terminating by somebody's hand, with our own pod as the witness. nullopt: the master root is
  // still there, or can't be read, or another has its name, or the owner was never seen.
  std::optional<Snapshot> TerminationLook();

  // The owner's kind as far as it is known, "deployment.apps", "deploy"; empty: nothing is.
  std::string OwnerKind(const Snapshot& snapshot) const;

  // The owner alone; nullopt where there is none that was seen before to glance at.
  std::optional<OwnerSight> Glance(std::stop_token stop);

  // From now on the owner in `sight` is the one; the recorded one was replaced by it.
  void Adopt(const Snapshot& snapshot);

  const ResolvedSettings& settings() const { return settings_; }
  // By the API server's clock: when the master root was last read under its UID, not terminating.
  const std::optional<WallTime>& root_seen_at() const { return root_seen_at_; }
  const std::optional<RecordedOwner>& seen() const { return seen_; }
  KubeClient& client() { return client_; }
  Discovery& discovery() { return discovery_; }
  ClusterProbe& cluster_probe() { return cluster_probe_; }

 private:
  void ReadPodAndNamespace(Snapshot& snapshot, std::stop_token stop);
  void TakePod(Snapshot& snapshot, JsonValue pod);
  void FindMaster(Snapshot& snapshot, std::stop_token stop);
  void ReadRoot(Snapshot& snapshot, std::stop_token stop);
  void TakeRoot(Snapshot& snapshot, KubeObject root);
  void FindOwnerName(Snapshot& snapshot);
  void ReadOwner(Snapshot& snapshot, std::stop_token stop);
  void RefuseOwnMember(Snapshot& snapshot, const OwnerSight& sight);
  void CompareLabel(Snapshot& snapshot, std::stop_token stop);
  void ReadTheRest(Snapshot& snapshot, std::stop_token stop);
  void FindAmbiguities(Snapshot& snapshot, std::stop_token stop);
  void AddHold(Snapshot& snapshot, const std::string& where, const ObjectMeta& meta);
  OwnerQuery QueryFor(const OwnerName& name, const std::string& ns) const;

  KubeClient& client_;
  Clock& clock_;
  ResolvedSettings settings_;
  std::function<ResolvedSettings(const TextMap& annotations)> with_annotations_;
  Discovery discovery_;
  OwnerProbe owner_probe_;
  ClusterProbe cluster_probe_;

  std::string pod_uid_;             // empty: not read yet
  std::optional<KubeObject> root_;  // as last read
  std::optional<WallTime> root_seen_at_;
  std::optional<RecordedOwner> seen_;
  std::optional<OwnerName> owner_name_;
  std::string owner_ns_;
};

}  // namespace cluster_watcher

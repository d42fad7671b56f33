// The look: reads everything that the rules ask for. Nothing is decided here. A sure look reads it
// all, consistently; a glance reads the owner alone, from the API server's cache.
#pragma once

#include <optional>
#include <string>

#include "probes/base/clock.h"
#include "probes/cluster_probe.h"
#include "probes/owner_probe.h"
#include "watcher/observation/snapshot.h"
#include "watcher/protocol/master_root.h"
#include "watcher/settings/settings_in_force.h"

namespace cluster_watcher {

class Observer {
 public:
  // The first look that reads the pod takes its annotations into `settings`.
  Observer(KubeClient& client, Discovery& discovery, Clock& clock, SettingsInForce& settings);

  // Reads all that the rules ask for, other drivers excepted. Ends with the first request that
  // isn't answered in time: the verdict is unknown then anyway.
  Snapshot SureLook(const std::stop_token& stop);

  // Looks for other drivers that use the cluster of `snapshot`, which has a cluster.
  OtherDrivers FindOtherDrivers(const Snapshot& snapshot, const std::stop_token& stop);

  // For when the pod itself is told to stop: the same as a sure look, if the master root is gone or
  // somebody is deleting it; our own pod is the witness then. nullopt: the master root is still
  // there, or can't be read, or another object has its name, or the owner was never seen.
  std::optional<Snapshot> TerminationLook();

  // Reads the owner alone, from the API server's cache. nullopt: none was seen yet.
  std::optional<OwnerSight> Glance(const std::stop_token& stop);

  // From now on the owner is the one that `snapshot` has found in place of the recorded one.
  const RecordedOwner& Adopt(const Snapshot& snapshot);

  // The owner's kind as far as it is known, "deployment.apps", "deploy"; empty: nothing is.
  std::string OwnerKind(const Snapshot& snapshot) const;

 private:
  void ReadPodAndNamespace(Snapshot& snapshot, const Patience& patience);
  void TakePod(Snapshot& snapshot, JsonValue pod);
  void FindMaster(Snapshot& snapshot, const Patience& patience);
  void ReadRoot(Snapshot& snapshot, const Patience& patience);
  void TakeRoot(Snapshot& snapshot, KubeObject root);
  void FindOwnerName(Snapshot& snapshot);
  void ReadTheRest(Snapshot& snapshot, const Patience& patience);
  void ReadOwner(Snapshot& snapshot, const Patience& patience);
  void RefuseOwnMember(Snapshot& snapshot, const OwnerSight& sight);
  void CompareLabel(Snapshot& snapshot, const Patience& patience);
  void FindAmbiguities(Snapshot& snapshot, const Patience& patience);
  void End(Snapshot& snapshot);
  void AddHold(Snapshot& snapshot, const std::string& where, const ObjectMeta& meta);
  OwnerQuery QueryFor(const OwnerName& name, const std::string& ns) const;

  KubeClient& client_;
  Discovery& discovery_;
  Clock& clock_;
  SettingsInForce& settings_;
  OwnerProbe owner_probe_;
  ClusterProbe cluster_probe_;

  // What one look leaves to the next.
  std::string pod_uid_;             // empty: not read yet
  std::optional<KubeObject> root_;  // as last read
  std::optional<WallTime> root_seen_at_;
  std::optional<RecordedOwner> seen_;
  std::optional<OwnerName> owner_name_;
  std::string owner_ns_;
};

}  // namespace cluster_watcher

// The look: reads everything that the rules ask for. Nothing is decided here. A sure look reads it
// all, consistently; a glance reads the owner alone, from the API server's cache.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "probes/base/clock.h"
#include "probes/cluster_probe.h"
#include "probes/owner_probe.h"
#include "watcher/observation/master_rollouts.h"
#include "watcher/observation/snapshot.h"
#include "watcher/observation/surroundings.h"
#include "watcher/settings/settings_in_force.h"

namespace cluster_watcher {

// Whether a look that comes close to abandoning the cluster looks for other drivers as well.
enum class OtherDriversToo {
  kNo,
  kYes,     // where the owner may be over
  kAlways,  // for people, who are told how each rule comes out
};

class Observer {
 public:
  // The first look that reads the pod takes its annotations into `settings`.
  Observer(KubeClient& client, Discovery& discovery, Clock& clock, SettingsInForce& settings);

  // It asks for people about a pod whose watcher may have flags and variables of its own: these
  // count.
  void AsksForPeople() { surroundings_.AsksForPeople(); }

  // A cluster whose pods opt out of the injection is kept: nobody asked for what is done to it.
  void HeedsOptOut() { heeds_opt_out_ = true; }

  // From now on the pod with this UID, or where that isn't known with this name, doesn't count as
  // something of the owner that runs: we are in it, and it is about to end.
  void SetCaller(std::string uid, std::string name = "") {
    caller_ = {std::move(uid), std::move(name)};
  }
  const std::string& caller() const { return caller_.name; }

  // From now on this is the driver's word on how its application ended; nullopt: it gives none.
  void SetWord(std::optional<std::string> status) { word_ = std::move(status); }

  // From now on this is the master root, as long as it is there: outside of pods it can't always be
  // found.
  void SetRoot(KubeObject root) { surroundings_.SetRoot(std::move(root)); }

  // Reads all that the rules ask for. Ends with the first request that isn't answered in time: the
  // verdict is unknown then anyway. Reads the owner, then what could keep the cluster, then, if
  // nothing keeps it so far, the owner again. Unless the owner is the same both times the look
  // begins again, or it is unknown: what a look that abandons the cluster has read was true at one
  // moment.
  Snapshot SureLook(const std::stop_token& stop, OtherDriversToo others = OtherDriversToo::kNo);

  // Looks for other drivers that use the cluster of `snapshot`, which has a cluster: first for the
  // one that was last found. Unknown as well if the owner is no longer as `snapshot` has it. All
  // other members are looked at too.
  OtherDrivers FindOtherDrivers(const Snapshot& snapshot, const std::stop_token& stop);
  // The same with the patience of a look. `beside` is read ahead side by side with it, for the
  // caller, who needs it next.
  OtherDrivers FindOtherDrivers(const Snapshot& snapshot, const Patience& patience,
                                std::span<const ApiRequest> beside);

  // Reads the owner alone, and keeps by what its pods are found. nullopt: none was seen yet, or it
  // is a member of the cluster now, which a look must know of.
  std::optional<OwnerSight> Glance(Freshness freshness, const std::stop_token& stop);

  // Whether the master root, the pod and the namespace are as the last sure look has read them, as
  // far as that counts here, by the API server's cache. False too if that isn't known.
  bool IsAroundAsBefore(const std::stop_token& stop) { return surroundings_.IsAsBefore(stop); }
  // The master root's metadata is now this, because this process has written it on top of what the
  // last sure look has read.
  void NoteWritten(const ObjectMeta& root) { surroundings_.NoteWritten(root); }

  // From now on the owner is the one that `snapshot` has found in place of the recorded one.
  const RecordedOwner& Adopt(const Snapshot& snapshot);

  // The owner's kind as far as it is known, "deployment.apps", "deploy"; empty: nothing is.
  std::string OwnerKind(const Snapshot& snapshot) const;

 private:
  // The owner as one read has it.
  struct OwnerRead {
    OwnerName name;
    std::string ns;
    std::string known_uid;  // of the owner as it was known before; empty: it wasn't
    OwnerSight sight;
    std::vector<ApiRequest> asked;
    bool is_late;  // some of what could keep the cluster was read before it

    bool IsFor(const Observer& observer) const;
  };
  Snapshot Look(const Patience& patience, OtherDriversToo others);
  // Takes rounds until the owner is the same before and after what could keep the cluster.
  Snapshot LookInRounds(std::optional<OwnerRead>& owner, OtherDriversToo others,
                        const Patience& patience);
  // Reads all but the owner, and that as well if `owner` isn't the one to look for.
  Snapshot LookAround(std::optional<OwnerRead>& owner, OtherDriversToo others,
                      const Patience& patience);
  void LookAtRest(Snapshot& snapshot, Surroundings& around, std::optional<OwnerRead>& owner,
                  const Patience& patience);
  bool IsInDoubt(const std::optional<OwnerRead>& owner) const;
  std::vector<ApiRequest> WhatCouldKeepIt(OtherDriversToo others, const Patience& patience);
  void RecallOwner(const Snapshot& snapshot);
  OwnerRead ReadOwner(const std::optional<ClusterId>& cluster, const Patience& patience);
  OwnerRead ReadOwnerAgain(const OwnerRead& before, const std::optional<ClusterId>& cluster,
                           const Patience& patience);
  void TakeOwner(Snapshot& snapshot, OwnerSight sight);
  const RecordedOwner& Adopt(const OwnerSight& sight);
  void Remember(const OwnerSight& sight);
  void FindAlsoRunning(Snapshot& snapshot, const Patience& patience);
  // Returns the kinds of members that run no pods and that are to be looked at.
  std::vector<ResourceType> OtherMemberTypes(const Patience& patience);
  // Other drivers, and what the cluster's other members say.
  OtherDrivers WhatElseKeepsIt(const Snapshot& snapshot, const Patience& patience);
  void LookAtOtherMembers(const Snapshot& snapshot, std::span<const ResourceType> types,
                          OtherDrivers& drivers, const Patience& patience);
  OwnerOfCluster OwnerOf(const Snapshot& snapshot) const;
  ClusterOfPods ClusterPods(const std::optional<ClusterId>& cluster) const;
  OwnerQuery QueryForOwner(const std::optional<ClusterId>& cluster) const;

  KubeClient& client_;
  Discovery& discovery_;
  Clock& clock_;
  SettingsInForce& settings_;
  OwnerProbe owner_probe_;
  ClusterProbe cluster_probe_;
  SurroundingsReader surroundings_;
  MasterRollouts rollouts_;

  struct {
    std::string uid;   // empty: none, or it isn't known
    std::string name;  // empty: none
  } caller_;
  std::optional<std::string> word_;
  bool heeds_opt_out_ = false;

  // Kept from one look to the next.
  bool is_silent_ = false;  // the API server: nothing that it said could be used
  struct {
    std::optional<OwnerName> name;
    std::string ns;
    std::optional<RecordedOwner> seen;
    std::string version;  // the resourceVersion at which it was read
  } owner_;
};

}  // namespace cluster_watcher

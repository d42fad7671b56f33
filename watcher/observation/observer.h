// The look: reads everything that the rules ask for. Nothing is decided here. A sure look reads it
// all, consistently; a glance reads the owner alone, from the API server's cache.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "probes/base/clock.h"
#include "probes/cluster_probe.h"
#include "probes/owner_probe.h"
#include "watcher/observation/snapshot.h"
#include "watcher/protocol/master_root.h"
#include "watcher/settings/settings_in_force.h"

namespace cluster_watcher {

// Whether a look that comes close to abandoning the cluster looks for other drivers as well.
enum class OtherDriversToo { kNo, kYes };

class Observer {
 public:
  // The first look that reads the pod takes its annotations into `settings`.
  Observer(KubeClient& client, Discovery& discovery, Clock& clock, SettingsInForce& settings);

  // It asks for people about a pod whose watcher may have flags and variables of its own: these
  // count.
  void AsksForPeople() { asks_for_people_ = true; }

  // From now on the pod with this UID, or where that isn't known with this name, doesn't count as
  // something of the owner that runs: we are in it, and it is about to end.
  void SetCaller(std::string uid, std::string name = "") {
    caller_uid_ = std::move(uid);
    caller_ = std::move(name);
  }
  const std::string& caller() const { return caller_; }
  // The driver's word on how it ended, for this one command.
  void SetWord(std::optional<std::string> word) { word_ = std::move(word); }

  // From now on this is the master root, as long as it is there: outside of pods it can't always be
  // found.
  void SetRoot(KubeObject root) { root_ = std::move(root); }

  // From now on this member, which has no controller, stands for the master root where the cluster
  // has no master: it names the owner and bears the marks.
  void SetStandIn(KubeObject member) { stand_in_ = std::move(member); }

  // Reads all that the rules ask for. Ends with the first request that isn't answered in time: the
  // verdict is unknown then anyway. Reads the owner, then what could keep the cluster, then, if
  // nothing keeps it so far, the owner again. Unless the owner is the same both times the look
  // begins anew, or it is unknown: what a look that abandons the cluster has read was true at one
  // moment.
  Snapshot SureLook(const std::stop_token& stop, OtherDriversToo others = OtherDriversToo::kNo);

  // Looks for other drivers that use the cluster of `snapshot`, which has a cluster, unless that
  // look did. Unknown as well if the owner is no longer as `snapshot` has it.
  OtherDrivers FindOtherDrivers(const Snapshot& snapshot, const std::stop_token& stop);
  // The same with the patience of a look. `beside` is read ahead side by side with it, for the
  // caller, who needs it next.
  OtherDrivers FindOtherDrivers(const Snapshot& snapshot, const Patience& patience,
                                std::span<const ApiRequest> beside);

  // Reads the owner alone, and keeps by what its pods are found. nullopt: none was seen yet, or it
  // is a member of the cluster now, which a look must know of.
  std::optional<OwnerSight> Glance(Freshness freshness, const std::stop_token& stop);

  // Whether something is counted by looks that follow each other within a minute or so: how long
  // what a rollout names is gone.
  bool IsTimingAnAbsence() const { return !next_gone_since_.empty(); }

  // Whether the master root, the pod and the namespace are as the last sure look has read them, as
  // far as that counts here. Reads the root consistently, the others from the API server's cache.
  // False too if that isn't known.
  bool IsAroundAsBefore(const std::stop_token& stop);
  // The master root's metadata is now this, because this process has written it on top of what the
  // last sure look has read.
  void NoteWritten(const ObjectMeta& root);

  // From now on the owner is the one that `snapshot` has found in place of the recorded one.
  const RecordedOwner& Adopt(const Snapshot& snapshot);

  // The owner's kind as far as it is known, "deployment.apps", "deploy"; empty: nothing is.
  std::string OwnerKind(const Snapshot& snapshot) const;

 private:
  const RecordedOwner& Adopt(const OwnerSight& sight, const std::string& ns, const OwnerName& name);
  void Remember(const OwnerSight& sight);
  std::vector<ApiRequest> PodAndNamespaceRequests() const;
  bool ArePodAndNamespaceAsBefore(const std::stop_token& stop, std::optional<WallTime>& at);
  void ReadPodAndNamespace(Snapshot& snapshot, const Patience& patience);
  void TakePod(Snapshot& snapshot, JsonValue pod);
  void FindMaster(Snapshot& snapshot, const Patience& patience);
  const KubeObject* FindMakerOfMasters(Snapshot& snapshot, const KubeObjects& objects,
                                       const Patience& patience);
  void ReadRoot(Snapshot& snapshot, const Patience& patience);
  void TakeRoot(Snapshot& snapshot, KubeObject root);
  void TakeTemplate(Snapshot& snapshot, const KubeObject& root, JsonValue whole);
  void TakeOrdersOfPodsToCome(Snapshot& snapshot, JsonValue pods);
  void FindOwnerName(Snapshot& snapshot);
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
  // `going`: the root, if somebody deletes it and it is read already.
  Snapshot Look(const Patience& patience, OtherDriversToo others, const MasterRoot* going);
  // Reads all but the owner, and that as well if `owner` isn't the one to look for.
  Snapshot LookAround(std::optional<OwnerRead>& owner, OtherDriversToo others,
                      const MasterRoot* going, const Patience& patience);
  // Whether what could keep the cluster is read at once, side by side, after `owner`.
  bool IsInDoubt(const std::optional<OwnerRead>& owner) const;
  // The requests with which LookAround begins.
  std::vector<ApiRequest> WhatCouldKeepIt(OtherDriversToo others, bool root_is_read,
                                          const Patience& patience);
  OwnerOfCluster OwnerOf(const Snapshot& snapshot) const;
  void RecallOwner(const Snapshot& snapshot);
  OwnerRead ReadOwner(const std::optional<ClusterId>& cluster, const Patience& patience);
  OwnerRead ReadOwnerAgain(const OwnerRead& before, const std::optional<ClusterId>& cluster,
                           const Patience& patience);
  void TakeOwner(Snapshot& snapshot, OwnerSight sight);
  void RefuseOwnMember(Snapshot& snapshot, const OwnerSight& sight);
  void CompareRootOwner(Snapshot& snapshot);
  void CompareLabel(Snapshot& snapshot, const Patience& patience);
  void FindAmbiguities(Snapshot& snapshot, const Patience& patience);
  void FindAlsoRunning(Snapshot& snapshot, const Patience& patience);
  void FindRollout(Snapshot& snapshot, const std::vector<KubeObject>& next,
                   const Patience& patience);
  bool IsGone(const Snapshot& snapshot, const WatcherOrders& orders, const Patience& patience);
  // Shows each of the pods that is there, has not ended and is not terminating.
  void EachUnended(Snapshot& snapshot, const std::vector<KubeObject>& pods,
                   const Patience& patience,
                   const std::function<void(const KubeObject&, JsonValue)>& show);
  // `before`: the owner, if it was read before the root was.
  void NoteVersions(const Snapshot& snapshot, const std::vector<Evidence>& before,
                    const Patience& patience);
  std::optional<ObjectMeta> ListRoot(const KubeObject& root, const Patience& patience);
  void NoteVersion(const std::string& version);
  void AddHold(Snapshot& snapshot, const std::string& where, const ObjectMeta& meta);
  void AddHold(Snapshot& snapshot, const std::string& where, std::string_view until);
  ClusterOfPods ClusterPods(const std::optional<ClusterId>& cluster) const;
  OwnerQuery QueryFor(const OwnerName& name, const std::string& ns) const;

  KubeClient& client_;
  Discovery& discovery_;
  Clock& clock_;
  SettingsInForce& settings_;
  OwnerProbe owner_probe_;
  ClusterProbe cluster_probe_;

  // What one look leaves to the next.
  bool asks_for_people_ = false;
  bool is_silent_ = false;  // the API server: nothing that it said could be used
  std::optional<std::string> word_;
  std::string caller_uid_;  // empty: none, or it isn't known
  std::string caller_;      // its name; empty: none
  std::optional<KubeObject> stand_in_;
  std::string pod_uid_;        // empty: not read yet
  TextMap settings_at_start_;  // the pod's annotations then
  std::optional<ClusterId> cluster_;
  std::optional<KubeObject> root_;              // as last read
  std::optional<KubeObject> terminating_root_;  // the same, by TerminationLook
  std::optional<ObjectMeta> pod_;               // as the last look read it; nullopt: it didn't
  std::optional<ObjectMeta> namespace_;
  int minutes_without_root_list_ = 0;  // the root may be got, but not listed
  std::optional<WallTime> root_seen_at_;
  std::string root_seen_version_;
  std::optional<RecordedOwner> seen_;
  std::string seen_version_;  // the resourceVersion at which it was read
  std::optional<OwnerName> owner_name_;
  std::string owner_ns_;
  // By the owners that rollouts name and that every look since has found abandoned.
  std::map<std::string, MonotonicTime> next_gone_since_;
  std::vector<ApiRequest> next_asked_;  // what showed that; read ahead by the next look
  std::string own_member_;  // the owner as given, if it was a member of the cluster; else empty
};

}  // namespace cluster_watcher

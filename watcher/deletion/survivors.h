// Finds what must survive the deletion of a cluster, and what would take it along by garbage
// collection: that isn't deleted. Source: kubernetes.io
// "Garbage Collection", "StatefulSets" (persistentVolumeClaimRetentionPolicy).
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "watcher/deletion/member_listing.h"
#include "watcher/deletion/members.h"
#include "watcher/deletion/tools.h"

namespace cluster_watcher {

class Survivors {
 public:
  struct Found {
    // By UID: members, the master root, and what is above them.
    std::map<std::string, HeldBack> held_back;
    // Requests that let go of claims that stay: whenDeleted: Retain on the cluster's StatefulSets,
    // and claims without the ownerReferences to what goes. What they concern is held back until it
    // is read again.
    std::vector<ApiRequest> writes;
    // What is above a member could not be read, so that it isn't known whose that is.
    bool above_unread = false;
    // Something could not be read that may tell more: nothing is to be deleted.
    std::optional<ApiError> unknown;
  };

  Survivors(const Tools& tools, const ClusterId& cluster) : tools_(tools), cluster_(cluster) {}

  // Finds what must survive of `listed`, whose members go with the root; nullptr: there is none.
  // What an earlier list held back for what it showed stays so until a list without gaps, or for
  // claims one that has claims and StatefulSets, shows otherwise. `memory` learns that, and which
  // claims are of the cluster's StatefulSets.
  // Nothing is written.
  Found Find(const MemberListing::Listed& listed, const KubeObject* root, DeletionMemory& memory,
             bool late);

  // Whether `object` stays although it is of the cluster: neither it nor what controls it is the
  // root or a member, or gone itself.
  bool IsAnothers(const ObjectMeta& object, const KubeObject& root, DeletionMemory& memory);

 private:
  struct Search;
  void ReadAboveListed(Search& search);
  void HoldBackAboveOwner(Search& search);
  void HoldBackAboveKept(Search& search);
  void HoldBackAsBefore(Search& search);
  bool LeadsTo(Search& search, const ObjectMeta& object, int depth);
  bool IsGoing(Search& search, const OwnerReference& owner, int depth);
  void HoldBackAbove(Search& search, const ObjectMeta& object, const HeldBack& because, int depth);
  // The owner's own metadata, read where it isn't listed; nullptr: it is gone, may not be read, or
  // can't be for the moment.
  const ObjectMeta* Above(Search& search, const OwnerReference& owner);
  Result<const ObjectMeta*, ApiError> ReadAbove(DeletionMemory& memory, const OwnerReference& owner,
                                                const Patience& patience);
  void FindSets(Search& search);
  void SettleSet(Search& search, const ClaimingSet& set, bool goes);
  void SettleClaim(Search& search, const KubeObject& claim);
  bool MustStay(const Search& search, const KubeObject& claim) const;

  const Tools& tools_;
  const ClusterId& cluster_;
};

}  // namespace cluster_watcher

// Sends the deletes of one deletion, each for the UID that was listed, and counts what comes of
// them. The claims of a StatefulSet are settled before it is deleted, and those that are to go are
// deleted then: a claim's pods keep it until they are gone.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "watcher/deletion/claims.h"
#include "watcher/deletion/tools.h"
#include "watcher/deletion/uid.h"
#include "watcher/protocol/first_deletes.h"
#include "watcher/reporting/warn_once.h"

namespace cluster_watcher {

class Deletes {
 public:
  // `collect_after`, to the second: what claims are marked with.
  // `may_send` is asked right before deletes are sent; those for which it says no aren't.
  // `is_whole`: whether nothing of the cluster is deleted yet.
  // `is_held` is asked when a policy has refused a delete, with what it said: whether it is one
  // that refuses all, as the brake does. Then no more are sent.
  Deletes(const Tools& tools, ClusterId cluster, WallTime collect_after, WarnOnce& warn_once,
          std::function<bool()> may_send, std::function<bool()> is_whole,
          std::function<bool(const std::string& refusal)> is_held);

  // Sends one for each object, side by side. True: each was accepted, or refused for good; false:
  // some must be sent again, or wait for their claims (but for what is deleted with Orphan). An
  // object that has changed since it was listed, in more than its status and labels that say
  // nothing about a cluster, is not deleted (a conflict): somebody may have annotated it to be
  // kept.
  bool Send(const std::vector<const KubeObject*>& objects, PropagationPolicy propagation);
  // The same with dryRun=All: nothing changes.
  void Rehearse(const std::vector<const KubeObject*>& objects, PropagationPolicy propagation);

  // Whether a StatefulSet, or what is none, may be deleted now: its claims are settled. The next
  // Send() of it doesn't settle them again.
  bool SettleClaimsOf(const KubeObject& object);

  // While the cluster is whole a set goes before its claims, so that what is to be kept of the two
  // stays together. Deletes the claims of those that went so. True: none are left.
  bool SendWaitingClaims();
  // The claims of deleted sets that are not: "persistentvolumeclaim/x".
  std::vector<std::string> ClaimsLeft() const;
  // As a mark, because nothing else would find them after a crash.
  std::vector<FirstDelete> WaitingClaims() const;
  // Whether a delete of the object as it was read would be accepted now: by a dry run.
  bool WouldGo(const KubeObject& object, PropagationPolicy propagation);

  // Marks claims for `sweep`. False: some must be sent again.
  bool MarkForCollection(const KubeObjects& claims);
  // Takes the marks of an earlier deletion off claims that stay, and off those of the sets that
  // were settled since. One that can't be is warned of.
  void TakeFromCollection(const KubeObjects& claims);

  // From now on what has changed since it was listed isn't read and sent again at once: there is no
  // master whose read would tell whose it is by now.
  void LeaveConflicts() { leaves_conflicts_ = true; }

  // What has this UID goes by our delete, though no answer says so.
  void TakeAsAccepted(const Uid& uid);
  // When the delete of the object with this UID was first accepted; nullopt: it wasn't.
  std::optional<MonotonicTime> AcceptedAt(const Uid& uid) const;
  // How many came to which result, as the metrics have it: {"deleted": 4}.
  const std::map<std::string, int>& results() const { return results_; }
  int conflicts() const;
  // What an admission policy said, since the last call, that refused a delete, as the brake does;
  // empty if none did. The guard's refusals don't count: they don't end by themselves.
  std::string TakePolicy() { return std::exchange(policy_, ""); }
  // How many were sent that may have been carried out, though no answer says so.
  int open() const { return open_; }
  // Whether a delete was accepted.
  bool any_accepted() const { return any_accepted_; }
  // The first objects whose delete was accepted: "service/x".
  const std::vector<std::string>& first_deleted() const { return first_deleted_; }

 private:
  struct WaitingClaim {
    KubeObject claim;
    Uid set;
    std::string set_name;
  };

  bool SendAll(const std::vector<const KubeObject*>& objects, PropagationPolicy propagation,
               bool dry_run);
  // The results are in the order of `batch`.
  std::vector<ApiResult> SendBatch(const std::vector<const KubeObject*>& batch,
                                   PropagationPolicy propagation, bool dry_run);
  // Sends those again whose result is a conflict though only their status has changed. False: there
  // are none, or they may not be sent.
  bool SendConflictsAgain(const std::vector<const KubeObject*>& batch,
                          PropagationPolicy propagation, std::vector<ApiResult>& results);
  std::size_t Concurrency() const;
  bool AreClaimsSettled(const KubeObject& object);
  // Whether the set of a claim was made anew since it was deleted; nullopt: that isn't known.
  std::optional<bool> IsSetMadeAnew(const WaitingClaim& waiting);
  bool IsHeldBack(const std::vector<ApiResult>& results);
  void Count(const KubeObject& object, const ApiResult& result, bool dry_run);
  void CountResult(const std::string& resource, const char* result);

  const Tools& tools_;
  const ClusterId cluster_;
  WarnOnce& warn_once_;
  Claims claims_;
  const std::function<bool()> may_send_;
  const std::function<bool()> is_whole_;
  const std::function<bool(const std::string&)> is_held_;
  std::unordered_map<Uid, MonotonicTime> accepted_at_;
  std::map<std::string, int> results_;
  std::set<std::string> settled_;  // UIDs of sets whose claims were settled ahead of their delete
  std::map<std::string, WaitingClaim> claims_waiting_;  // by UID
  std::map<std::string, std::string> claims_sent_;      // by UID, as people know them
  std::map<std::string, KubeObject> used_again_;  // by UID: of sets, until they may be written
  std::string policy_;
  bool any_accepted_ = false;
  bool leaves_conflicts_ = false;
  int open_ = 0;
  std::vector<std::string> first_deleted_;
};

}  // namespace cluster_watcher

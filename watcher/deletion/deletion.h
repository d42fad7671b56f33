// Deletes a condemned cluster in passes: each lists the members, reads the master root, and sends
// the deletes that are due, each by the UID that was listed. The root goes last. Errors are
// retried. Until the first delete is accepted the cluster is whole, and each send needs fresh
// evidence; after it nothing but the root says when to stop.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "watcher/deletion/deletes.h"
#include "watcher/deletion/deletion_order.h"
#include "watcher/deletion/member_listing.h"
#include "watcher/deletion/members.h"
#include "watcher/deletion/pace.h"
#include "watcher/deletion/survivors.h"
#include "watcher/deletion/tools.h"
#include "watcher/protocol/master_root.h"
#include "watcher/reporting/deletion_report.h"
#include "watcher/reporting/warn_once.h"

namespace cluster_watcher {

class Deletion {
 public:
  enum class Outcome {
    kDone,       // no member is left that is to go; of DeleteRoot: the root's delete was accepted
    kStale,      // no delete was accepted while the evidence was fresh: look again, and Take that
    kKept,       // somebody annotated the master root to be kept
    kReplaced,   // another object has the master root's name: somebody's new cluster
    kRootGone,   // somebody else deleted the master root
    kNewMaster,  // of DeleteListed: there is a master that wasn't there
    kCalledOff,  // the marks were taken off, or the root is another cluster's now
    kOvertaken,  // another watcher has taken the deletion over
    kHeld,       // an admission policy, such as the brake, refuses deletes
    kRootMustStay,  // the master root would take along what must survive
    kGivenUp,       // something isn't accepted by the deadline, and who deletes gives up
  };

  // The marks of `condemned` name us. `began`: when the deletion began, for metrics.
  Deletion(const Tools& tools, const DeletionOrder& condemned, MonotonicTime began);

  // Goes on with what another look came to. What was listed before it is sent on its evidence: on a
  // slow API server that would not last for another list.
  void Take(const DeletionOrder& order);

  // Whether the root would take along what is annotated to be kept, before anything is deleted.
  bool MustRootStay();

  // Deletes all members, wave by wave, until `deadline`; then what is left is sent for deletion at
  // once, and tried until it is terminating or refused for good. May be called again, for what has
  // appeared since.
  Outcome DeleteMembers(MonotonicTime deadline) { return RunPasses(deadline, false); }

  // After the members: deletes those that the master pod needs, NetworkPolicies, and the root.
  Outcome DeleteRoot(MonotonicTime deadline) { return RunPasses(deadline, true); }

  // Waits until the root and the cluster's pods are gone, as Tools::until says. A root that a
  // finalizer holds is deleted again in the foreground, which collects what it owns. Told to stop
  // it is kGivenUp as well, of a watcher only where all but its own pod is gone; and where that
  // isn't to be waited for.
  Outcome AwaitGone(MonotonicTime deadline, const std::stop_token& stop);

  // For a cluster without a master root, or with several, that a person wants to go: deletes the
  // members that are listed now, without marks, until `deadline`. `read_other_master` reads whether
  // there is a master that wasn't there: kOurs, kGone or kUnknown.
  Outcome DeleteListed(MonotonicTime deadline, std::function<RootState()> read_other_master);

  // Whether nothing is deleted yet, as far as we know.
  bool IsWhole() const { return !deletes_.any_accepted(); }

  // One pass of deletes with dryRun=All: nothing changes. What would be deleted: "service/x".
  std::vector<std::string> Rehearse();

  // Reports what was done so far; without the time it took.
  DeletionReport Report() const;
  const std::vector<std::string>& overdue() const { return overdue_; }  // left at the deadline
  // The words of that policy.
  const std::string& policy() const { return policy_; }
  // Why the master root must stay.
  const std::string& root_held_back() const { return root_held_back_; }
  // Members of the last list that were still there: "service/x".
  std::vector<std::string> Remaining() const;
  // The first of what was deleted: "service/x".
  const std::vector<std::string>& first_deleted() const { return deletes_.first_deleted(); }

 private:
  // All that there is, before it was read whose it is.
  struct Prepared {
    MemberPass members;
    Survivors::Found survivors;
    KubeObjects used_again;           // claims that stay, marked since an earlier deletion
    bool complete;                    // false: a kind could not be listed: what of it must survive?
    std::vector<std::string> failed;  // why kinds could not be listed
  };

  Outcome RunPasses(MonotonicTime deadline, bool with_root);
  // `late`: what could not be listed isn't waited for any more.
  Prepared List(bool late);
  void NoteLeft(std::vector<std::string> left);
  // Lets go of claims that stay.
  void LetGoOfClaims();
  RootState ReadRoot();
  // Why nothing more may be deleted, by the root as it was read behind the list; nullopt: it may.
  std::optional<Outcome> WhyEnded();
  bool IsEvidenceOld() const;
  bool MaySend() const;
  // Reads the root again where what it said is about to grow old. False: nothing more may be sent.
  bool Renew();
  // Whether an object needn't be waited for.
  bool CountsAsGone(const KubeObject& object) const;
  const HeldBack* WhyHeldBack(const KubeObject& object) const;
  // Whether it may not be deleted, or what controls it may not: that would make it again.
  bool IsForbidden(const KubeObject& object) const;
  bool IsDue(const KubeObject& object, bool late) const;
  // Sends what is due, if it is known what must survive. How many members are still waited for.
  std::size_t SendDue(bool is_known, bool late);
  void NameForbidden(const KubeObject& object);
  // Names what is left at the end, and while that is tried beyond the deadline.
  void NameLeft(bool late);
  void SayWhatRemains();
  // Sends what goes right before the root, and that. True: its delete was accepted.
  bool SendRoot();
  const HeldBack* WhyRootIsHeldBack() const;
  // The cluster's pods that are to go.
  struct Pods {
    std::size_t others = 0;
    bool own_runs = false;  // it isn't terminating
  };
  std::optional<Pods> ReadPods();
  // Whether every member is gone, where that is waited for: until `deadline` for kinds that can't
  // be listed.
  bool IsAllGone(MonotonicTime deadline);
  PropagationPolicy Propagation() const;
  std::string NameHusk();

  const Tools& tools_;
  WarnOnce warn_once_;
  const ClusterId cluster_;
  const KubeObject as_seen_;  // the master root, as the first look saw it
  const bool is_asked_;
  Marks marks_;                   // as they are written
  EvidenceSince seen_abandoned_;  // asked before each send while the cluster is whole
  const MonotonicTime began_;
  MasterRoot root_;
  RootState root_state_ = RootState::kUnknown;
  std::optional<BootTime> root_read_;             // when it was last read behind a list
  std::function<RootState()> read_other_master_;  // empty: there is a root
  MemberListing listing_;
  DeletionMemory memory_;
  Deletes deletes_;
  Survivors survivors_;
  Pace pace_;
  std::optional<Prepared> prepared_;
  int late_passes_ = 0;
  int blind_passes_ = 0;      // the last late ones, in a row, that could not list a kind
  bool is_list_old_ = false;  // what is prepared was listed before the last look
  bool is_closed_ = false;    // no member is added any more
  MonotonicTime said_{};      // when it was last said what remains
  bool is_taken_ = false;     // a look was taken since what is prepared was listed
  std::vector<std::string> left_;
  std::vector<std::string> overdue_;
  std::string policy_;
  std::string root_held_back_;
};

}  // namespace cluster_watcher

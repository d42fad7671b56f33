// Deletes a condemned cluster: its members side by side, each by the UID that was listed, until
// nothing of it is left; then the master root. Errors are retried. Until the first delete is
// accepted the cluster is whole, and each send needs fresh evidence.
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
#include "watcher/deletion/orphans.h"
#include "watcher/deletion/pace.h"
#include "watcher/deletion/tools.h"
#include "watcher/protocol/master_root.h"
#include "watcher/reporting/deletion_report.h"
#include "watcher/reporting/warn_once.h"

namespace cluster_watcher {

class Deletion {
 public:
  enum class Outcome {
    kDone,       // no member is left, or the deadline has passed; the root's delete was accepted
    kStale,      // no delete was accepted in time; the marks stay: look again
    kKept,       // somebody annotated the master root to be kept
    kReplaced,   // another object has the master root's name: somebody's new cluster
    kOvertaken,  // the marks name another watcher, which finishes it
  };

  // The marks of `condemned` name us. `since`: when the deletion began, for metrics. If they say
  // that deletes are begun, the cluster is proven half.
  Deletion(const Tools& tools, const DeletionOrder& condemned, MonotonicTime since);

  // Lists the members, for a deletion that isn't begun yet. False: too little could be listed; call
  // it again, after another look. A cluster that can't be listed is still whole.
  bool Prepare();
  // What is to be deleted first of what Prepare() listed.
  const std::vector<FirstDelete>& first_deletes() const { return first_deletes_; }
  // `order` is what a look after Prepare() came to; its marks say that deletes are begun.
  void Begin(const DeletionOrder& order);

  // Once it is begun: deletes all members, wave by wave, until `deadline`; then what is left is
  // sent for deletion at once. Can't be stopped. May be called again, for what has appeared since.
  Outcome DeleteMembers(MonotonicTime deadline);

  // After the members: leaves to the garbage collector what the master pod mounts, and deletes the
  // master root. Ends only when that delete was accepted (kDone), or with one of the other
  // outcomes.
  // The claims of a StatefulSet that is the root are waited for until `deadline`.
  Outcome DeleteRoot(MonotonicTime deadline);

  // For when somebody else deletes the master root: deletes the members that are listed now, until
  // `deadline`, or until `may_go_on`, asked before each further pass, says no. True: all are gone.
  bool FinishMembers(MonotonicTime deadline, const std::function<bool()>& may_go_on);

  // One pass of deletes with dryRun=All: nothing changes. What would be deleted: "service/x".
  std::vector<std::string> Rehearse();

  // What was done so far; without the time it took.
  DeletionReport Report() const;
  const std::vector<std::string>& overdue() const { return overdue_; }  // left at the deadline
  // The first of what was deleted: "service/x".
  const std::vector<std::string>& first_deleted() const { return deletes_.first_deleted(); }

 private:
  struct Pass {
    std::size_t remaining = 0;
    bool all_sent = true;  // false: the delete of something that is due wasn't accepted
    std::vector<std::string> not_gone;  // "service/x"
  };

  RootState ReadRoot();
  bool NamesUs(const Marks& marks) const;
  bool IsOvertaken() const;
  // Whether nothing is deleted yet, as far as we know.
  bool IsWhole() const;
  // Whether the cluster is whole, and isn't known to be condemned and abandoned any more.
  bool IsStale(RootState root) const;
  std::optional<Outcome> WhyNotRoot(RootState state) const;
  void RestoreMarks();
  // Learns from the root's state, read after a list, what that list tells: whether the objects in
  // it are the cluster's members (true), or only those that were listed before.
  bool LearnWhatIsListed(RootState root, bool complete);
  // Only what was made before the root was last seen counts as a member from now on.
  void CountOnlyOlderThanRoot();
  MemberPass Sort(std::vector<KubeObject> objects, bool counts_as_listed);
  Pass DeletePass(MemberPass members, bool past_deadline);
  bool SendDue(std::vector<const KubeObject*> due, bool past_deadline);
  // Sends those that have to be deleted with Orphan, and takes them out of `due`.
  bool SendOrphaning(std::vector<const KubeObject*>& due, bool past_deadline);
  bool MustOrphan(const KubeObject& object, bool past_deadline);
  // Deletes what has lost its owner so. How many are left of it.
  std::size_t DeleteOrphans(bool past_deadline);
  void DeleteOrphansOfRoot();
  void MarkOrphans();
  bool IsNamed(const KubeObject& object) const;
  bool IsDue(const KubeObject& object, bool past_deadline) const;
  void NameOverdue(const Pass& pass, const std::vector<std::string>& not_listed);
  // True: it needn't be deleted, for it goes with the root, is gone, or is another object now.
  bool HandOver(KubeObject object);
  PropagationPolicy Propagation() const;

  const Tools& tools_;
  WarnOnce warn_once_;
  const ClusterId cluster_;
  const KubeObject as_seen_;      // the master root, as the first look saw it
  Marks marks_;                   // as they are written
  EvidenceSince seen_abandoned_;  // asked before each send while the cluster is whole
  std::optional<WallTime> root_seen_at_;
  std::string root_seen_version_;
  const MonotonicTime since_;
  MasterRoot root_;
  MemberListing listing_;
  Orphans orphans_;
  DeletionMemory memory_;
  Deletes deletes_;
  Pace pace_;
  bool needs_evidence_;  // the cluster was whole when this began, so each send needs fresh evidence
  bool resumed_;         // it isn't known yet what the watcher listed that began it
  std::optional<MemberPass> prepared_;  // what Prepare() listed, until that was sent
  std::vector<FirstDelete> first_deletes_;
  std::set<std::string> kept_owners_;  // UIDs of what is above objects that must survive
  bool kept_owners_are_known_ = true;  // of what was listed last
  bool root_deleted_ = false;
  std::vector<KubeObject> mounted_;
  std::vector<std::string> left_;
  std::vector<std::string> overdue_;
};

}  // namespace cluster_watcher

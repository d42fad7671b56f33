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
    kDone,         // no member is left, or the deadline has passed; the root's delete was accepted
    kStale,        // no delete was accepted in time; the marks stay: look again
    kKept,         // somebody annotated the master root to be kept
    kRelabelled,   // the master root is another cluster's now
    kReplaced,     // another object has the master root's name: somebody's new cluster
    kOtherMaster,  // the master root is going or gone, or only a member stood for it, and another
                   // master of the cluster is there
    kOvertaken,    // the marks name another watcher, which finishes it
    kHeld,         // an admission policy, such as the brake, refuses marks; those there are stay
    kGivenUp,      // the master root's delete isn't accepted, and who deletes gives up
    kCalledOff,    // the marks no longer name us, and the cluster isn't proven half
  };

  // The marks of `condemned` name us. `since`: when the deletion began, for metrics. If they say
  // that deletes are begun, the cluster is proven half.
  Deletion(const Tools& tools, const DeletionOrder& condemned, MonotonicTime since);

  // Lists the members, for a deletion that isn't begun yet, and does all that has to be done before
  // the first deletes. False: too little could be listed or done; call it again on another
  // Deletion, after another look. A cluster that can't be listed is still whole. `tried_since`:
  // when the first of these was called.
  // `again`: what an earlier one prepared has come to nothing.
  bool Prepare(MonotonicTime tried_since, bool again);
  // What is to be deleted first of what Prepare() listed, and what loses its owner so.
  const std::vector<FirstDelete>& first_deletes() const { return first_deletes_; }
  // `order` is what a look after Prepare() came to; its marks say that deletes are begun.
  void Begin(const DeletionOrder& order);

  // Once it is begun: deletes all members, wave by wave, until `deadline`; then what is left is
  // sent for deletion at once. Can't be stopped. May be called again, for what has appeared since.
  Outcome DeleteMembers(MonotonicTime deadline);

  // After the members: leaves to the garbage collector what the master pod mounts, but for claims,
  // which are deleted, and deletes the master root. Ends only when that delete was accepted
  // (kDone), or with one of the other outcomes. The claims of a StatefulSet that is the root are
  // waited for until `deadline`.
  Outcome DeleteRoot(MonotonicTime deadline);

  // For when somebody else deletes the master root: deletes the members that are listed now, until
  // `deadline`, or until `look_again`, asked before each further pass, and before the first if its
  // evidence has grown old, brings no new evidence. True: all are gone. As long as the brake is on
  // it waits; `tell_that_it_is_held` is called then, each time it has asked.
  bool FinishMembers(MonotonicTime deadline,
                     const std::function<std::optional<EvidenceSince>()>& look_again,
                     const std::function<void()>& tell_that_it_is_held);

  // For a cluster without a master root, or with several, or one that somebody else deletes:
  // deletes the members of `first`, which was just listed, without marks, until `deadline` or until
  // there is a master that wasn't there. False: some are left, or policy() says why none goes.
  bool DeleteListed(MonotonicTime deadline, MemberListing::Listed first);
  // What is still there of the cluster as the look saw it, its master root included, and is to go;
  // nullopt: that isn't known.
  std::optional<std::vector<std::string>> Remaining();

  // Whether nothing is deleted yet, as far as we know.
  bool IsWhole() const;
  // The cluster is spared: what was handed over to the root so far no longer goes with it.
  void TakeBack();

  // One pass of deletes with dryRun=All: nothing changes. What would be deleted: "service/x".
  std::vector<std::string> Rehearse();

  // What was done so far; without the time it took.
  DeletionReport Report() const;
  const std::vector<std::string>& overdue() const { return overdue_; }  // left at the deadline
  // What that policy says.
  const std::string& policy() const { return policy_; }
  // Whether a delete was sent of which it isn't known what came.
  bool any_open() const { return deletes_.open() > 0; }
  // The first of what was deleted: "service/x".
  const std::vector<std::string>& first_deleted() const { return deletes_.first_deleted(); }

 private:
  struct Pass {
    std::size_t remaining = 0;
    bool all_sent = true;           // false: the delete of something that is due wasn't accepted
    std::vector<std::string> left;  // "service/x: not gone by the deadline"
  };

  RootState ReadRoot();
  bool NamesUs(const Marks& marks) const;
  bool IsOvertaken() const;
  // Whether the cluster is whole, and isn't known to be condemned and abandoned any more.
  bool IsStale(RootState root) const;
  bool IsEvidenceOld() const;
  bool GivesUp(MonotonicTime deadline) const {
    return tools_.gives_up && tools_.clock.Now() >= deadline;
  }
  // Whether the brake is on, as far as it is known. `refusal`: what a policy just said that refused
  // a delete; empty if none did.
  bool IsHeld(const std::string& refusal = {});
  bool MaySend() const;
  std::optional<Outcome> WhyNotRoot(RootState state) const;
  enum class Standing { kOurs, kCalledOff, kUnknown };
  // Whether the deletion, by the marks on the root as it was read, is still ours. Marks that were
  // taken off are written again if the cluster is half.
  Standing RestoreMarks();
  // Its marks, before deletes are begun.
  AnnotationChanges PointOfNoReturn() const;
  // Whether the root no longer is the cluster's master and among `objects`, all of the cluster, is
  // another one than the root and what it left.
  bool IsSomebodyElses(RootState root, const KubeObjects& objects) const;
  // Another master of the cluster among `objects`, by the template of its pods where it has none
  // yet; one that can't be read counts. nullptr: there is none.
  const KubeObject* FindNewMaster(const KubeObjects& objects) const;
  // Learns from the root's state, read after a list, what that list tells: whether the objects in
  // it are the cluster's members (true), or only those that were listed before.
  bool LearnWhatIsListed(RootState root, bool complete);
  // Only what was made before the root was last seen counts as a member from now on.
  void CountOnlyOlderThanRoot();
  void CountOnlyOlderThanDeletion();
  // Takes the objects out of `listed`.
  MemberPass Sort(MemberListing::Listed& listed, bool counts_as_listed);
  // Whether it is no longer waited for.
  bool CountsAsGone(const KubeObject& object) const {
    return object.meta.deleting && (!tools_.awaits_end || tools_.hurry.stop_requested());
  }
  // Whether anything but the master root owns it.
  bool HasOtherOwner(const KubeObject& object) const;
  // Chooses what is deleted first. False: nothing can be yet.
  bool ChooseFirst(bool late);
  Pass DeletePass(const MemberPass& members, bool past_deadline);
  bool SendDue(std::vector<const KubeObject*> due, bool past_deadline);
  bool SendFirst(std::vector<const KubeObject*> named, PropagationPolicy propagation);
  // Sends those that have to be deleted with Orphan, and takes them out of `due`.
  bool SendOrphaning(std::vector<const KubeObject*>& due, bool past_deadline);
  bool MustOrphan(const KubeObject& object, bool past_deadline);
  bool FindOrphansOf(const std::vector<const KubeObject*>& owners, bool past_deadline);
  // Whether it was long enough not known what is above objects that must survive.
  bool HasWaitedForKeptOwners() const;
  // Deletes what has lost its owner so, and adds to `pass` what is left of it.
  void DeleteOrphans(bool past_deadline, Pass& pass);
  bool IsLetGo(const KubeObject& object) const;
  // Reads the root after a delete of it that may have been carried out.
  RootState AwaitRoot();
  void SendClaimsBehindRoot();
  void DeleteOrphansOfRoot();
  // kAgain: some have to be tried again; kSome: what was sent may have left others behind.
  enum class OrphansSent { kAgain, kSome, kNone };
  OrphansSent SendOrphansOfRoot(bool late);
  bool IsOrphan(const std::string& uid) const;
  // Whether somebody has made a cluster of that name again; nullopt: that isn't known yet.
  // `late`: a kind that runs no pods may be missing from the list.
  std::optional<bool> IsMadeAnew(bool late);
  // `pod` is our own, which has lost its controller; then it is as it was written. False: to write
  // it failed in passing.
  bool MarkAsRoot(KubeObject& pod);
  void DeleteMountedClaims(std::vector<KubeObject>& claims);
  bool ReadAgain(KubeObject& object);
  bool MayRootGo(bool mounts_claims);
  void DeleteBehindRoot(const std::vector<KubeObject>& mounted);
  // One more pass over what is left of the members. What the root was like behind its list.
  RootState DeleteLeft();
  bool IsNamed(const std::string& object) const;
  void NameLeft(const std::string& object);
  void NameClaimsLeft();
  // False: they aren't marked, and their owners can't go yet.
  bool MarkOrphans(bool past_deadline);
  bool IsDue(const KubeObject& object, bool past_deadline) const;
  void NameOverdue(const Pass& pass, const std::vector<std::string>& not_listed);
  // True: it needn't be deleted, for it goes with the root, is gone, is to be left now, or is
  // another object. False: `object` is as it was last read.
  bool HandOver(KubeObject& object);
  Result<Done, ApiError> TakeBack(const KubeObject& object);
  PropagationPolicy Propagation() const;

  const Tools& tools_;
  WarnOnce warn_once_;
  const ClusterId cluster_;
  const KubeObject as_seen_;               // the master root, as the first look saw it
  const std::optional<KubeObject> owner_;  // as that look saw it; nullopt: it is gone
  Marks marks_;                            // as they are written
  EvidenceSince seen_abandoned_;           // asked before each send while the cluster is whole
  std::optional<WallTime> root_seen_at_;
  std::string root_seen_version_;
  const bool is_stand_in_;           // what stands for the master root is a member
  WallTime::duration server_ahead_;  // the API server's clock, of ours
  const MonotonicTime since_;
  MasterRoot root_;
  MemberListing listing_;
  Orphans orphans_;
  DeletionMemory memory_;
  Deletes deletes_;
  Pace pace_;
  bool is_repeated_ = false;  // an earlier deletion has come to nothing
  bool needs_evidence_;  // the cluster was whole when this began, so each send needs fresh evidence
  bool finishes_ = false;      // what somebody else has begun
  bool root_is_gone_ = false;  // as it was read last
  bool is_without_root_ = false;
  bool root_forbids_ = false;  // to delete more, as it was read last, in the middle of a pass
  bool resumed_;               // it isn't known yet what the watcher listed that began it
  // What Prepare() listed, until that was sent.
  struct Prepared {
    MemberPass members;
    bool complete;
    std::vector<std::string> failed;  // why kinds could not be listed
  };
  std::optional<Prepared> prepared_;
  std::vector<FirstDelete> first_deletes_;
  std::set<std::string> first_uids_;       // of what is deleted first
  std::set<std::string> first_orphaning_;  // UIDs of those that are deleted with Orphan
  std::set<std::string> kept_owners_;      // UIDs of what is above objects that must survive
  // Since when it isn't known of what is listed; nullopt: it is.
  std::optional<MonotonicTime> kept_owners_unknown_since_;
  enum class FirstSent { kNone, kRefused, kFailed };
  FirstSent first_sent_ = FirstSent::kNone;  // what came of them while the cluster is whole
  bool members_left_ = false;                // at the deadline, as far as known
  std::set<std::string> terminating_;        // UIDs of members that were seen so
  bool root_orphaned_ = false;               // its delete was sent with Orphan, so our pod stays
  bool root_deleted_ = false;
  KubeObjects mounted_;
  std::vector<KubeObject> handed_;  // to the root
  std::vector<std::string> left_;
  std::vector<std::string> overdue_;
  std::string policy_;
};

}  // namespace cluster_watcher

// Deletes a condemned cluster: its members side by side, each by the UID that was listed, until
// nothing of it is left; then the master root. Errors are retried.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "watcher/deletion/deletes.h"
#include "watcher/deletion/deletion_order.h"
#include "watcher/deletion/member_listing.h"
#include "watcher/deletion/members.h"
#include "watcher/deletion/pace.h"
#include "watcher/deletion/tools.h"
#include "watcher/protocol/master_root.h"
#include "watcher/reporting/deletion_report.h"
#include "watcher/reporting/warn_once.h"

namespace cluster_watcher {

// The point of no return is not written on older evidence, and the first delete isn't sent on
// evidence twice as old.
inline constexpr Duration kFreshEvidence{5'000};

class Deletion {
 public:
  enum class Outcome {
    kDone,       // no member is left, or the deadline has passed; the root's delete was accepted
    kCalledOff,  // before the first delete somebody took our marks off, or deleted the root
    kStale,      // the first delete could not be sent in time; the marks stay: look again
    kReplaced,   // another object has the master root's name: somebody's new cluster
    kOvertaken,  // the marks name another watcher, which finishes it
  };

  // The marks of `condemned` name us. `since`: when the deletion began, for metrics.
  Deletion(const Tools& tools, const DeletionOrder& condemned, MonotonicTime since);

  // Deletes all members, wave by wave, until `deadline`; then what is left is sent for deletion at
  // once. Can't be stopped. May be called again, for what has appeared since.
  Outcome DeleteMembers(MonotonicTime deadline);

  // After the members: leaves to the garbage collector what the master pod mounts, and deletes the
  // master root, unless it is kept. Ends only when that delete was accepted (kDone), or the root is
  // kReplaced or kOvertaken.
  Outcome DeleteRoot();

  // For when somebody else deletes the master root: deletes the members that are listed now, until
  // `deadline`, or until `may_go_on`, asked before each further pass, says no. True: all are gone.
  bool FinishMembers(MonotonicTime deadline, const std::function<bool()>& may_go_on);

  // One pass of deletes with dryRun=All: nothing changes. What would be deleted: "service/x".
  std::vector<std::string> Rehearse();

  // What was done so far; without the time it took.
  DeletionReport Report() const;
  const std::vector<std::string>& overdue() const { return overdue_; }  // left at the deadline

 private:
  struct Pass {
    std::size_t remaining = 0;
    bool all_sent = true;  // false: the delete of something that is due wasn't accepted
    std::vector<std::string> not_gone;  // "service/x"
  };

  RootState ReadRoot();
  bool NamesUs(const Marks& marks) const;
  bool IsOvertaken() const;
  bool WriteMarks(AnnotationChanges changes, std::optional<Duration> timeout = std::nullopt);
  // Writes that deletes are begun, if the cluster is still as the look saw it. nullopt: it is
  // begun, or may be tried again.
  std::optional<Outcome> Begin(RootState root, bool may_begin);
  void RestoreMarks();
  // Learns from the root's state, read after a list, what that list tells: whether the objects in
  // it are the cluster's members (true), or only those that were listed before.
  bool LearnWhatIsListed(RootState root, bool complete);
  Pass DeletePass(std::vector<KubeObject> objects, bool counts_as_listed, bool past_deadline);
  bool IsDue(const KubeObject& object, bool past_deadline) const;
  void NameOverdue(const Pass& pass);
  // True: it needn't be deleted, for it goes with the root, is gone, or is another object now.
  bool HandOver(KubeObject object);
  PropagationPolicy Propagation() const;

  const Tools& tools_;
  WarnOnce warn_once_;
  const ClusterId cluster_;
  const KubeObject as_seen_;  // the master root, as the look saw it
  const Marks marks_;         // as they are written
  const MonotonicTime seen_abandoned_;
  const std::optional<WallTime> root_seen_at_;
  const MonotonicTime since_;
  MasterRoot root_;
  MemberListing listing_;
  DeletionMemory memory_;
  Deletes deletes_;
  Pace pace_;
  bool begun_;
  bool resumed_;  // it isn't known yet what the watcher listed that began it
  bool root_deleted_ = false;
  std::vector<KubeObject> mounted_;
  std::vector<std::string> left_;
  std::vector<std::string> overdue_;
};

}  // namespace cluster_watcher

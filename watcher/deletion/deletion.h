// Deletes a condemned cluster in passes: each lists the members, reads the master root, and sends
// the deletes that are due, each by the UID that was listed. The root goes last. Errors are
// retried. Until the first delete is accepted the cluster is whole, and each send needs fresh
// evidence; until the root's is, evidence of the last minute.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "watcher/deletion/deletes.h"
#include "watcher/deletion/deletion_order.h"
#include "watcher/deletion/mandate.h"
#include "watcher/deletion/members.h"
#include "watcher/deletion/pace.h"
#include "watcher/deletion/pass_plan.h"
#include "watcher/deletion/pass_reader.h"
#include "watcher/deletion/tools.h"
#include "watcher/reporting/deletion_report.h"
#include "watcher/reporting/warn_once.h"

namespace cluster_watcher {

class Deletion {
 public:
  // The marks of `condemned` name us. `began`: when the deletion began, for metrics.
  Deletion(const Tools& tools, const DeletionOrder& condemned, MonotonicTime began);
  Deletion(const Deletion&) = delete;
  Deletion& operator=(const Deletion&) = delete;

  // Goes on with what another look came to. While the cluster is whole, what was listed before it
  // is sent on its evidence: on a slow API server that would not last for another list.
  void Take(const DeletionOrder& order);

  // Goes on without one, for as long as one lasts, or until the root can't be read.
  void GoOn(const DeletionOrder& last);

  // Whether the root, which is read, says that nothing more may be deleted.
  bool HasEnded();

  // Whether the root would take along what is annotated to be kept, before anything is deleted.
  bool FindWhyRootStays();

  // Deletes all members, wave by wave, until `deadline`; then what is left is sent for deletion at
  // once, and tried until it is terminating or refused permanently. May be called again, for what
  // has appeared since.
  DeletionEnd DeleteMembers(MonotonicTime deadline);

  // After the members: deletes those that the master pod needs, NetworkPolicies, and the root.
  DeletionEnd DeleteRoot(MonotonicTime deadline) { return RunPasses(deadline, true); }

  // Waits for the end, see AwaitGone.
  DeletionEnd Await(MonotonicTime deadline, const std::stop_token& stop);

  // For a cluster without a master root, or with several, that a person wants to go: deletes the
  // members that are listed now, without marks, until `deadline`. `read_other_master` reads whether
  // there is a master that wasn't there: kOurs, kGone or kUnknown.
  DeletionEnd DeleteListed(MonotonicTime deadline, std::function<RootState()> read_other_master);

  // Whether nothing is deleted for certain.
  bool IsWhole() const { return deletes_.sent().IsWhole(); }
  // Whether a delete was accepted.
  bool HasDeleted() const { return deletes_.sent().any_accepted; }

  // One pass of deletes with dryRun=All: nothing changes. What would be deleted: "service/x".
  std::vector<std::string> Rehearse();

  // Reports what was done so far; without the time it took.
  DeletionReport Report() const;
  const std::vector<std::string>& overdue() const { return left_.overdue; }  // left at the deadline
  // The words of the policy that holds the deletion.
  const std::string& policy() const { return left_.policy; }
  // Why the master root must stay.
  const std::string& root_held_back() const { return left_.root_held_back; }
  // Names what of the last list nobody has deleted: "service/x", claims that should have been
  // marked for collection, and kinds that could not be listed.
  std::vector<std::string> Remaining() const;
  // Names what is still there past the deadline, and why.
  std::vector<std::string> StillThere() const;
  // The first of what was deleted, or may be: "service/x".
  const std::vector<std::string>& first_deleted() const { return deletes_.first_deleted(); }

 private:
  DeletionEnd RunPasses(MonotonicTime deadline, bool with_root);
  // One pass; nullopt: another one follows.
  std::optional<DeletionEnd> RunPass(bool late, bool with_root);
  PassTerms Terms(bool late, bool with_root) const;
  void TakeSettings(const DeletionOrder& order);
  // kGivenUp, or nullopt: tries on.
  std::optional<DeletionEnd> GivenUp() const;
  PassEnd Conclude(bool late, bool with_root);
  void LetGoOfClaims();
  void NameLeft(bool late);
  void SayWhatRemains();
  // Sends `last`, and the root. True: its delete was accepted.
  bool SendRoot(const PassEnd& end);
  // Whether the root's delete was sent, and may have been carried out.
  bool IsRootInDoubt() const { return deletes_.sent().unanswered.contains(as_seen_.meta.uid); }
  // Ends as if it had been answered.
  DeletionEnd EndWithRoot(bool late);
  // Marks and unmarks claims, where they had to wait for the root's delete.
  void SettleClaims();

  const Tools& tools_;
  WarnOnce warn_once_;
  const ClusterId cluster_;
  const KubeObject as_seen_;  // the master root, as the first look saw it
  const MonotonicTime began_;
  DeletionMemory memory_;
  Deletes deletes_;
  Mandate mandate_;
  PassReader reader_;
  Pace pace_;
  std::optional<PassView> view_;
  bool is_taken_ = false;  // a look was taken since the view was read, which may be sent on it
  // Passes after the deadline.
  struct {
    int all = 0;
    int blind = 0;         // the last ones, in a row, that could not list a kind
    MonotonicTime said{};  // when it was last said what remains
  } late_;
  // Why not all is gone.
  struct {
    std::vector<std::string> overdue;
    std::string policy;
    std::string root_held_back;
  } left_;
};

}  // namespace cluster_watcher

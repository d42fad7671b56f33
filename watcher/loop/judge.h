// Decides on each look, and counts: a cluster is to be condemned only after several abandoned
// verdicts in a row that span the grace period, and only if no other driver uses it.
#pragma once

#include <optional>

#include "watcher/decision/confirmation.h"
#include "watcher/decision/rules.h"
#include "watcher/deletion/tools.h"
#include "watcher/observation/observer.h"

namespace cluster_watcher {

class Judge {
 public:
  Judge(const Tools& tools, Observer& observer) : tools_(tools), observer_(observer) {}

  // Decides on the sure look that has just ended. Other drivers are looked for when the
  // confirmations are complete, and as long as one of them overrules.
  Decision DecideOn(const Snapshot& snapshot, const std::stop_token& stop);

  // To condemn the cluster was refused by an admission policy. From now on each abandoned verdict
  // asks for it, and counts only once it no longer refuses.
  void NotePolicy() { policy_refuses_ = true; }

  // Whether the verdicts so far suffice to condemn the cluster, and our pod may still do that: one
  // that is terminating may be killed before the deletion has ended.
  bool MayCondemn() const { return IsConfirmed() && !pod_terminating_; }
  // The count starts again.
  void Reset() { confirmation_.Reset(); }
  const Confirmation& confirmation() const { return confirmation_; }

  // How far an abandoned cluster is on its way, if nothing changes; only if one verdict counts.
  Abandonment AbandonmentNow() const;

 private:
  bool IsConfirmed() const;
  Decision AskPolicy(const Snapshot& snapshot, Decision decision);

  const Tools& tools_;
  Observer& observer_;
  Confirmation confirmation_;
  bool overruled_ = false;  // the last verdict, for another driver's sake
  bool pod_terminating_ = false;
  bool policy_refuses_ = false;
};

// The time between two polls varies from this percentage of the poll interval to 200 less it.
inline constexpr int kLeastOfInterval = 90;

}  // namespace cluster_watcher

// Decides on each look, and counts: a cluster is to be condemned only after several abandoned
// verdicts in a row that span the grace period, and only if no other driver uses it. Where many
// clusters of the namespace lost their drivers at once, the grace period is longer.
#pragma once

#include <algorithm>
#include <optional>

#include "watcher/decision/confirmation.h"
#include "watcher/decision/rules.h"
#include "watcher/decision/surge.h"
#include "watcher/deletion/tools.h"
#include "watcher/observation/observer.h"
#include "watcher/reporting/warn_once.h"

namespace cluster_watcher {

class Judge {
 public:
  Judge(const Tools& tools, Observer& observer)
      : tools_(tools), observer_(observer), warn_once_(tools.log) {}

  // Decides on the sure look that has just ended. Other drivers are looked for when the
  // confirmations are complete, and as long as one of them overrules. Clusters that were abandoned
  // at the same time are counted then, too, once, and not before this one is marked.
  Decision DecideOn(const Snapshot& snapshot, const std::stop_token& stop);

  // An admission policy refused the condemnation. From now on each abandoned verdict
  // asks for it, and counts only once it no longer refuses.
  void NotePolicy() { refuses_ = std::max(refuses_, Refuses::kDeletion); }
  // The guard refused another mark: that is told while all is well, too.
  void NoteGuard() { refuses_ = Refuses::kEachMark; }

  // Whether the verdicts so far suffice to condemn the cluster, and our pod may still do that: one
  // that is terminating may be killed before the deletion has ended.
  bool IsDue() const { return IsConfirmed() && !pod_terminating_; }
  // Whether it is known as well that there is no surge, or that it was waited out.
  bool MayCondemn() const { return IsDue() && !MustCount(); }
  // The count starts again.
  void Reset();
  const Confirmation& confirmation() const { return confirmation_; }
  const Surge& surge() const { return surge_; }

  // How far an abandoned cluster is on its way, if nothing changes; only if one verdict counts.
  Abandonment AbandonmentNow() const;

 private:
  bool IsConfirmed() const;
  // Whether a surge, which is still to be looked for, would lengthen the grace period.
  bool MustCount() const;
  // Whether those who count see this cluster. Where all do that before they count, the last one
  // sees all.
  bool IsMarked(const Snapshot& snapshot) const;
  Decision LookForOthers(const Snapshot& snapshot, const Decision& decision,
                         const std::stop_token& stop);
  void Lengthen();

  const Tools& tools_;
  Observer& observer_;
  WarnOnce warn_once_;
  Confirmation confirmation_;
  Surge surge_;
  bool overruled_ = false;  // the last verdict, for another driver's sake
  bool pod_terminating_ = false;
  // Refused by an admission policy.
  enum class Refuses { kNothing, kDeletion, kEachMark } refuses_ = Refuses::kNothing;
};

// A controller writes status soon after its object was written: the next look takes this long.
inline constexpr Duration kControllersTake{200};
// The time between two polls varies from this percentage of the poll interval to 200 less it.
inline constexpr int kLeastOfInterval = 90;

}  // namespace cluster_watcher

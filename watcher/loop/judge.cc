#include "watcher/loop/judge.h"

#include <algorithm>

#include "watcher/decision/refusal.h"
#include "watcher/deletion/judged_look.h"
#include "watcher/protocol/master_root.h"

namespace cluster_watcher {

Decision Judge::DecideOn(const Snapshot& snapshot, const std::stop_token& stop) {
  if (snapshot.root_changed) confirmation_.Reset();
  pod_terminating_ = snapshot.IsPodTerminating();
  Decision decision =
      overruled_ ? DecideWithOthers(observer_, snapshot, stop) : Decide(snapshot.facts);
  if (decision.abandoned() && policy_refuses_) decision = AskPolicy(snapshot, std::move(decision));
  if (decision.abandoned()) {
    const Duration grace = GraceFor(*tools_.settings, decision.reason, snapshot.seen);
    confirmation_.Add(snapshot.OwnerIdentity(), grace, snapshot.began, tools_.clock.Now(),
                      TerminatesIn(snapshot.facts));
    if (IsConfirmed() && !overruled_) decision = DecideWithOthers(observer_, snapshot, stop);
  }
  if (!decision.abandoned()) confirmation_.Reset();
  if (decision.overruled && !overruled_) {
    tools_.metrics.Refused(ToString(RefusalOf(decision.reason)));
  }
  overruled_ = decision.overruled;
  return decision;
}

Decision Judge::AskPolicy(const Snapshot& snapshot, Decision decision) {
  if (!snapshot.root) return decision;
  const auto policy = MasterRoot(tools_.client, *snapshot.root).PolicyAgainstMarks();
  policy_refuses_ = policy.has_value();
  return policy ? HeldByPolicy(std::move(decision), *policy) : decision;
}

bool Judge::IsConfirmed() const {
  return confirmation_.IsConfirmed(tools_.settings->confirmations);
}

Abandonment Judge::AbandonmentNow() const {
  const Settings& settings = *tools_.settings;
  const MonotonicTime now = tools_.clock.Now();
  const MonotonicTime due = confirmation_.Earliest(settings.confirmations,
                                                   settings.poll_interval * kLeastOfInterval / 100);
  return {std::chrono::duration_cast<Duration>(now - confirmation_.Began()), confirmation_.count(),
          std::max(Duration(0), std::chrono::duration_cast<Duration>(due - now)), settings.dry_run};
}

}  // namespace cluster_watcher

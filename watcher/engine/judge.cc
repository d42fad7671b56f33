#include "watcher/engine/judge.h"

#include <algorithm>
#include <utility>

#include "watcher/deletion/judged_look.h"
#include "watcher/engine/surge_search.h"

namespace cluster_watcher {

Decision Judge::DecideOn(const Snapshot& snapshot, const std::stop_token& stop) {
  if (snapshot.root_changed) confirmation_.Reset();
  pod_terminating_ = snapshot.IsPodTerminating();
  Decision decision =
      overruled_ ? DecideWithOthers(observer_, snapshot, stop) : Decide(snapshot.facts);
  const bool is_concerned = refuses_ != Refuses::kNothing &&
                            (decision.abandoned() || (refuses_ == Refuses::kEachMark &&
                                                      decision.reason == Reason::kActive));
  if (is_concerned && snapshot.root) {
    const Reason before = decision.reason;
    // The pod of a sweep's look is the cluster's, and not its own.
    const auto pod = tools_.settings->pod.empty() ? std::nullopt : PodOf(snapshot);
    decision = AskPolicy(tools_.client, pod, snapshot, std::move(decision));
    if (decision.reason == before) refuses_ = Refuses::kNothing;
  }
  if (decision.abandoned()) {
    const Duration grace = GraceFor(*tools_.settings, decision.reason, snapshot.seen);
    confirmation_.Add(snapshot.OwnerIdentity(), grace, snapshot.when.began, tools_.clock.Now(),
                      TerminatesIn(snapshot.facts));
    surge_.Add(decision.reason, confirmation_.count() == 1, ServerNow(snapshot, tools_.clock),
               snapshot.marks.abandoned_since);
    Lengthen();
    if (IsConfirmed()) decision = LookForOthers(snapshot, decision, stop);
  }
  if (!decision.abandoned()) confirmation_.Reset();
  if (!decision.abandoned() && decision.reason != Reason::kUnknown) surge_.Reset();
  if (decision.overruled && !overruled_) {
    tools_.metrics.Refused(ToString(RefusalOf(decision.reason)));
  }
  overruled_ = decision.overruled;
  return decision;
}

// The lists of both searches are read side by side, so that counting takes no time of its own.
Decision Judge::LookForOthers(const Snapshot& snapshot, const Decision& decision,
                              const std::stop_token& stop) {
  const Patience patience =
      Patience::OfLook(std::make_shared<LookReads>(tools_.clock, kFreshEvidence), stop);
  Result<std::vector<ApiRequest>, ApiError> lists = std::vector<ApiRequest>();
  const bool counts = MustCount() && IsMarked(snapshot);
  if (counts) lists = MasterRootLists(tools_.discovery, *snapshot.root, patience);
  Decision with_others = decision;
  if (!overruled_) {
    with_others = Decide(
        snapshot.facts,
        observer_.FindOtherDrivers(snapshot, patience, lists ? *lists : std::vector<ApiRequest>()));
  }
  if (!with_others.abandoned() || !counts) return with_others;
  auto surge = lists ? FindSurge(tools_.client, *lists, *snapshot.root, surge_,
                                 tools_.settings->surge_limit, patience)
                     : Unexpected{lists.error()};
  if (surge) {
    surge_.SetCounted(*std::move(surge));
    Lengthen();
  } else {
    warn_once_("whether many clusters are abandoned at once can't be told: " +
               surge.error().message);
  }
  return with_others;
}

void Judge::Lengthen() {
  confirmation_.Lengthen(surge_.why().empty() ? Duration(0) : tools_.settings->surge_grace);
}

bool Judge::IsMarked(const Snapshot& snapshot) const {
  return tools_.settings->dry_run ||
         surge_.IsSaidBy(snapshot.marks.abandoned_since, ServerNow(snapshot, tools_.clock));
}

bool Judge::MustCount() const {
  return tools_.settings->surge_limit > 0 && surge_.since() && !surge_.is_counted() &&
         confirmation_.Grace() < tools_.settings->surge_grace;
}

void Judge::Reset() {
  confirmation_.Reset();
  surge_.Reset();
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
          std::max(Duration(0), std::chrono::duration_cast<Duration>(due - now)), settings.dry_run,
          IsConfirmed() ? "" : surge_.why()};
}

}  // namespace cluster_watcher

#include "watcher/loop/poll_view.h"

#include <string_view>
#include <utility>

namespace cluster_watcher {
namespace {

constexpr Duration kRepeatUnknown = std::chrono::minutes(5);

bool IsInSurge(const std::optional<Abandonment>& on_its_way) {
  return on_its_way && !on_its_way->surge.empty();
}

VerdictWords WordsFor(const Decision& decision, const std::optional<Abandonment>& on_its_way) {
  VerdictWords words;
  words.why = IsInSurge(on_its_way) ? decision.detail + "; " + on_its_way->surge : decision.detail;
  words.why = FitNote("", std::move(words.why), "");  // it may be long, and stays
  words.remedy = decision.remedy();
  return words;
}

}  // namespace

void PollView::Show(const Snapshot& snapshot, const Decision& decision,
                    const std::optional<Abandonment>& on_its_way) {
  Log(snapshot, decision, on_its_way);
  ShowMetrics(snapshot, decision, on_its_way);
  last_reason_ = decision.reason;
  last_in_surge_ = IsInSurge(on_its_way);
}

// One line for each change, and none for each poll: an API server that is away for a night must not
// fill the log.
void PollView::Log(const Snapshot& snapshot, const Decision& decision,
                   const std::optional<Abandonment>& on_its_way) {
  const std::string owner = snapshot.OwnerIdentity();
  const bool other_owner = decision.reason == Reason::kActive && owner != last_owner_logged_;
  const bool changed = decision.reason != last_reason_ || other_owner;
  const bool again = decision.reason == Reason::kUnknown &&
                     decision.detail != last_detail_logged_ &&
                     tools_.clock.Now() - last_logged_ >= kRepeatUnknown;
  const bool surges = IsInSurge(on_its_way) && !last_in_surge_;
  if (!changed && !again && !surges) return;
  last_logged_ = tools_.clock.Now();
  last_detail_logged_ = decision.detail;
  last_owner_logged_ = owner;
  announcer_.Verdict(snapshot, decision, on_its_way);
}

void PollView::ShowMetrics(const Snapshot& snapshot, const Decision& decision,
                           const std::optional<Abandonment>& on_its_way) {
  WatcherMetrics& metrics = tools_.metrics;
  const Facts& facts = snapshot.facts;
  const WallTime now = tools_.clock.WallNow();
  const auto together = metrics.Together();
  metrics.Polled(facts.ObservationText(), tools_.clock.Now() - snapshot.when.began, now);
  metrics.SetDryRun(tools_.settings->dry_run);
  const bool observed = std::string_view(facts.ObservationText()) != "unknown";
  if (observed) {
    const bool found = facts.owner && facts.owner->object;
    metrics.SetOwnerReplicas(found ? facts.owner->fields.replicas : 0);
  }
  metrics.SetVerdict(decision.verdict(), ToString(decision.reason));
  metrics.SetConfirmations(on_its_way ? on_its_way->confirmations : 0);
  if (!decision.abandoned()) abandoned_since_.reset();
  if (decision.abandoned() && !abandoned_since_) abandoned_since_ = now;
  metrics.SetAbandonedSince(abandoned_since_);
  metrics.SetSurge(IsInSurge(on_its_way));
  const bool is_due = on_its_way && !on_its_way->dry_run;
  const auto due = is_due ? std::optional(now + on_its_way->due_in) : std::nullopt;
  metrics.SetDeletionDue(due);
  VerdictWords words = WordsFor(decision, on_its_way);
  words.ns = tools_.settings->ns;
  words.confirmations = tools_.settings->confirmations;
  if (due && snapshot.root) words.hold = HoldCommand(snapshot, *due);
  metrics.Explain(std::move(words));
  if (snapshot.cluster && facts.root_read) {
    const std::string owner = snapshot.OwnerText();
    const char* none = decision.reason == Reason::kShared ? "<shared>" : "<unknown>";
    metrics.SetCluster(snapshot.cluster->name, owner.empty() ? none : owner,
                       owner.empty() ? "" : snapshot.owner_ns);
  }
  if (decision.reason == Reason::kMisconfigured) {
    health_.SetReady(false);
  } else if (observed) {
    health_.SetReady(true);
  }
}

}  // namespace cluster_watcher

#include "metrics/watcher_metrics.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <span>

namespace cluster_watcher {
namespace {

using prometheus::BuildCounter;
using prometheus::BuildGauge;
using prometheus::BuildHistogram;
using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Registry;

constexpr std::string_view kUnknown = "unknown";
constexpr std::array kOutcomes = std::to_array<std::string_view>(
    {"active", "scaled-to-zero", "absent", "replaced", "deleting", "completed", kUnknown, "none"});
constexpr std::array kKeepReasons = std::to_array<std::string_view>(
    {"misconfigured", "shared", "owner-mismatch", "held", kUnknown, "ambiguous", "driver-running",
     "owner-adopted", "shared-by-replicas", "active", "in-use"});
constexpr std::array kAbandonedReasons = std::to_array<std::string_view>(
    {"owner-absent", "owner-deleting", "scaled-to-zero", "completed"});
constexpr std::array kPhases =
    std::to_array<std::string_view>({"watching", "condemned", "deleting", "done"});
constexpr std::array kRefusals =
    std::to_array<std::string_view>({"hold", "conflict", "owner-back", kUnknown, "in-use",
                                     "ambiguous", "driver-running", "uid-changed"});
constexpr std::array kDeleteResults = std::to_array<std::string_view>(
    {"deleted", "not-found", "conflict", "forbidden", "failed", "dry-run"});
constexpr std::array kStepResults =
    std::to_array<std::string_view>({"succeeded", "failed", "timed-out"});
constexpr std::array kWatchRestarts =
    std::to_array<std::string_view>({"closed", "expired", "stalled", "error"});

// From an API server nearby up to a request that times out. Every sidecar has one series for each.
prometheus::Histogram::BucketBoundaries RequestBuckets() { return {0.005, 0.025, 0.1, 0.5, 2.5}; }

template <typename Metric>
Family<Metric>& Register(Registry& registry, prometheus::detail::Builder<Metric> builder,
                         const char* name, const char* help) {
  return builder.Name(name).Help(help).Register(registry);
}

Gauge* RegisterGauge(Registry& registry, const char* name, const char* help) {
  return &Register(registry, BuildGauge(), name, help).Add({});
}

// Adds one series for each word; all words are literals.
template <typename Words, typename Metric>
void AddWords(Words& words, Family<Metric>& family, const char* label,
              std::span<const std::string_view> vocabulary) {
  words.reserve(vocabulary.size());
  for (std::string_view word : vocabulary) {
    words.push_back({word, &family.Add({{label, std::string(word)}})});
  }
}

double UnixSeconds(WatcherMetrics::WallTime time) {
  return WatcherMetrics::Seconds(time.time_since_epoch()).count();
}

double UnixSecondsOrZero(std::optional<WatcherMetrics::WallTime> time) {
  return time ? UnixSeconds(*time) : 0;
}

std::optional<WatcherMetrics::WallTime> TimeOf(const Gauge& gauge) {
  if (gauge.Value() == 0) return std::nullopt;
  return WatcherMetrics::WallTime(std::chrono::duration_cast<WatcherMetrics::WallTime::duration>(
      WatcherMetrics::Seconds(gauge.Value())));
}

}  // namespace

WatcherMetrics::WatcherMetrics(Registry& registry, const std::string& version,
                               const std::string& revision)
    : registry_(registry) {
  Register(registry, BuildGauge(), "cluster_watcher_build_info",
           "Always 1; the labels say which cluster-watcher this is.")
      .Add({{"version", version}, {"revision", revision}})
      .Set(1);
  RegisterPolls(registry);
  RegisterVerdicts(registry);
  RegisterDeletion(registry);
  RegisterPermissions(registry);
  RegisterRequests(registry);
  ChooseOne(owner_.states, Find(owner_.states, kUnknown));
  SetVerdict("keep", kUnknown);
  SetPhase("watching");
}

void WatcherMetrics::RegisterPolls(Registry& registry) {
  AddWords(polls_.results,
           Register(registry, BuildCounter(), "cluster_watcher_polls_total",
                    "Polls of the owner by what they established, whatever the rules made of it."),
           "outcome", kOutcomes);
  polls_.duration = &Register(registry, BuildHistogram(), "cluster_watcher_poll_duration_seconds",
                              "How long a poll took.")
                         .Add({}, RequestBuckets());
  polls_.last_definite = RegisterGauge(
      registry, "cluster_watcher_last_definite_poll_timestamp_seconds",
      "When a poll last established the owner's state, in Unix time; 0 before the first one.");
  AddWords(owner_.states,
           Register(registry, BuildGauge(), "cluster_watcher_owner_state",
                    "The owner's state as the last poll saw it: 1 for that state, else 0."),
           "state", kOutcomes);
  owner_.replicas = RegisterGauge(registry, "cluster_watcher_owner_replicas",
                                  "The replicas that the owner wants, as last seen.");
  owner_.cluster_family = &Register(
      registry, BuildGauge(), "cluster_watcher_cluster_info",
      "Always 1; the labels say which cluster is watched over, and which object is its owner.");
  AddWords(polls_.watch_restarts,
           Register(registry, BuildCounter(), "cluster_watcher_watch_restarts_total",
                    "Watches on the owner that had to be started again, by reason; none while it "
                    "is polled."),
           "reason", kWatchRestarts);
}

void WatcherMetrics::RegisterVerdicts(Registry& registry) {
  Family<Gauge>& family =
      Register(registry, BuildGauge(), "cluster_watcher_verdict",
               "What the rules made of the last poll: 1 for that verdict and reason, else 0.");
  const auto add = [&](std::string_view verdict, std::span<const std::string_view> reasons) {
    for (std::string_view reason : reasons) {
      Gauge& gauge =
          family.Add({{"verdict", std::string(verdict)}, {"reason", std::string(reason)}});
      verdicts_.all.push_back({verdict, reason, &gauge});
    }
  };
  add("keep", kKeepReasons);
  add("abandoned", kAbandonedReasons);
  verdicts_.abandoned_since = RegisterGauge(
      registry, "cluster_watcher_abandoned_since_timestamp_seconds",
      "Since when every verdict has been abandoned, in Unix time; 0 while the cluster is kept.");
  verdicts_.deletion_due =
      RegisterGauge(registry, "cluster_watcher_deletion_due_timestamp_seconds",
                    "When the cluster will be deleted, at the earliest, if nothing "
                    "changes, in Unix time; 0 while it is kept.");
  verdicts_.confirmations =
      RegisterGauge(registry, "cluster_watcher_confirmations",
                    "Consecutive abandoned verdicts that count towards a deletion.");
  AddWords(
      deletion_.phases,
      Register(registry, BuildGauge(), "cluster_watcher_phase",
               "How far this watcher is in taking the cluster down: 1 for that phase, else 0."),
      "phase", kPhases);
  deletion_.dry_run =
      RegisterGauge(registry, "cluster_watcher_dry_run",
                    "1 if nothing is deleted and only shown what would be, else 0.");
  verdicts_.surge = RegisterGauge(registry, "cluster_watcher_surge",
                                  "1 while the grace period is longer because many clusters of the "
                                  "namespace lost their drivers at once, else 0.");
}

void WatcherMetrics::RegisterDeletion(Registry& registry) {
  AddWords(verdicts_.refusals,
           Register(registry, BuildCounter(), "cluster_watcher_refusals_total",
                    "Deletions that were due and were held back or stopped, by reason."),
           "reason", kRefusals);
  Family<Gauge>& members =
      Register(registry, BuildGauge(), "cluster_watcher_members",
               "Members of the cluster that is being deleted: found, and remaining of them.");
  deletion_.members_found = &members.Add({{"state", "found"}});
  deletion_.members_remaining = &members.Add({{"state", "remaining"}});
  deletion_.deletes = &Register(registry, BuildCounter(), "cluster_watcher_deletes_total",
                                "Deletes that were sent, by resource and result.");
  AddWords(deletion_.steps,
           Register(registry, BuildCounter(), "cluster_watcher_steps_total",
                    "Steps before and after the deletion that have ended, by result."),
           "result", kStepResults);
  deletion_.duration =
      RegisterGauge(registry, "cluster_watcher_deletion_duration_seconds",
                    "How long the deletion of the cluster took, or has taken so far; 0 before it.");
  deletion_.deadline =
      RegisterGauge(registry, "cluster_watcher_deletion_deadline_timestamp_seconds",
                    "When the deletion that is under way will have taken too long, in Unix time; 0 "
                    "while there is none.");
}

void WatcherMetrics::RegisterPermissions(Registry& registry) {
  permissions_.family = &Register(registry, BuildGauge(), "cluster_watcher_permission_missing",
                                  "1 for each permission that the account lacks for its work.");
}

void WatcherMetrics::RegisterRequests(Registry& registry) {
  requests_.family = &Register(
      registry, BuildCounter(), "rest_client_requests_total",
      "Requests to the API server by HTTP status (<error> without an answer) and method.");
  requests_.duration = &Register(registry, BuildHistogram(), "rest_client_request_duration_seconds",
                                 "How long a request to the API server took.")
                            .Add({}, RequestBuckets());
  requests_.retries = &Register(registry, BuildCounter(), "rest_client_request_retries_total",
                                "Requests to the API server that were sent again.")
                           .Add({});
}

std::vector<prometheus::MetricFamily> WatcherMetrics::Collect() const {
  const std::lock_guard lock(mutex_);
  return registry_.Collect();
}

WatcherStatus WatcherMetrics::Status() const {
  const std::lock_guard lock(mutex_);
  WatcherStatus now = texts_;
  for (const Verdict& v : verdicts_.all) {
    if (v.gauge->Value() != 1) continue;
    now.verdict = v.verdict;
    now.reason = v.reason;
  }
  for (const Word<Gauge>& phase : deletion_.phases) {
    if (phase.metric->Value() == 1) now.phase = phase.word;
  }
  now.confirmations = static_cast<int>(verdicts_.confirmations->Value());
  now.last_look = TimeOf(*polls_.last_definite);
  now.abandoned_since = TimeOf(*verdicts_.abandoned_since);
  now.deletion_due = TimeOf(*verdicts_.deletion_due);
  now.deletion_deadline = TimeOf(*deletion_.deadline);
  now.deletion_took = Seconds(deletion_.duration->Value());
  now.members_found = static_cast<std::int64_t>(deletion_.members_found->Value());
  now.members_remaining = static_cast<std::int64_t>(deletion_.members_remaining->Value());
  now.dry_run = deletion_.dry_run->Value() == 1;
  return now;
}

template <typename Metric>
Metric* WatcherMetrics::Find(const Words<Metric>& words, std::string_view word) {
  const auto found = std::ranges::find(words, word, &Word<Metric>::word);
  assert(found != words.end() && "not a word of the metrics' contract");
  return found == words.end() ? nullptr : found->metric;
}

void WatcherMetrics::ChooseOne(const Words<Gauge>& words, const Gauge* chosen) {
  for (const Word<Gauge>& word : words) word.metric->Set(word.metric == chosen ? 1 : 0);
}

void WatcherMetrics::Polled(std::string_view outcome, Seconds took, WallTime now) {
  Counter* polls = Find(polls_.results, outcome);
  if (polls == nullptr) return;
  const std::lock_guard lock(mutex_);
  polls->Increment();
  polls_.duration->Observe(took.count());
  if (outcome != kUnknown) polls_.last_definite->Set(UnixSeconds(now));
  ChooseOne(owner_.states, Find(owner_.states, outcome));
}

void WatcherMetrics::SetCluster(const std::string& name, const std::string& owner,
                                const std::string& owner_namespace) {
  const std::lock_guard lock(mutex_);
  Gauge& now = owner_.cluster_family->Add(
      {{"cluster_name", name}, {"owner", owner}, {"owner_namespace", owner_namespace}});
  now.Set(1);
  if (owner_.cluster != nullptr && owner_.cluster != &now)
    owner_.cluster_family->Remove(owner_.cluster);
  owner_.cluster = &now;
  texts_.cluster = name;
  texts_.owner = owner;
  texts_.owner_namespace = owner_namespace;
}

void WatcherMetrics::SetOwnerReplicas(std::int64_t desired) {
  owner_.replicas->Set(static_cast<double>(desired));
}

void WatcherMetrics::SetVerdict(std::string_view verdict, std::string_view reason) {
  const auto is_it = [&](const Verdict& v) { return v.verdict == verdict && v.reason == reason; };
  const bool known = std::ranges::any_of(verdicts_.all, is_it);
  assert(known && "not a verdict of the metrics' contract");
  if (!known) return;
  const std::lock_guard lock(mutex_);
  for (const Verdict& v : verdicts_.all) v.gauge->Set(is_it(v) ? 1 : 0);
}

void WatcherMetrics::Explain(VerdictWords words) {
  const std::lock_guard lock(mutex_);
  texts_.words = std::move(words);
}

void WatcherMetrics::SetAbandonedSince(std::optional<WallTime> since) {
  verdicts_.abandoned_since->Set(UnixSecondsOrZero(since));
}

void WatcherMetrics::SetDeletionDue(std::optional<WallTime> due) {
  verdicts_.deletion_due->Set(UnixSecondsOrZero(due));
}

void WatcherMetrics::SetConfirmations(int count) { verdicts_.confirmations->Set(count); }

void WatcherMetrics::SetPhase(std::string_view phase) {
  const Gauge* chosen = Find(deletion_.phases, phase);
  if (chosen == nullptr) return;
  const std::lock_guard lock(mutex_);
  ChooseOne(deletion_.phases, chosen);
}

void WatcherMetrics::SetDryRun(bool dry_run) { deletion_.dry_run->Set(dry_run ? 1 : 0); }

void WatcherMetrics::SetSurge(bool surge) { verdicts_.surge->Set(surge ? 1 : 0); }

void WatcherMetrics::Refused(std::string_view reason) {
  if (Counter* refusals = Find(verdicts_.refusals, reason)) refusals->Increment();
}

void WatcherMetrics::SetMembers(std::int64_t found, std::int64_t remaining) {
  const std::lock_guard lock(mutex_);
  deletion_.members_found->Set(static_cast<double>(found));
  deletion_.members_remaining->Set(static_cast<double>(remaining));
}

void WatcherMetrics::Deleted(std::string_view resource, std::string_view result) {
  const bool known = std::ranges::find(kDeleteResults, result) != kDeleteResults.end();
  assert(known && "not a result of the metrics' contract");
  if (!known) return;
  deletion_.deletes->Add({{"resource", std::string(resource)}, {"result", std::string(result)}})
      .Increment();
}

void WatcherMetrics::WatchRestarted(std::string_view reason) {
  if (Counter* restarts = Find(polls_.watch_restarts, reason)) restarts->Increment();
}

void WatcherMetrics::StepRun(std::string_view result) {
  if (Counter* steps = Find(deletion_.steps, result)) steps->Increment();
}

void WatcherMetrics::SetDeletionDuration(Seconds took) { deletion_.duration->Set(took.count()); }

void WatcherMetrics::SetDeletionDeadline(std::optional<WallTime> deadline) {
  deletion_.deadline->Set(UnixSecondsOrZero(deadline));
}

void WatcherMetrics::SetMissingPermissions(
    const std::vector<std::pair<std::string, std::string>>& missing) {
  const std::lock_guard lock(mutex_);
  for (Gauge* gauge : permissions_.missing) permissions_.family->Remove(gauge);
  permissions_.missing.clear();
  texts_.missing_permissions.clear();
  for (const auto& [verb, resource] : missing) {
    Gauge& gauge = permissions_.family->Add({{"verb", verb}, {"resource", resource}});
    gauge.Set(1);
    // A permission that is missing in two namespaces has one series.
    if (std::ranges::find(permissions_.missing, &gauge) == permissions_.missing.end()) {
      permissions_.missing.push_back(&gauge);
      texts_.missing_permissions.push_back(verb + " " + resource);
    }
  }
}

void WatcherMetrics::Requested(std::string_view code, std::string_view method, Seconds took) {
  const std::lock_guard lock(mutex_);
  requests_.duration->Observe(took.count());
  auto found = std::ranges::find_if(
      requests_.all, [&](const Requests& r) { return r.code == code && r.method == method; });
  if (found == requests_.all.end()) {
    Counter& counter =
        requests_.family->Add({{"code", std::string(code)}, {"method", std::string(method)}});
    found = requests_.all.insert(found, {std::string(code), std::string(method), &counter});
  }
  found->counter->Increment();
}

void WatcherMetrics::Retried() { requests_.retries->Increment(); }

}  // namespace cluster_watcher

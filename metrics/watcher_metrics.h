// The metric families of the watcher, on a registry from outside. Names, labels and label values
// are a contract with those who build graphs and alerts on them.
//
// Words that label a metric (outcome, reason, phase, ...) are passed as text. A word that isn't in
// the contract is a bug of the caller: an assertion fails; without assertions the call changes
// nothing. `code`, `method`, `resource`, `verb` and the arguments of SetCluster may be any text.
//
// Every method may be called from any thread.
#pragma once

#include <prometheus/collectable.h>
#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/metric_family.h>
#include <prometheus/registry.h>

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "metrics/watcher_status.h"

namespace cluster_watcher {

class WatcherMetrics final : public prometheus::Collectable {
 public:
  using Seconds = std::chrono::duration<double>;
  using WallTime = std::chrono::system_clock::time_point;

  // Registers all families; `registry` must outlive this. Initially the phase is watching, the
  // verdict keep/unknown, the owner state unknown and everything else 0.
  WatcherMetrics(prometheus::Registry& registry, const std::string& version,
                 const std::string& revision);
  WatcherMetrics(const WatcherMetrics&) = delete;
  WatcherMetrics& operator=(const WatcherMetrics&) = delete;

  // Returns a consistent state: where exactly one series of a family is 1, no scrape sees none or
  // two. (The registry's own Collect may run in the middle of a change.)
  std::vector<prometheus::MetricFamily> Collect() const override;

  // Returns the same state for people.
  WatcherStatus Status() const;

  // While a thread holds this lock its changes appear as one; a scrape waits.
  [[nodiscard]] std::unique_lock<std::recursive_mutex> Together() {
    return std::unique_lock(mutex_);
  }

  // Records a poll that ended at `now`. `outcome` becomes the owner's state; every outcome but
  // `unknown` is definite.
  void Polled(std::string_view outcome, Seconds took, WallTime now);
  // Replaces the cluster that is shown and its owner, which is written as kubectl writes it
  // ("deployment.apps/bob"; "<shared>" if there is none, "<unknown>" if it isn't known, both
  // without a namespace).
  void SetCluster(const std::string& name, const std::string& owner,
                  const std::string& owner_namespace);
  void SetOwnerReplicas(std::int64_t desired);
  // Counts a watch that has to be started again: "closed", "expired", "stalled", "error".
  void WatchRestarted(std::string_view reason);
  void SetVerdict(std::string_view verdict, std::string_view reason);
  // The words for this verdict, which only Status shows.
  void Explain(VerdictWords words);
  // When the current run of abandoned verdicts began; nullopt while the cluster is kept.
  void SetAbandonedSince(std::optional<WallTime> since);
  // The earliest time at which the cluster will be deleted if nothing changes; nullopt while it is
  // kept.
  void SetDeletionDue(std::optional<WallTime> due);
  void SetConfirmations(int count);
  void SetPhase(std::string_view phase);
  void SetDryRun(bool dry_run);
  // Whether the grace period is longer because many clusters are abandoned at once.
  void SetSurge(bool surge);

  // Counts a deletion that was due and was held back.
  void Refused(std::string_view reason);
  void SetMembers(std::int64_t found, std::int64_t remaining);
  // A series for each pair that occurs: a sidecar has no more than these during a deletion.
  void Deleted(std::string_view resource, std::string_view result);
  // Counts a finished step of a deletion: "succeeded", "failed", "timed-out".
  void StepRun(std::string_view result);
  void SetDeletionDuration(Seconds took);
  // When the current deletion will have taken too long; nullopt if there is none.
  void SetDeletionDeadline(std::optional<WallTime> deadline);

  // The missing permissions as pairs of verb and resource ("list", "deployments"), as a Role names
  // them: one series for each. Series of earlier calls are removed.
  void SetMissingPermissions(const std::vector<std::pair<std::string, std::string>>& missing);

  // Counts a request to the API server. `code` is the HTTP status, or `<error>` without an answer.
  void Requested(std::string_view code, std::string_view method, Seconds took);
  void Retried();

 private:
  template <typename Metric>
  struct Word {
    std::string_view word;
    Metric* metric;
  };
  template <typename Metric>
  using Words = std::vector<Word<Metric>>;
  struct Verdict {
    std::string_view verdict;
    std::string_view reason;
    prometheus::Gauge* gauge;
  };
  struct Requests {
    std::string code;
    std::string method;
    prometheus::Counter* counter;
  };

  template <typename Metric>
  static Metric* Find(const Words<Metric>& words, std::string_view word);
  static void ChooseOne(const Words<prometheus::Gauge>& words, const prometheus::Gauge* chosen);

  void RegisterPolls(prometheus::Registry& registry);
  void RegisterVerdicts(prometheus::Registry& registry);
  void RegisterDeletion(prometheus::Registry& registry);
  void RegisterPermissions(prometheus::Registry& registry);
  void RegisterRequests(prometheus::Registry& registry);

  prometheus::Registry& registry_;
  // Groups changes of several series; guards the two vectors and the texts.
  mutable std::recursive_mutex mutex_;
  WatcherStatus texts_;  // its numbers, and the words of the contract, are read from the gauges

  struct {
    Words<prometheus::Counter> results;
    prometheus::Histogram* duration = nullptr;
    prometheus::Gauge* last_definite = nullptr;
    Words<prometheus::Counter> watch_restarts;
  } polls_;
  struct {
    Words<prometheus::Gauge> states;
    prometheus::Gauge* replicas = nullptr;
    prometheus::Family<prometheus::Gauge>* cluster_family = nullptr;
    prometheus::Gauge* cluster = nullptr;  // the only series of cluster_family
  } owner_;
  struct {
    std::vector<Verdict> all;
    prometheus::Gauge* abandoned_since = nullptr;
    prometheus::Gauge* confirmations = nullptr;
    prometheus::Gauge* surge = nullptr;
    prometheus::Gauge* deletion_due = nullptr;
    Words<prometheus::Counter> refusals;
  } verdicts_;
  struct {
    Words<prometheus::Gauge> phases;
    prometheus::Gauge* dry_run = nullptr;
    prometheus::Gauge* members_found = nullptr;
    prometheus::Gauge* members_remaining = nullptr;
    prometheus::Family<prometheus::Counter>* deletes = nullptr;
    Words<prometheus::Counter> steps;
    prometheus::Gauge* duration = nullptr;
    prometheus::Gauge* deadline = nullptr;
  } deletion_;
  struct {
    prometheus::Family<prometheus::Gauge>* family = nullptr;
    std::vector<prometheus::Gauge*> missing;
  } permissions_;
  struct {
    prometheus::Family<prometheus::Counter>* family = nullptr;
    std::vector<Requests> all;
    prometheus::Histogram* duration = nullptr;
    prometheus::Counter* retries = nullptr;
  } requests_;
};

}  // namespace cluster_watcher

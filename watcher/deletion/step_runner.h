// Runs the steps of a deletion, one after the other. No step stops a deletion: one that fails or
// takes too long is logged and skipped.
#pragma once

#include <functional>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <spdlog/logger.h>

#include "metrics/watcher_metrics.h"
#include "probes/base/clock.h"
#include "watcher/protocol/steps.h"

namespace cluster_watcher {

// Makes a transport to the server of a step, "http://127.0.0.1:8080". It sends no credentials.
using Dial = std::function<Result<std::unique_ptr<Transport>>(const std::string& server)>;

// Where steps are run.
enum class StepsAt {
  kMaster,     // in the master pod
  kElsewhere,  // outside of it: what only the master pod reaches (kLocal) fails at once
  kNowhere,    // they are passed over
};

// Returns the name of a step in marks: "before-delete/drain".
std::string StepId(const std::string& prefix, const Step& step);

class StepRunner {
 public:
  // `turn` is called before each request and each pause with the time that it may take.
  StepRunner(Dial dial, StepsAt at, Clock& clock, WatcherMetrics& metrics, spdlog::logger& log,
             std::function<void(Duration)> turn);

  StepsAt at() const { return at_; }

  // Runs those of `steps` whose StepId isn't in `done`. Together they may take `allowed`; then the
  // running one is cut off and the rest isn't run. A step that has succeeded, failed without a
  // retry or been cut off is added to `done`, and `finished` is called; the time of that call
  // doesn't count. Returns what went wrong, for people: "drain: HTTP 500".
  std::vector<std::string> Run(const std::vector<Step>& steps, const std::string& prefix,
                               Duration allowed, std::set<std::string>& done,
                               const std::function<void()>& finished);

 private:
  enum class Outcome { kSucceeded, kFailed, kTimedOut };
  struct Attempt {
    Outcome outcome;
    std::string why;
    bool is_final = false;  // another attempt would come to the same
  };

  Attempt RunOne(const Step& step, MonotonicTime deadline);
  Attempt Try(const Step& step, Duration timeout);

  Dial dial_;
  const StepsAt at_;
  Clock& clock_;
  WatcherMetrics& metrics_;
  spdlog::logger& log_;
  std::function<void(Duration)> turn_;
  std::minstd_rand jitter_;
};

}  // namespace cluster_watcher

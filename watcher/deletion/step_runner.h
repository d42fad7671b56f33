// Runs the steps of a deletion, one after the other. Nothing here stops a deletion: what fails, or
// doesn't end in time, is said and passed over.
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

// A transport to the server of a step, "http://127.0.0.1:8080", which sends no credentials.
using Dial = std::function<Result<std::unique_ptr<Transport>>(const std::string& server)>;

// How a step is called in marks: "before-delete/drain".
std::string StepId(const std::string& prefix, const Step& step);

class StepRunner {
 public:
  // `turn` is told before each request how long it may take.
  StepRunner(Dial dial, Clock& clock, WatcherMetrics& metrics, spdlog::logger& log,
             std::function<void(Duration)> turn);

  // Runs those of `steps` that aren't in `done`, by their StepId. All of them
  // together may take as long as is `allowed`; then the one that is running is cut off. Each that
  // has succeeded, or has failed without being retried, or was cut off, is added to `done` and
  // `finished` is called, whose time doesn't count.
  // What went wrong, for people: "drain: HTTP 500".
  std::vector<std::string> Run(const std::vector<Step>& steps, const std::string& prefix,
                               Duration allowed, std::set<std::string>& done,
                               const std::function<void()>& finished);

 private:
  enum class Outcome { kSucceeded, kFailed, kTimedOut };
  struct Attempt {
    Outcome outcome;
    std::string why;
  };

  Attempt RunOne(const Step& step, MonotonicTime deadline);
  Attempt Try(const Step& step, Duration timeout);

  Dial dial_;
  Clock& clock_;
  WatcherMetrics& metrics_;
  spdlog::logger& log_;
  std::function<void(Duration)> turn_;
  std::minstd_rand jitter_;
};

}  // namespace cluster_watcher

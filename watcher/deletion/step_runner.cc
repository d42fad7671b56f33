#include "watcher/deletion/step_runner.h"

#include <algorithm>
#include <utility>

#include "probes/base/duration_text.h"

namespace cluster_watcher {
namespace {

// Only the status of the answer matters.
constexpr std::size_t kBodyLimit = 64u << 10;
constexpr Duration kFirstBackoff{100};
constexpr Duration kLongestBackoff{5'000};

}  // namespace

std::string StepId(const std::string& prefix, const Step& step) { return prefix + "/" + step.name; }

StepRunner::StepRunner(Dial dial, StepsAt at, Clock& clock, WatcherMetrics& metrics,
                       spdlog::logger& log, std::function<void(Duration)> turn)
    : dial_(std::move(dial)),
      at_(at),
      clock_(clock),
      metrics_(metrics),
      log_(log),
      turn_(std::move(turn)) {}

std::vector<std::string> StepRunner::Run(const std::vector<Step>& steps, const std::string& prefix,
                                         Duration allowed, std::set<std::string>& done,
                                         const std::function<void()>& finished) {
  std::vector<std::string> troubles;
  for (const Step& step : steps) {
    const std::string id = StepId(prefix, step);
    if (done.contains(id)) continue;
    if (allowed <= Duration(0)) {
      troubles.push_back(step.name + ": not run, the time for steps is over");
      log_.warn("{} step {}", prefix, troubles.back());
      continue;
    }
    const MonotonicTime began = clock_.Now();
    const Attempt attempt = RunOne(step, began + allowed);
    allowed -= std::chrono::ceil<Duration>(clock_.Now() - began);
    switch (attempt.outcome) {
      case Outcome::kSucceeded:
        metrics_.StepRun("succeeded");
        log_.info("{} step {}: done", prefix, step.name);
        break;
      case Outcome::kFailed:
      case Outcome::kTimedOut:
        metrics_.StepRun(attempt.outcome == Outcome::kFailed ? "failed" : "timed-out");
        troubles.push_back(step.name + ": " + attempt.why);
        log_.warn("{} step {}", prefix, troubles.back());
        break;
    }
    done.insert(id);
    finished();
  }
  return troubles;
}

StepRunner::Attempt StepRunner::RunOne(const Step& step, MonotonicTime deadline) {
  for (Duration backoff = kFirstBackoff;; backoff = std::min(backoff * 2, kLongestBackoff)) {
    const auto left = std::chrono::ceil<Duration>(deadline - clock_.Now());
    const Duration timeout = std::min(step.timeout, left);
    turn_(timeout);
    Attempt attempt = Try(step, timeout);
    const bool again = attempt.outcome != Outcome::kSucceeded && !attempt.is_final &&
                       step.on_failure == OnFailure::kRetry;
    if (!again) return attempt;
    log_.debug("step {}: {}; it is tried again", step.name, attempt.why);
    const auto percent = std::uniform_int_distribution<int>(80, 120)(jitter_);
    const MonotonicTime next = clock_.Now() + backoff * percent / 100;
    turn_(backoff);
    clock_.WaitUntil(std::min(next, deadline), {});
    if (clock_.Now() >= deadline) {
      return {Outcome::kTimedOut, "the time for steps is over; last: " + attempt.why};
    }
  }
}

StepRunner::Attempt StepRunner::Try(const Step& step, Duration timeout) {
  auto transport = dial_(step.server);
  if (!transport) return {Outcome::kFailed, transport.error().message};
  HttpRequest request;
  request.method = step.method;
  request.target = step.target;
  request.called = "/...";  // the path or query may hold a secret
  request.accept = "*/*";
  request.timeout = timeout;
  request.body_limit = kBodyLimit;
  request.cut_body = true;
  const HttpResult result = std::move((*transport)->Perform(std::span(&request, 1), 1, {}).front());
  if (!result && result.error().kind == TransportError::Kind::kLocal) {
    return {Outcome::kFailed, step.server + " is reached only from the master pod", true};
  }
  if (!result) {
    const bool timed_out = result.error().kind == TransportError::Kind::kTimeout;
    return {timed_out ? Outcome::kTimedOut : Outcome::kFailed,
            timed_out ? "no answer within " + FormatDuration(timeout) : result.error().message};
  }
  if (result->status >= 200 && result->status <= 299) return {Outcome::kSucceeded, ""};
  return {Outcome::kFailed, "HTTP " + std::to_string(result->status)};
}

}  // namespace cluster_watcher

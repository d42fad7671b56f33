#include "watcher/deletion/step_runner.h"

#include <algorithm>
#include <utility>

#include "probes/base/duration_text.h"

namespace cluster_watcher {
namespace {

using Outcome = StepAttempt::Outcome;

// Only the status of the answer matters.
constexpr std::size_t kBodyLimit = 64u << 10;
constexpr Duration kFirstStepBackoff{100};
constexpr Duration kLongestStepBackoff{5'000};

}  // namespace

std::string StepId(const std::string& prefix, const Step& step) { return prefix + "/" + step.name; }

StepRunner::StepRunner(Dial dial, StepsAt at, const Tools& tools)
    : dial_(std::move(dial)), at_(at), tools_(tools) {}

std::vector<std::string> StepRunner::Run(const std::vector<Step>& steps, const std::string& prefix,
                                         const Snapshot& look, Duration allowed,
                                         std::set<std::string>& done,
                                         const std::function<bool()>& finished) {
  std::vector<std::string> troubles;
  for (const Step& step : steps) {
    const std::string id = StepId(prefix, step);
    if (done.contains(id)) continue;
    if (allowed <= Duration(0)) {
      troubles.push_back(step.name + ": not run, the time for steps is over");
      tools_.log.warn("{} step {}", prefix, troubles.back());
      continue;
    }
    StepPod pod(tools_, *look.root, look.marks, id);
    const MonotonicTime began = tools_.clock.Now();
    const StepAttempt attempt = RunOne(step, pod, began + allowed);
    allowed -= std::chrono::ceil<Duration>(tools_.clock.Now() - began);
    switch (attempt.outcome) {
      case Outcome::kSucceeded:
        tools_.metrics.StepRun("succeeded");
        tools_.log.info("{} step {}: done", prefix, step.name);
        break;
      case Outcome::kFailed:
      case Outcome::kTimedOut:
        tools_.metrics.StepRun(attempt.outcome == Outcome::kFailed ? "failed" : "timed-out");
        troubles.push_back(step.name + ": " + attempt.why);
        tools_.log.warn("{} step {}", prefix, troubles.back());
        break;
    }
    done.insert(id);
    if (!finished()) break;
    if (step.IsPod()) pod.End();
  }
  return troubles;
}

StepAttempt StepRunner::RunOne(const Step& step, StepPod& pod, MonotonicTime deadline) {
  bool is_first = true;
  for (Duration backoff = kFirstStepBackoff;;
       backoff = std::min(backoff * 2, kLongestStepBackoff)) {
    const auto left = std::chrono::ceil<Duration>(deadline - tools_.clock.Now());
    const Duration timeout = std::min(step.timeout, left);
    tools_.turn(timeout);
    StepAttempt attempt = step.IsPod() ? pod.Run(std::get<PodToRun>(step.what), timeout, is_first)
                                       : Ask(std::get<StepRequest>(step.what), timeout);
    is_first = false;
    const bool again = attempt.outcome != Outcome::kSucceeded && !attempt.is_final &&
                       step.on_failure == OnFailure::kRetry;
    if (!again) return attempt;
    tools_.log.debug("step {}: {}; it is tried again", step.name, attempt.why);
    const auto percent = std::uniform_int_distribution<int>(80, 120)(jitter_);
    const MonotonicTime next = tools_.clock.Now() + backoff * percent / 100;
    tools_.turn(backoff);
    tools_.clock.WaitUntil(std::min(next, deadline), {});
    if (tools_.clock.Now() >= deadline) {
      return {Outcome::kTimedOut, "the time for steps is over; last: " + attempt.why};
    }
  }
}

StepAttempt StepRunner::Ask(const StepRequest& step, Duration timeout) {
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

#include "watcher/loop/last_scrape.h"

#include <algorithm>

#include "probes/base/duration_text.h"
#include "probes/base/time_text.h"

namespace cluster_watcher {
namespace {

// The kubelet kills the pod at the end of its grace period.
constexpr Duration kBeforeTheEnd = std::chrono::seconds(2);
constexpr Duration kLongestWait = std::chrono::minutes(1);
constexpr Duration kBetweenLooks{100};
constexpr Duration kTimeout = std::chrono::seconds(1);

}  // namespace

void LastScrape::Await(const std::string& ns, const std::string& pod, MonotonicTime since,
                       const std::function<void()>& turn) {
  auto next = next_(since);
  if (!next) return;
  const auto end = EndOfPod(ns, pod);
  const auto comes_in_time = [&] { return next && *next <= *end && clock_.Now() < *end; };
  if (!end || !comes_in_time()) return;
  log_.info("waiting for the last metrics to be scraped, for {} at most",
            FormatDuration(std::chrono::duration_cast<Duration>(*end - clock_.Now())));
  for (; comes_in_time(); next = next_(since)) {
    clock_.WaitUntil(std::min(*end, clock_.Now() + kBetweenLooks), {});
    turn();
  }
}

// The deletionTimestamp is the end of the grace period by the API server's clock.
// Source: kubernetes.io "Pod Lifecycle", termination.
std::optional<MonotonicTime> LastScrape::EndOfPod(const std::string& ns, const std::string& pod) {
  ApiRequest request = ApiRequest::Get(*FindBuiltInByName("pods", ""), ns, pod);
  request.http.timeout = kTimeout;
  const auto answer = client_.Do(request, {});
  if (!answer || !answer->server_time) return std::nullopt;
  const auto text = answer->document.root()["metadata"]["deletionTimestamp"].AsString();
  const auto end = text ? ParseTime(*text) : std::nullopt;
  if (!end) return std::nullopt;
  const auto left = std::chrono::duration_cast<Duration>(*end - *answer->server_time);
  return clock_.Now() + std::min(kLongestWait, left - kBeforeTheEnd);
}

}  // namespace cluster_watcher

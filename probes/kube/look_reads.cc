#include "probes/kube/look_reads.h"

#include <algorithm>
#include <utility>

namespace cluster_watcher {
namespace {

constexpr int kMostRepeats = 5;
constexpr Duration kShortestWait{20};
constexpr Duration kLongestWait{300};

std::string KeyOf(const ApiRequest& request) {
  return request.http.accept + " " + request.http.target;
}

}  // namespace

Duration AgeOf(const EvidenceSince& since, Clock& clock, const ServerDates& dates) {
  Duration age = std::chrono::ceil<Duration>(clock.BootNow() - since.sent);
  for (const auto& [connection, first] : since.dates) {
    const auto last = dates.find(connection);
    if (last == dates.end() || !last->second) continue;
    age = std::max(age, std::chrono::ceil<Duration>(*last->second - *first) - kDateRounding);
  }
  return age;
}

LookReads::LookReads(Clock& clock, Duration fresh)
    : clock_(clock),
      fresh_(fresh),
      jitter_(static_cast<unsigned>(clock.Now().time_since_epoch().count())) {
  BeginEvidence();
}

void LookReads::BeginEvidence() {
  ahead_.clear();
  since_ = {clock_.BootNow(), {}};
  deadline_ = clock_.Now() + fresh_;
}

std::vector<ApiRequest> LookReads::TakeAsked() { return std::exchange(asked_, {}); }

bool LookReads::WaitToRepeat(int repeats, Duration asked, const std::stop_token& stop) {
  if (repeats >= kMostRepeats) return false;
  const Duration longest = std::min(kLongestWait, 2 * kShortestWait * (1 << repeats));
  const Duration wait(std::uniform_int_distribution<Duration::rep>(kShortestWait.count(),
                                                                   longest.count())(jitter_));
  const MonotonicTime until = clock_.Now() + std::max(wait, asked);
  if (until >= deadline_ || !clock_.WaitUntil(until, stop)) return false;
  return clock_.Now() < deadline_;  // a busy machine may have made it wait much longer
}

void LookReads::Keep(const ApiRequest& request, ApiResult answer) {
  ahead_.emplace(KeyOf(request), std::move(answer));
}

std::optional<ApiResult> LookReads::Take(const ApiRequest& request) {
  if (request.http.method != HttpMethod::kGet) return std::nullopt;
  auto kept = ahead_.extract(KeyOf(request));
  if (kept.empty()) return std::nullopt;
  return std::move(kept.mapped());
}

}  // namespace cluster_watcher

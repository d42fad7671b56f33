#include "watcher/driver/persistence.h"

#include <algorithm>

namespace cluster_watcher {
namespace {

constexpr Duration kShortestPause{100};
constexpr Duration kLongestPause{5'000};
constexpr Duration kLongestAsked{30'000};

bool MayPass(const ApiError& error) {
  return IsTransient(error.failure) && error.failure != ApiFailure::kStopped;
}

}  // namespace

bool Persistence::WaitToRepeat(const ApiError& error) {
  if (!MayPass(error) || is_over() || tools_.stop.stop_requested()) return false;
  pause_ = std::clamp(pause_ * 2, kShortestPause, kLongestPause);
  const Duration asked = std::min(error.retry_after.value_or(Duration(0)), kLongestAsked);
  const Duration pause = std::max(pause_, asked);
  return tools_.clock.WaitUntil(std::min(deadline_, tools_.clock.Now() + pause), tools_.stop);
}

ApiResult Persistence::Do(const ApiRequest& request) {
  pause_ = Duration(0);
  while (true) {
    ApiResult answer = tools_.client.Do(request, tools_.stop);
    if (answer || answer.error().failure == ApiFailure::kConflict) return answer;
    if (!WaitToRepeat(answer.error())) return answer;
  }
}

}  // namespace cluster_watcher

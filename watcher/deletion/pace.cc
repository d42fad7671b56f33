#include "watcher/deletion/pace.h"

#include <algorithm>

namespace cluster_watcher {
namespace {

// An object that nothing holds is gone once its deletion is answered.
constexpr Duration kFirstPause{0};
// From then on, and after progress: each pass lists all kinds.
constexpr Duration kFirstBackoff{50};
constexpr Duration kLongestBackoff{2'000};
// If nothing has moved for a while, a finalizer or a missing permission holds it up.
constexpr Duration kStuck{30'000};
constexpr Duration kLongestBackoffOfStuck{10'000};

}  // namespace

Pace::Pace(KubeClient& client, Clock& clock, unsigned seed)
    : client_(client),
      clock_(clock),
      jitter_(seed),
      backoff_(kFirstPause),
      progressed_(clock.Now()) {}

void Pace::Note(std::size_t remaining) {
  if (remaining < remaining_) {
    backoff_ = kFirstBackoff;
    progressed_ = clock_.Now();
  }
  remaining_ = remaining;
}

void Pace::Pause(MonotonicTime until) {
  const Duration asked = std::min(client_.TakeRetryAfter(), kLongestAskedWait);
  const Duration jittered = backoff_ * std::uniform_int_distribution<int>(80, 120)(jitter_) / 100;
  clock_.WaitUntil(std::min(until, clock_.Now() + std::max(jittered, asked)), {});
  const bool stuck = clock_.Now() - progressed_ >= kStuck;
  backoff_ =
      std::clamp(backoff_ * 2, kFirstBackoff, stuck ? kLongestBackoffOfStuck : kLongestBackoff);
}

}  // namespace cluster_watcher

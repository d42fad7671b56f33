// The pauses between the passes of a deletion: short while members go, longer when nothing moves.
#pragma once

#include <cstddef>
#include <random>

#include "probes/base/clock.h"
#include "probes/kube/kube_client.h"

namespace cluster_watcher {

// The most that an API server is granted by Retry-After: the liveness probe must not mistake the
// wait for a loop that hangs.
inline constexpr Duration kLongestAskedWait{20'000};

class Pace {
 public:
  Pace(KubeClient& client, Clock& clock, unsigned seed);

  // After a pass: how many members are left. Only fewer ones are progress, not objects that
  // somebody makes again and again.
  void Note(std::size_t remaining);
  // Waits, but not beyond `until`, and as long as the API server asks for by Retry-After.
  void Pause(MonotonicTime until);

 private:
  KubeClient& client_;
  Clock& clock_;
  std::minstd_rand jitter_;
  Duration backoff_;
  std::size_t remaining_ = 0;
  MonotonicTime progressed_;
};

}  // namespace cluster_watcher

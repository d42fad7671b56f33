// Answers /healthz and /readyz. May be read from other threads than the loop's.
#pragma once

#include <atomic>
#include <chrono>

#include "probes/base/clock.h"

namespace cluster_watcher {

// The loop turns at least this often, also while it waits.
inline constexpr Duration kLongestStep = std::chrono::seconds(10);

class LoopHealth {
 public:
  // The heartbeat: the loop has turned, or works on something that lasts until `now`.
  void Turned(MonotonicTime now) { turned_.store(now.time_since_epoch().count()); }
  void SetReady(bool ready) { ready_.store(ready); }
  // How long the loop may take to turn: three poll intervals, at least 30 s.
  void SetPatience(Duration patience) { patience_.store(patience.count()); }

  // Whether the loop has turned lately; the API server's state doesn't matter.
  bool IsAlive(MonotonicTime now) const {
    return now.time_since_epoch().count() - turned_.load() <=
           std::chrono::duration_cast<MonotonicTime::duration>(Duration(patience_.load())).count();
  }
  bool IsReady() const { return ready_.load(); }

 private:
  std::atomic<MonotonicTime::rep> turned_{0};
  std::atomic<Duration::rep> patience_{30'000};
  std::atomic<bool> ready_{false};
};

}  // namespace cluster_watcher

// Virtual time and the actions due in it. Everything in a history happens in an action, one after
// the other.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "probes/base/clock.h"
#include "test/simulation/random.h"

namespace cluster_watcher::simulation {

class Timeline {
 public:
  using Action = std::function<void()>;

  // Not 0, because the program uses the clock's times as they are.
  static constexpr MonotonicTime kBegin{std::chrono::hours(1)};

  MonotonicTime Now() const { return now_; }
  Micros Elapsed() const { return std::chrono::duration_cast<Micros>(now_ - kBegin); }

  // Actions with the same time run in the order in which they were added.
  void At(MonotonicTime time, Action action);
  void After(Micros delay, Action action) { At(now_ + delay, std::move(action)); }

  // Runs the next action. Returns false if none is due until `end`.
  bool RunNext(MonotonicTime end);

 private:
  struct Due {
    MonotonicTime time;
    std::uint64_t order;
    Action action;
  };
  static bool Later(const Due& a, const Due& b) {
    return a.time != b.time ? a.time > b.time : a.order > b.order;
  }

  MonotonicTime now_ = kBegin;
  std::uint64_t order_ = 0;
  std::vector<Due> due_;  // a heap
};

}  // namespace cluster_watcher::simulation

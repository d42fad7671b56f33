// Virtual time and what is due when. Whatever happens in a history happens in an action here, one
// after the other.
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

  // Not 0: the program takes times from the clock as they are.
  static constexpr MonotonicTime kBegin{std::chrono::hours(1)};

  MonotonicTime Now() const { return now_; }
  Micros Elapsed() const { return std::chrono::duration_cast<Micros>(now_ - kBegin); }

  // Actions of the same time come in the order in which they were put in.
  void At(MonotonicTime time, Action action);
  void After(Micros delay, Action action) { At(now_ + delay, std::move(action)); }

  // Runs the next action. False: none is due until `end`.
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

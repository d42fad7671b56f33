// The clock of the unit tests.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "probes/base/clock.h"

namespace cluster_watcher {

// The clocks advance together, and only if a test advances them or somebody waits. What is due by
// then happens on the way.
class TestClock final : public Clock {
 public:
  TestClock() = default;
  TestClock(const TestClock&) = delete;
  TestClock& operator=(const TestClock&) = delete;

  MonotonicTime Now() override { return kBegin + elapsed; }
  WallTime WallNow() override { return kDate + elapsed + suspended; }
  BootTime BootNow() override { return Clock::BootNow() + suspended; }
  bool WaitUntil(MonotonicTime deadline, std::stop_token stop) override {
    // A deadline of "for ever" doesn't fit into a Duration.
    const Duration until = std::chrono::duration_cast<Duration>(
        std::min(deadline, kBegin + std::chrono::hours(24'000)) - kBegin);
    while (!due_.empty() && due_.begin()->first <= until) {
      const auto happening = due_.extract(due_.begin());
      elapsed = std::max(elapsed, happening.key());
      happening.mapped()();
      if (stop.stop_requested()) return false;
    }
    elapsed = std::max(elapsed, until);
    return !stop.stop_requested();
  }

  void At(Duration time, std::function<void()> happening) {
    due_.emplace(time, std::move(happening));
  }
  // Returns when the next of these happens, or else `latest`.
  MonotonicTime Next(MonotonicTime latest) const {
    return due_.empty() ? latest : std::min(latest, kBegin + due_.begin()->first);
  }

  Duration elapsed{0};
  Duration suspended{0};  // how long the machine was

 private:
  static constexpr MonotonicTime kBegin{std::chrono::seconds(1'000)};
  static constexpr WallTime kDate{std::chrono::sys_days(std::chrono::year(2026) / 12 / 24)};
  std::multimap<Duration, std::function<void()>> due_;
};

}  // namespace cluster_watcher

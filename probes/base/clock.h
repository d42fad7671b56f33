// The clock seam. The monotonic clock measures intervals, boot time the age of evidence; the wall
// clock gives dates for people and for marks. A simulated clock runs the whole program in virtual
// time.
#pragma once

#include <chrono>
#include <stop_token>

namespace cluster_watcher {

using MonotonicTime = std::chrono::steady_clock::time_point;
using WallTime = std::chrono::system_clock::time_point;
using Duration = std::chrono::milliseconds;

// The machine's time since it was started. It goes on while the machine is suspended, and the
// monotonic clock doesn't.
struct BootClock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<BootClock>;
  static constexpr bool is_steady = true;
};
using BootTime = BootClock::time_point;

class Clock {
 public:
  virtual ~Clock() = default;

  virtual MonotonicTime Now() = 0;
  virtual WallTime WallNow() = 0;
  // The same as Now() unless the machine is ever suspended.
  virtual BootTime BootNow() { return BootTime(Now().time_since_epoch()); }

  // Blocks until `deadline` or until `stop` is requested; true if the deadline was reached. An
  // empty token never stops.
  virtual bool WaitUntil(MonotonicTime deadline, std::stop_token stop) = 0;
};

// The clocks of the machine.
class SystemClock final : public Clock {
 public:
  MonotonicTime Now() override { return std::chrono::steady_clock::now(); }
  WallTime WallNow() override { return std::chrono::system_clock::now(); }
  BootTime BootNow() override;
  bool WaitUntil(MonotonicTime deadline, std::stop_token stop) override;
};

}  // namespace cluster_watcher

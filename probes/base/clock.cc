#include "probes/base/clock.h"

#include <time.h>

#include <condition_variable>
#include <mutex>

namespace cluster_watcher {

BootTime SystemClock::BootNow() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return BootTime(std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec));
}

bool SystemClock::WaitUntil(MonotonicTime deadline, std::stop_token stop) {
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock lock(mutex);
  // Nobody notifies this variable: the wait ends at the deadline, or when `stop` is requested.
  stopped.wait_until(lock, stop, deadline, [&] { return Now() >= deadline; });
  return !stop.stop_requested();
}

}  // namespace cluster_watcher

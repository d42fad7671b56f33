#include "watcher/driver/signals.h"

#include <time.h>

#include <algorithm>
#include <cerrno>

namespace cluster_watcher {
namespace {

// Ends the thread of StopOnSignal. Nobody else misses it: by default it is ignored.
constexpr int kWake = SIGURG;

timespec TimeUntil(MonotonicTime deadline) {
  const MonotonicTime now = std::chrono::steady_clock::now();
  if (deadline <= now) return {};
  // A deadline of "for ever" doesn't fit into every kernel's arithmetic.
  const auto left = std::min<std::chrono::nanoseconds>(deadline - now, std::chrono::hours(24'000));
  const auto seconds = std::chrono::floor<std::chrono::seconds>(left);
  return {static_cast<time_t>(seconds.count()), static_cast<long>((left - seconds).count())};
}

}  // namespace

SignalSource::SignalSource(std::span<const int> others) {
  sigemptyset(&set_);
  sigaddset(&set_, SIGTERM);
  sigaddset(&set_, SIGINT);
  for (const int signal : others) sigaddset(&set_, signal);
  sigset_t blocked = set_;
  sigaddset(&blocked, kWake);
  pthread_sigmask(SIG_BLOCK, &blocked, &mask_before_);
}

SignalSource::~SignalSource() { pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr); }

std::optional<int> SignalSource::Take(MonotonicTime deadline) {
  while (true) {
    const timespec left = TimeUntil(deadline);
    const int signal = sigtimedwait(&set_, nullptr, &left);
    if (signal > 0) return signal;
    // Being stopped and continued interrupts the wait.
    if (errno != EINTR && deadline <= std::chrono::steady_clock::now()) return std::nullopt;
  }
}

StopOnSignal::StopOnSignal(const SignalSource& signals)
    : thread_([this, set = signals.set()] { Listen(set); }) {}

std::optional<int> StopOnSignal::End() {
  if (thread_.joinable()) {
    ending_ = true;
    // Signals to the thread come before those to the process, which stay pending.
    pthread_kill(thread_.native_handle(), kWake);
    thread_.join();
  }
  return first_;
}

void StopOnSignal::Listen(sigset_t set) {
  sigaddset(&set, kWake);
  while (true) {
    int signal = 0;
    sigwait(&set, &signal);
    if (signal == kWake && ending_) return;
    if (!IsStop(signal)) continue;
    if (!first_) first_ = signal;
    stop_.request_stop();
  }
}

}  // namespace cluster_watcher

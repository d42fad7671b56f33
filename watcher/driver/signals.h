// Signals as values: they are held back until somebody takes them.
#pragma once

#include <signal.h>

#include <atomic>
#include <optional>
#include <span>
#include <stop_token>
#include <thread>

#include "probes/base/clock.h"

namespace cluster_watcher {

// Whether the signal asks a program to end: SIGTERM and SIGINT do.
constexpr bool IsStop(int signal) { return signal == SIGTERM || signal == SIGINT; }

// Returns the exit code by which a shell says that `signal` ended a command.
constexpr int ExitBySignal(int signal) { return 128 + signal; }

// Holds SIGTERM, SIGINT and `others` back from the process as long as it lives. One that nobody
// takes stays pending: it isn't lost, and is there for the next who takes. Several of the same
// number that are pending count as one.
//
// REQUIRES: the calling thread is the only one, or the others block these signals; threads that it
// starts later inherit the block. One thread takes at a time. Destroyed by the thread that made it:
// its signal mask is then what it was before, and what is still pending acts as it would have.
class SignalSource {
 public:
  explicit SignalSource(std::span<const int> others = {});
  ~SignalSource();
  SignalSource(const SignalSource&) = delete;
  SignalSource& operator=(const SignalSource&) = delete;

  // Waits for a signal and takes it; nothing if none came until `deadline`. One that is pending is
  // taken even if the deadline has passed.
  std::optional<int> Take(MonotonicTime deadline);
  // Takes a signal that is pending.
  std::optional<int> TakePending() { return Take(MonotonicTime::min()); }

  const sigset_t& set() const { return set_; }

 private:
  sigset_t set_;
  sigset_t mask_before_;
};

// Turns SIGTERM and SIGINT into a request to stop: takes all signals of a source in a thread of its
// own, and drops the others.
class StopOnSignal {
 public:
  // Nobody else may take from `signals` until End().
  explicit StopOnSignal(const SignalSource& signals);
  ~StopOnSignal() { End(); }
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;

  std::stop_token token() const { return stop_.get_token(); }

  // Takes no more signals. Returns the one that requested the stop, if one did; a later one stays
  // pending in the source.
  std::optional<int> End();

 private:
  void Listen(sigset_t set);

  std::stop_source stop_;
  std::optional<int> first_;  // the thread's until it has ended
  std::atomic<bool> ending_ = false;
  std::thread thread_;
};

}  // namespace cluster_watcher

#include "watcher/driver/signals.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

namespace cluster_watcher {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::array kOthers = {SIGUSR1, SIGCHLD};

void SendToUs(int signal) { kill(getpid(), signal); }

// Waits until the token is stopped, for a minute at most.
bool IsStopped(std::stop_token stop) {
  return !SystemClock().WaitUntil(steady_clock::now() + std::chrono::minutes(1), stop);
}

bool IsBlocked(int signal) {
  sigset_t mask;
  pthread_sigmask(SIG_BLOCK, nullptr, &mask);
  return sigismember(&mask, signal) == 1;
}

bool IsPending(int signal) {
  sigset_t pending;
  sigpending(&pending);
  return sigismember(&pending, signal) == 1;
}

TEST(SignalSource, HasNothingWhereNothingCame) {
  SignalSource signals;
  EXPECT_EQ(signals.TakePending(), std::nullopt);
  EXPECT_EQ(signals.Take(steady_clock::now() - hours(1)), std::nullopt);
}

TEST(SignalSource, WaitsUntilTheDeadline) {
  SignalSource signals;
  const MonotonicTime deadline = steady_clock::now() + milliseconds(20);
  EXPECT_EQ(signals.Take(deadline), std::nullopt);
  EXPECT_GE(steady_clock::now(), deadline);
}

TEST(SignalSource, KeepsEachSignalUntilItIsTaken) {
  SignalSource signals(kOthers);
  SendToUs(SIGTERM);
  SendToUs(SIGINT);
  SendToUs(SIGUSR1);
  SendToUs(SIGCHLD);  // which would be dropped if it weren't held back
  SendToUs(SIGTERM);
  std::array<int, 4> taken{};
  for (int& signal : taken) signal = signals.Take(MonotonicTime::max()).value_or(0);
  EXPECT_EQ(taken, (std::array{SIGINT, SIGUSR1, SIGTERM, SIGCHLD}));
  EXPECT_EQ(signals.TakePending(), std::nullopt);
}

TEST(SignalSource, WaitsForASignal) {
  SignalSource signals;
  std::jthread sender([] { SendToUs(SIGINT); });
  EXPECT_EQ(signals.Take(MonotonicTime::max()), SIGINT);
}

TEST(SignalSource, LeavesTheMaskAsItWas) {
  {
    SignalSource stop;
    EXPECT_TRUE(IsBlocked(SIGTERM) && IsBlocked(SIGINT));
    EXPECT_FALSE(IsBlocked(SIGUSR1));
    { SignalSource all(kOthers); }
    EXPECT_TRUE(IsBlocked(SIGTERM) && IsBlocked(SIGINT));
    EXPECT_FALSE(IsBlocked(SIGUSR1));
  }
  EXPECT_FALSE(IsBlocked(SIGTERM) || IsBlocked(SIGINT));
}

TEST(StopOnSignal, StopsBySigtermAndSigint) {
  for (const int signal : {SIGTERM, SIGINT}) {
    SignalSource signals;
    StopOnSignal stop(signals);
    EXPECT_FALSE(stop.token().stop_requested());
    SendToUs(signal);
    EXPECT_TRUE(IsStopped(stop.token()));
    EXPECT_EQ(stop.End(), signal);
    EXPECT_EQ(stop.End(), signal);
    EXPECT_EQ(signals.TakePending(), std::nullopt);
  }
}

TEST(StopOnSignal, TellsTheFirst) {
  SignalSource signals;
  StopOnSignal stop(signals);
  SendToUs(SIGTERM);
  EXPECT_TRUE(IsStopped(stop.token()));
  SendToUs(SIGINT);
  const MonotonicTime deadline = steady_clock::now() + std::chrono::minutes(1);
  while (IsPending(SIGINT) && steady_clock::now() < deadline) std::this_thread::yield();
  EXPECT_EQ(stop.End(), SIGTERM);
}

TEST(StopOnSignal, DropsOtherSignals) {
  SignalSource signals(kOthers);
  StopOnSignal stop(signals);
  SendToUs(SIGUSR1);
  SendToUs(SIGTERM);  // It has the higher number, so it is taken second.
  EXPECT_TRUE(IsStopped(stop.token()));
  EXPECT_EQ(stop.End(), SIGTERM);
  EXPECT_EQ(signals.TakePending(), std::nullopt);
}

TEST(StopOnSignal, LeavesWhatComesAfterItsEnd) {
  SignalSource signals;
  StopOnSignal stop(signals);
  EXPECT_EQ(stop.End(), std::nullopt);
  SendToUs(SIGTERM);
  EXPECT_EQ(stop.End(), std::nullopt);
  EXPECT_FALSE(stop.token().stop_requested());
  EXPECT_EQ(signals.TakePending(), SIGTERM);
}

TEST(StopOnSignal, LosesNoSignalThatComesAtItsEnd) {
  SignalSource signals;
  for (int i = 0; i < 500; ++i) {
    StopOnSignal stop(signals);
    std::jthread sender([] { SendToUs(SIGTERM); });
    const bool told = stop.End() == SIGTERM;
    sender.join();
    EXPECT_NE(told, signals.TakePending() == SIGTERM);
  }
}

}  // namespace
}  // namespace cluster_watcher

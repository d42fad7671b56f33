#include "probes/base/clock.h"

#include <gtest/gtest.h>

#include <thread>

namespace cluster_watcher {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

TEST(SystemClock, WaitsUntilTheDeadline) {
  SystemClock clock;
  const MonotonicTime deadline = clock.Now() + milliseconds(20);
  EXPECT_TRUE(clock.WaitUntil(deadline, std::stop_source().get_token()));
  EXPECT_GE(clock.Now(), deadline);
}

TEST(SystemClock, WaitsWithATokenThatCantBeStopped) {
  SystemClock clock;
  const MonotonicTime deadline = clock.Now() + milliseconds(5);
  EXPECT_TRUE(clock.WaitUntil(deadline, {}));
  EXPECT_GE(clock.Now(), deadline);
}

TEST(SystemClock, ReturnsAtOnceForADeadlineInThePast) {
  SystemClock clock;
  EXPECT_TRUE(clock.WaitUntil(clock.Now() - hours(1), {}));
  EXPECT_TRUE(clock.WaitUntil(MonotonicTime::min(), {}));
}

TEST(SystemClock, ReturnsAtOnceWhenStoppedBefore) {
  SystemClock clock;
  std::stop_source stop;
  stop.request_stop();
  EXPECT_FALSE(clock.WaitUntil(clock.Now() + hours(1), stop.get_token()));
  EXPECT_FALSE(clock.WaitUntil(clock.Now() - hours(1), stop.get_token()));
}

TEST(SystemClock, IsStoppedFromAnotherThread) {
  for (int i = 0; i < 200; ++i) {
    SystemClock clock;
    std::stop_source stop;
    std::jthread stopper([&stop] { stop.request_stop(); });
    EXPECT_FALSE(clock.WaitUntil(MonotonicTime::max(), stop.get_token()));
  }
}

TEST(SystemClock, TellsTheDate) {
  SystemClock clock;
  EXPECT_GT(clock.WallNow(), WallTime(hours(24 * 365 * 50)));
}

}  // namespace
}  // namespace cluster_watcher

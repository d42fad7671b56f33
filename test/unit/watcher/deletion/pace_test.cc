#include "watcher/deletion/pace.h"

#include <gtest/gtest.h>

#include "test/unit/support/fake_transport.h"

namespace cluster_watcher {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class PaceTest : public testing::Test {
 protected:
  PaceTest() { pace_.Note(10); }

  Duration Pause(MonotonicTime until = MonotonicTime::max()) {
    const Duration began = api_.clock.elapsed;
    pace_.Pause(until);
    return api_.clock.elapsed - began;
  }
  // The next pause is about this long.
  void ExpectPause(Duration about) {
    const Duration pause = Pause();
    EXPECT_GE(pause, about * 80 / 100) << about.count();
    EXPECT_LE(pause, about * 120 / 100) << about.count();
  }
  // The next one is as long as any without progress, though nothing is stuck yet.
  void SlowDown() {
    for (int i = 0; i < 8; ++i) Pause();
  }
  void Answer(seconds retry_after) {
    HttpResponse response = cluster_watcher::Answer(429, "{}");
    response.retry_after = retry_after;
    api_.transport.otherwise = [response](const HttpRequest&) { return response; };
    EXPECT_FALSE(api_.client.Do(ApiRequest::Discover("/apis"), {}));
  }

  FakeApi api_;
  Pace pace_{api_.client, api_.clock, 1};
};

TEST_F(PaceTest, SlowsDownUntilFewerMembersAreLeft) {
  for (const int about : {0, 50, 100, 200, 400, 800, 1'600, 2'000}) {
    ExpectPause(milliseconds(about));
  }
  for (const std::size_t remaining : {10u, 12u, 12u}) {
    pace_.Note(remaining);
    ExpectPause(seconds(2));
  }
  pace_.Note(11);
  ExpectPause(milliseconds(50));
  ExpectPause(milliseconds(100));
}

TEST_F(PaceTest, SlowsDownMoreOnceNothingMovesForLong) {
  for (int times = 0; times < 2; ++times) {
    const Duration began = api_.clock.elapsed;
    Duration pause{0};
    while (api_.clock.elapsed - began < seconds(30)) pause = Pause();
    EXPECT_LE(pause, milliseconds(2'400));
    for (int i = 0; i < 3; ++i) Pause();
    ExpectPause(seconds(10));
    pace_.Note(static_cast<std::size_t>(9 - times));
  }
}

TEST_F(PaceTest, EndsInTime) {
  SlowDown();
  EXPECT_EQ(Pause(api_.clock.Now() + milliseconds(7)), milliseconds(7));
}

TEST_F(PaceTest, IsAsLongAsTheApiServerAsksForWithinReason) {
  Answer(seconds(15));
  EXPECT_EQ(Pause(), seconds(15));
  Answer(seconds(600));
  EXPECT_EQ(Pause(), seconds(20));
  pace_.Note(9);
  Answer(seconds(0));
  ExpectPause(milliseconds(50));
}

}  // namespace
}  // namespace cluster_watcher

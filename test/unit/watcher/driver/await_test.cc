#include "watcher/driver/await.h"

#include <gtest/gtest.h>

#include "test/unit/support/driver_lab.h"

namespace cluster_watcher {
namespace {

using std::chrono::seconds;

class AwaitTest : public DriverLab {
 protected:
  DriverOutcome AwaitBy(const std::string& app, Duration timeout = seconds(60)) {
    began_ = clock_.elapsed;
    return Await(tools_, cluster_, *OwnerName::Parse(app), timeout);
  }
  Duration Took() const { return clock_.elapsed - began_; }

  Duration began_{0};
};

TEST_F(AwaitTest, WhatIsReadyIsReadyAtOnce) {
  EXPECT_EQ(AwaitBy("deployment/bob").said, "cluster spark is ready, and shared");
  MakeEphemeral("deployment.apps/bob");
  EXPECT_EQ(AwaitBy("deployment/bob").said, "cluster spark is ready");
  EXPECT_EQ(Took(), seconds(0));
}

TEST_F(AwaitTest, AnothersIsSaidAtOnce) {
  MakeEphemeral("deployment.apps/alice");
  MarkRoot("phase", "condemned");
  const DriverOutcome outcome = AwaitBy("deployment/bob");
  EXPECT_EQ(outcome.exit, DriverExit::kOthers);
  EXPECT_EQ(Took(), seconds(0));
}

TEST_F(AwaitTest, WhatIsCondemnedIsWaitedForAndThenRefused) {
  MarkRoot("phase", "condemned");
  const DriverOutcome outcome = AwaitBy("deployment/bob", seconds(20));
  EXPECT_EQ(outcome.exit, DriverExit::kNotReady);
  EXPECT_EQ(outcome.error, "cluster spark is Condemned");
  EXPECT_EQ(Took(), seconds(20));
}

TEST_F(AwaitTest, WhatBecomesReadyIsReady) {
  Delete(kService);
  clock_.At(clock_.elapsed + seconds(5),
            [this] { MakeService("spark", R"("oshinko-type":"master")"); });
  EXPECT_EQ(AwaitBy("deployment/bob").exit, DriverExit::kDone);
  EXPECT_LE(Took(), seconds(6));
}

TEST_F(AwaitTest, WhatGoesIsSaidToBeGoneAtOnce) {
  MarkRoot("phase", "deleting");
  clock_.At(clock_.elapsed + seconds(5), [this] {
    for (const char* path : {kRoot, kWorker, kService}) Delete(path);
    kubernetes_.Settle();
  });
  const DriverOutcome outcome = AwaitBy("deployment/bob");
  EXPECT_EQ(outcome.exit, DriverExit::kNoCluster);
  EXPECT_EQ(outcome.error, "no cluster spark");
  EXPECT_LE(Took(), seconds(6));
}

// Else the watcher would delete the cluster of a container that was restarted.
TEST_F(AwaitTest, TheOwnersWordIsTakenOffBeforeItAnswers) {
  MakeEphemeral("deployment.apps/bob");
  MarkRoot("app-status", "completed");
  EXPECT_EQ(AwaitBy("deployment/bob").exit, DriverExit::kDone);
  EXPECT_EQ(Mark("app-status"), "");
}

TEST_F(AwaitTest, FailuresInPassingAreWaitedFor) {
  Refuse("GET", "/services", 503);
  clock_.At(clock_.elapsed + seconds(15), [this] { kubernetes_.GetFaults().Clear(); });
  EXPECT_EQ(AwaitBy("deployment/bob").exit, DriverExit::kDone);
  Refuse("GET", "/services", 503);
  EXPECT_EQ(AwaitBy("deployment/bob", seconds(10)).exit, DriverExit::kUnknown);
}

TEST_F(AwaitTest, WhatMayNotBeReadIsUnknownAtOnce) {
  Refuse("GET", "/services", 403);
  EXPECT_EQ(AwaitBy("deployment/bob").exit, DriverExit::kUnknown);
  EXPECT_EQ(Took(), seconds(0));
}

}  // namespace
}  // namespace cluster_watcher

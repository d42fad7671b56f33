// --observe=watch: the API server says when to look.
#include "test/integration/fixture.h"
#include "test/integration/proxy.h"

namespace cluster_watcher::integration {
namespace {

class WatchedOwner : public IntegrationTest {
 protected:
  void TearDown() override {
    if (away_) server().StartApi();
    IntegrationTest::TearDown();
  }

  Watcher& WatchBob() { return WatchOver("deployment/bob", {"--observe=watch"}); }
  // It looks no more, ten times in a row at which it would have polled.
  testing::AssertionResult IsAtRest(Watcher& watcher) {
    return Eventually([&] {
      const double polls = watcher.Polls();
      std::this_thread::sleep_for(std::chrono::seconds(1));
      return watcher.Verdict() == "keep: active" && watcher.Polls() == polls;
    });
  }
  double Restarts(Watcher& watcher, const std::string& reason) {
    return watcher.Metric("cluster_watcher_watch_restarts_total{reason=\"" + reason + "\"}");
  }

  bool away_ = false;
};

TEST_F(WatchedOwner, ThatIsDeletedIsSeenAndTheClusterGoes) {
  MakeCluster();
  MakeDriver();
  Watcher& watcher = WatchBob();
  ASSERT_TRUE(IsAtRest(watcher));
  EXPECT_EQ(watcher.Health("/healthz"), 200);
  EXPECT_EQ(watcher.Health("/readyz"), 200);
  api().Delete("deployments", ns_, "bob");
  ASSERT_TRUE(Finishes(watcher));
  EXPECT_EQ(Restarts(watcher, "error"), 0);
  EXPECT_TRUE(StopsWell(watcher));
}

TEST_F(WatchedOwner, AJobThatCompletesIsSeen) {
  MakeCluster();
  MakeDriver("bob", "jobs");
  Watcher& watcher = WatchOver("job/bob", {"--observe=watch"});
  ASSERT_TRUE(IsAtRest(watcher));
  const auto pods = api().Names("pods", ns_, "app=bob");
  ASSERT_EQ(pods.size(), 1u);
  api().SetStatus("pods", ns_, pods.front(), R"({"phase": "Succeeded"})");
  EXPECT_TRUE(Finishes(watcher));
}

TEST_F(WatchedOwner, WithoutTheRightToWatchItIsPolled) {
  MakeAccount(WatcherRoleOf({kAccount}));
  WriteKubeconfig(kubeconfig(), server().Admin(), "token: \"" + api().Token(ns_, kAccount) + "\"");
  MakeCluster();
  MakeDriver();
  Watcher& watcher = WatchBob();
  ASSERT_TRUE(Shows(watcher, "keep: active"));
  ASSERT_TRUE(Eventually([&] { return Restarts(watcher, "error") >= 2; }));
  EXPECT_GE(watcher.LinesWith("can't be watched, so the owner is polled"), 2u);
  EXPECT_TRUE(Keeps(watcher, "keep: active"));
  EXPECT_TRUE(Eventually([&] {
    return watcher.Metric(
               "cluster_watcher_permission_missing{resource=\"deployments\","
               "verb=\"watch\"}") == 1;
  }));
  EXPECT_LT(Restarts(watcher, "error"), watcher.Polls() / 2) << "it tries seldom";
  api().Delete("deployments", ns_, "bob");
  EXPECT_TRUE(Finishes(watcher));
}

TEST_F(WatchedOwner, AnApiServerThatIsAwayAndBackIsWatchedAgain) {
  MakeCluster();
  MakeDriver();
  Watcher& watcher = WatchBob();
  ASSERT_TRUE(IsAtRest(watcher));
  server().StopApi();
  away_ = true;
  ASSERT_TRUE(Shows(watcher, "keep: unknown"));
  EXPECT_GE(Restarts(watcher, "closed") + Restarts(watcher, "error"), 1);
  server().StartApi();
  away_ = false;
  ASSERT_TRUE(Shows(watcher, "keep: active"));
  ASSERT_TRUE(IsAtRest(watcher));
  api().Delete("deployments", ns_, "bob");
  EXPECT_TRUE(Finishes(watcher));
}

}  // namespace
}  // namespace cluster_watcher::integration

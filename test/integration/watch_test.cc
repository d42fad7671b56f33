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

TEST_F(WatchedOwner, ThatIsScaledToZeroAndBackIsSeen) {
  MakeCluster();
  MakeDriver();
  Watcher& watcher = WatchOver("deployment/bob", {"--observe=watch", "--grace-period=1h"});
  ASSERT_TRUE(IsAtRest(watcher));
  api().Scale("deployments", ns_, "bob", 0);
  ASSERT_TRUE(Shows(watcher, "abandoned: scaled-to-zero"));
  api().Scale("deployments", ns_, "bob", 1);
  ASSERT_TRUE(Shows(watcher, "keep: active"));
  EXPECT_TRUE(IsAtRest(watcher));
  EXPECT_TRUE(IsWhole());
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

TEST_F(WatchedOwner, AHoldOnTheMasterRootIsSeenAndItsEndToo) {
  MakeCluster();
  MakeDriver();
  Watcher& watcher = WatchBob();
  ASSERT_TRUE(IsAtRest(watcher));
  api().Annotate("deployments", ns_, kMaster, "cluster-watcher/hold-until", "2199-01-01T00:00:00Z");
  ASSERT_TRUE(Shows(watcher, "keep: held"));
  api().Patch("deployments", ns_, kMaster,
              R"({"metadata": {"annotations": {"cluster-watcher/hold-until": null}}})");
  ASSERT_TRUE(Shows(watcher, "keep: active"));
  EXPECT_TRUE(IsAtRest(watcher));
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

TEST_F(WatchedOwner, LiesOfAProxyAreBelievedByNobody) {
  const std::string chunked =
      "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
      "Transfer-Encoding: chunked\r\n\r\n";
  const auto event = [&](const std::string& line) {
    char size[20];
    std::snprintf(size, sizeof size, "%zx\r\n", line.size() + 1);
    return size + line + "\n\r\n";
  };
  const std::string end = "0\r\n\r\n";
  Proxy proxy(server().Admin());
  WriteKubeconfig(kubeconfig(), proxy.Address(), "token: \"" + proxy.Address().token + "\"");
  MakeCluster();
  MakeDriver();
  const std::string gone = R"({"metadata":{"name":"bob","resourceVersion":"1"}}})";
  const std::pair<std::string, const char*> lies[] = {
      {event(R"({"type":"DELETED","object":)" + gone) + end, "closed"},
      {event(R"({"type":"ERROR","object":{"kind":"Status","code":410}})") + end, "expired"},
      {event("<html>"), "error"},
      {"ffff\r\n{\"type\":\"MODI", "error"}};
  for (const auto& [lie, reason] : lies) {
    proxy.LieAbout("watch=1", {chunked + lie, true});
    Watcher& watcher = WatchBob();
    ASSERT_TRUE(Shows(watcher, "keep: active"));
    EXPECT_TRUE(Eventually([&] { return Restarts(watcher, reason) >= 2; })) << lie;
    EXPECT_TRUE(Keeps(watcher, "keep: active")) << "it polls";
    EXPECT_TRUE(StopsWell(watcher));
  }
  EXPECT_TRUE(Events("ClusterAbandoned").empty());
  // This proxy waits for the end of an answer before it passes it on.
  proxy.TellTheTruth();
  Watcher& watcher = WatchBob();
  ASSERT_TRUE(Shows(watcher, "keep: active"));
  api().Delete("deployments", ns_, "bob");
  EXPECT_TRUE(Finishes(watcher));
}

}  // namespace
}  // namespace cluster_watcher::integration

// Being told to stop while watching: --on-termination.
#include <signal.h>

#include "test/integration/fixture.h"

namespace cluster_watcher::integration {
namespace {

class Termination : public IntegrationTest {
 protected:
  // The master's pod is on a node, so that it goes on terminating until somebody ends it. Nothing
  // is condemned within the test.
  Watcher& WatchOnANode(std::vector<std::string> flags = {}) {
    MakeCluster({.pod_spec = R"("nodeName": "nowhere", "terminationGracePeriodSeconds": 30, )"});
    MakeDriver();
    flags.insert(flags.begin(), "--grace-period=1h");
    Watcher& watcher = WatchOver("deployment/bob", flags);
    EXPECT_TRUE(Shows(watcher, "keep: active"));
    EXPECT_TRUE(Eventually([&] { return !Mark("owner-uid").empty(); }));
    pod_ = MasterPod();
    return watcher;
  }

  void TakeDownTheMaster() {
    api().Delete("deployments", ns_, kMaster);
    EXPECT_TRUE(Eventually([&] {
      const auto pod = api().Get("pods", ns_, pod_);
      return pod && pod->root()["metadata"]["deletionTimestamp"].Exists();
    }));
  }

  void TearDown() override {
    [[maybe_unused]] const auto ended =
        api().Do(HttpMethod::kDelete, PathOf("pods", ns_, pod_),
                 R"({"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0})");
    IntegrationTest::TearDown();
  }

  std::string pod_;
};

TEST_F(Termination, FinishesWhereTheClusterIsTakenDownByHandAndTheDriverIsGone) {
  Watcher& watcher = WatchOnANode();
  api().Delete("deployments", ns_, "bob");
  EXPECT_TRUE(Eventually([&] { return api().Names("pods", ns_, "app=bob").empty(); }));
  TakeDownTheMaster();
  EXPECT_EQ(watcher.Stop(SIGTERM), 0);
  EXPECT_FALSE(api().Exists("deployments", ns_, "spark-w"));
  EXPECT_FALSE(api().Exists("services", ns_, "spark"));
  EXPECT_FALSE(api().Exists("configmaps", ns_, "spark-config"));
}

TEST_F(Termination, LeavesAClusterWhoseDriverLives) {
  Watcher& watcher = WatchOnANode();
  TakeDownTheMaster();
  EXPECT_EQ(watcher.Stop(SIGTERM), 0);
  EXPECT_TRUE(api().Exists("deployments", ns_, "spark-w"));
  EXPECT_TRUE(api().Exists("services", ns_, "spark"));
}

TEST_F(Termination, LeavesAClusterWhoseMasterRootIsThere) {
  Watcher& watcher = WatchOnANode();
  api().Delete("deployments", ns_, "bob");
  EXPECT_TRUE(Shows(watcher, "abandoned: owner-absent"));
  EXPECT_EQ(watcher.Stop(SIGTERM), 0);
  EXPECT_TRUE(IsWhole());
}

TEST_F(Termination, LeavesWhatItIsToldToLeave) {
  Watcher& watcher = WatchOnANode({"--on-termination=leave"});
  api().Delete("deployments", ns_, "bob");
  TakeDownTheMaster();
  EXPECT_EQ(watcher.Stop(SIGTERM), 0);
  EXPECT_TRUE(api().Exists("deployments", ns_, "spark-w"));
}

}  // namespace
}  // namespace cluster_watcher::integration

// The watcher is told to stop: it leaves what it hasn't begun to delete.
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <semaphore>

#include "test/integration/fixture.h"
#include "test/integration/proxy.h"

namespace cluster_watcher::integration {
namespace {

class Termination : public IntegrationTest {
 protected:
  // The master's pod is on a node, so it keeps terminating until somebody ends it. The test is too
  // short for a condemnation.
  Watcher& WatchOnANode(std::vector<std::string> flags = {}) {
    MakeClusterOnANode();
    return WatchIt(std::move(flags));
  }
  void MakeClusterOnANode() {
    MakeCluster({.pod_spec = R"("nodeName": "nowhere", "terminationGracePeriodSeconds": 30, )"});
    MakeDriver();
  }
  Watcher& WatchIt(std::vector<std::string> flags = {}) {
    flags.insert(flags.begin(), "--grace-period=1h");
    Watcher& watcher = WatchOver("deployment/bob", flags);
    EXPECT_TRUE(Shows(watcher, "keep: active"));
    EXPECT_TRUE(Eventually([&] { return !OwnerMark("uid").empty(); }));
    pod_ = MasterPod();
    return watcher;
  }

  void TakeDownTheMaster() {
    api().Delete("deployments", ns_, kMaster);
    EXPECT_TRUE(Eventually([&] { return IsTerminating(); }));
  }
  bool IsTerminating() {
    const auto pod = api().Get("pods", ns_, pod_);
    return pod && pod->root()["metadata"]["deletionTimestamp"].Exists();
  }
  void LoseTheDriver() {
    api().Delete("deployments", ns_, "bob");
    EXPECT_TRUE(Eventually([&] {
      return !api().Exists("deployments", ns_, "bob") &&
             api().Names("pods", ns_, "app=bob").empty();
    }));
  }
  void TearDown() override {
    if (pod_.empty()) return IntegrationTest::TearDown();
    [[maybe_unused]] const auto ended =
        api().Do(HttpMethod::kDelete, PathOf("pods", ns_, pod_),
                 R"({"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0})");
    IntegrationTest::TearDown();
  }

  std::string pod_;
};

TEST_F(Termination, LeavesAClusterThatIsTakenDownByHand) {
  Watcher& watcher = WatchOnANode();
  LoseTheDriver();
  TakeDownTheMaster();
  EXPECT_EQ(watcher.Stop(SIGTERM), 0);
  EXPECT_TRUE(HasItsMembers());
}

// A pod deleted by force is gone without a signal.
TEST_F(Termination, AWatcherWhosePodIsGoneEndsByItselfAndLeavesEverything) {
  MakeCluster();
  MakeDriver();
  api().Scale("deployments", ns_, "bob", 2);
  Watcher& watcher = WatchOver("deployment/bob");
  ASSERT_TRUE(Shows(watcher, "keep: shared-by-replicas"));
  const std::string pod = MasterPod();
  api().Delete("pods", ns_, pod);
  EXPECT_EQ(watcher.WaitForExit(), 0);
  EXPECT_GE(watcher.LinesWith(pod), 1u);
  EXPECT_TRUE(IsWhole());
}

// The watcher is told to stop during one of its writes.
class TerminationAtAWrite : public IntegrationTest {
 protected:
  void TearDown() override {
    let_go_.release(1000);
    IntegrationTest::TearDown();
    proxy_.reset();
  }

  // The driver is gone and the API server has written `phase`, but the watcher doesn't know that
  // yet when it is told to stop.
  Watcher& StopAtTheWriteOf(const std::string& phase) {
    MakeCluster();
    MakeDriver();
    proxy_.emplace(server().Admin());
    const std::string written = R"("cluster-watcher/phase":")" + phase + "\"";
    proxy_->SetGate([this, written](const Passage& passage) {
      // After a conflict with a controller, nothing was written.
      if (passage.status == 200 && passage.request_line.starts_with("PATCH ") &&
          passage.body.find(written) != std::string::npos && !held_.exchange(true)) {
        let_go_.acquire();
      }
      return true;
    });
    WriteKubeconfig(kubeconfig(), proxy_->Address(), "token: \"" + server().Admin().token + "\"");
    Watcher& watcher = WatchOver("deployment/bob");
    EXPECT_TRUE(Shows(watcher, "keep: active"));
    api().Delete("deployments", ns_, "bob");
    EXPECT_TRUE(Eventually([&] { return held_.load(); }));
    watcher.Signal(SIGTERM);
    return watcher;
  }
  void LetGo() { let_go_.release(); }

 private:
  std::optional<Proxy> proxy_;
  std::counting_semaphore<> let_go_{0};
  std::atomic<bool> held_{false};
};

TEST_F(TerminationAtAWrite, ACondemnedClusterStays) {
  Watcher& watcher = StopAtTheWriteOf("condemned");
  LetGo();
  EXPECT_EQ(watcher.WaitForExit(), 0);
  EXPECT_TRUE(IsWhole());
  EXPECT_EQ(Mark("deleting-since"), "");
  // The next watcher begins from scratch.
  MakeDriver();
  Watcher& next = WatchOver("deployment/bob");
  EXPECT_TRUE(Keeps(next, "keep: active"));
  EXPECT_TRUE(Eventually([&] { return Mark("phase").empty() && Mark("condemned-by").empty(); }));
}

TEST_F(TerminationAtAWrite, BehindThePointOfNoReturnTheDeletionIsFinished) {
  Watcher& watcher = StopAtTheWriteOf("deleting");
  LetGo();
  EXPECT_TRUE(IsGone());
  EXPECT_EQ(watcher.WaitForExit(), 0);
}

}  // namespace
}  // namespace cluster_watcher::integration

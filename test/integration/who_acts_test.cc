// Two pods of the master, each with its watcher: which one deletes the cluster, and when the other
// one takes over.
#include <signal.h>

#include <algorithm>
#include <semaphore>

#include "test/integration/fixture.h"
#include "test/integration/proxy.h"

namespace cluster_watcher::integration {
namespace {

class WhoActs : public IntegrationTest {
 protected:
  // The member "held" can't go, so a deletion lasts until the test releases it.
  void MakeClusterWithTwoMasters() {
    MakeCluster();
    MakeMember("held", true);
    api().Scale("deployments", ns_, kMaster, 2);
    ASSERT_TRUE(Eventually([&] {
      pods_ = api().Names("pods", ns_, "app=" + std::string(kMaster));
      return pods_.size() == 2;
    }));
  }
  Watcher& WatchBy(std::size_t pod, std::vector<std::string> flags = {}) {
    flags.push_back("--owner=deployment/bob");
    return WatchAs(pods_[pod], std::move(flags));
  }
  bool IsNamed(std::size_t pod) { return Mark("condemned-by").starts_with(pods_[pod] + "/"); }
  void Release() { api().ReleaseFinalizers("configmaps", ns_, "held"); }

  // The first watcher has begun to delete; the second one looks on.
  void BeginDeletion(std::vector<std::string> flags_of_second = {}) {
    MakeClusterWithTwoMasters();
    first_ = &WatchBy(0);
    ASSERT_TRUE(Reaches(*first_, "deleting"));
    ASSERT_TRUE(Eventually([&] { return !api().Exists("services", ns_, "spark"); }));
    second_ = &WatchBy(1, std::move(flags_of_second));
    ASSERT_TRUE(LooksOn(*second_));
    ASSERT_TRUE(IsNamed(0));
  }
  testing::AssertionResult LooksOn(Watcher& watcher) {
    if (auto polled = PollsOn(watcher); !polled) return polled;
    if (watcher.Phase() == "watching" && Deletes(watcher) == 0) return testing::AssertionSuccess();
    return testing::AssertionFailure() << "it deletes: " << watcher.Log();
  }
  static double Deletes(Watcher& watcher) {
    return watcher.Metric("cluster_watcher_deletes_total");
  }
  void ExpectSecondTakesOver() {
    ASSERT_TRUE(Reaches(*second_, "deleting"));
    EXPECT_TRUE(IsNamed(1)) << Mark("condemned-by");
    Release();
    EXPECT_TRUE(Finishes(*second_));
  }

  std::vector<std::string> pods_;
  Watcher* first_ = nullptr;
  Watcher* second_ = nullptr;
};

TEST_F(WhoActs, OneOfTwoCondemnsAndTheOtherWaits) {
  MakeClusterWithTwoMasters();
  MakeDriver();
  Watcher* watchers[] = {&WatchBy(0), &WatchBy(1)};
  for (Watcher* watcher : watchers) ASSERT_TRUE(Shows(*watcher, "keep: active"));
  api().Delete("deployments", ns_, "bob");
  ASSERT_TRUE(Eventually([&] { return !api().Exists("services", ns_, "spark"); }));
  const std::size_t acting = IsNamed(0) ? 0 : 1;
  ASSERT_TRUE(IsNamed(acting));
  EXPECT_TRUE(LooksOn(*watchers[1 - acting]));
  EXPECT_EQ(watchers[acting]->Phase(), "deleting");
  EXPECT_TRUE(IsNamed(acting));
  EXPECT_EQ(Told("ClusterDeleting", 2).size(), 2u);  // on the namespace and on the master root
  Release();
  EXPECT_TRUE(Finishes(*watchers[acting]));
  EXPECT_EQ(watchers[1 - acting]->WaitForExit(), 0) << "its own pod is gone";
  EXPECT_EQ(Told("ClusterDeleted").size(), 1u);
}

TEST_F(WhoActs, ADeletionWhosePodIsGoneIsTakenOver) {
  BeginDeletion();
  ASSERT_EQ(first_->Stop(SIGKILL), -SIGKILL);
  ASSERT_TRUE(LooksOn(*second_)) << "it may be started again";
  api().Delete("pods", ns_, pods_[0]);
  ExpectSecondTakesOver();
}

TEST_F(WhoActs, WhoIsOvertakenAfterTheDeadlineStandsBack) {
  // Stops the second watcher before it deletes the master root, so that there is time to see what
  // the first one does.
  std::counting_semaphore<> let_go(0);
  std::atomic<bool> at_the_end{false};
  Proxy proxy(server().Admin());
  proxy.SetGate([&](const Passage& passage) {
    const bool is_end =
        passage.request_line.starts_with("DELETE " + PathOf("deployments", ns_, kMaster));
    if (is_end && !passage.answered) {
      at_the_end = true;
      let_go.acquire();
    }
    return true;
  });
  const std::string kubeconfig = WriteKubeconfig(File("proxied"), proxy.Address(),
                                                 "token: \"" + server().Admin().token + "\"");
  BeginDeletion({"--kubeconfig=" + kubeconfig, "--delete-deadline=12s"});
  first_->Signal(SIGSTOP);
  EXPECT_TRUE(Eventually([&] { return at_the_end.load(); }));
  EXPECT_TRUE(IsNamed(1));
  MakeMember("late");
  const std::string late = api().Uid("configmaps", ns_, "late");
  first_->Signal(SIGCONT);
  const double deletes = Deletes(*first_);
  const double requests = first_->Requests();
  EXPECT_TRUE(Eventually([&] { return first_->Requests() >= requests + 30; }));
  EXPECT_EQ(first_->Phase(), "watching");
  EXPECT_EQ(Deletes(*first_), deletes);
  EXPECT_EQ(api().Uid("configmaps", ns_, "late"), late);
  let_go.release(1000);
  EXPECT_TRUE(Reaches(*second_, "done"));
  EXPECT_TRUE(Eventually([&] { return !api().Exists("deployments", ns_, kMaster); }));
  EXPECT_EQ(first_->WaitForExit(), 0) << "its own pod is gone";
  second_->Stop(SIGKILL);
  Release();
}

class CondemnedByAnother : public WhoActs {
 protected:
  // Leaves the marks of the second pod's watcher, killed before its last look.
  void CondemnAsTheSecond() {
    MakeClusterWithTwoMasters();
    Release();
    MarkTheRoot(
        {{"cluster-watcher/root-uid", api().Uid("deployments", ns_, kMaster)},
         {"cluster-watcher/phase", "condemned"},
         {"cluster-watcher/reason", "owner-absent"},
         {"cluster-watcher/condemned-by", pods_[1] + "/" + api().Uid("pods", ns_, pods_[1])}});
    first_ = &WatchBy(0);
    ASSERT_TRUE(LooksOn(*first_));
    ASSERT_TRUE(IsNamed(1));
    ASSERT_TRUE(IsWhole());
  }
};

TEST_F(CondemnedByAnother, IsTakenOffWhenThatPodIsGone) {
  CondemnAsTheSecond();
  MakeDriver();
  api().Delete("pods", ns_, pods_[1]);
  EXPECT_TRUE(Eventually([&] { return Mark("phase").empty() && Mark("condemned-by").empty(); }));
  ASSERT_TRUE(Keeps(*first_, "keep: active"));
  // From here on, everything is as if it had never been condemned.
  api().Delete("deployments", ns_, "bob");
  EXPECT_TRUE(Finishes(*first_));
}

}  // namespace
}  // namespace cluster_watcher::integration

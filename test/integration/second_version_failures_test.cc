// Failures of our own second version, of the watcher and of a sweep. What it did wrong is in
// CONTRIBUTING.md.
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <mutex>

#include "test/integration/failure_case.h"

namespace cluster_watcher::integration {
namespace {

constexpr char kHoldUntil[] = "cluster-watcher/hold-until";

// --- 67, 68, 70, 84: masters and their pods.

TEST_F(FailureCase, Case67AnEvictedMasterPodSaysNothing) {
  MakeCluster({.root_annotations = {{kOwner, "deployment/bob"}}});
  const auto masters = [&] { return api().Names("pods", ns_, "app=" + std::string(kMaster)); };
  std::vector<std::string> evicted;
  // In whatever order they are listed, most come before the one that runs.
  for (std::size_t pods = 1; pods <= 3; ++pods) {
    ASSERT_TRUE(Eventually([&] { return masters().size() == pods; }));
    for (const std::string& pod : masters()) {
      if (std::find(evicted.begin(), evicted.end(), pod) != evicted.end()) continue;
      api().SetStatus("pods", ns_, pod, R"({"phase": "Failed", "reason": "Evicted"})");
      api().Annotate("pods", ns_, pod, kOwner, "deployment/alice");
      api().Annotate("pods", ns_, pod, kHoldUntil, kFarAway);
      evicted.push_back(pod);
    }
  }
  std::string runs;
  ASSERT_TRUE(Eventually([&] {
    for (const std::string& pod : masters()) {
      if (std::find(evicted.begin(), evicted.end(), pod) == evicted.end()) runs = pod;
    }
    return !runs.empty();
  }));
  const auto check = [&] { return Command({"check", kCluster}).WaitForExit(); };
  EXPECT_EQ(check(), 3) << "neither their owner nor their hold counts";
  api().Annotate("pods", ns_, runs, kHoldUntil, kFarAway);
  EXPECT_EQ(check(), 0);
}

TEST_F(FailureCase, Case68AMasterWithoutPodsIsAMaster) {
  MakeCluster();
  Metadata service = Labelled("spark-master", "master");
  api().Create("services", ns_, ServiceOf(service, kMaster));
  api().Create("deployments", ns_,
               DeploymentOf({Labelled("other-m"), 0, Labelled("", "master").labels}));
  Watcher& watcher = WatchOver("deployment/bob");
  EXPECT_TRUE(Keeps(watcher, "keep: ambiguous"));
  api().Delete("deployments", ns_, "other-m");
  EXPECT_TRUE(Finishes(watcher)) << "the master's Service is no master";
}

TEST_F(FailureCase, Case70ASweepReadsTheTemplateOfEveryMaster) {
  const std::string drivers = MakeNamespace("drivers");
  api().Create("deployments", drivers, DeploymentOf({{"bob"}}));
  MakeMembers();
  api().Create("deployments", ns_,
               DeploymentOf({Labelled(kMaster),
                             0,
                             Labelled("").labels,
                             {{"cluster-watcher/inject", "true"},
                              {kOwner, "deployment/bob"},
                              {"cluster-watcher/owner-namespace", drivers}}}));
  EXPECT_EQ(Sweep().find("cluster spark "), std::string::npos);
  ASSERT_TRUE(IsWhole());
  api().Delete("deployments", drivers, "bob", "Foreground");
  ASSERT_TRUE(Eventually([&] { return !api().Exists("deployments", drivers, "bob"); }));
  EXPECT_NE(Sweep().find("cluster spark deleted: owner-absent"), std::string::npos);
  EXPECT_TRUE(IsGone());
}

TEST_F(FailureCase, Case84WhatAnAdmissionPutOnAPodIsNoRollout) {
  MakeCluster();
  MakeDriver();
  api().Annotate("pods", ns_, MasterPod(), kOwner, "deployment/bob");
  Watcher& watcher = Watch();
  ASSERT_TRUE(Keeps(watcher, "keep: active", 2));
  api().Delete("deployments", ns_, "bob");
  EXPECT_TRUE(Finishes(watcher));
}

// --- 69, 76: what a watcher that is started again knows.

TEST_F(FailureCase, Case69HalfAClusterIsJudgedAgainToo) {
  Proxy& proxy = BehindProxy();
  Watcher& killed = BeginHeldDeletion();
  ASSERT_EQ(killed.Stop(SIGKILL), -SIGKILL);
  MakeDriver();
  // Whether what was deleted is there again can't be told.
  proxy.LieAbout("GET " + PathOf("services", ns_), Lie::Answer(403, R"({"kind": "Status",
      "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403})"));
  Watcher& next = WatchOver("deployment/bob");
  ASSERT_TRUE(Shows(next, "keep: active"));
  EXPECT_TRUE(HasNoMarksOfADeletion());
  EXPECT_TRUE(PollsOn(next));
  EXPECT_EQ(next.Phase(), "watching");
  EXPECT_EQ(next.Metric("cluster_watcher_deletes_total"), 0);
  EXPECT_NE(api().Uid("deployments", ns_, kMaster), "");
  Release();
}

TEST_F(FailureCase, Case76AnOwnerThatIsAMemberIsRecorded) {
  MakeCluster();
  api().Create("deployments", ns_, DeploymentOf({Labelled("bob", "worker")}));
  Watcher& watcher = WatchOver("deployment/bob");
  ASSERT_TRUE(Keeps(watcher, "keep: misconfigured"));
  ASSERT_TRUE(Eventually([&] { return RecordedOwner().root()["member"].AsBool() == true; }));
  ASSERT_TRUE(StopsWell(watcher));
  api().Delete("deployments", ns_, "bob", "Foreground");
  ASSERT_TRUE(Eventually([&] { return !api().Exists("deployments", ns_, "bob"); }));
  EXPECT_TRUE(Keeps(WatchOver("deployment/bob"), "keep: misconfigured"));
}

// --- 73, 74, 77, 80: the deletion.

TEST_F(FailureCase, Case73ClaimsOutliveASetBelowACustomResource) {
  InstallKind("widgets.example.com");
  MakeCluster();
  const std::string widget = api().Create("widgets", ns_, CustomOf(Labelled("spark-x")));
  const std::string uid = MakeSetWithAClaim();
  api().Patch("statefulsets", ns_, kSet, R"({"metadata": {"ownerReferences": [{
      "apiVersion": "example.com/v1", "kind": "Widget", "name": "spark-x", "controller": true,
      "uid": ")" + widget + R"("}]}})");
  Watcher& watcher = WatchOver(
      "deployment/bob",
      {"--resources=deployments,statefulsets,pods,services,configmaps,persistentvolumeclaims,"
       "widgets.example.com"});
  ASSERT_TRUE(Reaches(watcher, "deleting"));
  // The garbage collector takes up to half a minute to notice a new kind.
  EXPECT_TRUE(Eventually([&] { return Members().empty(); }));
  EXPECT_FALSE(api().Exists("widgets", ns_, "spark-x"));
  EXPECT_EQ(api().Uid(kClaims, ns_, ClaimOfSet(0)), uid);
}

TEST_F(FailureCase, Case74ClaimsAreMarkedBehindTheFirstDelete) {
  MakeCluster();
  api().Create(kClaims, ns_, ClaimOf(Labelled("claim")));
  Proxy& proxy = BehindProxy();
  EXPECT_TRUE(Finishes(WatchOver("deployment/bob", {"--volumes=collect"})));
  const auto deletes = proxy.PassedOnWith("DELETE ");
  const auto marks = proxy.PassedOnWith("PATCH " + PathOf(kClaims, ns_));
  ASSERT_FALSE(deletes.empty());
  ASSERT_FALSE(marks.empty());
  EXPECT_GT(marks.front().number, deletes.front().number);
}

TEST_F(FailureCase, Case77NothingIsHandedToTheMasterRoot) {
  Proxy& proxy = BehindProxy();
  Watcher& killed = BeginHeldDeletion();
  ASSERT_EQ(killed.Stop(SIGKILL), -SIGKILL);
  EXPECT_EQ(api().Get("configmaps", ns_, "held")->root()["metadata"]["ownerReferences"].size(), 0u);
  Watcher& next = WatchOver("deployment/bob");
  ASSERT_TRUE(Reaches(next, "deleting"));
  Release();
  EXPECT_TRUE(Finishes(next));
  for (const Passage& write : proxy.PassedOnWith("PATCH ")) {
    EXPECT_EQ(write.body.find("ownerReferences"), std::string::npos) << write.request_line;
  }
}

TEST_F(FailureCase, Case80DeletedIsSaidWhenItIsSo) {
  MakeCluster();
  // As a custom resource whose operator is down: what it owns runs on.
  api().Scale("deployments", ns_, kMaster, 2);
  api().Patch("deployments", ns_, kMaster,
              R"({"metadata": {"finalizers": ["test.example/held"]}})");
  const auto masters = [&] { return api().Names("pods", ns_, "app=" + std::string(kMaster)); };
  ASSERT_TRUE(Eventually([&] { return masters().size() == 2; }));
  const std::string own = masters().front();
  Watcher& watcher = WatchAs(own, {"--owner=deployment/bob", "--operator-grace=2s"});
  ASSERT_TRUE(Eventually([&] { return api().Uid("deployments", ns_, kMaster).empty(); }));
  EXPECT_EQ(masters().size(), 2u);
  EXPECT_TRUE(Events("ClusterDeleted").empty());
  EXPECT_EQ(watcher.Phase(), "deleting");
  EXPECT_TRUE(Eventually([&] { return masters().empty(); })) << "it is deleted in the foreground";
  EXPECT_TRUE(Warns("the finalizer test.example/held")) << "nothing of it runs any more";
  EXPECT_EQ(Told("ClusterDeleted").size(), 1u);
  api().ReleaseFinalizers("deployments", ns_, kMaster);
}

// --- 92: verdicts that last.

TEST_F(FailureCase, Case92AVerdictThatLastsIsLookedAtSeldom) {
  MakeCluster();
  MakeDriver();
  Watcher& watcher = WatchOver("deployment/bob");
  const auto requests_in_a_while = [&] {
    const double before = watcher.Requests();
    std::this_thread::sleep_for(std::chrono::seconds(4));
    return watcher.Requests() - before;
  };
  ASSERT_TRUE(Keeps(watcher, "keep: active", 3));
  const double active = requests_in_a_while();
  api().Scale("deployments", ns_, "bob", 2);
  ASSERT_TRUE(Shows(watcher, "keep: shared-by-replicas"));
  std::this_thread::sleep_for(std::chrono::seconds(3));
  EXPECT_LE(requests_in_a_while(), 2 * active);
  api().Delete("deployments", ns_, "bob");
  EXPECT_TRUE(Finishes(watcher)) << "that it lasts no longer is seen by a glance";
}

}  // namespace
}  // namespace cluster_watcher::integration

// What keeps a cluster although its driver is gone.
#include <utility>

#include "test/integration/fixture.h"

namespace cluster_watcher::integration {
namespace {

constexpr char kFarAwayByOffset[] = "2199-12-24T18:00:00+01:00";
constexpr char kHold[] = "cluster-watcher/hold-until";

class Kept : public IntegrationTest {};

TEST_F(Kept, WhereItIsShared) {
  MakeCluster();
  Watcher& watcher = Watch({"--startup-grace=0s", "--grace-period=0s"});
  ASSERT_TRUE(Shows(watcher, "keep: shared"));
  EXPECT_EQ(watcher.Polls("none"), 1);
  EXPECT_EQ(watcher.Health("/readyz"), 200);
  // The watcher reviews its permissions once, after the first look.
  double requests = 0;
  ASSERT_TRUE(Eventually([&] {
    const double before = std::exchange(requests, watcher.Requests());
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    return requests == before;
  }));
  EXPECT_TRUE(IsWhole());
  // From now on it looks only once a minute.
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  EXPECT_EQ(watcher.Requests(), requests);
  EXPECT_TRUE(StopsWell(watcher));
}

TEST_F(Kept, WhileAHoldLastsWhereverItStands) {
  MakeCluster();
  const std::string pod = MasterPod();
  const auto hold = [&](const std::string& plural, const std::string& name, const char* until) {
    api().Annotate(plural, ns_, name, kHold, until);
  };
  // Each by a watcher of its own: one that has seen a hold for long looks seldom.
  const auto is_held = [&] {
    Watcher& watcher = WatchOver("deployment/bob");
    auto kept = Keeps(watcher, "keep: held", 3);
    return kept ? StopsWell(watcher) : kept;
  };
  hold("pods", pod, kFarAwayByOffset);
  EXPECT_TRUE(is_held()) << "by its pod";
  hold("deployments", kMaster, kFarAwayByOffset);
  hold("pods", pod, kLongAgo);
  EXPECT_TRUE(is_held()) << "by the master root";
  hold("namespaces", ns_, kFarAwayByOffset);
  hold("deployments", kMaster, kLongAgo);
  EXPECT_TRUE(is_held()) << "by the namespace";
  api().Patch("namespaces", "", ns_, R"({"metadata": {"annotations": null}})");
  EXPECT_TRUE(Finishes(WatchOver("deployment/bob")));
}

TEST_F(Kept, WhereAnAnnotationOfThePodIsWrong) {
  MakeCluster({.pod_annotations = {{"cluster-watcher/poll-interval", "five apples"}}});
  Watcher& watcher = WatchOver("deployment/bob");
  EXPECT_TRUE(Keeps(watcher, "keep: misconfigured"));
  EXPECT_EQ(watcher.Health("/readyz"), 503);
  EXPECT_EQ(watcher.Health("/healthz"), 200);
  EXPECT_GE(watcher.LinesWith("five apples"), 1u);
  EXPECT_TRUE(watcher.IsRunning());
  EXPECT_TRUE(StopsWell(watcher));
  api().Patch("pods", ns_, MasterPod(), R"({"metadata": {"annotations": {
      "cluster-watcher/poll-interval": null, "cluster-watcher/hold-untill": "2199-12-24"}}})");
  Watcher& misspelt = WatchOver("deployment/bob");
  EXPECT_TRUE(Keeps(misspelt, "keep: misconfigured"));
  EXPECT_GE(misspelt.LinesWith("cluster-watcher/hold-untill"), 1u);
}

TEST_F(Kept, WhereTheKindIsNotServed) {
  MakeCluster();
  Watcher& watcher = WatchOver("gizmo.example.net/bob");
  EXPECT_TRUE(Keeps(watcher, "keep: misconfigured"));
  EXPECT_EQ(watcher.Health("/readyz"), 503);
  EXPECT_EQ(watcher.LinesWith("gizmo.example.net"), 1u);
}

TEST_F(Kept, WhereTheMasterRootHasAController) {
  MakeCluster();
  const std::string uid = api().Create("configmaps", ns_, ConfigMapOf({"operator"}));
  api().Patch("deployments", ns_, kMaster,
              R"({"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap",
                  "name": "operator", "uid": ")" +
                  uid + R"(", "controller": true}]}})");
  EXPECT_TRUE(Keeps(WatchOver("deployment/bob"), "keep: ambiguous"));
}

TEST_F(Kept, WhereAnotherRootNamesAnotherOwner) {
  MakeCluster({.root_labels = {{"ephemeral", "bob"}}});
  Metadata other = Labelled("spark-w2", "worker");
  other.labels["ephemeral"] = "alice";
  api().Create("deployments", ns_, DeploymentOf({other, 1, Labelled("", "worker").labels}));
  EXPECT_TRUE(Keeps(WatchOver("deployment/bob"), "keep: ambiguous"));
}

TEST_F(Kept, WhileAnotherDriverUsesIt) {
  MakeCluster();
  Metadata carol{"carol", {{"uses-oshinko-cluster", kCluster}}};
  api().Create("deployments", ns_, DeploymentOf({carol}));
  Watcher& watcher = WatchOver("deployment/bob");
  EXPECT_TRUE(Keeps(watcher, "keep: in-use"));
  EXPECT_GE(watcher.Metric("cluster_watcher_refusals_total{reason=\"in-use\"}"), 1);
  EXPECT_EQ(Mark("phase"), "");
  api().Scale("deployments", ns_, "carol", 0);
  EXPECT_TRUE(Finishes(watcher));
  EXPECT_NE(api().Uid("deployments", ns_, "carol"), "");
}

TEST_F(Kept, InADryRunAndNothingIsWritten) {
  MakeCluster();
  MakeDriver();
  Watcher& watcher = WatchOver("deployment/bob", {"--dry-run"});
  ASSERT_TRUE(Shows(watcher, "keep: active"));
  api().Delete("deployments", ns_, "bob");
  ASSERT_TRUE(Eventually(
      [&] { return watcher.Metric("cluster_watcher_deletes_total{result=\"dry-run\"}") >= 5; }));
  const double deletes = watcher.Metric("cluster_watcher_deletes_total");
  EXPECT_TRUE(Keeps(watcher, "abandoned: owner-absent"));
  EXPECT_EQ(watcher.Metric("cluster_watcher_deletes_total"), deletes) << "one pass is enough";
  EXPECT_EQ(watcher.Metric("cluster_watcher_deletes_total{result=\"deleted\"}"), 0);
  EXPECT_EQ(watcher.Metric("cluster_watcher_dry_run"), 1);
  const auto root = api().Get("deployments", ns_, kMaster);
  ASSERT_TRUE(root);
  for (const auto& [key, value] : root->root()["metadata"]["annotations"].Members()) {
    EXPECT_FALSE(key.starts_with("cluster-watcher/")) << key;
  }
}

}  // namespace
}  // namespace cluster_watcher::integration

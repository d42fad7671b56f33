// The owner is there and its state decides: replicas, suspension or completion. Also the ways to
// name an owner.
#include <gtest/gtest.h>

#include "test/integration/fixture.h"

namespace cluster_watcher::integration {
namespace {

class OwnerState : public IntegrationTest {};

TEST_F(OwnerState, ScaledToZeroTheClusterGoesAndTheOwnerStays) {
  MakeCluster();
  MakeDriver();
  Watcher& watcher = WatchOver("deployment/bob");
  ASSERT_TRUE(Shows(watcher, "keep: active"));
  api().Scale("deployments", ns_, "bob", 0);
  ASSERT_TRUE(Finishes(watcher));
  EXPECT_GE(watcher.Polls("scaled-to-zero"), 3);
  EXPECT_NE(api().Uid("deployments", ns_, "bob"), "");
}

TEST_F(OwnerState, ScaledBackWithinTheGracePeriodTheClusterIsSpared) {
  MakeCluster();
  MakeDriver();
  Watcher& watcher = WatchOver("deployment/bob", {"--grace-period=1h"});
  ASSERT_TRUE(Shows(watcher, "keep: active"));
  api().Scale("deployments", ns_, "bob", 0);
  ASSERT_TRUE(Shows(watcher, "abandoned: scaled-to-zero"));
  ASSERT_TRUE(Eventually([&] { return watcher.Metric("cluster_watcher_confirmations") > 3; }));
  EXPECT_GT(watcher.Metric("cluster_watcher_abandoned_since_timestamp_seconds"), 0);
  api().Scale("deployments", ns_, "bob", 1);
  EXPECT_TRUE(Keeps(watcher, "keep: active"));
  EXPECT_EQ(watcher.Metric("cluster_watcher_confirmations"), 0);
  EXPECT_EQ(watcher.Metric("cluster_watcher_abandoned_since_timestamp_seconds"), 0);
  EXPECT_EQ(Mark("phase"), "");
}

TEST_F(OwnerState, WithTwoReplicasTheClusterIsShared) {
  MakeCluster();
  MakeDriver();
  Watcher& watcher = WatchOver("deployment/bob");
  ASSERT_TRUE(Shows(watcher, "keep: active"));
  api().Scale("deployments", ns_, "bob", 2);
  EXPECT_TRUE(Keeps(watcher, "keep: shared-by-replicas"));
  EXPECT_EQ(watcher.Metric("cluster_watcher_owner_replicas"), 2);
  api().Scale("deployments", ns_, "bob", 1);
  EXPECT_TRUE(Shows(watcher, "keep: active"));
}

TEST_F(OwnerState, AJobThatIsCompleteLetsTheClusterGo) {
  MakeCluster();
  std::string job = JobOf({{"bob"}});
  job.insert(job.find("\"template\""), R"("parallelism": 3, "completions": 3, )");
  api().Create("jobs", ns_, job);
  Watcher& watcher = WatchOver("job/bob");
  ASSERT_TRUE(Keeps(watcher, "keep: active"));
  EXPECT_EQ(watcher.Metric("cluster_watcher_owner_replicas"), 1);
  std::vector<std::string> pods;
  ASSERT_TRUE(Eventually([&] {
    pods = api().Names("pods", ns_, "app=bob");
    return pods.size() == 3;
  }));
  for (const std::string& pod : pods)
    api().SetStatus("pods", ns_, pod, R"({"phase": "Succeeded"})");
  ASSERT_TRUE(Finishes(watcher));
  EXPECT_GE(watcher.Polls("completed"), 3);
  EXPECT_NE(api().Uid("jobs", ns_, "bob"), "");
}

TEST_F(OwnerState, AJobThatIsSuspendedLetsTheClusterGo) {
  MakeCluster();
  MakeDriver("bob", "jobs");
  Watcher& watcher = WatchOver("job/bob");
  ASSERT_TRUE(Shows(watcher, "keep: active"));
  api().Patch("jobs", ns_, "bob", R"({"spec": {"suspend": true}})");
  ASSERT_TRUE(Finishes(watcher));
  EXPECT_GE(watcher.Polls("scaled-to-zero"), 3);
}

TEST_F(OwnerState, AJobThatAQueueHoldsIsActive) {
  MakeCluster();
  std::string job = JobOf({{"bob", {{"kueue.x-k8s.io/queue-name", "night"}}}});
  job.insert(job.find("\"template\""), R"("suspend": true, )");
  api().Create("jobs", ns_, job);
  Watcher& watcher = WatchOver("job/bob");
  ASSERT_TRUE(Keeps(watcher, "keep: active"));
  api().Patch("jobs", ns_, "bob",
              R"({"metadata": {"labels": {"kueue.x-k8s.io/queue-name": null}}})");
  EXPECT_TRUE(Finishes(watcher));
}

// It makes no pod, and waits for the ones it has.
TEST_F(OwnerState, WhilePodsOfAnOwnerAtZeroRunTheClusterStays) {
  MakeCluster();
  api().Create("statefulsets", ns_, R"({"metadata": {"name": "bob"}, "spec": {"replicas": 0,
      "serviceName": "bob", "selector": {"matchLabels": {"app": "bob"}}, "template": {
      "metadata": {"labels": {"app": "bob"}}, "spec": {"containers": [
        {"name": "x", "image": "x"}]}}}})");
  // No controller adopts it: it has one.
  api().Create("pods", ns_,
               R"({"metadata": {"name": "bob-9", "labels": {"app": "bob"},
      "ownerReferences": [{"apiVersion": "v1", "kind": "Namespace", "name": ")" +
                   ns_ + R"(", "controller": true, "uid": ")" + api().Uid("namespaces", "", ns_) +
                   R"("}]}, "spec": {
      "containers": [{"name": "x", "image": "x"}]}})");
  Watcher& watcher = WatchOver("statefulset/bob");
  ASSERT_TRUE(Keeps(watcher, "keep: driver-running"));
  api().Delete("pods", ns_, "bob-9");
  EXPECT_TRUE(Finishes(watcher));
}

struct Kind {
  const char* plural;
  const char* written;
};

class OwnerKind : public IntegrationTest, public testing::WithParamInterface<Kind> {};

TEST_P(OwnerKind, IsWatchedAndMissed) {
  MakeCluster();
  MakeDriver("bob", GetParam().plural);
  Watcher& watcher = WatchOver(std::string(GetParam().written) + "/bob");
  ASSERT_TRUE(Keeps(watcher, "keep: active", 2));
  api().Delete(GetParam().plural, ns_, "bob");
  EXPECT_TRUE(Finishes(watcher));
}

INSTANTIATE_TEST_SUITE_P(All, OwnerKind,
                         testing::Values(Kind{"deployments", "deploy"},
                                         Kind{"replicasets", "replicaset.apps"},
                                         Kind{"replicationcontrollers", "rc"},
                                         Kind{"statefulsets", "statefulsets.apps"},
                                         Kind{"jobs", "Job"}),
                         [](const auto& kind) { return std::string(kind.param.plural); });

class OwnerNamed : public IntegrationTest {
 protected:
  // bob is the owner, whatever other objects there are.
  void ExpectBobToCount(Watcher& watcher, const std::string& plural) {
    ASSERT_TRUE(Keeps(watcher, "keep: active", 2));
    api().Delete(plural, ns_, "bob");
    EXPECT_TRUE(Finishes(watcher));
  }
};

TEST_F(OwnerNamed, ByAnAnnotationOfThePod) {
  MakeCluster({.pod_annotations = {{"cluster-watcher/owner", "statefulset/bob"}}});
  MakeDriver("bob", "statefulsets");
  ExpectBobToCount(Watch(), "statefulsets");
}

TEST_F(OwnerNamed, ByAnAnnotationOfTheMasterRoot) {
  MakeCluster({.root_annotations = {{"cluster-watcher/owner", "job/bob"}}});
  MakeDriver("bob", "jobs");
  ExpectBobToCount(Watch(), "jobs");
}

TEST_F(OwnerNamed, ByTheEphemeralLabelAlone) {
  MakeCluster({.root_labels = {{"ephemeral", "bob"}}});
  MakeDriver("bob", "replicationcontrollers");
  Watcher& watcher = Watch();
  ASSERT_TRUE(Shows(watcher, "keep: active"));
  ASSERT_TRUE(Eventually([&] { return OwnerMark("kind") == "replicationcontroller"; }));
  EXPECT_EQ(OwnerMark("uid"), api().Uid("replicationcontrollers", ns_, "bob"));
  ExpectBobToCount(watcher, "replicationcontrollers");
}

TEST_F(OwnerNamed, ByTheFlagBeforeEverythingElse) {
  MakeCluster({.root_labels = {{"ephemeral", "bob"}},
               .pod_annotations = {{"cluster-watcher/owner", "statefulset/bob"}}});
  MakeDriver("bob", "deployments");
  ExpectBobToCount(WatchOver("deployment/bob"), "deployments");
}

TEST_F(OwnerNamed, BarelyTwoKindsOfThatNameSayNothing) {
  MakeCluster({.root_labels = {{"ephemeral", "bob"}}});
  MakeDriver("bob", "deployments");
  MakeDriver("bob", "jobs");
  Watcher& watcher = Watch();
  EXPECT_TRUE(Keeps(watcher, "keep: unknown"));
  EXPECT_EQ(watcher.LinesWith("keep: unknown"), 1u);
  api().Delete("deployments", ns_, "bob");
  EXPECT_TRUE(Keeps(watcher, "keep: active", 3));
  api().Delete("jobs", ns_, "bob");
  EXPECT_TRUE(Finishes(watcher));
}

TEST_F(OwnerNamed, BarelyTheKindThatIsGivenCounts) {
  MakeCluster({.root_labels = {{"ephemeral", "bob"}}});
  MakeDriver("bob", "deployments");
  MakeDriver("bob", "jobs");
  Watcher& watcher = Watch({"--owner-kind=job"});
  ASSERT_TRUE(Keeps(watcher, "keep: active", 2));
  api().Delete("jobs", ns_, "bob");
  EXPECT_TRUE(Finishes(watcher));
  EXPECT_NE(api().Uid("deployments", ns_, "bob"), "");
}

TEST_F(OwnerNamed, BarelyOnceRecordedOnlyThatKindIsPolledUntilAllAreAbsent) {
  MakeCluster({.root_labels = {{"ephemeral", "bob"}}});
  MakeDriver("bob", "deployments");
  Watcher& watcher = Watch();
  ASSERT_TRUE(Shows(watcher, "keep: active"));
  ASSERT_TRUE(Eventually([&] { return OwnerMark("kind") == "deployment.apps"; }));
  MakeDriver("bob", "replicationcontrollers");
  EXPECT_TRUE(Keeps(watcher, "keep: active", 3));
  // The other kind's bob takes its place.
  api().Delete("deployments", ns_, "bob");
  EXPECT_TRUE(Eventually([&] { return OwnerMark("kind") == "replicationcontroller"; }));
  EXPECT_TRUE(Keeps(watcher, "keep: active"));
}

TEST_F(OwnerNamed, InAnotherNamespace) {
  MakeCluster();
  const std::string elsewhere = kubernetes->Elsewhere();
  api().Create("deployments", elsewhere, DeploymentOf({{"bob-" + ns_}}));
  Watcher& watcher = WatchOver("deployment/bob-" + ns_, {"--owner-namespace=" + elsewhere});
  ASSERT_TRUE(Keeps(watcher, "keep: active", 2));
  api().Delete("deployments", elsewhere, "bob-" + ns_);
  EXPECT_TRUE(Finishes(watcher));
}

TEST_F(OwnerNamed, InANamespaceThatDoesNotExistNothingIsKnown) {
  MakeCluster();
  Watcher& watcher =
      WatchOver("deployment/bob", {"--owner-namespace=misspelt", "--startup-grace=0s"});
  EXPECT_TRUE(Keeps(watcher, "keep: unknown"));
}

}  // namespace
}  // namespace cluster_watcher::integration

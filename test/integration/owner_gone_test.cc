// The owner is gone, or going: deleted in each way, replaced, held, or never there.
#include <signal.h>

#include "test/integration/fixture.h"

namespace cluster_watcher::integration {
namespace {

class OwnerGone : public IntegrationTest {};

TEST_F(OwnerGone, DeletedInTheBackgroundTheClusterGoesAndEventsTellIt) {
  MakeCluster();
  MakeDriver();
  Watcher& watcher = WatchOver("deployment/bob");
  ASSERT_TRUE(Keeps(watcher, "keep: active", 3));
  EXPECT_EQ(watcher.Health("/readyz"), 200);
  EXPECT_EQ(watcher.Health("/healthz"), 200);
  EXPECT_EQ(watcher.Metric("cluster_watcher_owner_replicas"), 1);

  api().Delete("deployments", ns_, "bob");
  ASSERT_TRUE(Finishes(watcher));
  for (const char* reason :
       {"ClusterAbandoned", "ClusterCondemned", "ClusterDeleting", "ClusterDeleted"}) {
    EXPECT_FALSE(Told(reason).empty());
  }
  EXPECT_TRUE(Events("ClusterSpared").empty());
  EXPECT_GE(watcher.Metric("cluster_watcher_deletes_total{resource=\"deployments\","
                           "result=\"deleted\"}"),
            2);
  EXPECT_EQ(watcher.Metric("cluster_watcher_members{state=\"remaining\"}"), 0);
  EXPECT_GT(watcher.Metric("cluster_watcher_deletion_duration_seconds"), 0);
  EXPECT_EQ(watcher.Health("/healthz"), 200);
  EXPECT_TRUE(watcher.IsRunning());
  EXPECT_TRUE(StopsWell(watcher));
}

TEST_F(OwnerGone, ThePageTellsHowFarItIs) {
  MakeCluster();
  MakeDriver();
  MakeMember("held", true);
  Watcher& watcher = WatchOver("deployment/bob");
  const auto tells = [&](const std::string& text) {
    return Eventually([&] { return watcher.Page().find(text) != std::string::npos; })
           << ": " << text << " in " << watcher.Page();
  };
  ASSERT_TRUE(Shows(watcher, "keep: active"));
  EXPECT_TRUE(tells("<h1>" + ns_ + "/" + kCluster + "</h1>"));
  EXPECT_TRUE(tells("<dd>deployment.apps/bob</dd>"));
  EXPECT_TRUE(tells("<dd>keep: active</dd>"));
  EXPECT_TRUE(tells("<dd>watching</dd>"));

  api().Delete("deployments", ns_, "bob");
  EXPECT_TRUE(tells("<dd>deleting</dd>"));
  EXPECT_TRUE(tells("<dd>abandoned: owner-absent</dd>"));
  EXPECT_TRUE(tells(" 1 remaining"));
  api().ReleaseFinalizers("configmaps", ns_, "held");
  ASSERT_TRUE(Finishes(watcher));
  EXPECT_TRUE(tells("<dd>done</dd>"));
  EXPECT_TRUE(StopsWell(watcher));
}

TEST_F(OwnerGone, TheMarksAreWrittenInTheirOrder) {
  MakeCluster();
  MakeDriver();
  Watcher& watcher = WatchOver("deployment/bob");
  ASSERT_TRUE(Shows(watcher, "keep: active"));
  const auto root = api().Get("deployments", ns_, kMaster);
  ASSERT_TRUE(root);
  const JsonValue metadata = root->root()["metadata"];
  const std::string uid(metadata["uid"].AsString().value_or(""));
  const std::string version(metadata["resourceVersion"].AsString().value_or(""));
  const std::string pod = MasterPod();
  const std::string by = pod + "/" + api().Uid("pods", ns_, pod);
  api().Delete("deployments", ns_, "bob");
  ASSERT_TRUE(Finishes(watcher));

  std::vector<std::string> states;
  for (const JsonDocument& event : api().History("deployments", ns_, kMaster, version)) {
    const JsonValue marks = event.root()["object"]["metadata"]["annotations"];
    const auto mark = [&](const std::string& name) {
      return std::string(marks["cluster-watcher/" + name].AsString().value_or(""));
    };
    std::string state = event.root()["type"].AsString() == "DELETED" ? "gone" : mark("phase");
    if (state == "condemned" || state == "deleting") {
      EXPECT_EQ(mark("reason"), "owner-absent");
      EXPECT_EQ(mark("condemned-by"), by);
      EXPECT_EQ(mark("root-uid"), uid);
      EXPECT_EQ(mark("deleting-since").empty(), state == "condemned");
    }
    if (!state.empty() && (states.empty() || states.back() != state)) states.push_back(state);
  }
  EXPECT_EQ(states, (std::vector<std::string>{"condemned", "deleting", "gone"}));
}

TEST_F(OwnerGone, WhileItsOrphanedPodsRunTheClusterStays) {
  MakeCluster();
  MakeDriver();
  Watcher& watcher = WatchOver("deployment/bob");
  ASSERT_TRUE(Shows(watcher, "keep: active"));
  ASSERT_TRUE(Eventually([&] { return api().Names("pods", ns_, "app=bob").size() == 1; }));
  api().Delete("deployments", ns_, "bob", "Orphan");
  ASSERT_TRUE(Keeps(watcher, "keep: driver-running"));
  for (const std::string& set : api().Names("replicasets", ns_, "app=bob")) {
    api().Delete("replicasets", ns_, set);
  }
  EXPECT_TRUE(Finishes(watcher));
}

TEST_F(OwnerGone, ReplacedWithinTheGracePeriodItIsAdopted) {
  MakeCluster();
  MakeDriver();
  Watcher& watcher = WatchOver("deployment/bob", {"--grace-period=1h"});
  ASSERT_TRUE(Shows(watcher, "keep: active"));
  ASSERT_TRUE(Eventually([&] { return !OwnerMark("uid").empty(); }));
  api().Delete("deployments", ns_, "bob");
  ASSERT_TRUE(Shows(watcher, "abandoned: owner-absent"));
  MakeDriver();
  ASSERT_TRUE(Keeps(watcher, "keep: active"));
  const std::string uid = api().Uid("deployments", ns_, "bob");
  EXPECT_TRUE(Eventually([&] { return OwnerMark("uid") == uid; }));
  EXPECT_EQ(watcher.Metric("cluster_watcher_confirmations"), 0);
  EXPECT_GE(watcher.LinesWith("owner-adopted"), 1u);
}

TEST_F(OwnerGone, HeldByAFinalizerTheClusterStaysWhileItsPodsRun) {
  MakeCluster();
  Metadata bob{"bob"};
  bob.held = true;
  api().Create("deployments", ns_, DeploymentOf({bob}));
  Watcher& watcher = WatchOver("deployment/bob");
  ASSERT_TRUE(Shows(watcher, "keep: active"));
  ASSERT_TRUE(Eventually([&] { return api().Names("pods", ns_, "app=bob").size() == 1; }));
  api().Delete("deployments", ns_, "bob");
  ASSERT_TRUE(Keeps(watcher, "keep: driver-running"));
  for (const std::string& set : api().Names("replicasets", ns_, "app=bob")) {
    api().Delete("replicasets", ns_, set);
  }
  ASSERT_TRUE(Finishes(watcher));
  EXPECT_GE(watcher.Polls("deleting"), 3);
  EXPECT_TRUE(api().Exists("deployments", ns_, "bob"));
  api().ReleaseFinalizers("deployments", ns_, "bob");
}

TEST_F(OwnerGone, NeverThereItIsWaitedForAsLongAsTheStartupGraceSays) {
  MakeCluster({.root_labels = {{"ephemeral", "bob"}}});
  const auto begin = std::chrono::steady_clock::now();
  Watcher& watcher = Watch({"--grace-period=0s", "--startup-grace=2s"});
  ASSERT_TRUE(Finishes(watcher));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
}

TEST_F(OwnerGone, TogetherWithItsNamespaceTheClusterGoes) {
  const std::string drivers = ns_ + "-drivers";
  api().Create("namespaces", "", NamedOf({drivers}));
  api().Create("deployments", drivers, DeploymentOf({{"bob"}}));
  MakeCluster();
  Watcher& watcher = WatchOver("deployment/bob", {"--owner-namespace=" + drivers});
  ASSERT_TRUE(Shows(watcher, "keep: active"));
  ASSERT_TRUE(Eventually([&] { return !OwnerMark("uid").empty(); }));
  ASSERT_TRUE(DeleteNamespace(drivers, "bob"));
  EXPECT_TRUE(Finishes(watcher));
}

// A namespace's objects go in any order, the account's rights among the first.
TEST_F(OwnerGone, WhileTheClustersOwnNamespaceGoesNothingIsDone) {
  const std::string home = ns_;
  ns_ = home + "-dying";
  api().Create("namespaces", "", NamedOf({ns_}));
  MakeAccount(WatcherRoleOf({kAccount}));
  WriteKubeconfig(kubeconfig(), server().Admin(), "token: \"" + api().Token(ns_, kAccount) + "\"");
  MakeCluster();
  MakeDriver();
  Watcher& watcher = WatchOver("deployment/bob");
  ASSERT_TRUE(Shows(watcher, "keep: active"));
  api().Delete("rolebindings", ns_, kAccount);
  ASSERT_TRUE(DeleteNamespace(ns_, kMaster));
  ASSERT_TRUE(Shows(watcher, "keep: unknown"));
  EXPECT_EQ(watcher.Metric("cluster_watcher_deletes_total"), 0);
  EXPECT_EQ(watcher.Phase(), "watching");
  EXPECT_TRUE(StopsWell(watcher));
  ns_ = home;
}

}  // namespace
}  // namespace cluster_watcher::integration

// The deletion itself: what interrupts it and what holds it up.
#include <signal.h>

#include "test/integration/failure_case.h"

namespace cluster_watcher::integration {
namespace {

using Deleting = FailureCase;

TEST_F(Deleting, WaitsForAMemberThatIsHeldAndTheMasterRootGoesLast) {
  Watcher& watcher = BeginHeldDeletion();
  const double requests = watcher.Requests();
  ASSERT_TRUE(Eventually([&] { return watcher.Requests() >= requests + 60; }));
  EXPECT_EQ(watcher.Phase(), "deleting");
  EXPECT_EQ(watcher.Metric("cluster_watcher_members{state=\"remaining\"}"), 1);
  EXPECT_NE(api().Uid("deployments", ns_, kMaster), "");
  EXPECT_TRUE(Events("ClusterDeleted").empty());
  Release();
  EXPECT_TRUE(Finishes(watcher));
}

TEST_F(Deleting, TakesWhatAppearsMeanwhile) {
  Watcher& watcher = BeginHeldDeletion();
  MakeMember("late");
  api().Create("services", ns_, ServiceOf(Labelled("late"), "x"));
  EXPECT_TRUE(Eventually([&] {
    return !api().Exists("configmaps", ns_, "late") && !api().Exists("services", ns_, "late");
  }));
  Release();
  EXPECT_TRUE(Finishes(watcher));
}

TEST_F(Deleting, EndsAtTheDeadlineAndNamesWhatIsLeft) {
  const std::vector<std::string> flags = {"--delete-deadline=3s"};
  Watcher& killed = BeginHeldDeletion(flags);
  killed.Stop(SIGKILL);
  // Whoever goes on has a deadline of their own.
  Watcher& watcher = WatchOver("deployment/bob", flags);
  ASSERT_TRUE(Reaches(watcher, "done"));
  ASSERT_TRUE(Eventually([&] { return !api().Exists("deployments", ns_, kMaster); }));
  EXPECT_TRUE(api().Exists("configmaps", ns_, "held"));
  const auto notes = Told("ClusterDeleted");
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes.front().find("configmap/held"), std::string::npos) << notes.front();
  Release();
}

TEST_F(Deleting, KilledAndStartedAgainItLooksAgain) {
  Watcher& killed = BeginHeldDeletion();
  ASSERT_EQ(killed.Stop(SIGKILL), -SIGKILL);
  MakeDriver();
  MakeMembers();
  Watcher& watcher = WatchOver("deployment/bob");
  EXPECT_TRUE(DeletesNothing(watcher, "keep: active"));
  EXPECT_TRUE(HasNoMarksOfADeletion());
  EXPECT_TRUE(Warns("had begun to delete it"));
  api().Delete("deployments", ns_, "bob");
  EXPECT_TRUE(Reaches(watcher, "deleting"));
  Release();
  EXPECT_TRUE(Finishes(watcher));
}

TEST_F(Deleting, IsNotStoppedByASignal) {
  Watcher& watcher = BeginHeldDeletion();
  EXPECT_EQ(watcher.Stop(SIGTERM, std::chrono::milliseconds(500)), std::nullopt);
  Release();
  EXPECT_TRUE(IsGone());
  EXPECT_EQ(watcher.WaitForExit(), 0);
}

TEST_F(Deleting, IsTakenOverByTheNextPodsWatcher) {
  Watcher& killed = BeginHeldDeletion();
  const std::string pod = MasterPod();
  ASSERT_EQ(killed.Stop(SIGKILL), -SIGKILL);
  api().Delete("pods", ns_, pod);
  ASSERT_TRUE(Eventually([&] { return MasterPod() != pod; }));
  Watcher& watcher = WatchOver("deployment/bob");
  EXPECT_TRUE(Reaches(watcher, "deleting"));
  EXPECT_TRUE(Mark("condemned-by").starts_with(MasterPod() + "/"));
  Release();
  EXPECT_TRUE(Finishes(watcher));
}

TEST_F(Deleting, StopsWhereTheMasterRootWasMadeAgain) {
  Watcher& watcher = BeginHeldDeletion();
  // It must not see the moment without a root.
  watcher.Signal(SIGSTOP);
  api().Delete("deployments", ns_, kMaster, "Foreground");
  ASSERT_TRUE(Eventually([&] { return !api().Exists("deployments", ns_, kMaster); }));
  const Workload master{Labelled(kMaster, "master"), 1, Labelled("", "master").labels};
  const std::string uid = api().Create("deployments", ns_, DeploymentOf(master));
  MakeMember("spark-config");
  watcher.Signal(SIGCONT);
  EXPECT_EQ(watcher.WaitForExit(), 0) << "its own pod is gone";
  EXPECT_EQ(api().Uid("deployments", ns_, kMaster), uid);
  EXPECT_NE(api().Uid("configmaps", ns_, "spark-config"), "");
  EXPECT_GE(watcher.LinesWith("uid-changed"), 1u);
  EXPECT_TRUE(Events("ClusterDeleted").empty());
  Release();
}

TEST_F(Deleting, OutlastsAnApiServerThatIsAway) {
  Watcher& watcher = BeginHeldDeletion();
  server().StopApi();
  const double failed = watcher.Metric("rest_client_requests_total{code=\"<error>\"}");
  EXPECT_TRUE(Eventually([&] {
    return watcher.Metric("rest_client_requests_total{code=\"<error>\"}") >= failed + 3;
  }));
  EXPECT_EQ(watcher.Phase(), "deleting");
  server().StartApi();
  Release();
  EXPECT_TRUE(Finishes(watcher));
}

TEST_F(Deleting, TouchesNeitherWhatAForeignControllerMakesNorAWorkloadThatIsKept) {
  MakeCluster();
  // A labelled pod below a controller outside the cluster.
  api().Create("deployments", ns_, DeploymentOf({{"foreign"}, 1, Labelled("", "worker").labels}));
  Metadata kept = Labelled("spark-kept", "worker");
  kept.annotations["cluster-watcher/keep"] = "true";
  const std::string uid = api().Create("deployments", ns_, DeploymentOf({kept, 1}));
  std::vector<std::string> pods;
  ASSERT_TRUE(Eventually([&] {
    pods = api().Names("pods", ns_, "app=foreign");
    return pods.size() == 1;
  }));
  const std::string pod_uid = api().Uid("pods", ns_, pods.front());
  Watcher& watcher = WatchOver("deployment/bob");
  ASSERT_TRUE(Reaches(watcher, "done"));
  EXPECT_TRUE(Eventually([&] { return !api().Exists("deployments", ns_, kMaster); }));
  EXPECT_EQ(api().Uid("pods", ns_, pods.front()), pod_uid);
  EXPECT_EQ(api().Uid("deployments", ns_, "spark-kept"), uid);
}

class MasterRoot : public IntegrationTest {};

TEST_F(MasterRoot, MadeAnewUnderItsNameItIsFoundAgain) {
  MakeCluster();
  MakeDriver();
  Watcher& watcher = WatchOver("deployment/bob");
  ASSERT_TRUE(Shows(watcher, "keep: active"));
  ASSERT_TRUE(Eventually([&] { return !OwnerMark("uid").empty(); }));
  const std::string before = api().Uid("deployments", ns_, kMaster);
  const std::string old_marks = Mark("root-uid");
  EXPECT_EQ(old_marks, before);
  // The pod runs on. The new Deployment, made with the old one's annotations, adopts it through the
  // ReplicaSet.
  api().Delete("deployments", ns_, kMaster, "Orphan");
  ASSERT_TRUE(Eventually([&] { return !api().Exists("deployments", ns_, kMaster); }));
  Workload master{Labelled(kMaster, "master"), 1, Labelled("", "master").labels};
  master.metadata.annotations = {{"cluster-watcher/root-uid", old_marks},
                                 {"cluster-watcher/phase", "deleting"}};
  const std::string after = api().Create("deployments", ns_, DeploymentOf(master));
  api().Scale("deployments", ns_, "bob", 2);
  ASSERT_TRUE(Shows(watcher, "keep: shared-by-replicas"));
  EXPECT_TRUE(Eventually([&] { return Mark("root-uid") == after && Mark("phase").empty(); }));
  EXPECT_NE(after, before);
  EXPECT_EQ(watcher.Phase(), "watching");
  api().Delete("deployments", ns_, "bob");
  EXPECT_TRUE(Finishes(watcher));
}

TEST_F(Deleting, AKindThatIsNotServedIsSaidAndCountedOnce) {
  MakeCluster();
  MakeMember("one");
  MakeDriver();
  Watcher& watcher =
      WatchOver("deployment/bob", {"--resources=configmaps,services,widgets.example.com"});
  ASSERT_TRUE(Shows(watcher, "keep: active"));
  EXPECT_TRUE(Eventually([&] {
    return watcher.LinesWith("--resources: widgets.example.com is not served") == 1;
  })) << "it is said before it matters";
  api().Delete("deployments", ns_, "bob");
  ASSERT_TRUE(Reaches(watcher, "done"));
  const std::string deletes = "cluster_watcher_deletes_total{resource=";
  EXPECT_EQ(watcher.Metric(deletes + "\"widgets\",result=\"not-found\"}"), 1);
  EXPECT_EQ(watcher.LinesWith("skipped widgets.example.com: not served"), 1u);
  const auto notes = Told("ClusterDeleted");
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes.front().find("left: widgets.example.com: not served"), std::string::npos);
  EXPECT_FALSE(api().Exists("configmaps", ns_, "one"));
  EXPECT_TRUE(api().Exists("deployments", ns_, "spark-w")) << "its kind wasn't named";
}

}  // namespace
}  // namespace cluster_watcher::integration

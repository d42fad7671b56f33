// Failures in which the deletion went wrong, and what it costs while it can't go on.
#include <signal.h>

#include <algorithm>

#include "test/integration/failure_case.h"

namespace cluster_watcher::integration {
namespace {

bool Holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Where the first of `passages` to delete this object stands; -1: nowhere.
std::ptrdiff_t IndexOfDelete(const std::vector<Passage>& passages, const std::string& path) {
  const auto found = std::find_if(passages.begin(), passages.end(), [&](const Passage& passage) {
    return passage.request_line == "DELETE " + path;
  });
  return found == passages.end() ? -1 : found - passages.begin();
}

TEST_F(FailureCase, Case21PodsOfControllersThatOrphanThemByDefaultGo) {
  MakeCluster();
  api().Create("replicationcontrollers", ns_,
               ReplicationControllerOf({Labelled("spark-rc", "worker"), 2}));
  api().Create("jobs", ns_, JobOf({Labelled("spark-job", "worker")}));
  const auto pods = [&] {
    return api().Names("pods", ns_, "app=spark-rc").size() +
           api().Names("pods", ns_, "app=spark-job").size();
  };
  ASSERT_TRUE(Eventually([&] { return pods() == 3; }));
  Proxy& proxy = BehindProxy();
  EXPECT_TRUE(Finishes(WatchOver("deployment/bob")));
  EXPECT_TRUE(Eventually([&] { return pods() == 0; }));
  const auto deletes = proxy.PassedOnWith("DELETE ");
  EXPECT_GE(deletes.size(), 7u);
  for (const Passage& passage : deletes) {
    EXPECT_TRUE(Holds(passage.body, R"("propagationPolicy":"Background")")) << passage.request_line;
    EXPECT_TRUE(Holds(passage.body, R"("preconditions":{"uid":")")) << passage.request_line;
  }
}

TEST_F(FailureCase, Case22NoPodIsDeletedBeforeWhatWouldMakeItAgain) {
  MakeCluster();
  api().Scale("deployments", ns_, "spark-w", 5);
  std::vector<std::string> pods;
  ASSERT_TRUE(Eventually([&] {
    pods = api().Names("pods", ns_, "app=spark-w");
    return pods.size() == 5;
  }));
  Proxy& proxy = BehindProxy();
  EXPECT_TRUE(Finishes(WatchOver("deployment/bob")));
  const auto deletes = proxy.PassedOnWith("DELETE ");
  const std::ptrdiff_t controller = IndexOfDelete(deletes, PathOf("deployments", ns_, "spark-w"));
  ASSERT_GE(controller, 0);
  for (const std::string& pod : pods) {
    const std::ptrdiff_t deleted = IndexOfDelete(deletes, PathOf("pods", ns_, pod));
    EXPECT_TRUE(deleted == -1 || deleted > controller) << pod;
  }
}

TEST_F(FailureCase, Case23DeployerPodsGoWithTheirRollout) {
  InstallKind("deploymentconfigs.apps.openshift.io");
  MakeCluster();
  const auto reference = [](const std::string& api_version, const std::string& kind,
                            const std::string& name, const std::string& uid, bool controller) {
    return R"([{"apiVersion": ")" + api_version + R"(", "kind": ")" + kind + R"(", "name": ")" +
           name + R"(", "uid": ")" + uid + R"(", "controller": )" +
           (controller ? "true" : "false") + "}]";
  };
  const auto make_pod = [&](const Metadata& metadata) {
    api().Create("pods", ns_, R"({"metadata": )" + metadata.Json() + R"(, "spec": {
        "restartPolicy": "Never", "terminationGracePeriodSeconds": 0,
        "containers": [{"name": "deployment", "image": "example.invalid/none"}]}})");
  };
  const std::string config = api().Create(
      "deploymentconfigs", ns_,
      R"({"metadata": )" + Labelled("spark-dc", "worker").Json() + R"(, "spec": {"replicas": 1}})");
  Metadata rollout{"spark-dc-1"};
  rollout.owner_references =
      reference("apps.openshift.io/v1", "DeploymentConfig", "spark-dc", config, true);
  rollout.labels = Labelled("", "worker").labels;
  const std::string version =
      api().Create("replicationcontrollers", ns_, ReplicationControllerOf({rollout, 1}));
  Metadata deployer{"spark-dc-1-deploy"};
  deployer.owner_references =
      reference("v1", "ReplicationController", "spark-dc-1", version, false);
  deployer.labels = {{"openshift.io/deployer-pod-for.name", "spark-dc-1"}};
  make_pod(deployer);
  make_pod(Labelled("spark-dc-2-deploy"));  // one that nobody controls
  api().SetStatus("pods", ns_, "spark-dc-1-deploy", R"({"phase": "Succeeded"})");
  EXPECT_TRUE(Finishes(WatchOver("deployment/bob")));
  EXPECT_TRUE(Eventually([&] {
    const auto pods = api().Names("pods", ns_);
    return api().Names("deploymentconfigs", ns_).empty() &&
           std::none_of(pods.begin(), pods.end(),
                        [](const std::string& pod) { return pod.starts_with("spark"); });
  }));
}

TEST_F(FailureCase, Case24AnObjectThatSurvivesItsDeletionIsSeen) {
  MakeCluster();
  Proxy& proxy = BehindProxy();
  proxy.LieAbout(
      "DELETE " + PathOf("services", ns_, "spark-ui"),
      Lie::Answer(200, R"({"kind": "Status", "apiVersion": "v1", "status": "Success"})"));
  Watcher& watcher = WatchOver("deployment/bob");
  ASSERT_TRUE(Eventually([&] { return proxy.LiesTold() >= 4; }));
  EXPECT_EQ(watcher.Phase(), "deleting");
  EXPECT_EQ(watcher.Metric("cluster_watcher_members{state=\"remaining\"}"), 1);
  EXPECT_NE(api().Uid("deployments", ns_, kMaster), "");
  proxy.TellTheTruth();
  EXPECT_TRUE(Finishes(watcher));
}

TEST_F(FailureCase, Case25ServicesGoWhetherOrNotPodsDo) {
  MakeCluster();
  api().Delete("deployments", ns_, "spark-w");
  api().Create("services", ns_,
               R"({"metadata": )" + Labelled("spark-metrics").Json() +
                   R"(, "spec": {"clusterIP": "None", "ports": [{"port": 1}]}})");
  ASSERT_TRUE(Eventually([&] { return api().Names("pods", ns_, "app=spark-w").empty(); }));
  EXPECT_TRUE(Finishes(WatchOver("deployment/bob")));
  EXPECT_EQ(api().Names("services", ns_, std::string(kClusterLabel) + "=" + kCluster),
            std::vector<std::string>{"bystander-kept"});
}

TEST_F(FailureCase, Case26KilledMidwayWithoutGraceItIsFinishedByTheNext) {
  MakeCluster({.pod_spec = R"("terminationGracePeriodSeconds": 0, )"});
  MakeMember("held", true);
  Watcher& killed = WatchOver("deployment/bob");
  ASSERT_TRUE(Eventually([&] { return Mark("deletes-begun") == "true"; }));
  const std::string pod = MasterPod();
  api().Delete("pods", ns_, pod);
  EXPECT_EQ(killed.Stop(SIGKILL), -SIGKILL);
  MakeDriver();
  ASSERT_TRUE(Eventually([&] { return MasterPod() != pod; }));
  Watcher& next = WatchOver("deployment/bob");
  ASSERT_TRUE(Reaches(next, "deleting"));
  api().ReleaseFinalizers("configmaps", ns_, "held");
  EXPECT_TRUE(Finishes(next));
  EXPECT_TRUE(api().Exists("deployments", ns_, "bob"));
}

TEST_F(FailureCase, Case27NothingIsSaidToBeDeletedThatIsThere) {
  MakeCluster();
  MakeMember("held", true);
  Proxy& proxy = BehindProxy();
  proxy.LieAbout("DELETE " + PathOf("services", ns_, "spark-ui"), Lie::Answer(500, "{}"));
  Watcher& watcher = WatchOver("deployment/bob");
  const std::string failed =
      "cluster_watcher_deletes_total{resource=\"services\",result=\"failed\"}";
  ASSERT_TRUE(Eventually([&] { return watcher.Metric(failed) >= 3; }));
  EXPECT_EQ(watcher.Phase(), "deleting");
  EXPECT_TRUE(Events("ClusterDeleted").empty());
  proxy.TellTheTruth();
  ASSERT_TRUE(Eventually([&] { return !api().Exists("services", ns_, "spark-ui"); }));
  EXPECT_EQ(watcher.Phase(), "deleting") << "a member is left";
  EXPECT_TRUE(Events("ClusterDeleted").empty());
  api().ReleaseFinalizers("configmaps", ns_, "held");
  EXPECT_TRUE(Finishes(watcher));
  EXPECT_EQ(Told("ClusterDeleted").size(), 1u);
}

TEST_F(FailureCase, Case28AFinalizerThatNeverClearsHoldsUpNothingElse) {
  MakeCluster();
  MakeMember("held", true);
  const std::vector<std::string> flags = {"--delete-deadline=3s"};
  Watcher& killed = WatchOver("deployment/bob", flags);
  ASSERT_TRUE(Eventually([&] { return Mark("deletes-begun") == "true"; }));
  killed.Stop(SIGKILL);
  // The deadline is that of the deletion, whoever goes on with it.
  Watcher& watcher = WatchOver("deployment/bob", flags);
  ASSERT_TRUE(Reaches(watcher, "done"));
  EXPECT_TRUE(Eventually([&] {
    const auto left = Members();
    return left == std::vector<std::string>{"configmaps/held"};
  }));
  const auto notes = Told("ClusterDeleted");
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_TRUE(Holds(notes.front(), "configmap/held")) << notes.front();
  api().ReleaseFinalizers("configmaps", ns_, "held");
}

TEST_F(FailureCase, Case29WhatIsMadeAgainUnderItsNameIsToldByItsUid) {
  MakeCluster();
  MakeMember("made-again");
  MakeMember("made-anothers");
  Proxy& proxy = BehindProxy();
  std::string anothers;
  std::atomic<int> replaced{0};
  // Each is deleted and made again right before the watcher's own delete arrives.
  Api other(server().Admin());
  std::mutex mutex;
  proxy.SetGate([&](const Passage& passage) {
    const std::lock_guard lock(mutex);
    if (passage.answered || replaced == 2) return true;
    const std::string collection = "DELETE " + PathOf("configmaps", ns_) + "/";
    if (passage.request_line == collection + "made-again" &&
        !other.Exists("configmaps", ns_, "x")) {
      other.Delete("configmaps", ns_, "made-again");
      other.Create("configmaps", ns_, ConfigMapOf(Labelled("made-again")));
      other.Create("configmaps", ns_, ConfigMapOf({"x"}));
      ++replaced;
    } else if (passage.request_line == collection + "made-anothers" && anothers.empty()) {
      other.Delete("configmaps", ns_, "made-anothers");
      anothers = other.Create("configmaps", ns_, ConfigMapOf({"made-anothers"}));
      ++replaced;
    }
    return true;
  });
  Watcher& watcher = WatchOver("deployment/bob");
  EXPECT_TRUE(Finishes(watcher));
  EXPECT_EQ(replaced, 2);
  EXPECT_EQ(api().Uid("configmaps", ns_, "made-anothers"), anothers);
  EXPECT_FALSE(api().Exists("configmaps", ns_, "made-again"));
  EXPECT_GE(
      watcher.Metric("cluster_watcher_deletes_total{resource=\"configmaps\",result=\"conflict\"}"),
      2);
}

TEST_F(FailureCase, Case34WhatCannotGoOnDoesNotSpin) {
  MakeCluster();
  MakeMember("held", true);
  Proxy& proxy = BehindProxy();
  Watcher& watcher = WatchOver("deployment/bob");
  ASSERT_TRUE(Reaches(watcher, "deleting"));
  // Each pass reads the master root once.
  const std::string pass = "GET " + PathOf("deployments", ns_, kMaster);
  const auto passes = [&] { return proxy.PassedOnWith(pass).size(); };
  ASSERT_TRUE(Eventually([&] { return !api().Exists("services", ns_, "spark"); }));
  const std::size_t before = passes();
  const auto began = std::chrono::steady_clock::now();
  ASSERT_TRUE(Eventually([&] { return passes() >= before + 6; }));
  EXPECT_GE(std::chrono::steady_clock::now() - began, std::chrono::seconds(1));
  // And neither where even that fails.
  proxy.LieAbout(pass, Lie::Answer(500, std::string(100'000, ' ')));
  const long memory = watcher.PeakMemoryKilobytes();
  const auto failing = std::chrono::steady_clock::now();
  ASSERT_TRUE(Eventually([&] { return proxy.LiesTold() >= 3; }));
  EXPECT_GE(std::chrono::steady_clock::now() - failing, std::chrono::seconds(1));
  EXPECT_LE(watcher.PeakMemoryKilobytes(), memory + 4096);
  proxy.TellTheTruth();
  api().ReleaseFinalizers("configmaps", ns_, "held");
  EXPECT_TRUE(Finishes(watcher));
}

}  // namespace
}  // namespace cluster_watcher::integration

// Failures of similar systems that no other test covers.
#include <signal.h>

#include <algorithm>

#include "test/integration/failure_case.h"

namespace cluster_watcher::integration {
namespace {

TEST_F(FailureCase, Case08AnOwnerThatDoesNotParseIsAMistakeAndNotAbsent) {
  MakeCluster({.root_labels = {{"ephemeral", "Bob_1"}}});
  Watcher& by_label = Watch(hasty_);
  EXPECT_TRUE(Keeps(by_label, "keep: misconfigured"));
  EXPECT_GE(by_label.LinesWith("Bob_1"), 1u);
  EXPECT_TRUE(StopsWell(by_label));
  api().Annotate("deployments", ns_, kMaster, "cluster-watcher/owner", "deployment/bob/1");
  Watcher& by_root = Watch(hasty_);
  EXPECT_TRUE(Keeps(by_root, "keep: misconfigured"));
  EXPECT_TRUE(StopsWell(by_root));
  api().Annotate("pods", ns_, MasterPod(), "cluster-watcher/owner", "deployment of bob");
  EXPECT_TRUE(Keeps(Watch(hasty_), "keep: misconfigured"));
}

TEST_F(FailureCase, Case09AWatcherThatIsStarvedDoesNotMissTheOwnersReturn) {
  MakeCluster();
  MakeDriver();
  Watcher& watcher = WatchOver("deployment/bob", {"--grace-period=1500ms"});
  ASSERT_TRUE(Shows(watcher, "keep: active"));
  api().Delete("deployments", ns_, "bob");
  ASSERT_TRUE(Shows(watcher, "abandoned: owner-absent"));
  watcher.Signal(SIGSTOP);
  MakeDriver();
  std::this_thread::sleep_for(std::chrono::seconds(2));  // the grace period passes meanwhile
  watcher.Signal(SIGCONT);
  EXPECT_TRUE(Keeps(watcher, "keep: active"));
}

TEST_F(FailureCase, Case11WhatStillRunsOfASuspendedOrOrphanedDriverIsSeen) {
  MakeCluster();
  const std::string uid = api().Create("cronjobs", ns_, R"({"metadata": {"name": "bob"}, "spec": {
      "schedule": "0 0 1 1 *", "suspend": true, "jobTemplate": {"spec": {"template": {"spec": {
        "restartPolicy": "Never", "containers": [{"name": "x", "image": "x"}]}}}}}})");
  // `kubectl create job --from=cronjob/bob` makes it so; the CronJob's status doesn't mention it.
  Metadata run{"by-hand"};
  run.owner_references = R"([{"apiVersion": "batch/v1", "kind": "CronJob", "name": "bob",
      "controller": true, "uid": ")" +
                         uid + "\"}]";
  api().Create("jobs", ns_, JobOf({run}));
  Watcher& watcher = WatchOver("cronjob/bob");
  ASSERT_TRUE(Keeps(watcher, "keep: driver-running"));
  api().Delete("jobs", ns_, "by-hand");
  EXPECT_TRUE(Finishes(watcher));
  EXPECT_GE(watcher.Polls("scaled-to-zero"), 3);
  EXPECT_NE(api().Uid("cronjobs", ns_, "bob"), "");
}

TEST_F(FailureCase, Case14ATimerThatIsLostIsSetAgain) {
  MakeCluster();
  MakeDriver();
  for (int i = 0; i < 3; ++i) {
    Watcher& watcher = WatchOver("deployment/bob", {"--grace-period=1h"});
    if (i == 0) {
      ASSERT_TRUE(Shows(watcher, "keep: active"));
      ASSERT_TRUE(Eventually([&] { return !OwnerMark("uid").empty(); }));
      api().Delete("deployments", ns_, "bob");
    }
    ASSERT_TRUE(Shows(watcher, "abandoned: owner-absent"));
    ASSERT_TRUE(Eventually([&] { return watcher.Metric("cluster_watcher_confirmations") >= 2; }));
    EXPECT_EQ(watcher.Stop(SIGKILL), -SIGKILL);
  }
  EXPECT_TRUE(Finishes(WatchOver("deployment/bob")));
}

TEST_F(FailureCase, Case16AnApiThatIsBrokenBlocksNothingElse) {
  InstallKind("rayclusters.ray.io");
  InstallKind("widgets.example.com");
  MakeCluster();
  MakeMember("held", true);
  MakeDriver();
  Proxy& proxy = BehindProxy();
  proxy.LieAbout("GET /apis/ray.io/", Lie::Answer(503, "service unavailable\n", "text/plain"));
  Watcher& watcher =
      WatchOver("deployment/bob", {"--delete-deadline=3s", "--confirmations=1",
                                   "--resources=deployments.apps,pods,services,configmaps,"
                                   "persistentvolumeclaims,widgets.example.com"});
  ASSERT_TRUE(Keeps(watcher, "keep: active", 3));
  api().Delete("deployments", ns_, "bob");
  ASSERT_TRUE(Shows(watcher, "keep: unknown")) << "there may be drivers of that group";
  proxy.TellTheTruth();
  ASSERT_TRUE(Reaches(watcher, "deleting"));
  // Before its first delete it would look again, and not know what there is of that group.
  ASSERT_TRUE(Eventually([&] { return !api().Exists("services", ns_, "spark"); }));
  proxy.LieAbout("GET /apis/example.com/", Lie::Answer(503, "service unavailable\n", "text/plain"));
  Release();
  EXPECT_TRUE(Finishes(watcher));
}

TEST_F(FailureCase, Case18WhatIsKnownOfTheOwnerSurvivesANewMasterPod) {
  MakeCluster();
  MakeDriver();
  Watcher& first = WatchOver("deployment/bob");
  ASSERT_TRUE(Shows(first, "keep: active"));
  ASSERT_TRUE(Eventually([&] { return !OwnerMark("uid").empty(); }));
  ASSERT_TRUE(StopsWell(first));
  const std::string old_pod = MasterPod();
  api().Delete("pods", ns_, old_pod);
  ASSERT_TRUE(Eventually([&] {
    const auto pods = api().Names("pods", ns_, "app=" + std::string(kMaster));
    return pods.size() == 1 && pods.front() != old_pod;
  }));
  api().Delete("deployments", ns_, "bob");
  ASSERT_TRUE(Eventually([&] { return !api().Exists("deployments", ns_, "bob"); }));
  MakeDriver();
  Watcher& second = WatchOver("deployment/bob", {"--grace-period=1h"});
  EXPECT_TRUE(Shows(second, "keep: active"));
  EXPECT_GE(second.LinesWith("owner-adopted"), 1u);
}

TEST_F(FailureCase, Case32ARoleBindingThatGoesFirstIsNoAbsence) {
  const std::string drivers = MakeNamespace("drivers");
  UseAccount(R"([{"apiGroups": ["", "apps", "batch", "events.k8s.io"], "resources": ["*"],
                  "verbs": ["*"]}])");
  const std::string subject = R"(, "subjects": [{"kind": "ServiceAccount", "name": "watcher",
      "namespace": ")" + ns_ + "\"}]}";
  api().Create("roles", drivers, WatcherRoleOf({"watcher"}));
  api().Create("rolebindings", drivers,
               R"({"metadata": {"name": "watcher"}, "roleRef": {
      "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "watcher"})" +
                   subject);
  MakeCluster();
  api().Create("deployments", drivers, DeploymentOf({{"bob"}}));
  auto flags = hasty_;
  flags.push_back("--owner-namespace=" + drivers);
  Watcher& watcher = WatchOver("deployment/bob", flags);
  ASSERT_TRUE(Shows(watcher, "keep: active"));
  api().Delete("rolebindings", drivers, "watcher");
  ASSERT_TRUE(Shows(watcher, "keep: unknown"));
  api().Delete("namespaces", "", drivers);
  EXPECT_TRUE(Keeps(watcher, "keep: unknown"));
}

TEST_F(FailureCase, Case36AHoldLastsByTheLaterOfTwoClocks) {
  MakeCluster();
  const std::string pod = MasterPod();
  // Expired by our own clock, but not by the API server's.
  api().Annotate("pods", ns_, pod, "cluster-watcher/hold-until", "2025-01-01T12:00:00Z");
  const JsonDocument object = api().Expect(HttpMethod::kGet, PathOf("pods", ns_, pod));
  Lie slow_clock = Lie::Answer(200, object.root().ToText());
  const std::size_t date = slow_clock.bytes.find("Date: ");
  slow_clock.bytes.replace(date, slow_clock.bytes.find("\r\n", date) - date,
                           "Date: Wed, 01 Jan 2025 11:00:00 GMT");
  Proxy& proxy = BehindProxy();
  proxy.LieAbout("GET " + PathOf("pods", ns_, pod), slow_clock);
  Watcher& watcher = WatchOver("deployment/bob", hasty_);
  EXPECT_TRUE(Keeps(watcher, "keep: held"));
  EXPECT_GE(proxy.LiesTold(), 3);
  proxy.TellTheTruth();
  EXPECT_TRUE(Finishes(watcher));
}

bool Holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// The index of the first of `passages` that deletes this object; -1: none does.
std::ptrdiff_t IndexOfDelete(const std::vector<Passage>& passages, const std::string& path) {
  const auto found = std::find_if(passages.begin(), passages.end(), [&](const Passage& passage) {
    return passage.request_line == "DELETE " + path;
  });
  return found == passages.end() ? -1 : found - passages.begin();
}

TEST_F(FailureCase, Case21PodsGoBehindWhatWouldMakeThemAgainWhateverThatOrphans) {
  MakeCluster();
  api().Scale("deployments", ns_, "spark-w", 5);
  api().Create("replicationcontrollers", ns_,
               ReplicationControllerOf({Labelled("spark-rc", "worker"), 2}));
  api().Create("jobs", ns_, JobOf({Labelled("spark-job", "worker")}));
  const TextMap controllers = {{"spark-w", PathOf("deployments", ns_, "spark-w")},
                               {"spark-rc", PathOf("replicationcontrollers", ns_, "spark-rc")},
                               {"spark-job", PathOf("jobs", ns_, "spark-job")}};
  TextMap pods;  // and the path of each one's controller
  ASSERT_TRUE(Eventually([&] {
    for (const auto& [app, controller] : controllers) {
      for (const std::string& pod : api().Names("pods", ns_, "app=" + app)) pods[pod] = controller;
    }
    return pods.size() == 8;
  }));
  Proxy& proxy = BehindProxy();
  EXPECT_TRUE(Finishes(WatchOver("deployment/bob")));
  for (const auto& [app, controller] : controllers) {
    EXPECT_TRUE(Eventually([&] { return api().Names("pods", ns_, "app=" + app).empty(); })) << app;
  }
  const auto deletes = proxy.PassedOnWith("DELETE ");
  EXPECT_GE(deletes.size(), 7u);
  for (const Passage& passage : deletes) {
    EXPECT_TRUE(Holds(passage.body, R"("propagationPolicy":"Background")")) << passage.request_line;
    EXPECT_TRUE(Holds(passage.body, R"("preconditions":{"uid":")")) << passage.request_line;
  }
  for (const auto& [pod, controller] : pods) {
    const std::ptrdiff_t deleted = IndexOfDelete(deletes, PathOf("pods", ns_, pod));
    const std::ptrdiff_t before = IndexOfDelete(deletes, controller);
    ASSERT_GE(before, 0) << controller;
    EXPECT_TRUE(deleted == -1 || deleted > before) << pod;
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
  make_pod(Labelled("spark-dc-2-deploy"));  // without a controller
  api().SetStatus("pods", ns_, "spark-dc-1-deploy", R"({"phase": "Succeeded"})");
  EXPECT_TRUE(Finishes(WatchOver("deployment/bob")));
  EXPECT_TRUE(Eventually([&] {
    const auto pods = api().Names("pods", ns_);
    return api().Names("deploymentconfigs", ns_).empty() &&
           std::none_of(pods.begin(), pods.end(),
                        [](const std::string& pod) { return pod.starts_with("spark"); });
  }));
}

TEST_F(FailureCase, Case29WhatIsMadeAgainUnderItsNameIsToldByItsUid) {
  MakeCluster();
  MakeMember("made-again");
  MakeMember("made-anothers");
  Proxy& proxy = BehindProxy();
  std::string anothers;
  std::atomic<int> replaced{0};
  // Somebody deletes and recreates each one just before the watcher's delete arrives.
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
  // Of these, some may still follow progress, after which the pauses begin with the shortest.
  const std::size_t before = passes();
  const auto began = std::chrono::steady_clock::now();
  ASSERT_TRUE(Eventually([&] { return passes() >= before + 8; }));
  EXPECT_GE(std::chrono::steady_clock::now() - began, std::chrono::seconds(1));
  // It doesn't spin either if even that fails.
  proxy.LieAbout(pass, Lie::Answer(500, std::string(100'000, ' ')));
  const long memory = watcher.PeakMemoryKilobytes();
  const auto failing = std::chrono::steady_clock::now();
  ASSERT_TRUE(Eventually([&] { return proxy.LiesTold() >= 4; }));
  EXPECT_GE(std::chrono::steady_clock::now() - failing, std::chrono::seconds(1));
  EXPECT_LE(watcher.PeakMemoryKilobytes(), memory + 4096);
  proxy.TellTheTruth();
  api().ReleaseFinalizers("configmaps", ns_, "held");
  EXPECT_TRUE(Finishes(watcher));
}

TEST_F(FailureCase, Case78AStatusOfAnOlderGenerationSaysNothing) {
  InstallKind("rayjobs.ray.io");
  InstallKind("workflows.argoproj.io");
  MakeCluster();
  api().Create("rayjobs", ns_, CustomOf({"bob"}, R"({"suspend": false})"));
  api().SetStatus("rayjobs", ns_, "bob",
                  R"({"jobDeploymentStatus": "Failed", "jobStatus": "FAILED",
                      "observedGeneration": 1})");
  // As one who runs a job again.
  api().Patch("rayjobs", ns_, "bob", R"({"spec": {"backoffLimit": 3}})");
  Watcher& watcher = WatchOver("rayjob/bob", {"--grace-period=1h"});
  ASSERT_TRUE(Keeps(watcher, "keep: active"));
  api().SetStatus("rayjobs", ns_, "bob", R"({"observedGeneration": 2})");
  ASSERT_TRUE(Shows(watcher, "abandoned: completed"));
  EXPECT_TRUE(StopsWell(watcher));
  // Without a status subresource it is always behind.
  api().Create("workflows", ns_, CustomOf({"bob"}, "{}"));
  api().SetStatus("workflows", ns_, "bob", R"({"phase": "Failed", "observedGeneration": 1})");
  EXPECT_TRUE(Shows(WatchOver("workflow/bob", {"--grace-period=1h"}), "abandoned: completed"));
}

TEST_F(FailureCase, Case79AStatusAheadOfThePodsDeletesNothing) {
  InstallKind("rayjobs.ray.io");
  MakeCluster();
  const std::string uid = api().Create("rayjobs", ns_, CustomOf({"bob"}, "{}"));
  const auto make_pod = [&](const std::string& name, const TextMap& labels,
                            const std::string& references) {
    Metadata pod{name, labels};
    pod.owner_references = references;
    api().Create("pods", ns_, CustomOf(pod, R"({"containers": [{"name": "x", "image": "x"}]})"));
  };
  const std::string of_bob = R"([{"apiVersion": "ray.io/v1", "kind": "RayJob", "name": "bob",
      "controller": true, "uid": ")" +
                             uid + "\"}]";
  make_pod("bob-submitter", {}, of_bob);
  make_pod("bob-head", {{"ray.io/cluster", "bob-1"}}, "");
  const auto reaches = [&](const char* deployment, const char* job) {
    api().SetStatus("rayjobs", ns_, "bob",
                    R"({"rayClusterName": "bob-1", "jobDeploymentStatus": ")" +
                        std::string(deployment) + R"(", "jobStatus": ")" + job + "\"}");
  };
  reaches("Failed", "RUNNING");
  Watcher& watcher = WatchOver("rayjob/bob");
  ASSERT_TRUE(Keeps(watcher, "keep: driver-running"));
  reaches("Failed", "FAILED");
  ASSERT_TRUE(Keeps(watcher, "keep: driver-running")) << "its submitter";
  api().SetStatus("pods", ns_, "bob-submitter", R"({"phase": "Failed"})");
  EXPECT_TRUE(Finishes(watcher)) << "although its RayCluster runs on";
}

TEST_F(FailureCase, Case81OfAnUnknownKindOnlyItsExistenceCounts) {
  InstallKind("widgets.example.com");
  MakeCluster();
  api().Create("widgets", ns_, CustomOf({"bob"}, R"({"size": 0, "suspend": true})"));
  Watcher& watcher = WatchOver("widget/bob");
  ASSERT_TRUE(Keeps(watcher, "keep: active"));
  api().Patch("widgets", ns_, "bob/scale", R"({"spec": {"replicas": 3}})");
  ASSERT_TRUE(Keeps(watcher, "keep: active"));
  EXPECT_EQ(watcher.Metric("cluster_watcher_owner_replicas"), 1);
  api().Delete("widgets", ns_, "bob");
  EXPECT_TRUE(Finishes(watcher));
}

}  // namespace
}  // namespace cluster_watcher::integration

// Failures in which an owner only seemed to be gone, in which an orphan was missed, and those of
// the surroundings.
#include <signal.h>

#include "test/integration/failure_case.h"

namespace cluster_watcher::integration {
namespace {

constexpr char kFarAway[] = "2199-12-24T18:00:00Z";

TEST_F(FailureCase, Case01AnErrorWhileReadingTheOwnerIsNoAbsence) {
  MakeCluster();
  MakeDriver();
  Proxy& proxy = BehindProxy();
  Watcher& watcher = WatchOver("deployment/bob", hasty_);
  for (const int status : {400, 401, 403, 408, 429, 500, 502, 503, 504}) {
    ASSERT_TRUE(Shows(watcher, "keep: active")) << status;
    proxy.LieAbout(PathOf("deployments", ns_) + "?fieldSelector", Lie::Answer(status, "{}"));
    proxy.LieAbout(PathOf("deployments", ns_, "bob"), Lie::Answer(status, "{}"));
    ASSERT_TRUE(Keeps(watcher, "keep: unknown", 3)) << status;
    proxy.TellTheTruth();
  }
}

TEST_F(FailureCase, Case02AFailedQueryThatLooksLikeAnEmptyListIsNoAbsence) {
  MakeCluster();
  MakeDriver();
  Proxy& proxy = BehindProxy();
  Watcher& watcher = WatchOver("deployment/bob", hasty_);
  const std::vector<Lie> lies = {
      EmptyList("DeploymentList", ""),
      EmptyList("StatefulSetList", R"("resourceVersion": "9")"),
      EmptyList("DeploymentList", R"("resourceVersion": "9", "continue": "rest")"),
      Lie::Answer(200, R"({"items": []})"),
      Lie::Answer(200, R"({"kind": "DeploymentList", "apiVersion": "apps/v1",
                           "metadata": {"resourceVersion": "9"}, "items": null})"),
  };
  for (const Lie& lie : lies) {
    ASSERT_TRUE(Shows(watcher, "keep: active"));
    proxy.LieAbout(ListOf("deployments"), lie);
    ASSERT_TRUE(Keeps(watcher, "keep: unknown", 3)) << lie.bytes;
    proxy.TellTheTruth();
  }
}

TEST_F(FailureCase, Case03ANotFoundThatIsNotAboutTheObjectIsNoAbsence) {
  InstallKind("gadgets.example.com");
  MakeCluster();
  api().Create("gadgets", ns_, R"({"metadata": {"name": "bob"}, "spec": {}})");
  Proxy& proxy = BehindProxy();
  Watcher& watcher = WatchOver("gadget.example.com/bob", hasty_);
  for (const Lie& lie : {Lie::Answer(404, "404 page not found\n", "text/plain"),
                         Lie::Answer(404, "<html>Not Found</html>", "text/html"),
                         Lie::Answer(404, R"({"kind": "Status", "apiVersion": "v1",
                             "status": "Failure", "reason": "NotFound", "code": 404,
                             "details": {"name": "bob", "group": "example.com", "kind": "gadgets"}})"),
                         Lie::Answer(503, "service unavailable\n", "text/plain")}) {
    ASSERT_TRUE(Shows(watcher, "keep: active"));
    proxy.LieAbout(ListOf("gadgets"), lie);
    ASSERT_TRUE(Keeps(watcher, "keep: unknown", 3)) << lie.bytes;
    proxy.TellTheTruth();
  }
  ASSERT_TRUE(Shows(watcher, "keep: active"));
  // Its objects go with it, and in between lists of it are empty.
  RemoveKind("gadgets.example.com");
  ASSERT_TRUE(Keeps(watcher, "keep: misconfigured", 3));
  EXPECT_EQ(watcher.Polls("absent"), 0);
}

TEST_F(FailureCase, Case04AnOwnerThatIsReplacedByForceIsFollowed) {
  MakeCluster();
  MakeDriver();
  Watcher& watcher = WatchOver("deployment/bob", {"--grace-period=2s"});
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(Shows(watcher, "keep: active"));
    api().Delete("deployments", ns_, "bob");
    ASSERT_TRUE(Eventually([&] { return !api().Exists("deployments", ns_, "bob"); }));
    MakeDriver();
    ASSERT_TRUE(Keeps(watcher, "keep: active", 3));
    ASSERT_TRUE(
        Eventually([&] { return Mark("owner-uid") == api().Uid("deployments", ns_, "bob"); }));
  }
}

TEST_F(FailureCase, Case05AnotherObjectOfTheNameIsToldByItsUid) {
  MakeCluster({.root_labels = {{"ephemeral", "bob"}}});
  MakeDriver();
  Watcher& watcher = Watch({"--replaced-owner=abandon", "--grace-period=1h"});
  ASSERT_TRUE(Shows(watcher, "keep: active"));
  ASSERT_TRUE(Eventually([&] { return Mark("owner-kind") == "deployment.apps"; }));
  const std::string uid = Mark("owner-uid");
  api().Delete("deployments", ns_, "bob");
  MakeDriver("bob", "statefulsets");
  ASSERT_TRUE(Shows(watcher, "abandoned: owner-replaced"));
  EXPECT_EQ(Mark("owner-uid"), uid);
  EXPECT_TRUE(IsWhole());
}

TEST_F(FailureCase, Case06AnOwnerInAnotherNamespaceIsLookedForThere) {
  const std::string drivers = MakeNamespace("drivers");
  MakeCluster();
  api().Create("deployments", drivers, DeploymentOf({{"bob"}}));
  Watcher& watcher = WatchOver("deployment/bob", {"--owner-namespace=" + drivers});
  ASSERT_TRUE(Keeps(watcher, "keep: active"));
  auto flags = hasty_;
  flags.push_back("--owner-namespace=" + drivers + "s");
  Watcher& misspelt = WatchOver("deployment/bob", flags);
  EXPECT_TRUE(Keeps(misspelt, "keep: unknown"));
  EXPECT_TRUE(StopsWell(misspelt));
  api().Delete("deployments", drivers, "bob");
  EXPECT_TRUE(Finishes(watcher));
  api().Delete("namespaces", "", drivers);
}

TEST_F(FailureCase, Case07AnApiServerThatHasForgottenEverythingIsNotBelieved) {
  MakeCluster();
  MakeDriver();
  Proxy& proxy = BehindProxy();
  Watcher& watcher = WatchOver("deployment/bob", hasty_);
  ASSERT_TRUE(Shows(watcher, "keep: active"));
  // An empty store behind it: no owner, but no master root either.
  proxy.LieAbout(ListOf("deployments"), EmptyList("DeploymentList", R"("resourceVersion": "1")"));
  for (const std::string& path :
       {PathOf("deployments", ns_, kMaster), PathOf("replicasets", ns_)}) {
    proxy.LieAbout("GET " + path,
                   Lie::Answer(404, R"({"kind": "Status", "apiVersion": "v1", "status": "Failure",
                       "reason": "NotFound", "code": 404,
                       "details": {"name": "spark-m", "group": "apps", "kind": "deployments"}})"));
  }
  ASSERT_TRUE(Keeps(watcher, "keep: unknown"));
  proxy.TellTheTruth();
  ASSERT_TRUE(Keeps(watcher, "keep: active", 3));
  // A control plane that restarts.
  WriteKubeconfig(kubeconfig(), server().Admin(), "token: \"" + server().Admin().token + "\"");
  Watcher& direct = WatchOver("deployment/bob", hasty_);
  ASSERT_TRUE(Shows(direct, "keep: active"));
  server().StopApi();
  EXPECT_TRUE(Shows(direct, "keep: unknown"));
  server().StartApi();
  EXPECT_TRUE(Keeps(direct, "keep: active"));
}

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

TEST_F(FailureCase, Case10WhatIsCreatedWhileTheDeletionRunsIsDeletedToo) {
  MakeCluster();
  MakeMember("held", true);
  Watcher& watcher = WatchOver("deployment/bob");
  ASSERT_TRUE(Reaches(watcher, "deleting"));
  ASSERT_TRUE(Eventually([&] { return api().Uid("configmaps", ns_, "held").empty(); }));
  for (int i = 0; i < 3; ++i) {
    MakeMember("late-" + std::to_string(i));
    api().Create("services", ns_, ServiceOf(Labelled("late-" + std::to_string(i)), "x"));
  }
  api().ReleaseFinalizers("configmaps", ns_, "held");
  EXPECT_TRUE(Finishes(watcher));
}

TEST_F(FailureCase, Case11WhatStillRunsOfASuspendedOrOrphanedDriverIsSeen) {
  MakeCluster();
  const std::string uid = api().Create("cronjobs", ns_, R"({"metadata": {"name": "bob"}, "spec": {
      "schedule": "0 0 1 1 *", "suspend": true, "jobTemplate": {"spec": {"template": {"spec": {
        "restartPolicy": "Never", "containers": [{"name": "x", "image": "x"}]}}}}}})");
  // As `kubectl create job --from=cronjob/bob` makes it: the CronJob's status doesn't know of it.
  Metadata run{"by-hand"};
  run.owner_references = R"([{"apiVersion": "batch/v1", "kind": "CronJob", "name": "bob",
      "controller": true, "uid": ")" +
                         uid + "\"}]";
  api().Create("jobs", ns_, JobOf({run}));
  Watcher& watcher = WatchOver("cronjob/bob");
  ASSERT_TRUE(Keeps(watcher, "keep: active"));
  api().Delete("jobs", ns_, "by-hand");
  EXPECT_TRUE(Finishes(watcher));
  EXPECT_GE(watcher.Polls("scaled-to-zero"), 3);
}

TEST_F(FailureCase, Case12TheCleanupDoesNotDependOnWhatIsDying) {
  MakeCluster();
  MakeDriver();
  Watcher& watcher = WatchOver("deployment/bob", {"--grace-period=1s"});
  ASSERT_TRUE(Shows(watcher, "keep: active"));
  // The driver is shot, with no time to clean up.
  const auto pods = api().Names("pods", ns_, "app=bob");
  api().Delete("deployments", ns_, "bob");
  for (const std::string& pod : pods) {
    // Gone already, perhaps.
    (void)api().Do(HttpMethod::kDelete, PathOf("pods", ns_, pod), R"({"gracePeriodSeconds": 0})");
  }
  // And the watcher with it, and started again.
  ASSERT_TRUE(Shows(watcher, "abandoned: owner-absent"));
  watcher.Stop(SIGKILL);
  EXPECT_TRUE(Finishes(WatchOver("deployment/bob")));
}

TEST_F(FailureCase, Case13AClusterThatWasAbandonedBeforeTheWatcherStartedGoes) {
  MakeCluster({.root_labels = {{"ephemeral", "bob"}}});
  EXPECT_TRUE(Finishes(Watch({"--startup-grace=1s"})));
}

TEST_F(FailureCase, Case14ATimerThatIsLostIsSetAgain) {
  MakeCluster();
  MakeDriver();
  for (int i = 0; i < 3; ++i) {
    Watcher& watcher = WatchOver("deployment/bob", {"--grace-period=1h"});
    if (i == 0) {
      ASSERT_TRUE(Shows(watcher, "keep: active"));
      ASSERT_TRUE(Eventually([&] { return !Mark("owner-uid").empty(); }));
      api().Delete("deployments", ns_, "bob");
    }
    ASSERT_TRUE(Shows(watcher, "abandoned: owner-absent"));
    ASSERT_TRUE(Eventually([&] { return watcher.Metric("cluster_watcher_confirmations") >= 2; }));
    EXPECT_EQ(watcher.Stop(SIGKILL), -SIGKILL);
  }
  EXPECT_TRUE(Finishes(WatchOver("deployment/bob")));
}

TEST_F(FailureCase, Case15TheLoopOutlivesWhatHappensToItsRequests) {
  MakeCluster();
  MakeDriver();
  Proxy& proxy = BehindProxy();
  Watcher& watcher = WatchOver("deployment/bob");
  for (const Lie& lie :
       {Lie{"", true}, Lie{"garbage\r\n\r\n", true}, Lie::Answer(200, "{"), Lie::Answer(500, "")}) {
    ASSERT_TRUE(Shows(watcher, "keep: active"));
    proxy.LieAbout("GET /", lie);
    ASSERT_TRUE(Shows(watcher, "keep: unknown"));
    const double polls = watcher.Polls();
    ASSERT_TRUE(Eventually([&] { return watcher.Polls() >= polls + 5; }));
    EXPECT_EQ(watcher.Health("/healthz"), 200);
    proxy.TellTheTruth();
  }
  api().Delete("deployments", ns_, "bob");
  EXPECT_TRUE(Finishes(watcher));
}

TEST_F(FailureCase, Case16AnApiThatIsBrokenBlocksNothingElse) {
  InstallKind("rayclusters.ray.io");
  InstallKind("widgets.example.com");
  MakeCluster();
  MakeDriver();
  Proxy& proxy = BehindProxy();
  proxy.LieAbout("GET /apis/ray.io/", Lie::Answer(503, "service unavailable\n", "text/plain"));
  proxy.LieAbout("GET /apis/example.com/", Lie::Answer(503, "service unavailable\n", "text/plain"));
  Watcher& watcher = WatchOver("deployment/bob", {"--delete-deadline=3s"});
  ASSERT_TRUE(Keeps(watcher, "keep: active", 3));
  api().Delete("deployments", ns_, "bob");
  EXPECT_TRUE(Finishes(watcher));
}

TEST_F(FailureCase, Case17NoSettingIsSilentlyDropped) {
  MakeCluster({.pod_annotations = {{"cluster-watcher/hold-untill", kFarAway}}});
  Watcher& misspelt = WatchOver("deployment/bob", hasty_);
  EXPECT_TRUE(Keeps(misspelt, "keep: misconfigured"));
  EXPECT_GE(misspelt.LinesWith("cluster-watcher/hold-untill"), 1u);
  Watcher& flag = WatchOver("deployment/bob", {"--grace-perod=1h"});
  EXPECT_EQ(flag.WaitForExit(), 2);
  EXPECT_GE(flag.LinesWith("--grace-perod"), 1u);
  Watcher& environment =
      Run({"watch", "--kubeconfig=" + kubeconfig(), "--owner=deployment/bob"},
          {"POD_NAMESPACE=" + ns_, "POD_NAME=" + MasterPod(), "CLUSTER_WATCHER_GRACE_PERIOD=1 h"});
  EXPECT_EQ(environment.WaitForExit(), 2);
  EXPECT_GE(environment.LinesWith("CLUSTER_WATCHER_GRACE_PERIOD"), 1u);
}

TEST_F(FailureCase, Case18WhatIsKnownOfTheOwnerSurvivesANewMasterPod) {
  MakeCluster();
  MakeDriver();
  Watcher& first = WatchOver("deployment/bob");
  ASSERT_TRUE(Shows(first, "keep: active"));
  ASSERT_TRUE(Eventually([&] { return !Mark("owner-uid").empty(); }));
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
  Watcher& second = WatchOver("deployment/bob", {"--replaced-owner=abandon", "--grace-period=1h"});
  EXPECT_TRUE(Shows(second, "abandoned: owner-replaced"));
}

TEST_F(FailureCase, Case19ADriverThatIsAJobIsJudgedAsOne) {
  MakeCluster();
  api().Create("jobs", ns_, R"({"metadata": {"name": "bob"}, "spec": {"parallelism": 3,
      "completions": 3, "template": {"metadata": {"labels": {"app": "bob"}}, "spec": {
      "restartPolicy": "Never", "containers": [{"name": "x", "image": "x"}]}}}})");
  Watcher& watcher = WatchOver("job/bob");
  ASSERT_TRUE(Keeps(watcher, "keep: active"));
  EXPECT_EQ(watcher.Metric("cluster_watcher_owner_replicas"), 1);
  std::vector<std::string> pods;
  ASSERT_TRUE(Eventually([&] {
    pods = api().Names("pods", ns_, "app=bob");
    return pods.size() == 3;
  }));
  for (const std::string& pod : pods) {
    api().Patch("pods", ns_, pod + "/status", R"({"status": {"phase": "Succeeded"}})");
  }
  ASSERT_TRUE(Finishes(watcher));
  EXPECT_GE(watcher.Polls("completed"), 3);
}

TEST_F(FailureCase, Case20ARolloutThatLeavesTheOldDriverBehindIsSeen) {
  InstallKind("deploymentconfigs.apps.openshift.io");
  MakeCluster({.root_labels = {{"ephemeral", "bob-1"}}});
  const std::string uid = api().Create("deploymentconfigs", ns_,
                                       R"({"metadata": {"name": "bob"}, "spec": {"replicas": 1}})");
  api().Patch("deploymentconfigs", ns_, "bob/status", R"({"status": {"latestVersion": 1}})");
  const auto controller = [&](int version, const char* phase) {
    Metadata metadata{"bob-" + std::to_string(version)};
    metadata.annotations = {
        {"openshift.io/deployment-config.latest-version", std::to_string(version)},
        {"openshift.io/deployment.phase", phase}};
    metadata.owner_references = R"([{"apiVersion": "apps.openshift.io/v1",
        "kind": "DeploymentConfig", "name": "bob", "controller": true, "uid": ")" +
                                uid + "\"}]";
    api().Create("replicationcontrollers", ns_, ReplicationControllerOf({metadata}));
  };
  controller(1, "Complete");
  Watcher& watcher = Watch();
  ASSERT_TRUE(Keeps(watcher, "keep: active", 3));
  // In the middle of a rollout the old one is at 0, and comes back if the new one fails.
  api().Patch("deploymentconfigs", ns_, "bob/status", R"({"status": {"latestVersion": 2}})");
  controller(2, "Running");
  api().Scale("replicationcontrollers", ns_, "bob-1", 0);
  ASSERT_TRUE(Keeps(watcher, "keep: active"));
  api().Annotate("replicationcontrollers", ns_, "bob-2", "openshift.io/deployment.phase",
                 "Complete");
  ASSERT_TRUE(Finishes(watcher));
  EXPECT_NE(api().Uid("replicationcontrollers", ns_, "bob-2"), "");
}

TEST_F(FailureCase, Case30AClusterThatIsSharedStays) {
  MakeCluster();
  Watcher& nobodys = Watch(hasty_);
  EXPECT_TRUE(Keeps(nobodys, "keep: shared", 0));
  EXPECT_TRUE(StopsWell(nobodys));
  Metadata carol{"carol", {{"uses-oshinko-cluster", kCluster}}};
  api().Create("deployments", ns_, DeploymentOf({carol}));
  EXPECT_TRUE(Keeps(WatchOver("deployment/bob", hasty_), "keep: in-use"));
  MakeDriver();
  api().Scale("deployments", ns_, "bob", 2);
  EXPECT_TRUE(Keeps(WatchOver("deployment/bob", hasty_), "keep: shared-by-replicas", 3));
}

TEST_F(FailureCase, Case31ATokenThatIsRotatedIsReadAgain) {
  const std::string file = File("token");
  MakeAccount(WatcherRoleOf({kAccount}));
  const std::string token = api().Token(ns_, kAccount);
  WriteWhole(file, token);
  WriteKubeconfig(kubeconfig(), server().Admin(), "tokenFile: \"" + file + "\"");
  MakeCluster();
  MakeDriver();
  Watcher& watcher = WatchOver("deployment/bob");
  ASSERT_TRUE(Shows(watcher, "keep: active"));
  server().Revoke(token, ns_, kAccount);
  ASSERT_TRUE(Shows(watcher, "keep: unknown"));
  WriteWhole(file, api().Token(ns_, kAccount));
  ASSERT_TRUE(Shows(watcher, "keep: active"));
  api().Delete("deployments", ns_, "bob");
  EXPECT_TRUE(Finishes(watcher));
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

TEST_F(FailureCase, Case33LeastPrivilegeIsEnough) {
  // It may see its cluster and the driver, and delete Deployments, no more.
  UseAccount(R"([
      {"apiGroups": ["", "batch"], "resources": ["pods", "replicationcontrollers", "jobs",
       "cronjobs"], "verbs": ["get", "list"]},
      {"apiGroups": ["apps"], "resources": ["deployments", "replicasets", "statefulsets",
       "daemonsets"], "verbs": ["get", "list"]},
      {"apiGroups": ["apps.openshift.io"], "resources": ["*"], "verbs": ["list"]},
      {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["patch", "delete"]}])");
  MakeCluster();
  MakeDriver();
  Watcher& watcher = WatchOver("deployment/bob", {"--delete-deadline=2s"});
  ASSERT_TRUE(Keeps(watcher, "keep: active"));
  EXPECT_EQ(watcher.Health("/readyz"), 200);
  api().Delete("deployments", ns_, "bob");
  ASSERT_TRUE(Reaches(watcher, "done"));
  EXPECT_TRUE(Eventually([&] { return !api().Exists("deployments", ns_, kMaster); }));
  EXPECT_TRUE(api().Exists("services", ns_, "spark"));
}

TEST_F(FailureCase, Case36AHoldLastsByTheLaterOfTwoClocks) {
  MakeCluster();
  const std::string pod = MasterPod();
  // Over by our own clock, not by that of the API server.
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

}  // namespace
}  // namespace cluster_watcher::integration

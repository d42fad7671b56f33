// Takes owners of every kind through their states, as their operators do.
#include "test/integration/fixture.h"
#include "test/integration/proxy.h"

namespace cluster_watcher::integration {
namespace {

constexpr char kIsCompleted[] = "abandoned: completed";
constexpr char kScaledToZero[] = "abandoned: scaled-to-zero";
constexpr char kRunning[] = "keep: driver-running";

class CustomOwner : public IntegrationTest {
 protected:
  std::string Make(const std::string& plural, const std::string& spec,
                   const Metadata& metadata = {"bob"}) {
    return api().Create(plural, ns_, CustomOf(metadata, spec));
  }
  void SetSpec(const std::string& plural, const std::string& spec) {
    api().Patch(plural, ns_, "bob", R"({"spec": )" + spec + "}");
  }
  void SetStatus(const std::string& plural, const std::string& status) {
    api().SetStatus(plural, ns_, "bob", status);
  }
  void MakePod(const std::string& name, const TextMap& labels) {
    Make("pods", R"({"containers": [{"name": "x", "image": "x"}]})", {name, labels});
  }
  // Never deletes, so that a test sees verdicts come and go.
  Watcher& WatchForHours(const std::string& owner, const std::string& flag = "--log-level=info") {
    return WatchOver(owner, {"--grace-period=1h", flag});
  }
};

TEST_F(CustomOwner, ASparkApplicationIsJudgedByItsStateAndRestartPolicy) {
  InstallKind("sparkapplications.sparkoperator.k8s.io");
  MakeCluster();
  Make("sparkapplications", R"({"type": "Scala", "mode": "cluster", "sparkVersion": "4.0.0",
      "restartPolicy": {"type": "OnFailure"}})");
  Watcher& watcher = WatchForHours("sparkapplication.sparkoperator.k8s.io/bob");
  ASSERT_TRUE(Shows(watcher, kActive));
  const auto reaches = [&](const char* state) {
    SetStatus("sparkapplications",
              R"({"applicationState": {"state": ")" + std::string(state) + "\"}}");
  };
  for (const char* state : {"SUBMITTED", "RUNNING", "SUBMISSION_FAILED", "FAILING", "PENDING_RERUN",
                            "SUCCEEDING", "INVALIDATING", "UNKNOWN"}) {
    reaches(state);
    ASSERT_TRUE(Keeps(watcher, kActive, 3)) << state;
  }
  for (const char* state : {"COMPLETED", "FAILED"}) {
    reaches(state);
    ASSERT_TRUE(Shows(watcher, kIsCompleted)) << state;
    reaches("RUNNING");
    ASSERT_TRUE(Shows(watcher, kActive)) << state;
  }
  SetSpec("sparkapplications", R"({"restartPolicy": {"type": "Always"}})");
  reaches("FAILED");
  EXPECT_TRUE(Keeps(watcher, kActive, 3));
  reaches("COMPLETED");
  EXPECT_TRUE(Keeps(watcher, kActive, 3));

  SetSpec("sparkapplications", R"({"suspend": true})");
  reaches("SUSPENDING");
  EXPECT_TRUE(Keeps(watcher, kActive, 3));
  MakePod("bob-driver", {{"sparkoperator.k8s.io/app-name", "bob"}, {"spark-role", "driver"}});
  reaches("SUSPENDED");
  EXPECT_TRUE(Keeps(watcher, kRunning, 3));
  // As a mesh's sidecar that outlives it.
  api().SetStatus("pods", ns_, "bob-driver", R"({"phase": "Running", "containerStatuses": [{
      "name": "spark-kubernetes-driver", "image": "x", "imageID": "x", "ready": false,
      "restartCount": 0, "state": {"terminated": {"exitCode": 1}}}]})");
  EXPECT_TRUE(Shows(watcher, kScaledToZero));
}

TEST_F(CustomOwner, ASparkApplicationThatIsDeletedLetsTheClusterGo) {
  InstallKind("sparkapplications.sparkoperator.k8s.io");
  MakeCluster();
  Make("sparkapplications", "{}");
  Watcher& watcher = WatchOver("sparkapp/bob");
  ASSERT_TRUE(Shows(watcher, kActive));
  ASSERT_TRUE(
      Eventually([&] { return OwnerMark("kind") == "sparkapplication.sparkoperator.k8s.io"; }));
  // The driver's pod is orphaned and runs on.
  MakePod("bob-driver", {{"sparkoperator.k8s.io/app-name", "bob"}});
  api().Delete("sparkapplications", ns_, "bob", "Orphan");
  ASSERT_TRUE(Keeps(watcher, kRunning));
  api().Delete("pods", ns_, "bob-driver");
  EXPECT_TRUE(Finishes(watcher));
}

TEST_F(CustomOwner, OfAScheduledSparkApplicationARunMayStillRun) {
  InstallKind("sparkapplications.sparkoperator.k8s.io");
  InstallKind("scheduledsparkapplications.sparkoperator.k8s.io");
  MakeCluster();
  const std::string uid = Make("scheduledsparkapplications",
                               R"({"schedule": "@daily", "suspend": true, "template": {}})");
  // The operator's ownerReference isn't a controller's.
  Metadata run{"bob-1730000000", {{"sparkoperator.k8s.io/scheduled-app-name", "bob"}}};
  run.owner_references = R"([{"apiVersion": "sparkoperator.k8s.io/v1beta2",
      "kind": "ScheduledSparkApplication", "name": "bob", "blockOwnerDeletion": true, "uid": ")" +
                         uid + "\"}]";
  Make("sparkapplications", "{}", run);
  Watcher& watcher = WatchForHours("scheduledsparkapplication.sparkoperator.k8s.io/bob");
  ASSERT_TRUE(Keeps(watcher, kRunning, 3));
  const auto reaches = [&](const char* state) {
    api().Patch("sparkapplications", ns_, run.name + "/status",
                R"({"status": {"applicationState": {"state": ")" + std::string(state) + "\"}}}");
  };
  reaches("RUNNING");
  ASSERT_TRUE(Keeps(watcher, kRunning, 3));
  reaches("COMPLETED");
  ASSERT_TRUE(Shows(watcher, kScaledToZero));
  SetSpec("scheduledsparkapplications", R"({"suspend": false})");
  EXPECT_TRUE(Shows(watcher, kActive));
}

TEST_F(CustomOwner, ARayJobIsJudgedByItsDeployment) {
  InstallKind("rayjobs.ray.io");
  MakeCluster();
  Make("rayjobs", R"({"entrypoint": "python x.py"})");
  Watcher& watcher = WatchForHours("rayjob.ray.io/bob");
  ASSERT_TRUE(Shows(watcher, kActive));
  const auto reaches = [&](const char* state, const char* job) {
    SetStatus("rayjobs", R"({"jobDeploymentStatus": ")" + std::string(state) +
                             R"(", "jobStatus": ")" + job + "\"}");
  };
  reaches("Initializing", "");
  ASSERT_TRUE(Keeps(watcher, kActive, 3));
  reaches("Running", "SUCCEEDED");
  ASSERT_TRUE(Keeps(watcher, kActive, 3)) << "its submitter hasn't ended";
  reaches("Retrying", "FAILED");
  ASSERT_TRUE(Keeps(watcher, kActive, 3));
  reaches("Complete", "SUCCEEDED");
  ASSERT_TRUE(Shows(watcher, kIsCompleted));
  reaches("", "");
  ASSERT_TRUE(Shows(watcher, kActive));
  reaches("Failed", "FAILED");
  ASSERT_TRUE(Shows(watcher, kIsCompleted));
  SetSpec("rayjobs", R"({"suspend": true})");
  reaches("Suspending", "RUNNING");
  ASSERT_TRUE(Keeps(watcher, kActive, 3));
  reaches("Suspended", "");
  EXPECT_TRUE(Shows(watcher, kScaledToZero));
}

TEST_F(CustomOwner, ARayClusterIsSuspendedOnceItSaysSo) {
  InstallKind("rayclusters.ray.io");
  MakeCluster();
  Make("rayclusters", R"({"suspend": false})");
  Watcher& watcher = WatchForHours("raycluster/bob");
  ASSERT_TRUE(Shows(watcher, kActive));
  SetStatus("rayclusters", R"({"state": "failed"})");
  ASSERT_TRUE(Keeps(watcher, kActive, 3));
  SetSpec("rayclusters", R"({"suspend": true})");
  ASSERT_TRUE(Keeps(watcher, kActive, 3));
  SetStatus("rayclusters", R"({"state": "suspended", "conditions": [{"type": "RayClusterSuspended",
      "status": "True", "reason": "RayClusterSuspended", "message": "",
      "lastTransitionTime": "2026-11-21T12:00:00Z"}]})");
  ASSERT_TRUE(Shows(watcher, kScaledToZero));
  SetSpec("rayclusters", R"({"suspend": false})");
  EXPECT_TRUE(Shows(watcher, kActive)) << "its state lags behind";
}

TEST_F(CustomOwner, AWorkflowEndsByItsPhase) {
  InstallKind("workflows.argoproj.io");
  MakeCluster();
  Make("workflows", R"({"entrypoint": "main"})");
  Watcher& watcher = WatchForHours("wf/bob");
  ASSERT_TRUE(Shows(watcher, kActive));
  // It has no status subresource.
  const auto reaches = [&](const char* phase) {
    SetStatus("workflows", R"({"phase": ")" + std::string(phase) + "\"}");
  };
  reaches("Running");
  ASSERT_TRUE(Keeps(watcher, kActive, 3));
  for (const char* phase : {"Succeeded", "Failed", "Error"}) {
    reaches(phase);
    ASSERT_TRUE(Shows(watcher, kIsCompleted)) << phase;
    reaches("Running");
    ASSERT_TRUE(Shows(watcher, kActive));
  }
  MakePod("bob-step", {{"workflows.argoproj.io/workflow", "bob"}});
  SetSpec("workflows", R"({"suspend": true})");
  ASSERT_TRUE(Keeps(watcher, kRunning, 3)) << "a step of it";
  api().Patch("pods", ns_, "bob-step/status", R"({"status": {"phase": "Succeeded"}})");
  EXPECT_TRUE(Shows(watcher, kScaledToZero));
}

TEST_F(CustomOwner, WorkersAreNoReplicasOfADriver) {
  for (const char* kind :
       {"daskclusters.kubernetes.dask.org", "flinkdeployments.flink.apache.org"}) {
    InstallKind(kind);
  }
  MakeCluster();
  Make("daskclusters", R"({"worker": {"replicas": 0}})");
  Watcher& dask = WatchOver("daskcluster/bob");
  EXPECT_TRUE(Keeps(dask, kActive));
  EXPECT_EQ(dask.Metric("cluster_watcher_owner_replicas"), 1);
  EXPECT_TRUE(StopsWell(dask));
  Make("flinkdeployments", R"({"job": {"state": "running"}})");
  Watcher& flink = WatchForHours("flinkdeployment.flink.apache.org/bob");
  ASSERT_TRUE(Keeps(flink, kActive));
  SetStatus("flinkdeployments", R"({"jobStatus": {"state": "FINISHED"},
                                    "lifecycleState": "UPGRADING"})");
  ASSERT_TRUE(Keeps(flink, kActive, 3)) << "as in each upgrade";
  SetSpec("flinkdeployments", R"({"job": {"state": "suspended"}})");
  SetStatus("flinkdeployments", R"({"lifecycleState": "SUSPENDED"})");
  EXPECT_TRUE(Shows(flink, kScaledToZero));
}

TEST_F(CustomOwner, ARolloutIsScaledAndAJobSetSuspended) {
  InstallKind("rollouts.argoproj.io");
  InstallKind("jobsets.jobset.x-k8s.io");
  MakeCluster();
  Make("rollouts", R"({"workloadRef": {"apiVersion": "apps/v1", "kind": "Deployment",
                                       "name": "bob-template"}})");
  Watcher& rollout = WatchForHours("rollout.argoproj.io/bob");
  ASSERT_TRUE(Keeps(rollout, kActive, 3));
  api().Patch("rollouts", ns_, "bob/scale", R"({"spec": {"replicas": 2}})");
  ASSERT_TRUE(Shows(rollout, "keep: shared-by-replicas"));
  SetSpec("rollouts", R"({"replicas": 0})");
  ASSERT_TRUE(Shows(rollout, kScaledToZero));
  EXPECT_TRUE(StopsWell(rollout));

  Make("jobsets", R"({"suspend": true, "managedBy": "kueue.x-k8s.io/multikueue"})");
  Watcher& jobs = WatchForHours("jobset.jobset.x-k8s.io/bob");
  ASSERT_TRUE(Keeps(jobs, kActive, 3)) << "a queue holds it";
  SetSpec("jobsets", R"({"managedBy": null})");
  ASSERT_TRUE(Shows(jobs, kScaledToZero));
  MakePod("bob-pod", {{"jobset.sigs.k8s.io/jobset-name", "bob"}});
  ASSERT_TRUE(Shows(jobs, kRunning));
  api().SetStatus("pods", ns_, "bob-pod", R"({"phase": "Succeeded"})");
  SetStatus("jobsets", R"({"conditions": [{"type": "Completed", "status": "True"}]})");
  SetSpec("jobsets", R"({"suspend": false})");
  EXPECT_TRUE(Shows(jobs, kIsCompleted));
}

TEST_F(CustomOwner, ADaskJobEndsByItsStatus) {
  InstallKind("daskjobs.kubernetes.dask.org");
  MakeCluster();
  Make("daskjobs", "{}");
  Watcher& watcher = WatchForHours("daskjob/bob");
  ASSERT_TRUE(Shows(watcher, kActive));
  SetStatus("daskjobs", R"({"jobStatus": "Running", "jobRunnerPodName": "bob-runner"})");
  ASSERT_TRUE(Keeps(watcher, kActive, 3));
  MakePod("bob-runner", {{"dask.org/cluster-name", "bob"}, {"dask.org/component", "job-runner"}});
  SetStatus("daskjobs", R"({"jobStatus": "Successful"})");
  ASSERT_TRUE(Shows(watcher, kRunning));
  api().SetStatus("pods", ns_, "bob-runner", R"({"phase": "Succeeded"})");
  EXPECT_TRUE(Shows(watcher, kIsCompleted));
}

TEST_F(CustomOwner, CompletesByTheWordsThatAreGiven) {
  InstallKind("gadgets.example.com");
  MakeCluster();
  Make("gadgets", "{}");
  Watcher& watcher = WatchForHours("gadget/bob", "--completed-when={.status.phase}=Done,Broken");
  ASSERT_TRUE(Shows(watcher, kActive));
  SetStatus("gadgets", R"({"phase": "Busy"})");
  ASSERT_TRUE(Keeps(watcher, kActive, 3));
  SetStatus("gadgets", R"({"phase": "Broken"})");
  ASSERT_TRUE(Shows(watcher, kIsCompleted));
  SetStatus("gadgets", R"({"phase": ["Done"]})");
  ASSERT_TRUE(Shows(watcher, "keep: misconfigured"));
  EXPECT_GE(watcher.LinesWith("leads to a list"), 1u);
  EXPECT_TRUE(StopsWell(watcher));
  SetStatus("gadgets", R"({"phase": null})");
  Watcher& any = WatchForHours("gadget/bob", "--completed-when={.status.phase}");
  ASSERT_TRUE(Keeps(any, kActive, 3));
  SetStatus("gadgets", R"({"phase": "Busy"})");
  EXPECT_TRUE(Shows(any, kIsCompleted));
  EXPECT_TRUE(StopsWell(any));
  MakeDriver();
  Watcher& workload = WatchForHours("deployment/bob", "--completed-when={.status.phase}=Done");
  EXPECT_TRUE(Keeps(workload, "keep: misconfigured", 3));
}

TEST_F(CustomOwner, ADefinitionThatIsDeletedIsNoAbsence) {
  InstallKind("gadgets.example.com");
  MakeCluster();
  Metadata other{"other"};
  other.held = true;
  Make("gadgets", "{}");
  Make("gadgets", "{}", other);
  Watcher& watcher =
      WatchOver("gadget/bob", {"--confirmations=1", "--grace-period=0s", "--startup-grace=0s"});
  ASSERT_TRUE(Shows(watcher, kActive));
  // The other object holds the kind, so it stays listed.
  api().Delete("customresourcedefinitions", "", "gadgets.example.com");
  ASSERT_TRUE(Eventually([&] { return !api().Exists("gadgets", ns_, "bob"); }));
  ASSERT_TRUE(Keeps(watcher, watcher.Polls("deleting") > 0 ? watcher.Verdict() : "keep: unknown"));
  api().ReleaseFinalizers("gadgets", ns_, "other");
  ASSERT_TRUE(Shows(watcher, "keep: misconfigured"));
  EXPECT_TRUE(Keeps(watcher, "keep: misconfigured"));
}

TEST_F(CustomOwner, AGroupThatIsDownIsUnknown) {
  InstallKind("widgets.example.com");
  MakeCluster();
  Make("widgets", R"({"size": 1})");
  Proxy proxy(server().Admin());
  WriteKubeconfig(kubeconfig(), proxy.Address(), "token: \"" + server().Admin().token + "\"");
  Watcher& watcher =
      WatchOver("widget/bob", {"--confirmations=1", "--grace-period=0s", "--startup-grace=0s"});
  ASSERT_TRUE(Shows(watcher, kActive));
  proxy.LieAbout("GET /apis/example.com/", Lie::Answer(503, "service unavailable\n", "text/plain"));
  EXPECT_TRUE(Keeps(watcher, "keep: unknown"));
  proxy.TellTheTruth();
  EXPECT_TRUE(Shows(watcher, kActive));
  EXPECT_TRUE(StopsWell(watcher));
}

TEST_F(CustomOwner, AnotherOfAnyKindThatIsKnownKeepsTheClusterThatItUses) {
  InstallKind("sparkapplications.sparkoperator.k8s.io");
  MakeCluster();
  Make("sparkapplications", "{}", {"carol", {{"uses-oshinko-cluster", kCluster}}});
  Watcher& watcher = WatchOver("deployment/bob");
  ASSERT_TRUE(Keeps(watcher, "keep: in-use"));
  api().Patch("sparkapplications", ns_, "carol/status",
              R"({"status": {"applicationState": {"state": "COMPLETED"}}})");
  EXPECT_TRUE(Finishes(watcher));
}

TEST_F(CustomOwner, APodMeansTheDeploymentThatItBelongsTo) {
  MakeCluster();
  MakeDriver();
  std::vector<std::string> pods;
  ASSERT_TRUE(Eventually([&] {
    pods = api().Names("pods", ns_, "app=bob");
    return pods.size() == 1;
  }));
  const std::string owner = "pod/" + pods.front();
  Watcher& watcher = WatchOver(owner);
  ASSERT_TRUE(Keeps(watcher, kActive, 3));
  ASSERT_TRUE(Eventually([&] { return OwnerMark("kind") == "deployment.apps"; }));
  EXPECT_EQ(OwnerMark("uid"), api().Uid("deployments", ns_, "bob"));
  api().Delete("pods", ns_, pods.front());
  ASSERT_TRUE(Keeps(watcher, kActive)) << "another pod takes its place";
  ASSERT_TRUE(StopsWell(watcher));
  Watcher& restarted = WatchOver(owner);
  ASSERT_TRUE(Keeps(restarted, kActive, 3)) << "although the pod is gone";
  api().Delete("deployments", ns_, "bob");
  EXPECT_TRUE(Finishes(restarted));
}

TEST_F(CustomOwner, AReplicaSetMeansWhatComesToControlIt) {
  MakeCluster();
  // Its labels match the Deployment bob, which adopts it.
  api().Create("replicasets", ns_, R"({"metadata": {"name": "bob-1", "labels": {"app": "bob"}},
      "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "bob"}}, "template": {
      "metadata": {"labels": {"app": "bob"}}, "spec": {"containers": [
        {"name": "x", "image": "x"}]}}}})");
  Watcher& watcher = WatchOver("replicaset/bob-1");
  ASSERT_TRUE(Keeps(watcher, kActive, 3));
  ASSERT_TRUE(Eventually([&] { return OwnerMark("kind") == "replicaset.apps"; }));
  MakeDriver();
  api().Patch("replicasets", ns_, "bob-1",
              R"({"metadata": {"ownerReferences": [{"apiVersion": "apps/v1", "kind": "Deployment",
                  "name": "bob", "controller": true, "uid": ")" +
                  api().Uid("deployments", ns_, "bob") + R"("}]}})");
  ASSERT_TRUE(StopsWell(watcher));
  Watcher& restarted = WatchOver("replicaset/bob-1");
  ASSERT_TRUE(Shows(restarted, kActive));
  ASSERT_TRUE(Eventually([&] { return OwnerMark("kind") == "deployment.apps"; }));
  api().Delete("replicasets", ns_, "bob-1");
  EXPECT_TRUE(Keeps(restarted, kActive));
}

TEST_F(CustomOwner, APodOfItsOwnEndsByItsPhase) {
  MakeCluster();
  MakePod("bob", {});
  Watcher& watcher = WatchOver("pod/bob");
  ASSERT_TRUE(Keeps(watcher, kActive, 3));
  api().Patch("pods", ns_, "bob/status", R"({"status": {"phase": "Failed"}})");
  ASSERT_TRUE(Finishes(watcher));
  EXPECT_GE(watcher.Polls("completed"), 3);
}

// A DeploymentConfig bob with its ReplicationController bob-1.
class DeploymentConfigOwner : public CustomOwner {
 protected:
  void MakeConfig() {
    InstallKind("deploymentconfigs.apps.openshift.io");
    uid_ = Make("deploymentconfigs", R"({"replicas": 1})");
    MakeVersion("1", "Complete");
  }
  void MakeVersion(const std::string& version, const std::string& phase) {
    SetStatus("deploymentconfigs", R"({"latestVersion": )" + version + "}");
    Metadata controller{"bob-" + version};
    controller.annotations = {{"openshift.io/deployment-config.latest-version", version},
                              {"openshift.io/deployment.phase", phase}};
    controller.owner_references = R"([{"apiVersion": "apps.openshift.io/v1",
        "kind": "DeploymentConfig", "name": "bob", "controller": true, "uid": ")" +
                                  uid_ + "\"}]";
    api().Create("replicationcontrollers", ns_, ReplicationControllerOf({controller}));
  }

 private:
  std::string uid_;
};

TEST_F(DeploymentConfigOwner, ARolloutThatLeavesTheOldDriverBehindIsSeen) {
  MakeConfig();
  MakeCluster({.root_labels = {{"ephemeral", "bob-1"}}});
  Watcher& watcher = Watch();
  ASSERT_TRUE(Keeps(watcher, kActive, 3));
  // In the middle of a rollout the old version is at 0; it comes back if the new one fails.
  MakeVersion("2", "Running");
  api().Scale("replicationcontrollers", ns_, "bob-1", 0);
  ASSERT_TRUE(Keeps(watcher, kActive));
  api().Annotate("replicationcontrollers", ns_, "bob-2", "openshift.io/deployment.phase",
                 "Complete");
  ASSERT_TRUE(Finishes(watcher));
  EXPECT_NE(api().Uid("replicationcontrollers", ns_, "bob-2"), "");
}

TEST_F(DeploymentConfigOwner, AgreesWithALabelThatNamesItsReplicationController) {
  MakeConfig();
  MakeCluster({.root_labels = {{"ephemeral", "bob-1"}}});
  Watcher& watcher = WatchOver("dc/bob");
  ASSERT_TRUE(Keeps(watcher, kActive, 3));
  api().Delete("deploymentconfigs", ns_, "bob");
  // The garbage collector looks for new kinds every 30 s, and until then the driver's pod runs.
  ASSERT_TRUE(Eventually([&] { return !api().Exists("replicationcontrollers", ns_, "bob-1"); }));
  ASSERT_TRUE(Finishes(watcher));
}

TEST_F(DeploymentConfigOwner, ReplacedItStillAgrees) {
  MakeConfig();
  MakeCluster({.root_labels = {{"ephemeral", "bob-1"}}});
  Watcher& watcher = WatchOver("dc/bob", {"--grace-period=1h"});
  ASSERT_TRUE(Shows(watcher, kActive));
  ASSERT_TRUE(Eventually([&] { return !OwnerMark("uid").empty(); }));
  api().Delete("deploymentconfigs", ns_, "bob");
  // The garbage collector looks for new kinds every 30 s.
  ASSERT_TRUE(Eventually([&] {
    return !api().Exists("deploymentconfigs", ns_, "bob") &&
           !api().Exists("replicationcontrollers", ns_, "bob-1");
  }));
  MakeConfig();
  EXPECT_TRUE(Keeps(watcher, kActive));
  const std::string uid = api().Uid("deploymentconfigs", ns_, "bob");
  EXPECT_TRUE(Eventually([&] { return OwnerMark("uid") == uid; }));
}

TEST_F(DeploymentConfigOwner, DisagreesWithALabelThatNamesAnother) {
  MakeConfig();
  api().Create("replicationcontrollers", ns_, ReplicationControllerOf({{"bob-2"}}));
  MakeCluster({.root_labels = {{"ephemeral", "bob-2"}}});
  Watcher& foreign = WatchOver("dc/bob");
  EXPECT_TRUE(Keeps(foreign, "keep: owner-mismatch", 3)) << "it has no controller";
  EXPECT_TRUE(StopsWell(foreign));
  api().Patch("deployments", ns_, kMaster, R"({"metadata": {"labels": {"ephemeral": "alice-1"}}})");
  EXPECT_TRUE(Keeps(WatchOver("dc/bob"), "keep: owner-mismatch", 3));
}

TEST_F(DeploymentConfigOwner, ScaledToZeroTheClusterGoes) {
  MakeConfig();
  MakeCluster();
  Watcher& watcher = WatchOver("deploymentconfig.apps.openshift.io/bob");
  ASSERT_TRUE(Keeps(watcher, kActive, 3));
  SetSpec("deploymentconfigs", R"({"replicas": 0})");
  // As its controller would, which isn't there.
  api().Scale("replicationcontrollers", ns_, "bob-1", 0);
  EXPECT_TRUE(Finishes(watcher));
}

// A mesh's sidecar runs on when the driver's own container has ended.
TEST_F(CustomOwner, APodHasCompletedWithItsOwnersContainer) {
  MakeCluster();
  Make("pods", R"({"restartPolicy": "Never", "containers": [{"name": "base", "image": "x"},
      {"name": "istio-proxy", "image": "x"}]})");
  const auto base_is = [&](const char* state) {
    SetStatus("pods", R"({"phase": "Running", "containerStatuses": [{"name": "base", "image": "x",
        "imageID": "x", "ready": false, "restartCount": 0, "state": )" +
                          std::string(state) + "}]}");
  };
  base_is(R"({"running": {}})");
  Watcher& wrong = WatchForHours("pod/bob", "--owner-container=main");
  ASSERT_TRUE(Shows(wrong, "keep: misconfigured")) << wrong.Log();
  Watcher& watcher = WatchOver("pod/bob", {"--owner-container=base"});
  ASSERT_TRUE(Shows(watcher, kActive)) << watcher.Log();
  base_is(R"({"terminated": {"exitCode": 1}})");
  EXPECT_TRUE(Finishes(watcher)) << watcher.Log();
}

}  // namespace
}  // namespace cluster_watcher::integration

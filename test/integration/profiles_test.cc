// Clusters in the words of their frameworks, made of the objects that their operators make. Here
// nobody makes anything again: what the operators themselves do is seen with them.
#include "test/integration/fixture.h"

namespace cluster_watcher::integration {
namespace {

constexpr char kPodSpec[] = R"({"containers": [{"name": "x", "image": "x"}]})";

// What an operator makes of a cluster that is called "c".
struct Framework {
  std::string profile;
  std::string label;          // of the cluster
  std::string root;           // plural of the custom resource; empty: there is none
  std::string kind;           // the resource's
  std::string api_version;    // the same
  TextMap master;             // labels of the master's pods
  TextMap worker;             // of the workers'
  std::string head;           // a pod of the master
  std::string made_by;        // what the head is below: "", "deployments", "statefulsets"
  bool is_controller = true;  // the resource controls what it makes
};

const Framework kRay{"ray",
                     "ray.io/cluster",
                     "rayclusters",
                     "RayCluster",
                     "ray.io/v1",
                     {{"ray.io/node-type", "head"}},
                     {{"ray.io/node-type", "worker"}},
                     "c-head-bcdfg",
                     ""};
const Framework kDask{"dask",
                      "dask.org/cluster-name",
                      "daskclusters",
                      "DaskCluster",
                      "kubernetes.dask.org/v1",
                      {{"dask.org/component", "scheduler"}},
                      {{"dask.org/component", "worker"}},
                      "",
                      "deployments"};
const Framework kFlink{"flink",
                       "app",
                       "flinkdeployments",
                       "FlinkDeployment",
                       "flink.apache.org/v1beta1",
                       {{"component", "jobmanager"}, {"type", "flink-native-kubernetes"}},
                       {{"component", "taskmanager"}, {"type", "flink-native-kubernetes"}},
                       "",
                       "deployments",
                       false};
const Framework kConnect{"spark-connect",
                         "sparkoperator.k8s.io/connect-name",
                         "sparkconnects",
                         "SparkConnect",
                         "sparkoperator.k8s.io/v1alpha1",
                         {{"spark-role", "connect-server"}},
                         {{"spark-role", "executor"}},
                         "c-server",
                         ""};
const Framework kSparkCluster{"spark-cluster",
                              "spark.operator/spark-cluster-name",
                              "sparkclusters",
                              "SparkCluster",
                              "spark.apache.org/v1",
                              {{"spark-role", "master"}},
                              {{"spark-role", "worker"}},
                              "",
                              "statefulsets"};
const Framework kChart{
    "spark-chart",
    "app.kubernetes.io/instance",
    "",
    "",
    "",
    {{"app.kubernetes.io/component", "master"}, {"app.kubernetes.io/name", "spark"}},
    {{"app.kubernetes.io/component", "worker"}, {"app.kubernetes.io/name", "spark"}},
    "",
    "statefulsets"};

class Profiles : public IntegrationTest, public testing::WithParamInterface<Framework> {
 protected:
  void SetUp() override {
    IntegrationTest::SetUp();
    for (const char* kind :
         {"rayclusters.ray.io", "rayjobs.ray.io", "daskclusters.kubernetes.dask.org",
          "daskworkergroups.kubernetes.dask.org", "daskjobs.kubernetes.dask.org",
          "flinkdeployments.flink.apache.org", "flinksessionjobs.flink.apache.org",
          "sparkconnects.sparkoperator.k8s.io", "sparkclusters.spark.apache.org"}) {
      InstallKind(kind);
    }
  }

  TextMap Labels(const Framework& of, TextMap more) const {
    more[of.label] = "c";
    return more;
  }
  std::string OwnedBy(const std::string& api_version, const std::string& kind,
                      const std::string& name, const std::string& uid, bool is_controller) {
    return R"([{"apiVersion": ")" + api_version + R"(", "kind": ")" + kind + R"(", "name": ")" +
           name + R"(", "uid": ")" + uid + R"(", "blockOwnerDeletion": true, "controller": )" +
           (is_controller ? "true" : "false") + "}]";
  }
  void MakePod(const Metadata& metadata) {
    api().Create("pods", ns_, CustomOf(metadata, kPodSpec));
  }

  // Makes the cluster "c" of the driver "bob", whom only its root or, where there is no custom
  // resource, its master's StatefulSet names.
  void Make(const Framework& of, bool held = false) {
    MakeDriver();
    Metadata root{"c", {}, {{"cluster-watcher/owner", "deployment/bob"}}, held};
    std::string owned;
    if (!of.root.empty()) {
      root_uid_ = api().Create(of.root, ns_, CustomOf(root));
      owned = OwnedBy(of.api_version, of.kind, "c", root_uid_, of.is_controller);
    }
    // Its label "app" is its name.
    Metadata master{
        of.profile == "flink" ? "c" : "c-scheduler", Labels(of, of.master), {}, false, owned};
    if (of.root.empty()) master.annotations = root.annotations;
    if (of.made_by.empty()) {
      master.name = of.head;
      MakePod(master);
    } else {
      api().Create(of.made_by, ns_,
                   WorkloadOf(of.made_by, {master, 1, Labels(of, of.master), {}, ""}));
    }
    Metadata worker{"c-worker", Labels(of, of.worker), {}, false, owned};
    if (of.profile == "dask") {
      Metadata group{"c-default", Labels(of, {}), {}, false, owned};
      const std::string uid = api().Create("daskworkergroups", ns_, CustomOf(group));
      worker.owner_references =
          OwnedBy("kubernetes.dask.org/v1", "DaskWorkerGroup", "c-default", uid, true);
      api().Create("deployments", ns_, DeploymentOf({worker, 1, Labels(of, of.worker), {}, ""}));
    } else if (of.made_by == "statefulsets") {
      api().Create("statefulsets", ns_, StatefulSetOf({worker, 1, Labels(of, of.worker), {}, ""}));
    } else {
      MakePod(worker);
    }
    Metadata service{"c-svc", Labels(of, of.master), {}, false, owned};
    api().Create("services", ns_, ServiceOf(service, "c"));
    ASSERT_TRUE(Eventually([&] { return !Head(of).empty() && Pods(of).size() == 2; }));
  }
  std::vector<std::string> Pods(const Framework& of) {
    return api().Names("pods", ns_, of.label + "=c");
  }
  std::string Head(const Framework& of) {
    std::string selector = of.label + "=c";
    for (const auto& [key, value] : of.master) {
      selector.append(",").append(key).append("=").append(value);
    }
    const auto pods = api().Names("pods", ns_, selector);
    return pods.empty() ? "" : pods.front();
  }
  bool HasRoot(const Framework& of) {
    return of.root.empty() ? api().Exists("statefulsets", ns_, "c-scheduler")
                           : api().Exists(of.root, ns_, "c");
  }
  testing::AssertionResult IsAllGone(const Framework& of) {
    return Eventually([&] {
      return !HasRoot(of) && Pods(of).empty() && !api().Exists("services", ns_, "c-svc");
    });
  }
  Watcher& WatchHead(const Framework& of, std::vector<std::string> flags = {}) {
    return WatchAs(Head(of), std::move(flags));
  }
  // With these rows beside the program's own.
  Watcher& WatchWithRows(const std::string& pod, const std::string& rows) {
    return Run({"watch", "--kubeconfig=" + kubeconfig(), "--listen=127.0.0.1:0",
                "--poll-interval=100ms", "--grace-period=500ms", "--startup-grace=500ms"},
               {"POD_NAMESPACE=" + ns_, "POD_NAME=" + pod, "CLUSTER_WATCHER_PROFILES=" + rows});
  }
  void DriverGoes() { api().Delete("deployments", ns_, "bob"); }
  // The head's watcher heeds a dry run when the driver goes.
  void ExpectDryRun(const Framework& of) {
    Watcher& watcher = WatchHead(of);
    ASSERT_TRUE(Shows(watcher, kActive)) << watcher.Log();
    DriverGoes();
    ASSERT_TRUE(Eventually([&] { return watcher.LinesWith("dry run") > 0; })) << watcher.Log();
    EXPECT_TRUE(HasRoot(of));
  }
  // The exit code of a command, whose output is in `said_`.
  int Says(std::vector<std::string> arguments, const std::vector<std::string>& environment = {}) {
    arguments.push_back("--kubeconfig=" + kubeconfig());
    arguments.push_back("--namespace=" + ns_);
    Watcher& command = Run(arguments, environment);
    const auto code = command.WaitForExit();
    said_ = command.Output() + command.Log();
    return code.value_or(-1);
  }

  std::string root_uid_;
  std::string said_;
};

TEST_P(Profiles, AClusterIsWatchedOverAndDeletedWithoutALineInItsPods) {
  const Framework& of = GetParam();
  Make(of);
  Watcher& watcher = WatchHead(of);
  ASSERT_TRUE(Shows(watcher, kActive)) << watcher.Log();
  DriverGoes();
  ASSERT_TRUE(Reaches(watcher, "done")) << watcher.Log();
  EXPECT_TRUE(IsAllGone(of)) << watcher.Log();
  if (of.root.empty()) return;
  // What is below the resource is its operator's and the garbage collector's.
  EXPECT_EQ(watcher.Metric("cluster_watcher_deletes_total{result=\"deleted\"}"), 1);
  EXPECT_EQ(watcher.Metric("cluster_watcher_deletes_total{resource=\"" + of.root +
                           "\",result=\"deleted\"}"),
            1);
  EXPECT_EQ(watcher.LinesWith("left alone"), 0u) << watcher.Log();
}

TEST_P(Profiles, ItIsListedCheckedHeldAndDeletedByItsName) {
  const Framework& of = GetParam();
  Make(of);
  ASSERT_EQ(Says({"list"}), 0) << said_;
  EXPECT_NE(said_.find("\nc "), std::string::npos) << said_;
  EXPECT_NE(said_.find("Running"), std::string::npos) << said_;
  EXPECT_NE(said_.find("deployment.apps/bob"), std::string::npos) << said_;
  EXPECT_EQ(Says({"check", "c"}), 0) << said_;
  EXPECT_EQ(Says({"hold", "c", "1h"}), 0) << said_;
  EXPECT_EQ(Says({"check", "c"}), 0) << said_;
  EXPECT_NE(said_.find("keep: held"), std::string::npos) << said_;
  EXPECT_EQ(Says({"unhold", "c"}), 0) << said_;
  EXPECT_EQ(Says({"delete", "c", "--app=deployment/alice", "--app-status=completed"}), 1) << said_;
  EXPECT_EQ(Says({"delete", "c", "--wait"}), 0) << said_;
  EXPECT_TRUE(IsAllGone(of));
  EXPECT_EQ(Says({"check", "c"}), 1) << said_;
}

TEST_P(Profiles, ASweepDeletesItWhereNoWatcherRuns) {
  const Framework& of = GetParam();
  Make(of);
  const std::vector<std::string> sweep = {"sweep", "--grace-period=500ms", "--confirmations=2",
                                          "--poll-interval=100ms", "--startup-grace=500ms"};
  EXPECT_EQ(Says(sweep), 0) << said_;
  ASSERT_TRUE(HasRoot(of)) << said_;
  DriverGoes();
  EXPECT_EQ(Says(sweep), 0) << said_;
  EXPECT_TRUE(IsAllGone(of)) << said_;
}

INSTANTIATE_TEST_SUITE_P(Of, Profiles,
                         testing::Values(kRay, kDask, kFlink, kConnect, kSparkCluster, kChart),
                         [](const auto& of) {
                           std::string name = of.param.profile;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

using OfFrameworks = Profiles;

// Its own watcher says misconfigured.
TEST_F(OfFrameworks, ASweepKeepsWhatIsLabelledInTheWordsOfTwo) {
  Make(kRay);
  api().Patch("pods", ns_, Head(kRay),
              R"({"metadata": {"labels": {"dask.org/cluster-name": "c",)"
              R"("dask.org/component": "scheduler"}}})");
  DriverGoes();
  EXPECT_EQ(Says({"sweep", "--grace-period=500ms", "--confirmations=2", "--poll-interval=100ms",
                  "--startup-grace=500ms"}),
            0)
      << said_;
  EXPECT_NE(said_.find("fit the profiles ray and dask"), std::string::npos) << said_;
  EXPECT_TRUE(HasRoot(kRay)) << said_;
}

// Its operator is down, so the finalizer stays.
TEST_F(OfFrameworks, WhatAFinalizerHoldsIsCollectedInTheForegroundAndNamed) {
  Make(kDask, true);
  Watcher& watcher = WatchHead(kDask, {"--operator-grace=1s"});
  ASSERT_TRUE(Shows(watcher, kActive)) << watcher.Log();
  DriverGoes();
  // The garbage collector looks for new kinds twice a minute.
  ASSERT_TRUE(Eventually([&] { return Pods(kDask).empty(); })) << watcher.Log();
  ASSERT_TRUE(Reaches(watcher, "done")) << watcher.Log();
  EXPECT_TRUE(api().Exists("daskclusters", ns_, "c"));
  EXPECT_GE(watcher.LinesWith("held by the finalizer test.example/held"), 1u) << watcher.Log();
  api().ReleaseFinalizers("daskclusters", ns_, "c");
}

// KubeRay takes it over by its labels alone.
TEST_F(OfFrameworks, APodWithoutAnOwnerIsOfTheResourceThatIsCalledLikeTheCluster) {
  Make(kRay);
  api().Patch("pods", ns_, kRay.head, R"({"metadata": {"ownerReferences": null}})");
  Watcher& watcher = WatchHead(kRay);
  ASSERT_TRUE(Shows(watcher, kActive)) << watcher.Log();
  DriverGoes();
  ASSERT_TRUE(Eventually([&] { return !HasRoot(kRay) && Pods(kRay).empty(); })) << watcher.Log();
}

// It is what an earlier resource of that name had left, with that one's driver.
TEST_F(OfFrameworks, APodThatItTookOverNamesNoOwnerForIt) {
  MakeDriver();
  api().Create("rayclusters", ns_,
               CustomOf({"c"}, R"({"headGroupSpec": {"template": {"spec": {}}}})"));
  MakePod({kRay.head, Labels(kRay, kRay.master), {{"cluster-watcher/owner", "deployment/bob"}}});
  DriverGoes();
  Watcher& watcher = WatchHead(kRay);
  EXPECT_TRUE(Keeps(watcher, "keep: ambiguous", 3)) << watcher.Log();
  EXPECT_EQ(Says({"sweep", "--grace-period=500ms", "--confirmations=2", "--poll-interval=100ms",
                  "--startup-grace=500ms"}),
            0)
      << said_;
  EXPECT_TRUE(HasRoot(kRay)) << said_;
}

// A Deployment has another pod before the master first runs.
TEST_F(OfFrameworks, ACreatorThatWasNeverSeenMayHaveBeenADeployments) {
  Make(kRay);
  MakeDriver("notebook");
  const auto pods = [&] { return api().Names("pods", ns_, "app=notebook"); };
  ASSERT_TRUE(Eventually([&] { return pods().size() == 1; }));
  const std::string creator = pods().front();
  api().Annotate("rayclusters", ns_, "c", "cluster-watcher/owner", "pod/" + creator);
  api().Delete("pods", ns_, creator);
  ASSERT_TRUE(Eventually([&] { return !api().Exists("pods", ns_, creator); }));
  Watcher& watcher = WatchHead(kRay);
  EXPECT_TRUE(Keeps(watcher, "keep: unknown", 10)) << watcher.Log();
  EXPECT_GE(watcher.LinesWith("deployment.apps/notebook"), 1u) << watcher.Log();
  api().Delete("deployments", ns_, "notebook");
  ASSERT_TRUE(Eventually([&] { return !HasRoot(kRay); })) << watcher.Log();
}

TEST_F(OfFrameworks, APodThatBelongsToAnotherResourceIsAmbiguous) {
  Make(kRay);
  const std::string another = api().Create("rayclusters", ns_, CustomOf({"d"}));
  DriverGoes();
  MakePod({"d-head",
           Labels(kRay, kRay.master),
           {},
           false,
           OwnedBy(kRay.api_version, kRay.kind, "d", another, true)});
  Watcher& watcher = WatchHead(kRay);
  EXPECT_TRUE(Keeps(watcher, "keep: ambiguous", 3)) << watcher.Log();
  EXPECT_TRUE(HasRoot(kRay));
}

TEST_F(OfFrameworks, WhatAnotherResourceMadeIsItsOwnToEnd) {
  Make(kRay);
  const std::string job = api().Create("rayjobs", ns_, CustomOf({"j"}));
  api().Patch("rayclusters", ns_, "c",
              R"({"metadata": {"ownerReferences": )" +
                  OwnedBy("ray.io/v1", "RayJob", "j", job, true) + "}}");
  DriverGoes();
  Watcher& watcher = WatchHead(kRay);
  ASSERT_TRUE(Keeps(watcher, "keep: ambiguous", 3)) << watcher.Log();
}

// It names the owner, so it is the root, and takes what it made along.
TEST_F(OfFrameworks, OneThatNamesAnOwnerIsTheRootOfWhatItMade) {
  Make(kRay);
  const std::string job = api().Create(
      "rayjobs", ns_, CustomOf({"j", {}, {{"cluster-watcher/owner", "deployment/bob"}}}));
  api().Patch("rayclusters", ns_, "c",
              R"({"metadata": {"annotations": null, "ownerReferences": )" +
                  OwnedBy("ray.io/v1", "RayJob", "j", job, true) + "}}");
  Watcher& watcher = WatchHead(kRay);
  ASSERT_TRUE(Shows(watcher, kActive)) << watcher.Log();
  api().Annotate("rayjobs", ns_, "j", "cluster-watcher/dry-run", "true");
  DriverGoes();
  ASSERT_TRUE(Eventually([&] { return watcher.LinesWith("dry run") > 0; })) << watcher.Log();
  ASSERT_TRUE(api().Exists("rayjobs", ns_, "j"));
  api().Patch("rayjobs", ns_, "j",
              R"({"metadata": {"annotations": {"cluster-watcher/dry-run": null}}})");
  ASSERT_TRUE(Reaches(watcher, "done")) << watcher.Log();
  EXPECT_FALSE(api().Exists("rayjobs", ns_, "j"));
  EXPECT_TRUE(IsAllGone(kRay));
}

TEST_F(OfFrameworks, AHoldOnTheResourceHoldsAlsoBelowTheRootThatMadeIt) {
  Make(kRay);
  const std::string job = api().Create(
      "rayjobs", ns_, CustomOf({"j", {}, {{"cluster-watcher/owner", "deployment/bob"}}}));
  api().Patch("rayclusters", ns_, "c",
              R"({"metadata": {"annotations": {"cluster-watcher/hold-until": "2999-01-01T00:00:00Z",
                  "cluster-watcher/owner": null}, "ownerReferences": )" +
                  OwnedBy("ray.io/v1", "RayJob", "j", job, true) + "}}");
  DriverGoes();
  Watcher& watcher = WatchHead(kRay, {"--startup-grace=500ms"});
  ASSERT_TRUE(Keeps(watcher, "keep: held", 3)) << watcher.Log();
}

// Dask's operator copies the resource's annotations to all that it makes, once.
TEST_F(OfFrameworks, AnotherOwnerOnTheResourceCountsWhateverWasCopied) {
  Make(kDask);
  MakeDriver("alice");
  const std::string copied =
      R"({"metadata": {"annotations": {"cluster-watcher/owner": "deployment/bob"}}})";
  for (const std::string& pod : Pods(kDask)) api().Patch("pods", ns_, pod, copied);
  for (const char* made : {"c-scheduler", "c-worker"})
    api().Patch("deployments", ns_, made, copied);
  api().Patch("services", ns_, "c-svc", copied);
  Watcher& watcher = WatchHead(kDask);
  ASSERT_TRUE(Shows(watcher, kActive)) << watcher.Log();
  api().Annotate("daskclusters", ns_, "c", "cluster-watcher/owner", "deployment/alice");
  DriverGoes();
  ASSERT_TRUE(Eventually([&] { return watcher.LinesWith("deployment.apps/alice") > 0; }));
  EXPECT_TRUE(Keeps(watcher, kActive, 3)) << watcher.Log();
  api().Delete("deployments", ns_, "alice");
  ASSERT_TRUE(Reaches(watcher, "done")) << watcher.Log();
}

// A default that the injection wrote stands on the pod alone.
TEST_F(OfFrameworks, ADryRunThatIsThePodsAloneCounts) {
  Make(kDask);
  api().Annotate("pods", ns_, Head(kDask), "cluster-watcher/dry-run", "true");
  ExpectDryRun(kDask);
}

// On the pods it stays as an old copy.
TEST_F(OfFrameworks, AnOwnerThatWasTakenOffTheResourceIsNoneOfItsPodsEither) {
  Make(kDask);
  for (const std::string& pod : Pods(kDask)) {
    api().Patch("pods", ns_, pod,
                R"({"metadata": {"annotations": {
        "cluster-watcher/owner": "deployment/alice",
        "cluster-watcher/before-delete": "[{\"name\": \"old\", \"http\": {\"url\": \"http://h/\"}}]",
        "cluster-watcher/owner-namespace": ")" +
                    kubernetes->Elsewhere() + "\"}}}");
  }
  Watcher& watcher = WatchHead(kDask);
  ASSERT_TRUE(Shows(watcher, kActive)) << watcher.Log();
  ASSERT_TRUE(Keeps(watcher, kActive, 5)) << watcher.Log();
  DriverGoes();
  ASSERT_TRUE(Reaches(watcher, "done")) << watcher.Log();
  EXPECT_TRUE(IsAllGone(kDask));
  EXPECT_EQ(watcher.LinesWith("before-delete step old"), 0u) << watcher.Log();
}

// Its cluster's scheduler is described in it.
TEST_F(OfFrameworks, SettingsInTheTemplateOfAJobCount) {
  Make(kDask);
  const std::string job =
      api().Create("daskjobs", ns_,
                   CustomOf({"c", {}, {{"cluster-watcher/owner", "deployment/bob"}}},
                            R"({"cluster": {"spec": {"scheduler": {"metadata": {"annotations":
                   {"cluster-watcher/dry-run": "true"}}}}}})"));
  api().Patch("daskclusters", ns_, "c",
              R"({"metadata": {"ownerReferences": )" +
                  OwnedBy(kDask.api_version, "DaskJob", "c", job, true) + "}}");
  api().Annotate("pods", ns_, Head(kDask), "cluster-watcher/dry-run", "true");
  ExpectDryRun(kDask);
}

TEST_F(OfFrameworks, AHoldInTheTemplateOfAJobHolds) {
  Make(kRay);
  const std::string job = api().Create(
      "rayjobs", ns_,
      CustomOf({"j", {}, {{"cluster-watcher/owner", "deployment/bob"}}},
               R"({"rayClusterSpec": {"headGroupSpec": {"template": {"metadata": {"annotations":
                   {"cluster-watcher/hold-until": "2999-01-01T00:00:00Z"}}}}}})"));
  api().Patch("rayclusters", ns_, "c",
              R"({"metadata": {"annotations": null, "ownerReferences": )" +
                  OwnedBy("ray.io/v1", "RayJob", "j", job, true) + "}}");
  DriverGoes();
  Watcher& watcher = WatchHead(kRay, {"--startup-grace=500ms"});
  ASSERT_TRUE(Keeps(watcher, "keep: held", 3)) << watcher.Log();
}

TEST_F(OfFrameworks, TheResourceIsNoOwnerOfItsClusterThoughAJobMadeIt) {
  Make(kRay);
  const std::string job = api().Create(
      "rayjobs", ns_, CustomOf({"j", {}, {{"cluster-watcher/owner", "raycluster.ray.io/c"}}}));
  api().Patch("rayclusters", ns_, "c",
              R"({"metadata": {"annotations": null, "ownerReferences": )" +
                  OwnedBy("ray.io/v1", "RayJob", "j", job, true) + "}}");
  Watcher& watcher = WatchHead(kRay);
  EXPECT_TRUE(Keeps(watcher, "keep: misconfigured", 3)) << watcher.Log();
}

// Everybody has a label "app".
TEST_F(OfFrameworks, ADriversDeploymentOfTheSameAppIsNoneOfTheClusters) {
  Make(kFlink);
  api().Create("deployments", ns_,
               R"({"metadata": {"name": "notebook", "labels": {"app": "c"}},
      "spec": {"selector": {"matchLabels": {"role": "driver"}}, "template": {
          "metadata": {"labels": {"app": "c", "role": "driver"}}, "spec": )" +
                   std::string(kPodSpec) + "}}}");
  const auto pods = [&] { return api().Names("pods", ns_, "role=driver"); };
  ASSERT_TRUE(Eventually([&] { return pods().size() == 1; }));
  const std::string creator = pods().front();
  api().Annotate("flinkdeployments", ns_, "c", "cluster-watcher/owner", "pod/" + creator);
  api().Delete("pods", ns_, creator);
  ASSERT_TRUE(Eventually([&] { return !api().Exists("pods", ns_, creator); }));
  Watcher& watcher = WatchHead(kFlink);
  EXPECT_TRUE(Keeps(watcher, "keep: unknown", 10)) << watcher.Log();
}

// Its row leads to an object where the cluster's name should be.
TEST_F(OfFrameworks, WhatCannotTellWhichClusterItUsesMayUseAny) {
  const std::string rows = R"([{"name": "ray", "master": {"ray.io/node-type": ["head"]},
      "cluster": "ray.io/cluster", "root": {"resource": "rayclusters.ray.io", "kind": "RayCluster"},
      "uses": {"resource": "rayjobs.ray.io", "cluster": "spec.clusterSelector",
               "state": "status.jobDeploymentStatus", "ended": ["Complete"]}}])";
  Make(kRay);
  api().Create("rayjobs", ns_, CustomOf({"none"}));
  api().Create("rayjobs", ns_, CustomOf({"j"}, R"({"clusterSelector": {"ray.io/cluster": "c"}})"));
  api().SetStatus("rayjobs", ns_, "j", R"({"jobDeploymentStatus": "Running"})");
  Watcher& watcher = WatchWithRows(Head(kRay), rows);
  ASSERT_TRUE(Shows(watcher, kActive)) << watcher.Log();
  DriverGoes();
  ASSERT_TRUE(Keeps(watcher, "keep: unknown", 5)) << watcher.Log();
  EXPECT_GE(watcher.LinesWith("rayjob.ray.io/j"), 1u) << watcher.Log();
  api().SetStatus("rayjobs", ns_, "j", R"({"jobDeploymentStatus": "Complete"})");
  ASSERT_TRUE(Reaches(watcher, "done")) << watcher.Log();
}

TEST_F(OfFrameworks, SoMayTheResourceItself) {
  const std::string rows = R"([{"name": "flink", "master": {"component": ["jobmanager"]},
      "cluster": "app", "members": {"type": ["flink-native-kubernetes"]},
      "root": {"resource": "flinkdeployments.flink.apache.org", "kind": "FlinkDeployment"},
      "uses": {"resource": "flinksessionjobs.flink.apache.org", "cluster": "spec.deploymentName",
               "state": "status.jobStatus.state", "ended": ["FINISHED"],
               "itself": "spec.podTemplate.spec.containers.job"}}])";
  Make(kFlink);
  api().Patch("flinkdeployments", ns_, "c",
              R"({"spec": {"podTemplate": {"spec": {"containers": [{"name": "x"}]}}}})");
  Watcher& watcher = WatchWithRows(Head(kFlink), rows);
  ASSERT_TRUE(Shows(watcher, kActive)) << watcher.Log();
  DriverGoes();
  ASSERT_TRUE(Keeps(watcher, "keep: unknown", 5)) << watcher.Log();
  api().SetStatus("flinkdeployments", ns_, "c", R"({"jobStatus": {"state": "FINISHED"}})");
  ASSERT_TRUE(Reaches(watcher, "done")) << watcher.Log();
}

// Its pods are neither the resource's nor gone as long as it is there.
TEST_F(OfFrameworks, AWorkloadThatSomebodyAddedGoesBeforeTheResource) {
  Make(kRay);
  api().Create("deployments", ns_,
               DeploymentOf({{"added", Labels(kRay, {})}, 1, Labels(kRay, {}), {}, ""}));
  ASSERT_TRUE(Eventually([&] { return Pods(kRay).size() == 3; }));
  Watcher& watcher = WatchHead(kRay);
  ASSERT_TRUE(Shows(watcher, kActive)) << watcher.Log();
  DriverGoes();
  ASSERT_TRUE(Eventually([&] { return !HasRoot(kRay); }, std::chrono::minutes(1))) << watcher.Log();
  ASSERT_TRUE(Reaches(watcher, "done")) << watcher.Log();
  EXPECT_FALSE(api().Exists("deployments", ns_, "added"));
  EXPECT_TRUE(IsAllGone(kRay));
}

TEST_F(OfFrameworks, OfSeveralMastersTheResourceIsWhatAPersonDeletes) {
  Make(kRay);
  api().Create(
      "deployments", ns_,
      DeploymentOf({{"second", Labels(kRay, kRay.master)}, 1, Labels(kRay, kRay.master), {}, ""}));
  ASSERT_TRUE(Eventually([&] { return Pods(kRay).size() == 3; }));
  EXPECT_EQ(Says({"delete", "c", "--wait"}), 0) << said_;
  EXPECT_FALSE(HasRoot(kRay)) << said_;
  EXPECT_FALSE(api().Exists("deployments", ns_, "second")) << said_;
}

// A person passes them over, and their operator waits for them.
TEST_F(OfFrameworks, SessionJobsThatRunGoTooWhereAPersonAsks) {
  Make(kFlink);
  api().Create("flinksessionjobs", ns_, CustomOf({"j"}, R"({"deploymentName": "c"})"));
  api().SetStatus("flinksessionjobs", ns_, "j", R"({"jobStatus": {"state": "RUNNING"}})");
  EXPECT_EQ(Says({"delete", "c", "--app=deployment/bob", "--app-status=completed"}), 0) << said_;
  EXPECT_TRUE(api().Exists("flinksessionjobs", ns_, "j")) << said_;
  EXPECT_EQ(Says({"delete", "c", "--wait"}), 0) << said_;
  EXPECT_FALSE(api().Exists("flinksessionjobs", ns_, "j")) << said_;
}

TEST_F(OfFrameworks, AJobThatSelectsTheClusterUsesItUntilItHasEnded) {
  Make(kRay);
  api().Create("rayjobs", ns_, CustomOf({"j"}, R"({"clusterSelector": {"ray.io/cluster": "c"}})"));
  api().SetStatus("rayjobs", ns_, "j", R"({"jobDeploymentStatus": "Running"})");
  Watcher& watcher = WatchHead(kRay);
  ASSERT_TRUE(Shows(watcher, kActive)) << watcher.Log();
  DriverGoes();
  ASSERT_TRUE(Keeps(watcher, "keep: in-use", 3)) << watcher.Log();
  // KubeRay gives it up, for its deadline or its submitter's sake; the job runs on.
  api().SetStatus("rayjobs", ns_, "j",
                  R"({"jobDeploymentStatus": "Failed", "jobStatus": "RUNNING"})");
  ASSERT_TRUE(Keeps(watcher, "keep: in-use", 5)) << watcher.Log();
  api().SetStatus("rayjobs", ns_, "j",
                  R"({"jobDeploymentStatus": "Complete", "jobStatus": "SUCCEEDED"})");
  ASSERT_TRUE(Reaches(watcher, "done")) << watcher.Log();
  EXPECT_TRUE(IsAllGone(kRay));
  EXPECT_TRUE(api().Exists("rayjobs", ns_, "j"));
}

TEST_F(OfFrameworks, AFlinkJobThatRunsUsesItsCluster) {
  Make(kFlink);
  api().Patch("flinkdeployments", ns_, "c", R"({"spec": {"job": {"jarURI": "local:///a.jar"}}})");
  api().SetStatus("flinkdeployments", ns_, "c", R"({"jobStatus": {"state": "RUNNING"}})");
  Watcher& watcher = WatchHead(kFlink);
  ASSERT_TRUE(Shows(watcher, kActive)) << watcher.Log();
  DriverGoes();
  ASSERT_TRUE(Keeps(watcher, "keep: in-use", 3)) << watcher.Log();
  api().SetStatus("flinkdeployments", ns_, "c", R"({"jobStatus": {"state": "FINISHED"}})");
  ASSERT_TRUE(Reaches(watcher, "done")) << watcher.Log();
}

// Its operator doesn't finalize the deployment while there are any.
TEST_F(OfFrameworks, EndedSessionJobsGoBeforeTheirDeployment) {
  Make(kFlink);
  for (const char* job : {"j1", "j2"}) {
    api().Create("flinksessionjobs", ns_, CustomOf({job}, R"({"deploymentName": "c"})"));
    api().SetStatus("flinksessionjobs", ns_, job, R"({"jobStatus": {"state": "FINISHED"}})");
  }
  api().Create("flinksessionjobs", ns_, CustomOf({"other"}, R"({"deploymentName": "d"})"));
  Watcher& watcher = WatchHead(kFlink);
  ASSERT_TRUE(Shows(watcher, kActive)) << watcher.Log();
  api().SetStatus("flinksessionjobs", ns_, "j2", R"({"jobStatus": {"state": "RUNNING"}})");
  DriverGoes();
  ASSERT_TRUE(Keeps(watcher, "keep: in-use", 3)) << watcher.Log();
  api().SetStatus("flinksessionjobs", ns_, "j2", R"({"jobStatus": {"state": "FINISHED"},
      "reconciliationStatus": {"state": "UPGRADING"}})");
  ASSERT_TRUE(Keeps(watcher, "keep: in-use", 5)) << watcher.Log();
  api().SetStatus("flinksessionjobs", ns_, "j2", R"({"jobStatus": {"state": "CANCELED"},
      "reconciliationStatus": {"state": "DEPLOYED"}})");
  ASSERT_TRUE(Reaches(watcher, "done")) << watcher.Log();
  EXPECT_EQ(api().Names("flinksessionjobs", ns_), std::vector<std::string>{"other"});
}

// Its pods are gone; only the resource tells of it.
TEST_F(OfFrameworks, ASuspendedClusterIsListedAndSwept) {
  MakeDriver();
  api().Create(
      "rayclusters", ns_,
      CustomOf({"c", {}, {{"cluster-watcher/owner", "deployment/bob"}}}, R"({"suspend": true})"));
  ASSERT_EQ(Says({"list"}), 0) << said_;
  EXPECT_NE(said_.find("\nc "), std::string::npos) << said_;
  EXPECT_EQ(Says({"check", "c"}), 0) << said_;
  DriverGoes();
  EXPECT_EQ(Says({"sweep", "--grace-period=500ms", "--confirmations=2", "--poll-interval=100ms",
                  "--startup-grace=500ms"}),
            0)
      << said_;
  EXPECT_FALSE(api().Exists("rayclusters", ns_, "c")) << said_;
}

// Else the other one would lose its user, and go under it.
TEST_F(OfFrameworks, WhoeverUsesOneClaimsNoOtherOfAnotherFramework) {
  Make(kRay);
  MakeDriver("alice");
  api().Patch("deployments", ns_, "alice",
              R"({"metadata": {"labels": {"uses-oshinko-cluster": "c"}}})");
  MakeCluster();
  EXPECT_NE(Says({"claim", "spark", "--app=deployment/alice"}), 0) << said_;
  EXPECT_EQ(api().Names("deployments", ns_, "uses-oshinko-cluster=c"),
            std::vector<std::string>{"alice"});
}

TEST_F(OfFrameworks, SettingsOnTheResourceCountAndChangeWithIt) {
  Make(kRay);
  api().Annotate("rayclusters", ns_, "c", "cluster-watcher/dry-run", "true");
  Watcher& watcher = WatchHead(kRay);
  ASSERT_TRUE(Shows(watcher, kActive)) << watcher.Log();
  DriverGoes();
  ASSERT_TRUE(Eventually([&] { return watcher.LinesWith("dry run") > 0; })) << watcher.Log();
  ASSERT_TRUE(HasRoot(kRay));
  api().Annotate("rayclusters", ns_, "c", "cluster-watcher/gracee-period", "1m");
  ASSERT_TRUE(Shows(watcher, "keep: misconfigured")) << watcher.Log();
  api().Patch("rayclusters", ns_, "c", R"({"metadata": {"annotations":
      {"cluster-watcher/gracee-period": null, "cluster-watcher/dry-run": null}}})");
  ASSERT_TRUE(Reaches(watcher, "done")) << watcher.Log();
}

TEST_F(OfFrameworks, APodThatFitsTwoIsMisconfigured) {
  MakeDriver();
  TextMap labels = Labels(kRay, kRay.master);
  labels["dask.org/cluster-name"] = "c";
  labels["dask.org/component"] = "scheduler";
  MakePod({"both", labels, {{"cluster-watcher/owner", "deployment/bob"}}});
  Watcher& watcher = WatchAs("both", {});
  ASSERT_TRUE(Keeps(watcher, "keep: misconfigured", 3)) << watcher.Log();
  EXPECT_GE(watcher.LinesWith("fit the profiles ray and dask"), 1u) << watcher.Log();
}

// Two frameworks have a cluster of this name, and a person says which is meant.
TEST_F(OfFrameworks, ACommandIsToldInWhoseWordsANameIs) {
  Make(kRay);
  api().Create("daskclusters", ns_, CustomOf({"c"}));
  EXPECT_EQ(Says({"check", "c"}), 2) << said_;
  EXPECT_NE(said_.find("give one of them by --profile"), std::string::npos) << said_;
  EXPECT_EQ(Says({"check", "c", "--profile=ray"}), 0) << said_;
  EXPECT_EQ(Says({"hold", "c", "--profile=ray"}), 0) << said_;
  EXPECT_TRUE(api().Annotation("rayclusters", ns_, "c", "cluster-watcher/hold-until"));
  EXPECT_FALSE(api().Annotation("daskclusters", ns_, "c", "cluster-watcher/hold-until"));
}

// The operator copied it to the DaskCluster, and to the pods.
TEST_F(OfFrameworks, AnOwnerThatIsTakenOffAJobIsNoOwnersAnyMore) {
  Make(kDask);
  const std::string job = api().Create(
      "daskjobs", ns_, CustomOf({"c", {}, {{"cluster-watcher/owner", "deployment/bob"}}}));
  api().Patch("daskclusters", ns_, "c",
              R"({"metadata": {"ownerReferences": )" +
                  OwnedBy(kDask.api_version, "DaskJob", "c", job, true) + "}}");
  const std::string copied =
      R"({"metadata": {"annotations": {"cluster-watcher/owner": "deployment/bob"}}})";
  for (const std::string& pod : Pods(kDask)) api().Patch("pods", ns_, pod, copied);
  Watcher& watcher = WatchHead(kDask);
  ASSERT_TRUE(Shows(watcher, kActive)) << watcher.Log();
  api().Patch("daskjobs", ns_, "c", R"({"metadata": {"annotations": null}})");
  DriverGoes();
  // What it made is its own affair again.
  ASSERT_TRUE(Shows(watcher, "keep: ambiguous")) << watcher.Log();
  EXPECT_TRUE(HasRoot(kDask));
}

// Until then it is the job's own affair, which may end it itself.
TEST_F(OfFrameworks, AnOwnerThatIsPutOnAJobLaterCounts) {
  Make(kDask);
  const std::string job = api().Create("daskjobs", ns_, CustomOf({"c"}));
  api().Patch("daskclusters", ns_, "c",
              R"({"metadata": {"annotations": null, "ownerReferences": )" +
                  OwnedBy(kDask.api_version, "DaskJob", "c", job, true) + "}}");
  Watcher& watcher = WatchHead(kDask, {"--owner=deployment/bob"});
  ASSERT_TRUE(Shows(watcher, "keep: ambiguous")) << watcher.Log();
  api().Patch("daskjobs", ns_, "c",
              R"({"metadata": {"annotations": {"cluster-watcher/owner": "deployment/bob"}}})");
  ASSERT_TRUE(Shows(watcher, kActive)) << watcher.Log();
  DriverGoes();
  EXPECT_TRUE(Eventually([&] { return !api().Exists("daskjobs", ns_, "c"); })) << watcher.Log();
}

TEST_F(OfFrameworks, WhatWasClaimedCanBeReleased) {
  Make(kDask);
  api().Patch("daskclusters", ns_, "c", R"({"metadata": {"annotations": null}})");
  EXPECT_EQ(Says({"claim", "c", "--app=deployment/bob", "--ephemeral"}), 0) << said_;
  EXPECT_EQ(Says({"release", "c", "--app=deployment/bob"}), 0) << said_;
  EXPECT_FALSE(api().Annotation("daskclusters", ns_, "c", "cluster-watcher/owner"));
}

// It has no pod that would say so.
TEST_F(OfFrameworks, TheTemplateOfASuspendedOneNamesItsOwner) {
  MakeDriver();
  MakeDriver("alice");
  api().Create("rayclusters", ns_,
               CustomOf({"c"}, R"({"suspend": true, "headGroupSpec": {"template":
      {"metadata": {"annotations": {"cluster-watcher/owner": "deployment/bob"}}}}})"));
  EXPECT_NE(Says({"claim", "c", "--app=deployment/alice", "--ephemeral"}), 0) << said_;
  EXPECT_NE(said_.find("belongs to"), std::string::npos) << said_;
  EXPECT_EQ(Says({"list", "--app=deployment/bob"}), 0);
  EXPECT_NE(said_.find("\nc "), std::string::npos) << said_;
}

// It is a member of that cluster, whatever its pods say.
TEST_F(OfFrameworks, AResourceThatIsOshinkosIsNoRoot) {
  Make(kRay);
  api().Patch("rayclusters", ns_, "c", R"({"metadata": {"labels": {"oshinko-cluster": "spark"}}})");
  DriverGoes();
  Watcher& watcher = WatchHead(kRay);
  EXPECT_TRUE(Keeps(watcher, "keep: ambiguous", 3)) << watcher.Log();
  EXPECT_GE(watcher.LinesWith("another cluster, oshinko-cluster=spark"), 1u) << watcher.Log();
  EXPECT_EQ(Says({"delete", "c"}), 1) << said_;
  EXPECT_TRUE(HasRoot(kRay)) << said_;
}

TEST_F(OfFrameworks, OshinkosClusterIsNotMeantInSilenceEither) {
  MakeCluster();
  api().Create("rayclusters", ns_, CustomOf({kCluster}));
  EXPECT_EQ(Says({"delete", kCluster}), 2) << said_;
  EXPECT_NE(said_.find("in the words of oshinko; ray"), std::string::npos) << said_;
  EXPECT_TRUE(api().Exists("rayclusters", ns_, kCluster));
  EXPECT_EQ(Says({"check", kCluster, "--profile=oshinko"}), 0) << said_;
}

constexpr char kRows[] = R"([{"name": "mine", "master": {"role": ["boss"]}, )"
                         R"("cluster": "example.com/cluster"}])";

// With an installation's own row.
class OfARow : public OfFrameworks {
 protected:
  // Makes the master of the cluster "c" in the row's words.
  void MakeMaster(TextMap labels = {}) {
    const TextMap of_pods{{"role", "boss"}, {"example.com/cluster", "c"}};
    labels.insert(of_pods.begin(), of_pods.end());
    const Metadata master{"m", labels, {{"cluster-watcher/owner", "deployment/bob"}}};
    api().Create("deployments", ns_, DeploymentOf({master, 1, of_pods, {}, ""}));
    ASSERT_TRUE(Eventually([&] { return !api().Names("pods", ns_, "role=boss").empty(); }));
  }
  Watcher& WatchMaster(const std::string& rows = kRows) {
    return WatchWithRows(api().Names("pods", ns_, "role=boss").front(), rows);
  }
};

TEST_F(OfARow, AnInstallationsOwnRowIsAProfile) {
  MakeDriver();
  MakeMaster();
  Watcher& watcher = WatchMaster();
  ASSERT_TRUE(Shows(watcher, kActive)) << watcher.Log();
  DriverGoes();
  ASSERT_TRUE(Reaches(watcher, "done")) << watcher.Log();
}

TEST_F(OfARow, WhatIsOshinkosIsNoMemberInARowsWords) {
  MakeDriver();
  MakeMaster();
  const TextMap labels{{"example.com/cluster", "c"}};
  api().Create("services", ns_, ServiceOf({"c-svc", labels}, "c"));
  TextMap oshinkos = labels;
  oshinkos["oshinko-cluster"] = "spark";
  api().Create("services", ns_, ServiceOf({"spark", oshinkos}, "spark"));
  DriverGoes();
  Watcher& watcher = WatchMaster();
  ASSERT_TRUE(Reaches(watcher, "done")) << watcher.Log();
  EXPECT_FALSE(api().Exists("services", ns_, "c-svc")) << watcher.Log();
  EXPECT_TRUE(api().Exists("services", ns_, "spark")) << watcher.Log();
}

// Its users name it by its other name, so that in the row's words nobody uses it.
TEST_F(OfARow, ARootThatIsOshinkosIsNoneInARowsWords) {
  MakeDriver();
  MakeMaster({{"oshinko-cluster", "spark"}});
  MakeDriver("alice");
  api().Patch("deployments", ns_, "alice",
              R"({"metadata": {"labels": {"uses-oshinko-cluster": "spark"}}})");
  DriverGoes();
  Watcher& watcher = WatchMaster();
  EXPECT_TRUE(Keeps(watcher, "keep: ambiguous", 3)) << watcher.Log();
  EXPECT_EQ(watcher.Stop(SIGTERM), 0);
  EXPECT_EQ(Says({"sweep", "--grace-period=500ms", "--confirmations=2", "--poll-interval=100ms",
                  "--startup-grace=500ms"},
                 {"CLUSTER_WATCHER_PROFILES=" + std::string(kRows)}),
            0)
      << said_;
  EXPECT_TRUE(api().Exists("deployments", ns_, "m")) << said_;
}

// All masters have the rows: a mistake must neither keep them from starting nor cost a cluster.
TEST_F(OfARow, AWrongRowIsMisconfiguredForWatchersAndAnErrorForPeople) {
  const std::string rows = R"(CLUSTER_WATCHER_PROFILES=[{"name": "mine", "mastr": {}}])";
  constexpr char kMistake[] = "row 1 (mine): mastr: there is no such field";
  Make(kRay);
  MakeMaster();
  DriverGoes();
  for (const std::string& pod : {Head(kRay), api().Names("pods", ns_, "role=boss").front()}) {
    Watcher& watcher = Run({"watch", "--kubeconfig=" + kubeconfig(), "--listen=127.0.0.1:0",
                            "--poll-interval=100ms", "--grace-period=0s", "--startup-grace=0s"},
                           {"POD_NAMESPACE=" + ns_, "POD_NAME=" + pod, rows});
    ASSERT_TRUE(Shows(watcher, "keep: misconfigured")) << watcher.Log();
    EXPECT_TRUE(PollsOn(watcher, 4)) << watcher.Log();
    EXPECT_GE(watcher.LinesWith(kMistake), 1u) << watcher.Log();
    EXPECT_EQ(watcher.LinesWith("no label oshinko-cluster"), 0u) << watcher.Log();
  }
  EXPECT_TRUE(HasRoot(kRay));
  EXPECT_TRUE(api().Exists("deployments", ns_, "m"));
  for (const auto& words : {std::vector<std::string>{"check", "c"}, {"delete", "c"}, {"list"}}) {
    std::vector<std::string> arguments = words;
    arguments.insert(arguments.end(), {"--kubeconfig=" + kubeconfig(), "--namespace=" + ns_});
    Watcher& command = Run(arguments, {rows});
    EXPECT_EQ(command.WaitForExit(), 2) << words.front();
    EXPECT_GE(command.LinesWith(kMistake), 1u) << command.Log();
  }
  EXPECT_TRUE(HasRoot(kRay));
}

}  // namespace
}  // namespace cluster_watcher::integration

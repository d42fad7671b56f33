// The command `create`.
#include <csignal>

#include "test/integration/fixture.h"

namespace cluster_watcher::integration {
namespace {

using Arguments = std::vector<std::string>;

constexpr char kManifests[] = R"(
apiVersion: v1
kind: Service
metadata: {name: $(CLUSTER), labels: {oshinko-type: master}}
spec: {selector: {app: $(CLUSTER)-m}, ports: [{port: 7077}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: $(CLUSTER)-config}
data: {master: "spark://$(CLUSTER):7077"}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: $(CLUSTER)-w, labels: {oshinko-type: worker}}
spec:
  replicas: 2
  selector: {matchLabels: {app: $(CLUSTER)-w}}
  template:
    metadata: {labels: {app: $(CLUSTER)-w, oshinko-type: worker}}
    spec: {containers: [{name: main, image: spark}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: $(CLUSTER)-m}
spec:
  selector: {matchLabels: {app: $(CLUSTER)-m}}
  template:
    metadata: {labels: {app: $(CLUSTER)-m, oshinko-type: master}}
    spec: {containers: [{name: main, image: spark}]}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: $(CLUSTER)-data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
)";
constexpr char kCreated[] =
    "deployment.apps/spark-m created\n"
    "service/spark created\n"
    "configmap/spark-config created\n"
    "deployment.apps/spark-w created\n"
    "persistentvolumeclaim/spark-data created\n";

class Creating : public IntegrationTest {
 protected:
  // Starts `create spark -f FILE` with further arguments.
  Watcher& Create(Arguments more = {}, const std::string& manifests = kManifests) {
    WriteWhole(File("yaml"), manifests);
    more.insert(more.begin(), {"create", kCluster, "-f", File("yaml"), "-n", ns_,
                               "--kubeconfig=" + kubeconfig()});
    return Run(more);
  }
  // What it says where it ends with `code`.
  std::string Said(int code, Watcher& command) {
    EXPECT_EQ(command.WaitForExit(std::chrono::seconds(90)), code)
        << command.Output() << command.Log();
    return command.Output() + command.Log();
  }
  // As if `creator` had not come to the end.
  void Interrupt(const std::string& creator) {
    api().Delete("configmaps", ns_, "spark-config");
    api().Expect(HttpMethod::kPatch,
                 PathOf("deployments", ns_, kMaster) + "?fieldManager=cluster-watcher-create",
                 R"({"metadata":{"annotations":{"cluster-watcher/phase":"creating",)"
                 R"("cluster-watcher/created-by":")" +
                     creator + "\"}}}",
                 "application/merge-patch+json");
  }
};

TEST_F(Creating, MakesACluster) {
  MakeDriver();
  EXPECT_EQ(Said(0, Create({"--app=deployment/bob", "--ephemeral"})),
            std::string(kCreated) + "cluster spark is created\n");
  for (const auto& [plural, name] : {std::pair{"deployments", kMaster},
                                     {"deployments", "spark-w"},
                                     {"services", "spark"},
                                     {"configmaps", "spark-config"},
                                     {"persistentvolumeclaims", "spark-data"}}) {
    const auto object = api().Get(plural, ns_, name);
    ASSERT_TRUE(object) << name;
    const JsonValue metadata = object->root()["metadata"];
    EXPECT_EQ(metadata["labels"][kClusterLabel].AsString(), kCluster);
    EXPECT_FALSE(metadata["ownerReferences"].Exists());
  }
  EXPECT_EQ(Mark("phase"), "");
  EXPECT_EQ(Mark("created-by"), "complete");
  EXPECT_EQ(Mark("owner"), "deployment.apps/bob");
  EXPECT_EQ(Said(0, Create({"--app=deployment/bob", "--ephemeral"})), "cluster spark is ready\n");
  EXPECT_EQ(Said(0, Create()), "cluster spark exists\n");
}

TEST_F(Creating, WhatItMadeGoesWithItsDriver) {
  MakeDriver();
  Said(0, Create({"--app=deployment/bob", "--ephemeral"}));
  MasterPod();
  Watcher& watcher = Watch({"--grace-period=0s"});
  ASSERT_TRUE(Shows(watcher, "keep: active"));
  api().Delete("deployments", ns_, "bob");
  EXPECT_TRUE(Finishes(watcher));
  EXPECT_TRUE(api().Exists("persistentvolumeclaims", ns_, "spark-data"));
}

TEST_F(Creating, AnInterruptedOneIsClearedUpAndBegunAnew) {
  ASSERT_NE(Said(0, Create()).find("is created"), std::string::npos);
  const std::string root = api().Uid("deployments", ns_, kMaster);
  const std::string worker = api().Uid("deployments", ns_, "spark-w");
  const std::string claim = api().Uid("persistentvolumeclaims", ns_, "spark-data");
  Interrupt("driver/no-such-uid");
  const std::string said = Said(0, Create());
  EXPECT_NE(said.find("deployment.apps/spark-w deleted\n"), std::string::npos) << said;
  EXPECT_NE(said.find("deployment.apps/spark-m deleted\ndeployment.apps/spark-m created\n"),
            std::string::npos)
      << said;
  EXPECT_NE(api().Uid("deployments", ns_, kMaster), root);
  EXPECT_NE(api().Uid("deployments", ns_, "spark-w"), worker);
  EXPECT_EQ(api().Uid("persistentvolumeclaims", ns_, "spark-data"), claim);
}

TEST_F(Creating, ACommandIsLeftAMinute) {
  Said(0, Create());
  Interrupt("cli/someone");
  EXPECT_EQ(Said(12, Create()), "cluster-watcher: cluster spark is being created by cli/someone\n");
}

// Its mark is as old as the API server says that it is.
TEST_F(Creating, AfterAMinuteACommandIsGone) {
  Said(0, Create());
  const std::string root = api().Uid("deployments", ns_, kMaster);
  Interrupt("cli/someone");
  ASSERT_TRUE(Eventually([&] {
    const auto object = api().Get("deployments", ns_, kMaster);
    std::string managed = object->root()["metadata"]["managedFields"].ToText();
    for (std::size_t at = 0; (at = managed.find("\"time\":\"20", at)) != std::string::npos;) {
      at += 8;
      managed.replace(at, 4, "2025");
    }
    const std::string version(*object->root()["metadata"]["resourceVersion"].AsString());
    // A change of times alone is none.
    const auto answer = api().Do(HttpMethod::kPatch, PathOf("deployments", ns_, kMaster),
                                 R"({"metadata":{"labels":{"x":"y"},"resourceVersion":")" +
                                     version + R"(","managedFields":)" + managed + "}}",
                                 "application/merge-patch+json");
    return answer && answer->status == 200;
  }));
  Said(0, Create());
  EXPECT_NE(api().Uid("deployments", ns_, kMaster), root);
}

TEST_F(Creating, ASignalEndsIt) {
  Said(0, Create());
  api().Patch("deployments", ns_, "spark-w", R"({"metadata":{"finalizers":["example.com/held"]}})");
  Interrupt("driver/no-such-uid");
  Watcher& command = Create();
  ASSERT_TRUE(Eventually([&] {
    return command.Output().find("deployment.apps/spark-w deleted") != std::string::npos;
  }));
  EXPECT_EQ(command.Stop(SIGTERM), 128 + SIGTERM) << command.Log();
  EXPECT_NE(Said(12, Create()).find("is being created by cli/"), std::string::npos);
  api().ReleaseFinalizers("deployments", ns_, "spark-w");
}

TEST_F(Creating, OfSeveralAtOnceOneCreates) {
  MakeDriver();
  std::vector<Watcher*> commands;
  for (int i = 0; i < 4; ++i) {
    commands.push_back(&Create({"--app=deployment/bob", "--ephemeral"}));
  }
  int created = 0;
  for (Watcher* command : commands) {
    const auto code = command->WaitForExit();
    const bool is_it = command->Output() == std::string(kCreated) + "cluster spark is created\n";
    created += is_it ? 1 : 0;
    const bool came_later = command->Output() == "cluster spark is ready\n";
    EXPECT_TRUE(is_it || came_later || code == 12) << command->Output() << command->Log();
  }
  EXPECT_EQ(created, 1);
}

TEST_F(Creating, WhatIsSomebodyElsesIsLeftAlone) {
  api().Create("services", ns_, ServiceOf({"spark"}, "x"));
  EXPECT_EQ(Said(1, Create()),
            "cluster-watcher: not of the cluster spark, but there already: service/spark: give "
            "other names, or label them oshinko-cluster=spark\n");
  EXPECT_FALSE(api().Exists("deployments", ns_, kMaster));
}

TEST_F(Creating, FieldsOfAnotherManagerAreNamed) {
  Said(0, Create());
  api().Expect(HttpMethod::kPatch, PathOf("configmaps", ns_, "spark-config") + "?fieldManager=anna",
               R"({"data":{"master":"spark://other:7077"}})", "application/merge-patch+json");
  api().Delete("deployments", ns_, "spark-w", "Foreground");
  ASSERT_TRUE(Eventually([&] { return !api().Exists("deployments", ns_, "spark-w"); }));
  const std::string said = Said(1, Create());
  EXPECT_NE(said.find("configmap/spark-config: .data.master is managed by \"anna\": take it out"),
            std::string::npos)
      << said;
}

TEST_F(Creating, AMisspeltFieldIsNamedAtOnce) {
  if (!kubernetes->GetOptions().real) GTEST_SKIP() << "the small Kubernetes has no schemas";
  std::string manifests = kManifests;
  manifests.replace(manifests.find("selector: {app"), 8, "selektor");
  const std::string said = Said(1, Create({"--timeout=10m"}, manifests));
  EXPECT_NE(said.find("selektor"), std::string::npos) << said;
}

TEST_F(Creating, ARightThatIsMissingIsNamed) {
  api().Create("serviceaccounts", ns_, NamedOf({kAccount}));
  api().Create("roles", ns_, R"({"metadata":{"name":"watcher"},"rules":[
      {"apiGroups":["*"],"resources":["*"],"verbs":["get","list"]},
      {"apiGroups":["apps"],"resources":["*"],"verbs":["create","patch"]}]})");
  api().Create("rolebindings", ns_, RoleBindingOf({kAccount}, kAccount, kAccount));
  const std::string file =
      WriteKubeconfig(File("account"), server().Admin(), "token: " + api().Token(ns_, kAccount));
  const std::string said = Said(1, Create({"--kubeconfig=" + file}));
  EXPECT_NE(said.find("; a Role in namespace " + ns_ +
                      " needs rules: [{apiGroups: [\"\"], resources: [\"services\"], verbs: "
                      "[\"patch\"]}]; cluster spark stays marked as being created"),
            std::string::npos)
      << said;
}

TEST_F(Creating, WrongUsageIsNamedAllAtOnceBeforeAnythingIsDone) {
  const auto said = [&](Arguments arguments) {
    arguments.insert(arguments.end(), {"-n", ns_, "--kubeconfig=" + kubeconfig()});
    return Said(2, Run(arguments));
  };
  EXPECT_EQ(
      said({"create", "my.cluster", "--ephemeral", "--timeout=1x"}),
      "cluster-watcher: create: \"my.cluster\" can't be the name of objects: give a DNS "
      "label, at most 63 of a-z, 0-9 and -\n"
      "cluster-watcher: -f is missing: give the file with the cluster's manifests, or - for "
      "stdin\n"
      "cluster-watcher: --ephemeral needs --app: name the owner whose own the cluster is\n"
      "cluster-watcher: --timeout: \"1x\" is not a duration: \"x\" is not a unit: use h, m, s, "
      "ms, us or ns\n");
  EXPECT_NE(said({"create", "-f-"}).find("no cluster is given"), std::string::npos);
  EXPECT_EQ(said({"create", kCluster, "-f-"}), "cluster-watcher: stdin has no objects\n");
  EXPECT_NE(said({"create", kCluster, "-f", "/none"}).find("/none can't be read"),
            std::string::npos);
  const std::pair<std::string, const char*> files[] = {
      {"a: [\n", "line 2, column 1: "},
      {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: other}\n",
       "it is of the namespace \"other\""},
      {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", "there is no master"},
      {std::string(kManifests) + "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: x}\n",
       "of no namespace, so of no cluster: Namespace x"},
  };
  for (const auto& [manifests, error] : files) {
    const std::string text = Said(2, Create({}, manifests));
    EXPECT_NE(text.find(error), std::string::npos) << text;
  }
  EXPECT_FALSE(api().Exists("deployments", ns_, kMaster));
}

}  // namespace
}  // namespace cluster_watcher::integration

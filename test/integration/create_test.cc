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
    "configmap/spark-config created\n"
    "persistentvolumeclaim/spark-data created\n"
    "deployment.apps/spark-w created\n"
    "service/spark created\n";

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
    EXPECT_EQ(command.WaitForExit(), code) << command.Output() << command.Log();
    return command.Output() + command.Log();
  }
};

TEST_F(Creating, MakesACluster) {
  MakeDriver();
  EXPECT_EQ(Said(0, Create({"--app=deployment/bob", "--ephemeral"})),
            std::string(kCreated) + "cluster spark is created\n" + WhereItWrites());
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
  EXPECT_EQ(Mark("owner"), "deployment.apps/bob");
  EXPECT_EQ(Said(0, Create({"--app=deployment/bob", "--ephemeral"})),
            "cluster spark is ready\n" + WhereItWrites());
  EXPECT_EQ(Said(0, Create()), "cluster spark exists\n" + WhereItWrites());
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

TEST_F(Creating, WhatAnotherHasMadeIsWaitedForUntilASignalEndsIt) {
  MakeCluster();
  api().Delete("deployments", ns_, "spark-w", "Foreground");
  ASSERT_TRUE(Eventually([&] { return !api().Exists("deployments", ns_, "spark-w"); }));
  Watcher& command = Create();
  ASSERT_TRUE(Eventually([&] { return command.HandlesSignals(); }));
  EXPECT_EQ(command.Stop(SIGTERM), 128 + SIGTERM) << command.Output() << command.Log();
  EXPECT_FALSE(api().Exists("persistentvolumeclaims", ns_, "spark-data"));
  EXPECT_NE(Said(12, Create({"--timeout=1s"})).find("cluster spark lacks a worker"),
            std::string::npos);
}

TEST_F(Creating, TheWarningsOfTheApiServerAreShown) {
  if (!kubernetes->GetOptions().real) GTEST_SKIP() << "the small Kubernetes has no schemas";
  std::string manifests = kManifests;
  manifests.replace(manifests.find("selector: {app"), 8, "selektor");
  const std::string said = Said(0, Create({}, manifests));
  EXPECT_NE(said.find("Warning: unknown field \"spec.selektor\""), std::string::npos) << said;
}

TEST_F(Creating, ARightThatIsMissingIsNamed) {
  api().Create("serviceaccounts", ns_, NamedOf({kAccount}));
  api().Create("roles", ns_, R"({"metadata":{"name":"watcher"},"rules":[
      {"apiGroups":["*"],"resources":["*"],"verbs":["get","list"]},
      {"apiGroups":["apps"],"resources":["*"],"verbs":["create"]}]})");
  api().Create("rolebindings", ns_, RoleBindingOf({kAccount}, kAccount, kAccount));
  const std::string file =
      WriteKubeconfig(File("account"), server().Admin(), "token: " + api().Token(ns_, kAccount));
  const std::string said = Said(1, Create({"--kubeconfig=" + file}));
  EXPECT_NE(said.find("; a Role in namespace " + ns_ +
                      " needs rules: [{apiGroups: [\"\"], resources: [\"configmaps\"], verbs: "
                      "[\"create\"]}]; run it again to complete cluster spark"),
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
      "cluster-watcher: -f is missing: give the files with the cluster's manifests, or - for "
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

// The commands of drivers and people beside a watcher: await, claim, release, list, hold, unhold.
#include <csignal>

#include "test/integration/fixture.h"

namespace cluster_watcher::integration {
namespace {

using Arguments = std::vector<std::string>;

constexpr const char* kUses = "uses-oshinko-cluster";

class DriversSide : public IntegrationTest {
 protected:
  // Runs a command to its end.
  Watcher& Command(Arguments arguments) {
    arguments.insert(arguments.end(), {"--kubeconfig=" + kubeconfig(), "-n", ns_});
    Watcher& command = Run(arguments);
    EXPECT_TRUE(command.WaitForExit());
    return command;
  }
  // What it says where it ends with `code`.
  std::string Said(int code, const Arguments& arguments) {
    Watcher& command = Command(arguments);
    EXPECT_EQ(command.WaitForExit(), code) << command.Output() << command.Log();
    return command.Output() + command.Log();
  }
  std::string LabelOf(const std::string& name, const std::string& label) {
    const auto object = api().Get("deployments", ns_, name);
    return std::string(object->root()["metadata"]["labels"][label].AsString().value_or(""));
  }
  // The row of the cluster as `list -o json` has it.
  JsonDocument Row() {
    Watcher& list = Command({"list", kCluster, "-o", "json"});
    auto document = JsonDocument::Parse(list.Output());
    EXPECT_TRUE(document) << list.Output() << list.Log();
    return document ? *std::move(document) : JsonDocument();
  }
};

TEST_F(DriversSide, ClaimIsListedAndReleased) {
  MakeCluster();
  MakeDriver();
  MasterPod();
  EXPECT_EQ(Said(0, {"claim", kCluster, "--app=deployment/bob", "--ephemeral"}),
            "cluster spark is claimed by deployment.apps/bob\n" + WhereItWrites());
  EXPECT_EQ(LabelOf("bob", kUses), kCluster);
  EXPECT_EQ(LabelOf(kMaster, "ephemeral"), "bob");
  const JsonDocument document = Row();
  const JsonValue row = document.root()["items"].At(0);
  EXPECT_EQ(row["namespace"].AsString(), ns_);
  EXPECT_EQ(row["status"].AsString(), "Running");
  EXPECT_EQ(row["owner"].AsString(), "deployment.apps/bob");
  EXPECT_EQ(row["replicas"].AsInteger(), 1);
  EXPECT_EQ(row["verdict"].AsString(), "keep");
  EXPECT_EQ(row["reason"].AsString(), "active");
  EXPECT_EQ(row["phase"].AsString(), "watching");
  EXPECT_EQ(row["ephemeral"].AsString(), "bob");
  EXPECT_EQ(row["drivers"].At(0).AsString(), "deployment.apps/bob");
  MakeDriver("alice");
  EXPECT_EQ(Said(11, {"claim", kCluster, "--app=deployment/alice"}),
            WhereItWrites() +
                "cluster-watcher: cluster spark belongs to deployment.apps/bob, not "
                "deployment.apps/alice\n");
  EXPECT_EQ(Said(11, {"release", kCluster, "--app=deployment/alice"}).find("belongs to"),
            WhereItWrites().size() + 31u);
  const std::string released = Said(0, {"release", kCluster, "--app=deployment/bob"});
  EXPECT_NE(released.find("cluster spark is shared now"), std::string::npos) << released;
  EXPECT_EQ(LabelOf("bob", kUses) + LabelOf(kMaster, "ephemeral"), "");
  EXPECT_NE(Said(0, {"list"}).find("<shared>   <shared>   <shared>"), std::string::npos);
}

TEST_F(DriversSide, ListTakesNamesOrTheLabelsOfMasterRoots) {
  MakeCluster({.root_labels = {{"team", "blue"}}});
  MasterPod();
  const std::string names = "cluster/spark\n";
  EXPECT_EQ(Said(0, {"list", "-o", "name", "-l", "team in (blue, red),!old"}), names);
  EXPECT_EQ(Said(0, {"list", "-l", "team=red"}), "No clusters found in " + ns_ + " namespace.\n");
  EXPECT_EQ(Said(0, {"list", "-l", "team=red", "-A"}), "No clusters found.\n");
  EXPECT_EQ(Said(1, {"list", "-o", "name", "no_Such.1", "cluster/spark"}),
            names + "cluster-watcher: no cluster no_Such.1\n");
  const std::string wrong = Said(1, {"list", "-l", "a=b=c"});
  EXPECT_TRUE(wrong.starts_with("cluster-watcher: --selector: \"a=b=c\" is wrong (list ")) << wrong;
  EXPECT_NE(wrong.find("HTTP 400: "), std::string::npos) << wrong;
  EXPECT_FALSE(Said(0, {"list", kCluster}).ends_with("<missing>\n")) << "the age";
  EXPECT_NE(Said(0, {"list", "-o", "yaml", kCluster}).find("    cluster: spark\n"),
            std::string::npos);
}

TEST_F(DriversSide, AwaitTellsHowTheClusterIs) {
  MakeDriver();
  EXPECT_EQ(Said(10, {"await", kCluster, "--app=deployment/bob"}),
            "cluster-watcher: no cluster spark\n");
  EXPECT_EQ(Said(1, {"list", kCluster}), "cluster-watcher: no cluster spark\n")
      << "the kept bystanders are none";
  MakeCluster({.root_annotations = {{"cluster-watcher/owner", "deployment.apps/bob"}}});
  MasterPod();
  EXPECT_EQ(Said(0, {"await", kCluster, "--app=deployment/bob"}), "cluster spark is ready\n");
  MakeDriver("alice");
  Said(11, {"await", kCluster, "--app=deployment/alice"});
  MarkTheRoot({{"cluster-watcher/phase", "condemned"},
               {"cluster-watcher/root-uid", api().Uid("deployments", ns_, kMaster)}});
  EXPECT_EQ(Said(12, {"await", kCluster, "--app=deployment/bob", "--timeout=100ms"}),
            "cluster-watcher: cluster spark is Condemned\n");
  Watcher& await =
      Run({"await", kCluster, "--app=deployment/bob", "--kubeconfig=" + kubeconfig(), "-n", ns_});
  ASSERT_TRUE(Eventually([&] { return await.HandlesSignals(); }));
  EXPECT_EQ(await.Stop(SIGINT), 128 + SIGINT);
}

// A driver of the same name is there again while the watcher deletes the cluster of the one before.
TEST_F(DriversSide, WhoAwaitsAClusterThatGoesIsToldWhenItIsGone) {
  MakeCluster({.root_annotations = {{"cluster-watcher/owner", "deployment.apps/bob"}}});
  MakeDriver();
  Watcher& watcher = Watch({"--grace-period=0s"});
  ASSERT_TRUE(Shows(watcher, "keep: active"));
  MakeMember("held", true);
  api().Delete("deployments", ns_, "bob");
  ASSERT_TRUE(Reaches(watcher, "deleting"));
  // Until the first delete a driver that is back spares the cluster.
  ASSERT_TRUE(Eventually([&] { return api().Uid("deployments", ns_, "spark-w").empty(); }));
  MakeDriver();
  Watcher& await = Run({"await", kCluster, "--app=deployment/bob", "--timeout=60s",
                        "--kubeconfig=" + kubeconfig(), "-n", ns_});
  api().ReleaseFinalizers("configmaps", ns_, "held");
  ASSERT_TRUE(Finishes(watcher));
  EXPECT_EQ(await.WaitForExit(), 10) << await.Log();
}

TEST_F(DriversSide, WhatIsClaimedIsInUse) {
  MakeCluster({.root_annotations = {{"cluster-watcher/owner", "deployment.apps/bob"}}});
  MakeDriver();
  MakeDriver("alice");
  Watcher& watcher = Watch({"--grace-period=3s"});
  ASSERT_TRUE(Shows(watcher, "keep: active"));
  // Shared for a moment, so that alice may have it as well.
  Said(0, {"release", kCluster, "--app=deployment/bob"});
  Said(0, {"claim", kCluster, "--app=deployment/alice"});
  EXPECT_NE(Said(11, {"claim", kCluster, "--app=deployment/bob", "--ephemeral"})
                .find("cluster spark is used by deployment.apps/alice"),
            std::string::npos);
  // A person gives it to bob all the same.
  api().Annotate("deployments", ns_, kMaster, "cluster-watcher/owner", "deployment.apps/bob");
  ASSERT_TRUE(Shows(watcher, "keep: active"));
  api().Delete("deployments", ns_, "bob");
  EXPECT_TRUE(Shows(watcher, "keep: in-use"));
  EXPECT_TRUE(Keeps(watcher, "keep: in-use"));
}

TEST_F(DriversSide, AHoldKeepsTheClusterUntilItIsTakenOff) {
  MakeCluster({.root_annotations = {{"cluster-watcher/owner", "deployment.apps/bob"}}});
  MakeDriver();
  Watcher& watcher = Watch({"--grace-period=2s"});
  ASSERT_TRUE(Shows(watcher, "keep: active"));
  Said(0, {"hold", kCluster, "7d"});
  EXPECT_NE(Said(0, {"hold", kCluster, "1h"}).find(" already; --overwrite makes that "),
            std::string::npos);
  const std::string said = Said(0, {"hold", kCluster, "1h", "--reason=a demo", "--overwrite"});
  EXPECT_NE(said.find("; otherwise it would be kept (active)"), std::string::npos) << said;
  api().Delete("deployments", ns_, "bob");
  ASSERT_TRUE(Shows(watcher, "keep: held"));
  EXPECT_TRUE(Keeps(watcher, "keep: held"));
  EXPECT_NE(Said(0, {"unhold", kCluster}).find("; it will be deleted (owner-absent)"),
            std::string::npos);
  EXPECT_TRUE(Finishes(watcher));
}

TEST_F(DriversSide, ANamespaceIsHeldWhole) {
  MakeCluster({.root_annotations = {{"cluster-watcher/owner", "deployment.apps/bob"}}});
  Said(0, {"hold", "--namespace-wide", "2h"});
  Watcher& watcher = Watch({"--grace-period=0s", "--startup-grace=0s"});
  ASSERT_TRUE(Shows(watcher, "keep: held"));
  Said(0, {"unhold", "--namespace-wide"});
  EXPECT_TRUE(Finishes(watcher));
}

TEST_F(DriversSide, WrongUsageIsSaidBeforeAnythingIsDone) {
  const std::pair<Arguments, const char*> cases[] = {
      {{"await", kCluster}, "--app is missing"},
      {{"await", kCluster, "--app=a/b/c"}, "--app: "},
      {{"await", kCluster, "--app=bob", "--timeout=1x"}, "--timeout: "},
      {{"claim", "--app=bob"}, "no cluster is given"},
      {{"claim", "Bob!", "--app=bob"}, "is no name of a cluster"},
      {{"hold", kCluster, "-5m"}, "unknown flag: -5"},
      {{"hold", kCluster, "500ms"}, "is out of bounds: give 1s to 8760h"},
      {{"hold", kCluster, "8761h"}, "is out of bounds"},
      {{"hold", kCluster, "366d"}, "is out of bounds"},
      {{"hold"}, "no cluster is given"},
      {{"list", "-A", kCluster}, "contradicts"},
      {{"list", "-l", "a=b", kCluster}, "--selector contradicts CLUSTER"},
  };
  for (const auto& [arguments, error] : cases) {
    const std::string said = Said(2, arguments);
    EXPECT_NE(said.find(error), std::string::npos) << said;
  }
  EXPECT_EQ(Said(1, {"hold", "none"}),
            WhereItWrites() + "cluster-watcher: no cluster none in namespace " + ns_ + "\n");
}

TEST_F(DriversSide, EachThatWritesSaysWhere) {
  for (const Arguments& command :
       {Arguments{"delete", "none"}, Arguments{"hold", "none"}, Arguments{"unhold", "none"},
        Arguments{"claim", "none", "--app=deployment/none"},
        Arguments{"release", "none", "--app=deployment/none"}, Arguments{"sweep"}}) {
    EXPECT_TRUE(Command(command).Log().starts_with(WhereItWrites())) << command.front();
  }
  EXPECT_EQ(Command({"list"}).Log(), "");
}

TEST_F(DriversSide, WithoutARightTheMissingOneIsNamed) {
  MakeCluster();
  MakeDriver();
  api().Create("serviceaccounts", ns_, NamedOf({kAccount}));
  const std::string file =
      WriteKubeconfig(File("nobody"), server().Admin(), "token: " + api().Token(ns_, kAccount));
  const auto told = [&](int code, Arguments arguments) {
    arguments.insert(arguments.end(), {"--kubeconfig=" + file, "-n", ns_});
    Watcher& command = Run(arguments);
    EXPECT_EQ(command.WaitForExit(), code) << command.Output() << command.Log();
    return command.Log();
  };
  for (const Arguments& command :
       {Arguments{"await", kCluster, "--app=deployment/bob", "--timeout=0s"},
        Arguments{"claim", kCluster, "--app=deployment/bob"}}) {
    const std::string log = told(4, command);
    EXPECT_NE(log.find("deployments.apps"), std::string::npos) << log;
    EXPECT_NE(log.find("403"), std::string::npos) << log;
  }
  EXPECT_NE(told(1, {"list"}).find("list "), std::string::npos);
}

}  // namespace
}  // namespace cluster_watcher::integration

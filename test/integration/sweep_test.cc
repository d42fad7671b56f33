// The command `sweep`, with an account that has exactly the Role of manifests/sweep.
#include "test/integration/fixture.h"
#include "watcher/admission/manifest/read_manifests.h"

namespace cluster_watcher::integration {
namespace {

using Arguments = std::vector<std::string>;

// The manifests' own, under the name that MakeAccount binds.
std::string RoleOfSweep() {
  const auto objects = ReadManifests(ReadWhole(MANIFESTS "/chart/objects/sweep/role.yaml"));
  if (!objects || objects->size() != 1) {
    ADD_FAILURE() << "its Role can't be read";
    return "{}";
  }
  YamlNode role = objects->front().root;
  role.Find("metadata")->Find("name")->text = kAccount;
  return WriteJson(role, JsonWriter::Style::kCompact, Scalars::kMeant);
}

class SweepCommand : public IntegrationTest {
 protected:
  void SetUp() override {
    IntegrationTest::SetUp();
    MakeAccount(RoleOfSweep());
    ApiServer as_account = server().Admin();
    as_account.token = api().Token(ns_, kAccount);
    WriteKubeconfig(kubeconfig(), server().Admin(), "token: \"" + as_account.token + "\"");
    ASSERT_TRUE(Eventually([&] {
      const HttpResult listed = Api(as_account).Do(HttpMethod::kGet, PathOf("pods", ns_));
      return listed && listed->status == 200;
    })) << "the Role doesn't count";
  }

  // Sweeps until the end, which must be with `code`. Returns what it prints.
  std::string Sweep(int code = 0, Arguments more = {}) {
    more.insert(more.begin(),
                {"sweep", "-n", ns_, "--kubeconfig=" + kubeconfig(), "--startup-grace=500ms",
                 "--grace-period=500ms", "--poll-interval=100ms"});
    Watcher& sweep = Run(more);
    EXPECT_EQ(sweep.WaitForExit(), code) << sweep.Log();
    EXPECT_EQ(sweep.LinesWith("HTTP 403"), 0u) << sweep.Log();
    return sweep.Output();
  }
  // Whether it prints this line about something of the namespace, maybe with more behind.
  testing::AssertionResult Says(const std::string& output, const std::string& line) const {
    if (("\n" + output).find("\n" + ns_ + "/" + line) != std::string::npos) {
      return testing::AssertionSuccess();
    }
    return testing::AssertionFailure() << output;
  }

  void MakeOwnCluster() {
    MakeCluster({.root_annotations = {{"cluster-watcher/owner", "deployment.apps/bob"}}});
    MakeDriver();
    MasterPod();
  }
  void LoseDriver() { api().Delete("deployments", ns_, "bob"); }
  // Makes a claim that a deletion has left until `after`.
  void MakeCollectedClaim(const std::string& name, const std::string& after) {
    const std::string uid = api().Create("persistentvolumeclaims", ns_, ClaimOf({name}));
    for (const auto& [mark, value] :
         TextMap{{"collect-after", after}, {"collect-of", "older"}, {"root-uid", uid}}) {
      api().Annotate("persistentvolumeclaims", ns_, name, "cluster-watcher/" + mark, value);
    }
  }
  bool HasClaim(const std::string& name) {
    return !api().Uid("persistentvolumeclaims", ns_, name).empty();
  }
};

TEST_F(SweepCommand, WithoutItsDriverAClusterGoesThatNobodyWatches) {
  MakeOwnCluster();
  std::string output = Sweep();
  EXPECT_FALSE(Says(output, "cluster spark "));
  EXPECT_NE(output.find(": 0 deleted, "), std::string::npos) << output;
  ASSERT_TRUE(IsWhole());
  LoseDriver();
  output = Sweep();
  EXPECT_TRUE(Says(output, "cluster spark deleted: owner-absent (there is no deployment.apps/bob"));
  EXPECT_NE(output.find(": 1 deleted, "), std::string::npos) << output;
  EXPECT_TRUE(IsGone());
  const auto notes = Told("ClusterDeleted");
  ASSERT_EQ(notes.size(), 1u);
  const std::string asked =
      ". Asked for by a sweep of system:serviceaccount:" + ns_ + ":" + kAccount;
  EXPECT_TRUE(notes.front().ends_with(asked)) << notes.front();
}

TEST_F(SweepCommand, AHoldOfTheNamespaceKeepsItUntilItIsTakenOff) {
  MakeOwnCluster();
  LoseDriver();
  api().Annotate("namespaces", "", ns_, "cluster-watcher/hold-until", kFarAway);
  EXPECT_TRUE(Says(Sweep(), "cluster spark kept: held"));
  EXPECT_TRUE(IsWhole());
  EXPECT_EQ(Mark("phase"), "");
  api().Annotate("namespaces", "", ns_, "cluster-watcher/hold-until", kLongAgo);
  EXPECT_TRUE(Says(Sweep(), "cluster spark deleted: owner-absent"));
  EXPECT_TRUE(IsGone());
}

TEST_F(SweepCommand, ADryRunPrintsAndChangesNothing) {
  MakeOwnCluster();
  LoseDriver();
  MakeCollectedClaim("due", kLongAgo);
  const std::string output = Sweep(0, {"--dry-run"});
  EXPECT_TRUE(Says(output, "cluster spark would be deleted: owner-absent"));
  EXPECT_NE(output.find("deployment.apps/spark-w"), std::string::npos) << output;
  EXPECT_TRUE(Says(output, "claim due would be deleted"));
  EXPECT_TRUE(IsWhole());
  EXPECT_EQ(Mark("root-uid") + Mark("phase") + Mark("abandoned-since"), "");
  EXPECT_TRUE(HasClaim("due"));
  EXPECT_TRUE(Events("ClusterAbandoned").empty());
}

// Its own watcher says misconfigured: what its pods bear, such as a hold, isn't found by the label.
TEST_F(SweepCommand, WhosePodsLackTheLabelIsNamedAndLeft) {
  MakeOwnCluster();
  const std::string old = MasterPod();
  api().Patch("deployments", ns_, kMaster,
              R"({"spec": {"strategy": {"type": "Recreate", "rollingUpdate": null},
                  "template": {"metadata": {"labels": {"oshinko-cluster": null}}}}})");
  ASSERT_TRUE(Eventually([&] { return !api().Exists("pods", ns_, old); }));
  LoseDriver();
  EXPECT_TRUE(Says(Sweep(), "cluster spark kept: the pods of deployment.apps/"));
  EXPECT_NE(api().Uid("deployments", ns_, kMaster), "");
}

TEST_F(SweepCommand, WithoutAMasterItIsNamedAndLeft) {
  MakeMembers();
  api().Annotate("deployments", ns_, "spark-w", "cluster-watcher/owner", "deployment.apps/bob");
  EXPECT_TRUE(
      Says(Sweep(), "cluster spark kept: it has no master: cluster-watcher delete spark -n "));
  EXPECT_TRUE(IsWhole());
}

TEST_F(SweepCommand, WhatARunningWatcherSeesToIsLeftToIt) {
  MakeCluster({.root_annotations = {{"cluster-watcher/owner", "deployment.apps/bob"}},
               .pod_spec = R"("initContainers": [{"name": "cluster-watcher", "image": "none",
                               "restartPolicy": "Always"}], )"});
  const std::string status = MasterPod() + "/status";
  const auto watcher_is = [&](const std::string& state) {
    api().Patch("pods", ns_, status,
                R"({"status": {"initContainerStatuses": [{"name": "cluster-watcher",
                   "image": "none", "imageID": "", "ready": true, "restartCount": 0,
                   "state": )" +
                    state + "}]}}");
  };
  watcher_is(R"({"running": {"startedAt": "2026-01-01T00:00:00Z"}})");
  EXPECT_NE(Sweep().find(", 1 watched over"), std::string::npos);
  ASSERT_TRUE(IsWhole());
  watcher_is(R"({"running": null, "terminated": {"exitCode": 1}})");
  EXPECT_TRUE(Says(Sweep(), "cluster spark deleted: owner-absent"));
  EXPECT_TRUE(IsGone());
}

TEST_F(SweepCommand, AClaimGoesOnceItsTimeIsOverUnlessAPodMountsIt) {
  MakeCollectedClaim("due", kLongAgo);
  MakeCollectedClaim("later", kFarAway);
  MakeCollectedClaim("used", kLongAgo);
  const std::string spec =
      R"("volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "used"}}], )";
  api().Create("deployments", ns_, DeploymentOf({{"user"}, 1, {}, {}, spec}));
  ASSERT_TRUE(Eventually([&] { return api().Names("pods", ns_, "app=user").size() == 1; }));
  const std::string output = Sweep();
  EXPECT_TRUE(Says(output, "claim due deleted"));
  EXPECT_TRUE(Says(output, "claim used kept: pod/user-"));
  EXPECT_FALSE(Says(output, "claim later"));
  EXPECT_NE(output.find("; 1 claim deleted\n"), std::string::npos) << output;
  EXPECT_FALSE(HasClaim("due"));
  EXPECT_TRUE(HasClaim("later"));
  EXPECT_TRUE(HasClaim("used"));
}

TEST_F(SweepCommand, WrongUsageIsSaidBeforeAnythingIsDone) {
  MakeOwnCluster();
  LoseDriver();
  EXPECT_EQ(Sweep(2, {"--grace-period=soon"}), "");
  EXPECT_EQ(Sweep(2, {"spark"}), "");
  EXPECT_TRUE(IsWhole());
}

}  // namespace
}  // namespace cluster_watcher::integration

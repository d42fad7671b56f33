// The command `delete`, beside a watcher and without one.
#include <csignal>

#include "test/integration/fixture.h"

namespace cluster_watcher::integration {
namespace {

using Arguments = std::vector<std::string>;

class DeleteCommand : public IntegrationTest {
 protected:
  // Starts `delete spark` with further arguments.
  Watcher& Delete(Arguments more = {}, const std::vector<std::string>& environment = {}) {
    more.insert(more.begin(), {"delete", kCluster, "-n", ns_, "--kubeconfig=" + kubeconfig()});
    return Run(more, environment);
  }
  // What it prints where it ends with `code`.
  std::string Said(int code, const Arguments& more) { return SaidBy(Delete(more), code); }
  std::string SaidBy(Watcher& command, int code) {
    EXPECT_TRUE(command.WaitForExit());
    EXPECT_EQ(command.WaitForExit(), code) << command.Output() << command.Log();
    return code == 0 ? command.Output() : command.Log();
  }
  void MakeOwnCluster() {
    MakeCluster({.root_annotations = {{"cluster-watcher/owner", "deployment.apps/bob"}}});
    MakeDriver();
    MasterPod();
  }
  // The same of `delete` and `words`, which name clusters or select them.
  std::string SaidOf(int code, Arguments words) {
    words.insert(words.begin(), "delete");
    words.insert(words.end(), {"-n", ns_, "--kubeconfig=" + kubeconfig()});
    return SaidBy(Run(words), code);
  }
  // Without a master root.
  void MakeOtherCluster() {
    Metadata service{"other"};
    service.labels = {{"oshinko-cluster", "other"}};
    api().Create("services", ns_, ServiceOf(service, "other"));
  }
  bool Exists(const std::string& plural, const std::string& name) {
    return !api().Uid(plural, ns_, name).empty();
  }
};

const Arguments kCompleted = {"--app=deployment/bob", "--app-status=completed"};
const Arguments kTerminated = {"--app=deployment/bob", "--app-status=terminated"};

TEST_F(DeleteCommand, BesideAWatcherTheOneThatBeginsFinishes) {
  MakeOwnCluster();
  Watcher& watcher = Watch({"--grace-period=1h"});
  ASSERT_TRUE(Shows(watcher, "keep: active"));
  EXPECT_EQ(Said(0, kTerminated), "kept: active\n");
  EXPECT_TRUE(Exists("deployments", kMaster));
  EXPECT_EQ(Said(0, kCompleted), "cluster spark is being deleted\n");
  EXPECT_FALSE(Exists("deployments", kMaster));
  EXPECT_FALSE(Exists("deployments", "spark-w"));
  EXPECT_FALSE(Exists("configmaps", "spark-config"));
  EXPECT_TRUE(Exists("deployments", "bob"));
}

TEST_F(DeleteCommand, ByTheRulesItIsKeptAndSaysWhy) {
  MakeOwnCluster();
  MakeDriver("alice");
  EXPECT_NE(Said(1, {"--app=deployment/alice", "--app-status=completed"})
                .find("cluster spark belongs to deployment.apps/bob, not deployment.apps/alice"),
            std::string::npos);
  api().Annotate("deployments", ns_, kMaster, "cluster-watcher/hold-until", "2099-01-01T00:00:00Z");
  EXPECT_EQ(Said(0, kCompleted), "kept: held\n");
  EXPECT_TRUE(Exists("deployments", kMaster));
}

TEST_F(DeleteCommand, ASharedClusterStays) {
  MakeCluster();
  MakeDriver();
  MasterPod();
  EXPECT_NE(Said(1, kCompleted).find("cluster spark is shared\n"), std::string::npos);
  EXPECT_TRUE(Exists("deployments", kMaster));
}

TEST_F(DeleteCommand, ForAPersonItWaitsUntilAllIsGoneSoThatTheNameIsFree) {
  MakeOwnCluster();
  MakeMember("held", true);
  Watcher& deletion = Delete();
  ASSERT_TRUE(Eventually([&] { return !Exists("deployments", "spark-w"); }));
  EXPECT_TRUE(Exists("deployments", kMaster)) << "the master root goes last";
  api().ReleaseFinalizers("configmaps", ns_, "held");
  ASSERT_TRUE(deletion.WaitForExit());
  EXPECT_EQ(deletion.WaitForExit(), 0) << deletion.Log();
  EXPECT_EQ(deletion.Output(), "cluster spark deleted\n");
  EXPECT_EQ(deletion.Log(), WhereItWrites());
  EXPECT_FALSE(Exists("deployments", kMaster));
  MakeCluster();
}

// The watcher judges by itself what is left, once the deadline has passed.
TEST_F(DeleteCommand, WhatIsKilledIsJudgedByTheWatcher) {
  MakeOwnCluster();
  Watcher& watcher = Watch({"--delete-deadline=3s"});
  ASSERT_TRUE(Shows(watcher, "keep: active"));
  MakeMember("held", true);
  Watcher& deletion = Delete({"--wait"});
  ASSERT_TRUE(Eventually([&] { return !Exists("deployments", "spark-w"); }));
  deletion.Signal(SIGKILL);
  api().ReleaseFinalizers("configmaps", ns_, "held");
  // Else it would look at the master root within a minute.
  api().Scale("deployments", ns_, "bob", 2);
  EXPECT_TRUE(Eventually([&] { return Mark("phase").empty() && Mark("condemned-by").empty(); }));
  EXPECT_TRUE(Exists("deployments", kMaster));
  api().Delete("deployments", ns_, "bob");
  EXPECT_TRUE(Finishes(watcher));
}

TEST_F(DeleteCommand, ItsLastEventAndLineNameWhoAsked) {
  MakeOwnCluster();
  const JsonDocument review =
      api().Expect(HttpMethod::kPost, "/apis/authentication.k8s.io/v1/selfsubjectreviews",
                   R"({"kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1"})");
  const JsonValue user = review.root()["status"]["userInfo"];
  EXPECT_GT(user["groups"].size(), 0u);
  const std::string asked = ". Asked for by " + std::string(*user["username"].AsString());
  Watcher& deletion = Delete({"--wait", "--log-level=info"});
  ASSERT_TRUE(deletion.WaitForExit());
  const auto notes = Told("ClusterDeleted");
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_TRUE(notes.front().ends_with(asked)) << notes.front();
  EXPECT_EQ(deletion.LinesWith("is deleted (asked): "), 1u) << deletion.Log();
  EXPECT_GE(deletion.LinesWith(asked), 2u) << deletion.Log();
}

// What the watcher knows of it is what the marks say; the command's own Events name who asked.
TEST_F(DeleteCommand, WhatACommandBeganIsSaidByTheWatcherThatEndsIt) {
  MakeOwnCluster();
  Watcher& watcher = Watch({"--delete-deadline=3s"});
  ASSERT_TRUE(Shows(watcher, "keep: active"));
  MakeMember("held", true);
  Watcher& deletion = Delete({"--wait"});
  ASSERT_TRUE(Eventually([&] { return !Exists("deployments", "spark-w"); }));
  deletion.Signal(SIGKILL);
  api().Delete("deployments", ns_, "bob");
  ASSERT_TRUE(Eventually([&] { return !Mark("condemned-by").starts_with("cli/"); }));
  api().ReleaseFinalizers("configmaps", ns_, "held");
  ASSERT_TRUE(Reaches(watcher, "done"));
  const auto notes = Told("ClusterDeleted");
  EXPECT_NE(notes.back().find(". Begun by cli/"), std::string::npos) << notes.back();
  EXPECT_NE(notes.back().find(" (asked) at "), std::string::npos) << notes.back();
  EXPECT_EQ(watcher.LinesWith(". Begun by cli/"), 2u) << watcher.Log();
}

TEST_F(DeleteCommand, WrongUsageIsSaidBeforeAnythingIsDone) {
  const std::pair<Arguments, const char*> cases[] = {
      {{"--app=deployment/bob"}, "--app without --app-status"},
      {{"--app-status=completed"}, "--app-status without --app"},
      {{"--app=bob", "--app-status=done"}, "give completed or terminated"},
      {{"--app=bob", "--app-status=completed", "--skip-steps"}, "--skip-steps contradicts --app"},
      {{"--app=bob", "--app-status=completed", "--all"}, "--app contradicts --selector and --all"},
      {{"--all"}, "--all contradicts CLUSTER"},
      {{"--all", "-l", ""}, "--selector is empty"},
      {{"--dry-run"}, "--dry-run: \"true\" is unknown: give none or server"},
      {{"--volumes=all"}, "--volumes"},
  };
  MakeCluster();
  for (const auto& [arguments, error] : cases) {
    const std::string said = Said(2, arguments);
    EXPECT_NE(said.find(error), std::string::npos) << said;
  }
  EXPECT_TRUE(Exists("deployments", kMaster));
}

TEST_F(DeleteCommand, NoSuchClusterIsSaid) {
  EXPECT_EQ(Said(1, {}), WhereItWrites() + "cluster-watcher: no cluster spark\n");
  EXPECT_EQ(Said(0, {"--ignore-not-found"}), "");
}

TEST_F(DeleteCommand, SeveralAreDoneEachWithItsLineAndTheWorstExitCode) {
  MakeOwnCluster();
  MakeOtherCluster();
  const std::string log = SaidOf(1, {"none", "spark", "other"});
  EXPECT_EQ(log, WhereItWrites() + "cluster-watcher: no cluster none\n");
  EXPECT_TRUE(Members().empty());
  EXPECT_FALSE(Exists("services", "other"));
}

TEST_F(DeleteCommand, ASelectorIsAboutMasterRoots) {
  MakeCluster({.root_labels = {{"team", "a"}}});
  MasterPod();
  MakeOtherCluster();
  EXPECT_EQ(SaidOf(0, {"-l", "team notin (a),oshinko-cluster!=spark2"}),
            "no clusters found in namespace " + ns_ + "\n");
  EXPECT_NE(SaidOf(1, {"-l", "&&"}).find("--selector: \"&&\" is wrong"), std::string::npos);
  EXPECT_NE(SaidOf(2, {"-l", " "}).find("--selector is empty"), std::string::npos);
  const std::string tried = SaidOf(0, {"-lteam=a", "--dry-run=server"});
  EXPECT_TRUE(tried.starts_with("cluster spark deleted (server dry run): ")) << tried;
  EXPECT_TRUE(IsWhole());
  EXPECT_EQ(SaidOf(0, {"--selector=team=a"}), "cluster spark deleted\n");
  const std::string rest = SaidOf(0, {"--all", "--dry-run=server"});
  EXPECT_TRUE(rest.starts_with("cluster other deleted (server dry run): service/other\n")) << rest;
  EXPECT_NE(rest.find("\ncluster spark2 deleted (server dry run): "), std::string::npos) << rest;
}

TEST_F(DeleteCommand, ItsTimeIsOverAndTheDeletionGoesOn) {
  MakeOwnCluster();
  MakeMember("held", true);
  EXPECT_EQ(Said(1, {"none", "--timeout=20s"}),
            WhereItWrites() +
                "cluster-watcher: timed out after 20s: cluster spark is being deleted\n"
                "cluster-watcher: timed out after 20s: cluster none is not deleted\n");
  EXPECT_FALSE(Exists("deployments", "spark-w"));
  api().ReleaseFinalizers("configmaps", ns_, "held");
  EXPECT_TRUE(Eventually([&] { return Members().empty(); }));
}

// A member that terminates counts as gone.
TEST_F(DeleteCommand, MembersThatTerminateAreNotWaitedForWhereNobodyWaits) {
  MakeOwnCluster();
  MakeMember("held", true);
  Watcher& deletion = Delete({"--wait=false"});
  EXPECT_TRUE(deletion.WaitForExit()) << "it waits for configmap/held";
  EXPECT_FALSE(Exists("deployments", kMaster));
  api().ReleaseFinalizers("configmaps", ns_, "held");
  deletion.WaitForExit();
}

TEST_F(DeleteCommand, ADryRunIsOne) {
  MakeOwnCluster();
  Watcher& deletion = Delete({}, {"CLUSTER_WATCHER_DRY_RUN=true"});
  deletion.WaitForExit();
  EXPECT_TRUE(Exists("deployments", kMaster)) << deletion.Output() << deletion.Log();
}

}  // namespace
}  // namespace cluster_watcher::integration

// Failures of our own second version, of the commands that drivers run. What it did wrong is in
// CONTRIBUTING.md.
#include <signal.h>

#include <atomic>

#include "test/integration/failure_case.h"

namespace cluster_watcher::integration {
namespace {

// Until it is told to stop.
const std::vector<std::string> kProgram = {
    "--", "/bin/sh", "-c", "trap 'exit 7' TERM; echo started; while :; do sleep 0.1; done"};

bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_F(FailureCase, Case71AWordOfTheApplicationCountsForOneCommand) {
  MakeCluster({.root_annotations = {{kOwner, "deployment/bob"}}});
  MakeDriver();
  DriversPod();
  Watcher& watcher = Watch({"--delete-deadline=3s"});
  ASSERT_TRUE(Keeps(watcher, "keep: active", 2));
  // Kills the command at its first delete: nothing has gone.
  std::atomic<pid_t> victim{0};
  BehindProxy().SetGate([&](const Passage& passage) {
    if (!passage.request_line.starts_with("DELETE ")) return true;
    victim.wait(0);
    kill(victim, SIGKILL);
    return false;
  });
  Watcher& command =
      Command({"delete", kCluster, "--app=deployment/bob", "--app-status=completed"});
  victim = command.Pid();
  victim.notify_all();
  ASSERT_EQ(command.WaitForExit(), -SIGKILL) << command.Output() << command.Log();
  EXPECT_EQ(Mark("phase"), "deleting");
  api().Scale("deployments", ns_, "bob", 2);  // has the master root read at once
  EXPECT_TRUE(HasNoMarksOfADeletion());
  api().Scale("deployments", ns_, "bob", 1);
  EXPECT_TRUE(Keeps(watcher, "keep: active"));
}

TEST_F(FailureCase, Case72RunInANewPodJudgesWithItself) {
  MakeCluster({.root_annotations = {{kOwner, "deployment/bob"}}});
  MakeDriver();
  const std::string pod = DriversPod();
  MasterPod();
  const auto root = api().Get("deployments", ns_, kMaster);
  const JsonValue metadata = root->root()["metadata"];
  MarkTheRoot(
      {{"cluster-watcher/root-uid", std::string(*metadata["uid"].AsString())},
       {"cluster-watcher/phase", "deleting"},
       {"cluster-watcher/reason", "completed"},
       {"cluster-watcher/condemned-by", "bob-before/af92d6ae-0000-4000-8000-000000000000"},
       {"cluster-watcher/deleting-since", std::string(*metadata["creationTimestamp"].AsString())}});
  std::vector<std::string> arguments = {"run", "--cluster=spark"};
  arguments.insert(arguments.end(), kProgram.begin(), kProgram.end());
  Watcher& run = Command(arguments, pod);
  EXPECT_TRUE(Eventually([&] { return Contains(run.Output(), "started"); })) << run.Log();
  EXPECT_TRUE(HasNoMarksOfADeletion());
  EXPECT_TRUE(IsWhole());
  run.Signal(SIGTERM);
  EXPECT_EQ(run.WaitForExit(), 7) << run.Log();
  EXPECT_TRUE(IsWhole());
}

TEST_F(FailureCase, Case75CreateSeesThatItsMasterIsGone) {
  // The master goes before the last object is made.
  Api other(server().Admin());
  BehindProxy().SetGate([&](const Passage& passage) {
    const bool is_last = passage.request_line.starts_with("POST " + PathOf("services", ns_));
    if (is_last && !passage.answered) {
      other.Delete("deployments", ns_, kMaster);
      EXPECT_TRUE(Eventually([&] { return !other.Exists("deployments", ns_, kMaster); }));
    }
    return true;
  });
  WriteWhole(File("yaml"), kSmallCluster);
  Watcher& create = Command({"create", kCluster, "-f", File("yaml")});
  EXPECT_EQ(create.WaitForExit(), 12) << create.Output();
  EXPECT_TRUE(Contains(create.Log(), "of it are left: deployment.apps/spark-w; ")) << create.Log();
}

TEST_F(FailureCase, Case82ASharedClusterIsNeverMadeEphemeral) {
  MakeDriver();
  const std::string pod = DriversPod();
  WriteWhole(File("yaml"), kSmallCluster);
  ASSERT_EQ(Command({"create", kCluster, "-f", File("yaml")}).WaitForExit(), 0);
  const std::string uid = api().Uid("deployments", ns_, kMaster);
  const auto run = [&] {
    return Command({"run", "--cluster=spark", "-f", File("yaml"), "--ephemeral", "--timeout=2s",
                    "--", "true"},
                   pod)
        .WaitForExit();
  };
  EXPECT_EQ(run(), 0) << "it is used";
  api().Delete("services", ns_, "spark");
  ASSERT_TRUE(Eventually([&] { return !api().Exists("services", ns_, "spark"); }));
  EXPECT_EQ(run(), 125) << "it is waited for";
  const auto root = api().Get("deployments", ns_, kMaster);
  ASSERT_TRUE(root);
  const JsonValue metadata = root->root()["metadata"];
  EXPECT_EQ(metadata["uid"].AsString(), uid);
  EXPECT_FALSE(metadata["labels"]["ephemeral"].Exists());
  EXPECT_FALSE(metadata["annotations"][kOwner].Exists());
  EXPECT_FALSE(metadata["deletionTimestamp"].Exists());
}

}  // namespace
}  // namespace cluster_watcher::integration

// The command `run`: a driver's program with its cluster, as an image would start it.
#include <csignal>

#include "test/integration/fixture.h"

namespace cluster_watcher::integration {
namespace {

using Arguments = std::vector<std::string>;

class RunCommand : public IntegrationTest {
 protected:
  // Starts `run` in the driver's pod, with a shell script as its program.
  Watcher& RunScript(const std::string& script, Arguments flags = {"--cluster=spark"}) {
    flags.insert(flags.end(), {"--", "/bin/sh", "-c", script});
    return RunProgram(std::move(flags));
  }
  Watcher& RunProgram(Arguments arguments) {
    WriteWhole(File("yaml"), kSmallCluster);
    arguments.insert(arguments.begin(), {"run", "-f", File("yaml"), "--ephemeral", "-n", ns_,
                                         "--kubeconfig=" + kubeconfig()});
    return Run(arguments, {"POD_NAME=" + DriversPod(), "POD_NAMESPACE=" + ns_});
  }
  int ExitOf(Watcher& run) {
    EXPECT_TRUE(run.WaitForExit());
    return run.WaitForExit().value_or(-1);
  }
  // The driver's pod, once its controller has made it.
  std::string DriversPod() {
    if (!pod_.empty()) return pod_;
    EXPECT_TRUE(Eventually([&] {
      const auto pods = api().Names("pods", ns_, "app=bob");
      if (pods.size() == 1) pod_ = pods.front();
      return !pod_.empty();
    }));
    return pod_;
  }
  bool HasCluster(const std::string& name = kCluster) {
    return !api().Uid("deployments", ns_, name + "-m").empty();
  }
  void MarkRoot(const std::string& mark, const std::string& value) {
    api().Patch("deployments", ns_, kMaster,
                R"({"metadata":{"annotations":{"cluster-watcher/root-uid":")" +
                    api().Uid("deployments", ns_, kMaster) + R"(","cluster-watcher/)" + mark +
                    R"(":")" + value + R"("}}})");
  }
  // Whether the program runs: it prints "started" first.
  bool IsStarted(Watcher& run) {
    return Eventually([&] { return run.Output().find("started") != std::string::npos; });
  }

  std::string pod_;
};

constexpr char kUntilToldToStop[] =
    "trap 'exit 7' TERM; echo started $OSHINKO_CLUSTER_NAME; while :; do sleep 0.1; done";

TEST_F(RunCommand, ADriverThatCompletesHasItsClusterCreatedAndDeleted) {
  MakeDriver();
  Watcher& run = RunScript("echo $OSHINKO_CLUSTER_NAME $OSHINKO_SPARK_MASTER; exit 0");
  EXPECT_EQ(ExitOf(run), 0) << run.Log();
  EXPECT_EQ(run.Output(), "spark spark://spark:7077\n");
  EXPECT_EQ(run.Log(), WhereItWrites() + "cluster-watcher: cluster spark is being deleted\n");
  EXPECT_FALSE(HasCluster());
  EXPECT_EQ(api()
                .Get("deployments", ns_, "bob")
                ->root()["metadata"]["labels"]["uses-oshinko-cluster"]
                .AsString(),
            "spark");
}

TEST_F(RunCommand, OneThatIsInterruptedKeepsItForItsNextStart) {
  MakeDriver();
  Watcher& run = RunScript(kUntilToldToStop);
  ASSERT_TRUE(IsStarted(run)) << run.Log();
  const std::string root = api().Uid("deployments", ns_, "spark-m");
  run.Signal(SIGTERM);
  EXPECT_EQ(ExitOf(run), 7) << "the program's own word";
  EXPECT_NE(run.Log().find("kept: active"), std::string::npos) << run.Log();
  Watcher& again = RunScript(kUntilToldToStop);
  ASSERT_TRUE(IsStarted(again)) << again.Log();
  EXPECT_EQ(api().Uid("deployments", ns_, "spark-m"), root) << "it is the same cluster";
  again.Signal(SIGTERM);
  EXPECT_EQ(ExitOf(again), 7) << again.Log();
  EXPECT_TRUE(HasCluster());
}

TEST_F(RunCommand, StartedAgainItFindsTheClusterOfTheGeneratedName) {
  MakeDriver();
  Watcher& run = RunScript(kUntilToldToStop, {});
  ASSERT_TRUE(IsStarted(run)) << run.Log();
  const std::string first = run.Output();
  EXPECT_EQ(first.find("started cluster-"), 0u) << first;
  const std::string name = first.substr(8, first.find('\n') - 8);
  EXPECT_EQ(name.size(), 14u);
  run.Signal(SIGINT);
  // The shell traps SIGTERM only.
  EXPECT_EQ(ExitOf(run), 130) << run.Log();
  ASSERT_TRUE(HasCluster(name));
  const std::string root = api().Uid("deployments", ns_, name + "-m");
  Watcher& again = RunScript(kUntilToldToStop, {});
  ASSERT_TRUE(IsStarted(again)) << again.Log();
  EXPECT_EQ(again.Output(), first);
  EXPECT_EQ(api().Uid("deployments", ns_, name + "-m"), root);
  again.Signal(SIGTERM);
  EXPECT_EQ(ExitOf(again), 7) << again.Log();
}

TEST_F(RunCommand, ScaledToZeroItsClusterGoes) {
  MakeDriver();
  Watcher& run = RunScript(kUntilToldToStop);
  ASSERT_TRUE(IsStarted(run)) << run.Log();
  api().Scale("deployments", ns_, "bob", 0);
  ASSERT_TRUE(Eventually([&] { return api().Names("pods", ns_, "app=bob").empty(); }));
  run.Signal(SIGTERM);
  EXPECT_EQ(ExitOf(run), 7);
  EXPECT_NE(run.Log().find("cluster spark is being deleted"), std::string::npos) << run.Log();
  EXPECT_FALSE(HasCluster());
}

// By ReplicationControllers, as a DeploymentConfig makes them: each is an application of its own.
TEST_F(RunCommand, RedeployedWithAGeneratedNameItsOldClusterGoesAndTheNewOneHasItsOwn) {
  MakeDriver();
  MakeDriver("bob-1", "replicationcontrollers");
  Watcher& old_run = RunScript(kUntilToldToStop, {"--app=rc/bob-1"});
  ASSERT_TRUE(IsStarted(old_run)) << old_run.Log();
  const std::string old_name = old_run.Output().substr(8, 14);
  MakeDriver("bob-2", "replicationcontrollers");
  Watcher& new_run = RunScript(kUntilToldToStop, {"--app=rc/bob-2"});
  ASSERT_TRUE(IsStarted(new_run)) << new_run.Log();
  const std::string new_name = new_run.Output().substr(8, 14);
  EXPECT_NE(new_name, old_name);
  api().Scale("replicationcontrollers", ns_, "bob-1", 0);
  ASSERT_TRUE(Eventually([&] { return api().Names("pods", ns_, "app=bob-1").empty(); }));
  old_run.Signal(SIGTERM);
  EXPECT_EQ(ExitOf(old_run), 7);
  EXPECT_FALSE(HasCluster(old_name)) << old_run.Log();
  EXPECT_TRUE(HasCluster(new_name));
  new_run.Signal(SIGTERM);
  EXPECT_EQ(ExitOf(new_run), 7);
  EXPECT_TRUE(HasCluster(new_name)) << new_run.Log();
}

TEST_F(RunCommand, WithTwoReplicasItStaysForTheOther) {
  MakeDriver();
  DriversPod();
  api().Scale("deployments", ns_, "bob", 2);
  Watcher& run = RunScript("exit 0");
  EXPECT_EQ(ExitOf(run), 0) << run.Log();
  EXPECT_NE(run.Log().find("kept: shared-by-replicas"), std::string::npos) << run.Log();
  EXPECT_TRUE(HasCluster());
}

// As the pods of a parallel Job are.
TEST_F(RunCommand, OfSeveralAtOnceAllUseOneCluster) {
  MakeDriver();
  std::vector<Watcher*> runs;
  for (int i = 0; i < 3; ++i) {
    runs.push_back(&RunScript(kUntilToldToStop, {"--cluster=spark", "--timeout=90s"}));
  }
  for (Watcher* run : runs) EXPECT_TRUE(IsStarted(*run)) << run->Log();
  for (Watcher* run : runs) run->Signal(SIGTERM);
  for (Watcher* run : runs) EXPECT_EQ(ExitOf(*run), 7) << run->Log();
  EXPECT_TRUE(HasCluster());
}

TEST_F(RunCommand, OneThatIsBeingDeletedIsNotUsed) {
  MakeCluster({.root_annotations = {{"cluster-watcher/owner", "deployment.apps/bob"}}});
  MakeDriver();
  MasterPod();
  MarkRoot("phase", "deleting");
  Watcher& run = RunScript("echo started", {"--cluster=spark", "--timeout=2s"});
  EXPECT_EQ(ExitOf(run), 125) << run.Log();
  EXPECT_EQ(run.Output(), "");
  EXPECT_NE(run.Log().find("cluster spark is Deleting"), std::string::npos) << run.Log();
}

TEST_F(RunCommand, ExitCodesAreAShells) {
  MakeDriver();
  EXPECT_EQ(ExitOf(RunScript("exit 3")), 3);
  EXPECT_FALSE(HasCluster()) << "a failure has completed, too";
  EXPECT_EQ(ExitOf(RunScript("kill -KILL $$")), 137);
  EXPECT_EQ(ExitOf(RunProgram({"--cluster=spark", "--", "/no/such/program"})), 127);
  EXPECT_EQ(ExitOf(RunProgram({"--cluster=spark", "--", "/etc/passwd"})), 126);
  EXPECT_TRUE(HasCluster()) << "the application has not run";
  EXPECT_EQ(ExitOf(RunProgram({"--cluster=Spark!", "--on-failure=x", "--", "true"})), 125);
  EXPECT_EQ(ExitOf(RunProgram({"--cluster=", "--", "true"})), 125) << "an empty variable";
}

TEST_F(RunCommand, AFailureKeepsItWhereThatIsAsked) {
  MakeDriver();
  Watcher& run = RunScript("exit 3", {"--cluster=spark", "--on-failure=keep"});
  EXPECT_EQ(ExitOf(run), 3) << run.Log();
  EXPECT_TRUE(HasCluster());
}

TEST_F(RunCommand, ASharedClusterIsUsedAndStays) {
  MakeCluster();
  MakeDriver();
  MasterPod();
  Watcher& run = RunScript("exit 0");
  EXPECT_EQ(ExitOf(run), 0) << run.Log();
  EXPECT_NE(run.Log().find("cluster spark is shared, so it is used and not deleted"),
            std::string::npos)
      << run.Log();
  EXPECT_TRUE(HasCluster());
}

TEST_F(RunCommand, AnothersClusterIsNotUsed) {
  MakeCluster({.root_annotations = {{"cluster-watcher/owner", "deployment.apps/alice"}}});
  MakeDriver();
  MakeDriver("alice");
  MasterPod();
  Watcher& run = RunScript("echo started");
  EXPECT_EQ(ExitOf(run), 125) << run.Log();
  EXPECT_EQ(run.Output(), "");
  EXPECT_NE(run.Log().find("cluster spark belongs to deployment.apps/alice, not "
                           "deployment.apps/bob; the name spark comes from --cluster\n"),
            std::string::npos)
      << run.Log();
  EXPECT_TRUE(HasCluster());
}

// Its driver was deleted and made again: the label with the generated name is gone.
TEST_F(RunCommand, ADriverThatIsMadeAgainFindsItsCluster) {
  MakeDriver();
  Watcher& run = RunScript(kUntilToldToStop, {});
  ASSERT_TRUE(IsStarted(run)) << run.Log();
  const std::string first = run.Output();
  run.Signal(SIGTERM);
  EXPECT_EQ(ExitOf(run), 7) << run.Log();
  api().Delete("deployments", ns_, "bob", "Foreground");
  ASSERT_TRUE(Eventually([&] { return !api().Exists("deployments", ns_, "bob"); }));
  MakeDriver();
  pod_.clear();
  Watcher& again = RunScript(kUntilToldToStop, {});
  ASSERT_TRUE(IsStarted(again)) << again.Log();
  EXPECT_EQ(again.Output(), first);
  again.Signal(SIGTERM);
  EXPECT_EQ(ExitOf(again), 7) << again.Log();
}

TEST_F(RunCommand, WithoutAFileTheClusterHasToBeThere) {
  MakeDriver();
  Watcher& run = Run({"run", "--cluster=spark", "-n", ns_, "--kubeconfig=" + kubeconfig(), "--",
                      "echo", "started"},
                     {"POD_NAME=" + DriversPod(), "POD_NAMESPACE=" + ns_});
  EXPECT_EQ(ExitOf(run), 125) << run.Log();
  EXPECT_EQ(run.Output(), "");
  EXPECT_NE(run.Log().find("no cluster spark: create it before, or give its manifests by -f\n"),
            std::string::npos)
      << run.Log();
}

TEST_F(RunCommand, ToldToStopBeforeTheProgramItDeletesNothing) {
  MakeMembers();
  MakeDriver();
  DriversPod();
  Watcher& run = Run({"run", "--cluster=spark", "-n", ns_, "--kubeconfig=" + kubeconfig(), "--",
                      "echo", "started"},
                     {"POD_NAME=" + DriversPod(), "POD_NAMESPACE=" + ns_});
  ASSERT_TRUE(Eventually([&] { return run.HandlesSignals(); }));
  run.Signal(SIGTERM);
  EXPECT_EQ(ExitOf(run), 143) << run.Log();
  EXPECT_EQ(run.Output(), "");
  EXPECT_FALSE(api().Uid("deployments", ns_, "spark-w").empty());
}

// There comes no second SIGTERM for a pod that is deleted.
TEST_F(RunCommand, WhoWasToldToStopWaitsForNoMore) {
  MakeDriver();
  Watcher& run = RunScript(kUntilToldToStop, {"--cluster=spark", "--after=wait"});
  ASSERT_TRUE(IsStarted(run)) << run.Log();
  run.Signal(SIGTERM);
  EXPECT_EQ(run.WaitForExit().value_or(-1), 7) << run.Log();
  run.Signal(SIGTERM);
  run.WaitForExit();
}

// The first attempt of a Job, whose own Failed decides.
TEST_F(RunCommand, AJobsFailureKeepsItByDefault) {
  MakeDriver("etl", "jobs");
  MakeDriver();
  Watcher& run = RunScript("exit 3", {"--cluster=spark", "--app=job/etl"});
  EXPECT_EQ(ExitOf(run), 3) << run.Log();
  EXPECT_TRUE(HasCluster()) << run.Log();
}

// A worker pod takes its 30 s to end: CMD's exit code must not wait for that.
TEST_F(RunCommand, TheEndOfItsMembersIsNotWaitedFor) {
  MakeDriver();
  Watcher& run = RunScript(kUntilToldToStop);
  ASSERT_TRUE(IsStarted(run)) << run.Log();
  MakeMember("held", true);
  api().Scale("deployments", ns_, "bob", 0);
  ASSERT_TRUE(Eventually([&] { return api().Names("pods", ns_, "app=bob").empty(); }));
  run.Signal(SIGTERM);
  EXPECT_EQ(run.WaitForExit().value_or(-1), 7) << run.Log();
  EXPECT_FALSE(HasCluster());
  api().ReleaseFinalizers("configmaps", ns_, "held");
  run.WaitForExit();
}

}  // namespace
}  // namespace cluster_watcher::integration

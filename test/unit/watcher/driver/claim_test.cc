#include "watcher/driver/claim.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "test/unit/support/driver_lab.h"

namespace cluster_watcher {
namespace {

using small_kubernetes::Request;
using small_kubernetes::User;

constexpr const char* kUses = "uses-oshinko-cluster";
constexpr const char* kAlice = "/apis/apps/v1/namespaces/lab/deployments/alice";

class ClaimTest : public DriverLab {
 protected:
  DriverOutcome ClaimBy(const std::string& app, bool ephemeral = false) {
    return Claim(tools_, cluster_, *OwnerName::Parse(app), ephemeral);
  }
  DriverOutcome ReleaseBy(const std::string& app) {
    return Release(tools_, cluster_, *OwnerName::Parse(app));
  }
  std::string PodOf(const std::string& app) {
    const auto pods =
        JsonDocument::Parse(Read("/api/v1/namespaces/lab/pods?labelSelector=app%3D" + app).body);
    return std::string(*pods->root()["items"].At(0)["metadata"]["name"].AsString());
  }
};

TEST_F(ClaimTest, LabelsTheOwnerAndNothingElse) {
  const DriverOutcome outcome = ClaimBy("deployment/bob");
  EXPECT_EQ(outcome.exit, DriverExit::kDone) << outcome.error;
  EXPECT_EQ(outcome.said, "cluster spark is claimed by deployment.apps/bob");
  EXPECT_EQ(LabelOf(kDriver, kUses), "spark");
  EXPECT_EQ(LabelOf(kRoot, "ephemeral"), "");
  EXPECT_EQ(Mark("owner"), "");
}

TEST_F(ClaimTest, AnEphemeralClusterIsLabelledToo) {
  EXPECT_EQ(ClaimBy("bob", true).exit, DriverExit::kDone);
  EXPECT_EQ(LabelOf(kDriver, kUses), "spark");
  EXPECT_EQ(LabelOf(kRoot, "ephemeral"), "bob");
  EXPECT_EQ(Mark("owner"), "deployment.apps/bob");
}

TEST_F(ClaimTest, APodMeansWhatControlsIt) {
  kubernetes_.Settle();
  for (const std::string& app : {"pod/" + PodOf("bob"), PodOf("bob")}) {
    const DriverOutcome outcome = ClaimBy(app);
    EXPECT_EQ(outcome.said, "cluster spark is claimed by deployment.apps/bob") << outcome.error;
  }
  EXPECT_EQ(LabelOf(kDriver, kUses), "spark");
}

TEST_F(ClaimTest, ANameOver63CharactersIsOnlyAnnotated) {
  const std::string name(70, 'b');
  kubernetes_.Apply(R"({"apiVersion":"batch/v1","kind":"Job",)" + Meta(name) +
                    R"(,"spec":{"template":{"spec":{"containers":[{"name":"m","image":"x"}],)"
                    R"("restartPolicy":"Never"}}}})");
  EXPECT_EQ(ClaimBy("job/" + name, true).exit, DriverExit::kDone);
  EXPECT_EQ(LabelOf(kRoot, "ephemeral"), "");
  EXPECT_EQ(Mark("owner"), "job.batch/" + name);
}

TEST_F(ClaimTest, AnothersClusterIsNotClaimed) {
  MakeEphemeral("deployment.apps/alice");
  const DriverOutcome outcome = ClaimBy("deployment/bob");
  EXPECT_EQ(outcome.exit, DriverExit::kOthers);
  EXPECT_EQ(outcome.error,
            "cluster spark belongs to deployment.apps/alice, not deployment.apps/bob");
  EXPECT_EQ(LabelOf(kDriver, kUses), "");
  EXPECT_EQ(LabelOf(kRoot, "ephemeral"), "alice");
}

TEST_F(ClaimTest, AClusterThatAnotherUsesIsNobodysOwn) {
  MakeWorkload("alice", R"("uses-oshinko-cluster":"spark",)");
  LabelObject(kAlice, R"("uses-oshinko-cluster":"spark")");
  kubernetes_.Settle();
  EXPECT_EQ(ClaimBy("deployment/bob", true).exit, DriverExit::kOthers);
  EXPECT_EQ(LabelOf(kRoot, "ephemeral"), "");
  EXPECT_EQ(ClaimBy("deployment/bob").exit, DriverExit::kDone) << "shared by both";
}

TEST_F(ClaimTest, AnOwnerUsesOneCluster) {
  LabelObject(kDriver, R"("uses-oshinko-cluster":"other")");
  EXPECT_EQ(ClaimBy("deployment/bob").exit, DriverExit::kDone) << "there is no such cluster";
  LabelObject(kDriver, R"("uses-oshinko-cluster":"other")");
  MakeWorkload("other-m", R"("oshinko-cluster":"other","oshinko-type":"master",)");
  kubernetes_.Settle();
  const std::string first =
      "deployment.apps/bob is labelled uses-oshinko-cluster=other, and uses "
      "one cluster at a time: say cluster-watcher ";
  DriverOutcome outcome = ClaimBy("deployment/bob");
  EXPECT_EQ(outcome.exit, DriverExit::kOthers);
  EXPECT_EQ(outcome.error, first + "release other --app=deployment.apps/bob first");
  // Released it would be nobody's.
  Annotate("/apis/apps/v1/namespaces/lab/deployments/other-m", "owner", "deployment.apps/bob");
  EXPECT_EQ(ClaimBy("deployment/bob").error,
            first + "delete other --app=deployment.apps/bob --app-status=completed first");
  EXPECT_EQ(LabelOf(kDriver, kUses), "other");
}

TEST_F(ClaimTest, WhatIsCondemnedIsNotClaimed) {
  MarkRoot("phase", "condemned");
  EXPECT_EQ(ClaimBy("deployment/bob", true).exit, DriverExit::kNotReady);
  EXPECT_EQ(LabelOf(kDriver, kUses), "");
  EXPECT_EQ(LabelOf(kRoot, "ephemeral"), "");
}

// The watcher looks for other drivers before the label can be seen, and condemns behind that.
TEST_F(ClaimTest, WhatIsCondemnedMeanwhileIsGivenBack) {
  kubernetes_.on_answer = [&](const Request& request, const User&, small_kubernetes::Response&) {
    if (request.method == "PATCH" && request.target.starts_with(kDriver) && Mark("phase").empty()) {
      MarkRoot("phase", "condemned");
    }
  };
  EXPECT_EQ(ClaimBy("deployment/bob", true).exit, DriverExit::kNotReady);
  EXPECT_EQ(LabelOf(kDriver, kUses), "");
  EXPECT_EQ(LabelOf(kRoot, "ephemeral"), "");
}

// A container that was started again has claimed it before.
TEST_F(ClaimTest, WhatIsCondemnedIsGivenBackByWhoClaimedItBefore) {
  ASSERT_EQ(ClaimBy("deployment/bob").exit, DriverExit::kDone);
  MarkRoot("phase", "condemned");
  EXPECT_EQ(ClaimBy("deployment/bob").exit, DriverExit::kNotReady);
  EXPECT_EQ(LabelOf(kDriver, kUses), "");
}

TEST_F(ClaimTest, ALabelThatCanNotBeTakenOffAgainIsSaid) {
  kubernetes_.on_answer = [&](const Request& request, const User&, small_kubernetes::Response&) {
    if (request.method != "PATCH" || !request.target.starts_with(kDriver)) return;
    MarkRoot("phase", "condemned");
    Refuse("GET", kDriver, 403);
  };
  const DriverOutcome outcome = ClaimBy("deployment/bob");
  EXPECT_EQ(outcome.exit, DriverExit::kNotReady);
  ASSERT_EQ(outcome.warnings.size(), 1u);
  EXPECT_TRUE(outcome.warnings[0].starts_with(
      "the label uses-oshinko-cluster could not be taken off again: "))
      << outcome.warnings[0];
}

TEST_F(ClaimTest, ToldToStopBehindItsLabelItTakesThatOff) {
  std::stop_source stop;
  kubernetes_.on_answer = [&](const Request& request, const User&, small_kubernetes::Response&) {
    if (request.method == "PATCH" && request.target.starts_with(kDriver)) stop.request_stop();
  };
  const DriverTools tools{client_, discovery_, clock_, stop.get_token()};
  const DriverOutcome outcome = Claim(tools, cluster_, *OwnerName::Parse("deployment/bob"), false);
  EXPECT_NE(outcome.exit, DriverExit::kDone);
  EXPECT_EQ(Joined(outcome.warnings), "");
  EXPECT_EQ(LabelOf(kDriver, kUses), "");
}

// It is condemned between the look behind the label and the write of the root.
TEST_F(ClaimTest, ACondemnationWinsOverALateWrite) {
  kubernetes_.on_request = [&](const Request& request, const User&) {
    const bool is_write = request.method == "PATCH" &&
                          request.body.find("\"ephemeral\":\"bob\"") != std::string::npos;
    if (is_write && Mark("phase").empty()) MarkRoot("phase", "condemned");
  };
  EXPECT_EQ(ClaimBy("deployment/bob", true).exit, DriverExit::kNotReady);
  EXPECT_EQ(LabelOf(kRoot, "ephemeral"), "");
  EXPECT_EQ(LabelOf(kDriver, kUses), "");
}

TEST_F(ClaimTest, WhatIsNotThereIsNamed) {
  DriverOutcome outcome = ClaimBy("deployment/carol");
  EXPECT_EQ(outcome.exit, DriverExit::kFailed);
  EXPECT_EQ(outcome.error, "there is no deployment.apps/carol in namespace lab");
  outcome = Claim(tools_, {"lab", DefaultProfile(), "none"}, *OwnerName::Parse("bob"), false);
  EXPECT_EQ(outcome.exit, DriverExit::kFailed);
  EXPECT_EQ(outcome.error, "no cluster none");
  Refuse("GET", "/deployments", 403);
  outcome = ClaimBy("deployment/bob");
  EXPECT_EQ(outcome.exit, DriverExit::kUnknown);
  EXPECT_TRUE(outcome.error.starts_with("owner deployment/bob unknown: ")) << outcome.error;
}

TEST_F(ClaimTest, ConflictsOfStatusAreNothing) {
  int writes = 0;
  kubernetes_.on_request = [&](const Request& request, const User&) {
    if (request.method != "PATCH" || writes == 3 || !request.target.starts_with(kDriver)) return;
    ++writes;
    Annotate(kDriver, "x" + std::to_string(writes), "y");
  };
  EXPECT_EQ(ClaimBy("deployment/bob").exit, DriverExit::kDone);
  EXPECT_EQ(LabelOf(kDriver, kUses), "spark");
}

TEST_F(ClaimTest, ReleaseTakesAllOff) {
  ASSERT_EQ(ClaimBy("deployment/bob", true).exit, DriverExit::kDone);
  DriverOutcome outcome = ReleaseBy("deployment/bob");
  EXPECT_EQ(outcome.exit, DriverExit::kDone);
  EXPECT_EQ(outcome.warnings.size(), 1u);
  EXPECT_EQ(LabelOf(kDriver, kUses), "");
  EXPECT_EQ(LabelOf(kRoot, "ephemeral"), "");
  EXPECT_EQ(Mark("owner"), "");
  outcome = ReleaseBy("deployment/bob");
  EXPECT_EQ(outcome.exit, DriverExit::kDone);
  EXPECT_EQ(outcome.said, "cluster spark is not claimed by deployment.apps/bob");
}

TEST_F(ClaimTest, ReleaseOfASharedClusterWarnsOfNothing) {
  ASSERT_EQ(ClaimBy("deployment/bob").exit, DriverExit::kDone);
  const DriverOutcome outcome = ReleaseBy("deployment/bob");
  EXPECT_TRUE(outcome.warnings.empty());
  EXPECT_EQ(LabelOf(kDriver, kUses), "");
}

TEST_F(ClaimTest, AnothersClusterIsNotReleased) {
  MakeEphemeral("deployment.apps/alice");
  EXPECT_EQ(ReleaseBy("deployment/bob").exit, DriverExit::kOthers);
  EXPECT_EQ(LabelOf(kRoot, "ephemeral"), "alice");
  // A label that was copied with the driver's manifest.
  LabelObject(kDriver, R"("uses-oshinko-cluster":"spark")");
  EXPECT_EQ(ReleaseBy("deployment/bob").exit, DriverExit::kDone);
  EXPECT_EQ(LabelOf(kDriver, kUses), "");
  EXPECT_EQ(LabelOf(kRoot, "ephemeral"), "alice");
}

// The owner has gone, and its cluster shall stay.
TEST_F(ClaimTest, AClusterWhoseOwnerIsGoneIsReleased) {
  ASSERT_EQ(ClaimBy("deployment/bob", true).exit, DriverExit::kDone);
  Delete(kDriver);
  EXPECT_EQ(ReleaseBy("deployment/bob").exit, DriverExit::kDone);
  EXPECT_EQ(LabelOf(kRoot, "ephemeral"), "");
}

// Which goes before what stands on the root.
TEST_F(ClaimTest, AnOwnerThatTheMasterPodsAreGivenIsTheOwner) {
  const std::string pod = "/api/v1/namespaces/lab/pods/" + PodOf("spark-m");
  const auto give = [&](const std::string& owner) { Annotate(pod, "owner", owner); };
  give("deployment.apps/alice");
  EXPECT_EQ(ClaimBy("deployment/bob").error,
            "cluster spark belongs to deployment.apps/alice, not deployment.apps/bob");
  EXPECT_EQ(ReleaseBy("deployment/bob").exit, DriverExit::kOthers);
  give("deployment.apps/bob");
  EXPECT_EQ(ClaimBy("deployment/bob", true).exit, DriverExit::kDone);
  const DriverOutcome released = ReleaseBy("deployment/bob");
  EXPECT_EQ(released.exit, DriverExit::kFailed) << "it would still go with bob";
  EXPECT_NE(released.error.find("take cluster-watcher/owner off their template"),
            std::string::npos);
  EXPECT_EQ(LabelOf(kRoot, "ephemeral"), "bob");
}

// A watcher keeps what is said to be of two.
TEST_F(ClaimTest, WhatIsSaidToBeOfTwoIsAnothers) {
  MakeEphemeral("deployment.apps/bob");
  LabelObject(kRoot, R"("ephemeral":"alice")");
  EXPECT_EQ(ClaimBy("deployment/bob").error,
            "cluster spark belongs to alice, not deployment.apps/bob");
}

TEST_F(ClaimTest, ANameOfAnotherKindIsAnother) {
  MakeEphemeral("job.batch/bob");
  EXPECT_EQ(ClaimBy("deployment/bob").exit, DriverExit::kOthers);
  EXPECT_EQ(ClaimBy("bob").exit, DriverExit::kOthers);
  MakeEphemeral("deploy/bob");
  EXPECT_EQ(ClaimBy("bob").exit, DriverExit::kDone);
}

// A ReplicationController of its rollouts stands for a DeploymentConfig.
TEST_F(ClaimTest, ARolloutOfADeploymentConfigIsItsOwn) {
  DefineDeploymentConfigs();
  kubernetes_.Apply(R"({"apiVersion":"apps.openshift.io/v1","kind":"DeploymentConfig",)" +
                    Meta("carol") + R"(,"spec":{"replicas":1}})");
  MakeEphemeral("rc/carol-1");
  EXPECT_EQ(ClaimBy("deploymentconfig/carol").error, "");
  MakeEphemeral("job/carol-1");
  EXPECT_EQ(ClaimBy("deploymentconfig/carol").exit, DriverExit::kOthers);
  MakeEphemeral("rc/caro-1");
  EXPECT_EQ(ClaimBy("deploymentconfig/carol").exit, DriverExit::kOthers);
  MakeEphemeral("rc/bob-1");
  EXPECT_EQ(ClaimBy("deployment/bob").exit, DriverExit::kOthers) << "a Deployment has none";
}

TEST_F(ClaimTest, WhatIsGivenAsWrittenIsItsOwn) {
  const std::string pod = "pod/" + PodOf("bob");
  Annotate("/api/v1/namespaces/lab/pods/" + PodOf("spark-m"), "owner", pod);
  EXPECT_EQ(ClaimBy(pod).exit, DriverExit::kDone);
}

TEST_F(ClaimTest, AnOwnerThatIsNoNameIsAnother) {
  Annotate(kRoot, "owner", "no/such/name");
  EXPECT_EQ(ClaimBy("deployment/bob").exit, DriverExit::kOthers);
}

TEST_F(ClaimTest, WhatIsGoingOrHasNoMasterIsNotClaimed) {
  MarkRoot("phase", "deleting");
  EXPECT_EQ(ClaimBy("deployment/bob").error, "cluster spark is Deleting");
  Delete(kRoot);
  kubernetes_.Settle();
  const DriverOutcome outcome = ClaimBy("deployment/bob");
  EXPECT_EQ(outcome.exit, DriverExit::kNotReady);
  EXPECT_EQ(outcome.error, "cluster spark lacks a master");
}

TEST_F(ClaimTest, ALabelThatFailsInPassingIsWrittenAgain) {
  Refuse("PATCH", kDriver, 503, 0, 1);
  EXPECT_EQ(ClaimBy("deployment/bob").exit, DriverExit::kDone);
  EXPECT_EQ(LabelOf(kDriver, kUses), "spark");
}

TEST_F(ClaimTest, WithoutALabelNothingIsClaimed) {
  int writes = 0;
  kubernetes_.on_request = [&](const Request& request, const User&) {
    writes += request.method == "PATCH" ? 1 : 0;
  };
  Refuse("PATCH", kDriver, 403);
  EXPECT_EQ(ClaimBy("deployment/bob").exit, DriverExit::kFailed);
  EXPECT_EQ(writes, 1) << "who may not write is not asked again";
}

// Somebody writes it before each write.
TEST_F(ClaimTest, WhatChangesAllTheTimeIsGivenUp) {
  int writes = 0;
  std::string written = kDriver;
  kubernetes_.on_request = [&](const Request& request, const User&) {
    if (request.method != "PATCH" || !request.target.starts_with(written)) return;
    const std::string path = std::exchange(written, "/nothing");
    Annotate(path, "x" + std::to_string(++writes), "y");
    written = path;
  };
  EXPECT_EQ(ClaimBy("deployment/bob").exit, DriverExit::kFailed);
  EXPECT_GE(writes, 10);
  written = kRoot;
  const DriverOutcome outcome = ClaimBy("deployment/bob", true);
  EXPECT_EQ(outcome.exit, DriverExit::kFailed);
  EXPECT_EQ(outcome.error, "cluster spark changes all the time: claim it again");
  EXPECT_EQ(LabelOf(kDriver, kUses), "");
  written = "/nothing";
  ASSERT_EQ(ClaimBy("deployment/bob", true).exit, DriverExit::kDone);
  written = kRoot;
  EXPECT_EQ(ReleaseBy("deployment/bob").exit, DriverExit::kFailed);
}

TEST_F(ClaimTest, WithoutARootThatMayBeWrittenNothingIsOnesOwn) {
  Refuse("PATCH", kRoot, 403);
  const DriverOutcome outcome = ClaimBy("deployment/bob", true);
  EXPECT_EQ(outcome.exit, DriverExit::kFailed);
  EXPECT_NE(outcome.error.find("403"), std::string::npos) << outcome.error;
  EXPECT_EQ(LabelOf(kDriver, kUses), "");
}

TEST_F(ClaimTest, AnOwnerThatIsGoneMeanwhileHasNoLabel) {
  kubernetes_.on_answer = [&](const Request& request, const User&, small_kubernetes::Response&) {
    if (request.method != "PATCH" || !request.target.starts_with(kDriver)) return;
    MarkRoot("phase", "condemned");
    Delete(kDriver);
  };
  const DriverOutcome outcome = ClaimBy("deployment/bob");
  EXPECT_EQ(outcome.exit, DriverExit::kNotReady);
  EXPECT_TRUE(outcome.warnings.empty());
}

TEST_F(ClaimTest, OthersOfTheOwnersKindUseItToo) {
  DefineRayClusters();
  for (const char* name : {"one", "two"}) {
    kubernetes_.Apply(R"({"apiVersion":"ray.io/v1","kind":"RayCluster",)" +
                      Meta(name, R"(,"labels":{"uses-oshinko-cluster":"spark"})") +
                      R"(,"spec":{}})");
  }
  const DriverOutcome outcome = ClaimBy("raycluster/one", true);
  EXPECT_EQ(outcome.error, "cluster spark is used by raycluster.ray.io/two");
}

TEST_F(ClaimTest, WhoElseUsesItMustBeKnown) {
  Refuse("GET", "uses-oshinko-cluster", 403);
  EXPECT_EQ(ClaimBy("deployment/bob", true).exit, DriverExit::kUnknown);
  EXPECT_EQ(ClaimBy("deployment/bob").exit, DriverExit::kDone);
}

TEST_F(ClaimTest, TheOtherClusterMustBeKnown) {
  LabelObject(kDriver, R"("uses-oshinko-cluster":"other")");
  Refuse("GET", "oshinko-cluster%3Dother", 403);
  EXPECT_EQ(ClaimBy("deployment/bob").exit, DriverExit::kUnknown);
  EXPECT_EQ(LabelOf(kDriver, kUses), "other");
}

// It becomes another's behind the label.
TEST_F(ClaimTest, WhatBecomesAnothersIsGivenBack) {
  for (const char* before : {"", "other"}) {
    LabelObject(kDriver, R"("uses-oshinko-cluster":")" + std::string(before) + "\"");
    LabelObject(kRoot, R"("ephemeral":null)");
    kubernetes_.on_answer = [&](const Request& request, const User&, small_kubernetes::Response&) {
      const bool is_label =
          request.body.find(R"("uses-oshinko-cluster":"spark")") != std::string::npos;
      if (is_label) LabelObject(kRoot, R"("ephemeral":"alice")");
    };
    EXPECT_EQ(ClaimBy("deployment/bob").exit, DriverExit::kOthers);
    EXPECT_EQ(LabelOf(kDriver, kUses), "") << before;
  }
}

TEST_F(ClaimTest, AnEarlierClaimOutlivesOneThatIsRefusedToAnothersFavour) {
  ASSERT_EQ(ClaimBy("deployment/bob").exit, DriverExit::kDone);
  int looks = 0;
  kubernetes_.on_request = [&](const Request& request, const User&) {
    // Before the claim, and then behind its label.
    if (request.target == kRoot && ++looks == 2) LabelObject(kRoot, R"("ephemeral":"alice")");
  };
  EXPECT_EQ(ClaimBy("deployment/bob").exit, DriverExit::kOthers);
  EXPECT_EQ(LabelOf(kDriver, kUses), "spark");
  EXPECT_EQ(ClaimBy("deployment/bob").exit, DriverExit::kOthers);
  EXPECT_EQ(LabelOf(kDriver, kUses), "spark");
}

TEST_F(ClaimTest, TheLabelOfAnotherClusterStays) {
  LabelObject(kDriver, R"("uses-oshinko-cluster":"other")");
  EXPECT_EQ(ReleaseBy("deployment/bob").said,
            "cluster spark is not claimed by deployment.apps/bob");
  EXPECT_EQ(LabelOf(kDriver, kUses), "other");
  MarkRoot("phase", "condemned");
  EXPECT_EQ(ClaimBy("deployment/bob").exit, DriverExit::kNotReady);
  EXPECT_EQ(LabelOf(kDriver, kUses), "other");
}

// The owner has gone, and so its name alone tells whose the cluster is.
TEST_F(ClaimTest, WithoutAnOwnerAnothersClusterIsNotReleased) {
  Delete(kDriver);
  for (const char* owner : {"deployment.apps/alice", "job.batch/bob"}) {
    MakeEphemeral(owner);
    EXPECT_EQ(ReleaseBy("deployment/bob").exit, DriverExit::kOthers) << owner;
  }
}

TEST_F(ClaimTest, WhoMayNotBeReadReleasesNothing) {
  ASSERT_EQ(ClaimBy("deployment/bob", true).exit, DriverExit::kDone);
  Refuse("GET", "/deployments?fieldSelector", 403);
  Refuse("GET", "/deployments/bob", 403);
  EXPECT_EQ(ReleaseBy("deployment/bob").exit, DriverExit::kUnknown);
  EXPECT_EQ(LabelOf(kRoot, "ephemeral"), "bob");
}

TEST_F(ClaimTest, ReleaseIsTriedAgainOnlyAfterConflicts) {
  ASSERT_EQ(ClaimBy("deployment/bob", true).exit, DriverExit::kDone);
  int writes = 0;
  kubernetes_.on_request = [&](const Request& request, const User&) {
    if (request.method == "PATCH" && request.target == kRoot && ++writes == 1) {
      Annotate(kRoot, "x", "y");
    }
  };
  EXPECT_EQ(ReleaseBy("deployment/bob").exit, DriverExit::kDone);
  EXPECT_EQ(LabelOf(kRoot, "ephemeral"), "");
  ASSERT_EQ(ClaimBy("deployment/bob", true).exit, DriverExit::kDone);
  writes = 1;
  Refuse("PATCH", kRoot, 403);
  EXPECT_EQ(ReleaseBy("deployment/bob").exit, DriverExit::kFailed);
  EXPECT_EQ(writes, 2);
}

TEST_F(ClaimTest, ALabelThatStaysIsNotReleased) {
  ASSERT_EQ(ClaimBy("deployment/bob").exit, DriverExit::kDone);
  Refuse("PATCH", kDriver, 403);
  EXPECT_EQ(ReleaseBy("deployment/bob").exit, DriverExit::kFailed);
}

// Others may use it as long as it is the application's all the same.
TEST_F(ClaimTest, OnesOwnIsClaimedAgainWhoeverElseUsesIt) {
  ASSERT_EQ(ClaimBy("deployment/bob", true).exit, DriverExit::kDone);
  MakeWorkload("alice", R"("uses-oshinko-cluster":"spark",)");
  EXPECT_EQ(ClaimBy("deployment/bob", true).exit, DriverExit::kDone);
}

TEST_F(ClaimTest, OfTwoClaimsOfOneOwnerOneWins) {
  MakeWorkload("dask-m", R"("oshinko-cluster":"dask","oshinko-type":"master",)");
  LabelObject("/apis/apps/v1/namespaces/lab/deployments/dask-m",
              R"("oshinko-cluster":"dask","oshinko-type":"master")");
  kubernetes_.Settle();
  DriverExit of_dask = DriverExit::kFailed;
  kubernetes_.on_request = [&, done = false](const Request& request, const User&) mutable {
    if (done || request.method != "PATCH" || request.target != kDriver) return;
    done = true;
    of_dask =
        Claim(tools_, {"lab", DefaultProfile(), "dask"}, *OwnerName::Parse("deployment/bob"), false)
            .exit;
  };
  const DriverOutcome of_spark = ClaimBy("deployment/bob");
  kubernetes_.on_request = nullptr;
  ASSERT_EQ(of_dask, DriverExit::kDone);
  EXPECT_EQ(of_spark.exit, DriverExit::kOthers) << of_spark.said;
  EXPECT_EQ(LabelOf(kDriver, kUses), "dask") << "who was told that dask is claimed is unprotected";
}

// Nobody would see that it uses a shared one.
TEST_F(ClaimTest, ADriverOfAnUnknownKindClaimsEphemeralClustersOnly) {
  DefineKind("example.com", "Gadget", "gadgets", "gadget");
  const std::string pi = "/apis/example.com/v1/namespaces/lab/gadgets/pi";
  kubernetes_.Apply(R"({"apiVersion":"example.com/v1","kind":"Gadget",)" + Meta("pi") + "}");
  kubernetes_.Settle();
  EXPECT_EQ(ClaimBy("gadget.example.com/pi").exit, DriverExit::kWrongUsage);
  EXPECT_EQ(LabelOf(pi, kUses), "");
  EXPECT_EQ(ClaimBy("gadget.example.com/pi", true).exit, DriverExit::kDone);
  EXPECT_EQ(Mark("owner"), "gadget.example.com/pi");
  EXPECT_EQ(LabelOf(kRoot, "ephemeral"), "") << "which is a bare name";
  EXPECT_EQ(ClaimBy("gadget.example.com/pi").exit, DriverExit::kDone) << "its own";
}

// Its first cluster is condemned, and meanwhile another process claims another for it.
TEST_F(ClaimTest, ALabelThatSomebodyElseWroteMeanwhileStays) {
  kubernetes_.on_answer = [&, done = false](const Request& request, const User&,
                                            small_kubernetes::Response&) mutable {
    const bool is_it =
        request.method == "PATCH" && request.target.find("/bob") != std::string::npos;
    if (!is_it || std::exchange(done, true)) return;
    Delete(kRoot);
    LabelObject(kDriver, R"("uses-oshinko-cluster":"other")");
  };
  EXPECT_EQ(ClaimBy("deployment/bob").exit, DriverExit::kNotReady);
  EXPECT_EQ(LabelOf(kDriver, kUses), "other");
}

}  // namespace
}  // namespace cluster_watcher

#include "watcher/engine/judge.h"

#include <gtest/gtest.h>
#include <spdlog/sinks/null_sink.h>

#include <memory>

#include "metrics/http/exposition.h"
#include "probes/base/time_text.h"
#include "test/unit/support/lab.h"
#include "watcher/deletion/judged_look.h"
#include "watcher/reporting/logging.h"

namespace cluster_watcher {
namespace {

// The settings must be complete before somebody reads them.
class LabToJudge : protected Lab {
 protected:
  LabToJudge() {
    settings_.settings.pod = NameOfPod();
    settings_.settings.grace_period = Duration(0);
    settings_.settings.surge_limit = 0;
  }
};

class JudgeTest : public testing::Test, protected LabToJudge {
 protected:
  Reason Look() { return judge_.DecideOn(observer_.SureLook({}), {}).reason; }
  std::string Metrics() {
    const prometheus::Collectable* const sources[] = {&metrics_};
    return Exposition(sources);
  }

  Log log_{LogLevel::kDebug, LogFormat::kText, std::make_shared<spdlog::sinks::null_sink_st>()};
  SettingsInForce in_force_{settings_, [this](const TextMap&) { return settings_; }};
  Observer observer_{client_, discovery_, clock_, in_force_};
  Tools tools_{client_, discovery_, clock_, in_force_, metrics_, log_.logger(), [](Duration) {}};
  Judge judge_{tools_, observer_};
};

TEST_F(JudgeTest, CondemnsAfterThreeVerdictsInARow) {
  EXPECT_EQ(Look(), Reason::kActive);
  Delete(kDriver);
  for (int count = 1; count <= 3; ++count) {
    EXPECT_FALSE(judge_.MayCondemn());
    EXPECT_EQ(Look(), Reason::kOwnerAbsent);
    EXPECT_EQ(judge_.confirmation().count(), count);
  }
  EXPECT_TRUE(judge_.MayCondemn());
  MakeDriver();
  EXPECT_EQ(Look(), Reason::kOwnerAdopted);
  EXPECT_EQ(judge_.confirmation().count(), 0);
}

TEST_F(JudgeTest, AnotherDriverKeepsTheClusterAsLongAsItIsThere) {
  EXPECT_EQ(Look(), Reason::kActive);
  MakeWorkload("alice", R"("uses-oshinko-cluster":"spark",)");
  Delete(kDriver);
  EXPECT_EQ(Look(), Reason::kOwnerAbsent);
  EXPECT_EQ(Look(), Reason::kOwnerAbsent);
  for (int look = 0; look < 3; ++look) {
    EXPECT_EQ(Look(), Reason::kInUse);
    EXPECT_EQ(judge_.confirmation().count(), 0);
  }
  EXPECT_NE(Metrics().find("refusals_total{reason=\"in-use\"} 1\n"), std::string::npos);
  Delete("/apis/apps/v1/namespaces/lab/deployments/alice");
  EXPECT_EQ(Look(), Reason::kOwnerAbsent);
  EXPECT_EQ(judge_.confirmation().count(), 1);
}

// Else it would only be seen once the driver is dead that the cluster can't be deleted.
TEST_F(JudgeTest, WhatTheGuardRefusesIsMisconfiguredWhileTheDriverLives) {
  kubernetes_.brake = true;
  kubernetes_.on_answer = [](const small_kubernetes::Request&, const small_kubernetes::User&,
                             small_kubernetes::Response& response) {
    for (std::size_t at = 0;
         (at = response.body.find("cluster-watcher-brake", at)) != std::string::npos;) {
      response.body.replace(at, 21, "cluster-watcher-guard");
    }
  };
  EXPECT_EQ(Look(), Reason::kActive);
  judge_.NoteGuard();
  EXPECT_EQ(Look(), Reason::kMisconfigured);
  EXPECT_EQ(Look(), Reason::kMisconfigured);
  kubernetes_.brake = false;
  EXPECT_EQ(Look(), Reason::kActive);
  kubernetes_.brake = true;
  EXPECT_EQ(Look(), Reason::kActive) << "nothing was refused since";
  judge_.NotePolicy();
  EXPECT_EQ(Look(), Reason::kActive) << "that is the brake's, and the driver lives";
}

// It is told, and changes nothing: a transient failure is tried again.
TEST_F(JudgeTest, AWebhookThatCanNotBeCalledIsNamed) {
  Delete(kDriver);
  const Snapshot look = observer_.SureLook({});
  const Decision before = cluster_watcher::Decide(look.facts);
  EXPECT_EQ(AskPolicy(client_, std::nullopt, look, before).refused_by, "");
  small_kubernetes::Fault fault;
  fault.method = "PATCH";
  fault.contains = "dryRun=All";
  fault.times = 0;
  fault.response = {
      500,
      R"({"kind":"Status","apiVersion":"v1","status":"Failure","reason":"InternalError","code":500,)"
      R"("message":"Internal error occurred: failed calling webhook \"deny.example.com\": failed to )"
      R"(call webhook: no endpoints available for service \"deny\"","details":{"causes":[{"message":)"
      R"("failed calling webhook \"deny.example.com\": no endpoints available"}]}})",
      "application/json", std::nullopt};
  kubernetes_.GetFaults().Add(fault);
  const Decision told = AskPolicy(client_, std::nullopt, look, before);
  EXPECT_EQ(told.reason, before.reason);
  EXPECT_TRUE(told.refused_by.starts_with("admission webhook deny.example.com, which can't be"))
      << told.refused_by;
  EXPECT_TRUE(told.remedy().starts_with("refused by admission webhook deny.example.com"));
}

TEST_F(JudgeTest, APolicyThatRefusesIsAskedEachTimeAndConfirmationBeginsAnew) {
  EXPECT_EQ(Look(), Reason::kActive);
  Delete(kDriver);
  kubernetes_.brake = true;
  EXPECT_EQ(Look(), Reason::kOwnerAbsent) << "it isn't known yet";
  judge_.NotePolicy();
  for (int look = 0; look < 2; ++look) {
    const Decision decision = judge_.DecideOn(observer_.SureLook({}), {});
    EXPECT_EQ(decision.reason, Reason::kHeld);
    EXPECT_NE(decision.detail.find("the brake of cluster-watcher is on"), std::string::npos);
    EXPECT_EQ(judge_.confirmation().count(), 0);
  }
  kubernetes_.brake = false;
  EXPECT_EQ(Look(), Reason::kOwnerAbsent);
  EXPECT_EQ(judge_.confirmation().count(), 1);
  const std::size_t patches = kubernetes_.Count("PATCH");
  EXPECT_EQ(Look(), Reason::kOwnerAbsent);
  EXPECT_EQ(kubernetes_.Count("PATCH"), patches) << "it is asked no more";
}

// Its Deployment is orphaned, so the ReplicaSet is the master root now.
TEST_F(JudgeTest, AnotherMasterRootIsConfirmedAnew) {
  EXPECT_EQ(Look(), Reason::kActive);
  Delete(kDriver);
  EXPECT_EQ(Look(), Reason::kOwnerAbsent);
  EXPECT_EQ(Look(), Reason::kOwnerAbsent);
  Delete(std::string(kRoot) + "?propagationPolicy=Orphan");
  EXPECT_EQ(Look(), Reason::kOwnerAbsent);
  EXPECT_EQ(judge_.confirmation().count(), 1);
}

TEST_F(JudgeTest, WhatIsOverdueIsDueAtOnce) {
  EXPECT_EQ(Look(), Reason::kActive);
  Delete(kDriver);
  for (int count = 1; count <= 3; ++count) EXPECT_EQ(Look(), Reason::kOwnerAbsent);
  clock_.elapsed += std::chrono::hours(1);
  EXPECT_EQ(judge_.AbandonmentNow().due_in, Duration(0));
  EXPECT_EQ(judge_.AbandonmentNow().lasted, std::chrono::hours(1));
}

// --- Many clusters that are abandoned at once. The grace period is 0 but for what a surge adds.

class SurgingJudgeTest : public JudgeTest {
 protected:
  SurgingJudgeTest() { settings_.settings.surge_limit = 3; }

  // The driver ends now, as the marks will say.
  void Abandon() {
    Delete(kDriver);
    MarkNow(kRoot);
  }
  // So do those of three more clusters.
  void MarkOthers() {
    for (const char* name : {"one", "two", "three"}) {
      MakeWorkload(name, "");
      MarkNow(std::string("/apis/apps/v1/namespaces/lab/deployments/") + name);
    }
  }
  void MarkNow(const std::string& path) {
    Annotate(path, "root-uid", ObjectUid(path));
    Annotate(path, "abandoned-since", FormatTime(clock_.WallNow()));
  }
  // As many others lose theirs, and three looks see that.
  void LoseTheDriverWithOthers() {
    EXPECT_EQ(Look(), Reason::kActive);
    Abandon();
    MarkOthers();
    LookThrice();
  }
  // Three verdicts, of which the last would confirm.
  void LookThrice() {
    for (int count = 1; count <= 3; ++count) {
      EXPECT_FALSE(judge_.MayCondemn());
      EXPECT_EQ(Look(), Reason::kOwnerAbsent);
    }
  }
  std::size_t Lists() const { return kubernetes_.Count("GET", "deployments?limit"); }
};

TEST_F(SurgingJudgeTest, InASurgeTheGracePeriodIsLonger) {
  LoseTheDriverWithOthers();
  EXPECT_FALSE(judge_.MayCondemn());
  EXPECT_NE(judge_.AbandonmentNow().surge, "");
  EXPECT_EQ(judge_.AbandonmentNow().due_in, std::chrono::minutes(10));
  clock_.elapsed += std::chrono::minutes(10) - Duration(1);
  EXPECT_EQ(Look(), Reason::kOwnerAbsent);
  EXPECT_FALSE(judge_.MayCondemn());
  clock_.elapsed += Duration(1);
  EXPECT_EQ(Look(), Reason::kOwnerAbsent);
  EXPECT_TRUE(judge_.MayCondemn());
  EXPECT_EQ(judge_.AbandonmentNow().surge, "") << "it has been waited out";
  EXPECT_EQ(Lists(), 1u) << "it is counted once";
}

TEST_F(SurgingJudgeTest, NobodyCountsBeforeItIsMarked) {
  EXPECT_EQ(Look(), Reason::kActive);
  Delete(kDriver);
  MarkOthers();
  LookThrice();
  EXPECT_TRUE(judge_.IsDue());
  EXPECT_FALSE(judge_.MayCondemn());
  EXPECT_EQ(Lists(), 0u);
  MarkNow(kRoot);
  EXPECT_EQ(Look(), Reason::kOwnerAbsent);
  EXPECT_FALSE(judge_.IsDue()) << "it is a surge";
}

TEST_F(SurgingJudgeTest, AsManyAsTheLimitAreNoSurge) {
  settings_.settings.surge_limit = 4;
  in_force_.TakeAnnotations({});
  LoseTheDriverWithOthers();
  EXPECT_TRUE(judge_.MayCondemn());
  EXPECT_EQ(judge_.AbandonmentNow().surge, "");
  EXPECT_EQ(Look(), Reason::kOwnerAbsent);
  EXPECT_EQ(Lists(), 1u) << "it is counted once";
}

TEST_F(SurgingJudgeTest, WithoutALimitNothingIsCounted) {
  settings_.settings.surge_limit = 0;
  in_force_.TakeAnnotations({});
  LoseTheDriverWithOthers();
  EXPECT_TRUE(judge_.MayCondemn());
  EXPECT_EQ(Lists(), 0u);
}

TEST_F(SurgingJudgeTest, ASurgeNeverShortensTheGracePeriod) {
  settings_.settings.surge_grace = Duration(0);
  in_force_.TakeAnnotations({});
  LoseTheDriverWithOthers();
  EXPECT_TRUE(judge_.MayCondemn());
  EXPECT_EQ(Lists(), 0u);
  EXPECT_EQ(judge_.AbandonmentNow().surge, "");
}

TEST_F(SurgingJudgeTest, WhereThatIsUnknownNothingIsCondemnedAndItIsCountedAgain) {
  EXPECT_EQ(Look(), Reason::kActive);
  Abandon();
  Refuse("GET", "deployments?limit", 500);
  LookThrice();
  EXPECT_FALSE(judge_.MayCondemn());
  EXPECT_EQ(Look(), Reason::kOwnerAbsent);
  EXPECT_FALSE(judge_.MayCondemn());
  kubernetes_.GetFaults().Clear();
  EXPECT_EQ(Look(), Reason::kOwnerAbsent);
  EXPECT_TRUE(judge_.MayCondemn()) << "the confirmations did not begin again";
}

TEST_F(SurgingJudgeTest, WhatFailsInPassingIsReadAgain) {
  EXPECT_EQ(Look(), Reason::kActive);
  Abandon();
  Refuse("GET", "deployments?limit", 500, 0, 2);
  LookThrice();
  EXPECT_TRUE(judge_.MayCondemn());
}

TEST_F(SurgingJudgeTest, ADriverThatIsBackEndsASurge) {
  LoseTheDriverWithOthers();
  MakeDriver();
  EXPECT_EQ(Look(), Reason::kOwnerAdopted);
  EXPECT_FALSE(judge_.surge().since());
  EXPECT_EQ(judge_.surge().why(), "");
}

TEST_F(SurgingJudgeTest, AnUnknownVerdictDoesNotEndASurge) {
  LoseTheDriverWithOthers();
  clock_.elapsed += std::chrono::minutes(5);
  Refuse("GET", "bob", 500);
  EXPECT_EQ(Look(), Reason::kUnknown);
  kubernetes_.GetFaults().Clear();
  LookThrice();
  EXPECT_FALSE(judge_.MayCondemn());
  EXPECT_EQ(judge_.AbandonmentNow().due_in, std::chrono::minutes(10));
  EXPECT_EQ(Lists(), 1u) << "it is known";
}

// The others may have been condemned meanwhile.
TEST_F(SurgingJudgeTest, WhenTheCountStartsAgainTheSurgeIsCountedAgain) {
  LoseTheDriverWithOthers();
  judge_.Reset();
  clock_.elapsed += std::chrono::minutes(5);
  MarkNow(kRoot);
  LookThrice();
  EXPECT_TRUE(judge_.MayCondemn());
}

TEST_F(SurgingJudgeTest, ACompletedApplicationWaitsForNobody) {
  MarkNow(kRoot);
  observer_.SetWord("completed");
  MarkOthers();
  for (int look = 0; look < 3; ++look) EXPECT_EQ(Look(), Reason::kCompleted);
  EXPECT_TRUE(judge_.MayCondemn());
  EXPECT_EQ(Lists(), 0u);
}

TEST_F(SurgingJudgeTest, AfterAnotherDriverItIsCountedToo) {
  settings_.settings.confirmations = 1;
  in_force_.TakeAnnotations({});
  EXPECT_EQ(Look(), Reason::kActive);
  MakeWorkload("alice", R"("uses-oshinko-cluster":"spark",)");
  Abandon();
  MarkOthers();
  EXPECT_EQ(Look(), Reason::kInUse);
  Delete("/apis/apps/v1/namespaces/lab/deployments/alice");
  EXPECT_EQ(Look(), Reason::kOwnerAbsent);
  EXPECT_FALSE(judge_.MayCondemn());
  EXPECT_NE(judge_.surge().why(), "");
}

class PatientJudgeTest : public JudgeTest {
 protected:
  PatientJudgeTest() {
    settings_.settings.grace_period = std::chrono::seconds(10);
    in_force_.TakeAnnotations({});
  }
};

// The last look must have begun behind the grace period.
TEST_F(PatientJudgeTest, ALookThatTakesLongConfirmsNothingOfBefore) {
  EXPECT_EQ(Look(), Reason::kActive);
  Delete(kDriver);
  EXPECT_EQ(Look(), Reason::kOwnerAbsent);
  clock_.elapsed += std::chrono::seconds(9);
  EXPECT_EQ(Look(), Reason::kOwnerAbsent);
  kubernetes_.on_request = [this](const small_kubernetes::Request&, const small_kubernetes::User&) {
    clock_.elapsed += std::chrono::milliseconds(500);
  };
  EXPECT_EQ(Look(), Reason::kOwnerAbsent);
  EXPECT_FALSE(judge_.MayCondemn());
  EXPECT_EQ(Look(), Reason::kOwnerAbsent);
  EXPECT_TRUE(judge_.MayCondemn());
}

}  // namespace
}  // namespace cluster_watcher

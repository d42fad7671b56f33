#include "watcher/loop/judge.h"

#include <gtest/gtest.h>
#include <spdlog/sinks/null_sink.h>

#include <memory>

#include "metrics/http/exposition.h"
#include "test/unit/support/lab.h"
#include "watcher/reporting/logging.h"

namespace cluster_watcher {
namespace {

// The settings must be complete before somebody reads them.
class LabWithPod : protected Lab {
 protected:
  LabWithPod() {
    settings_.settings.pod = NameOfPod();
    settings_.settings.grace_period = Duration(0);
  }
};

class JudgeTest : public testing::Test, protected LabWithPod {
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

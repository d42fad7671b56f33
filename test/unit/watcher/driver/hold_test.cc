#include "watcher/driver/hold.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "test/unit/support/driver_lab.h"

namespace cluster_watcher {
namespace {

using std::chrono::hours;

constexpr const char* kNamespace = "/api/v1/namespaces/lab";

class HoldTest : public DriverLab {
 protected:
  HoldTest() {
    settings_.settings.cluster = "spark";
    settings_.settings.owner.reset();
  }
  std::string Said(const DriverOutcome& outcome) {
    return outcome.exit == DriverExit::kDone ? outcome.said : "error: " + outcome.error;
  }
  std::string HoldIt(const HoldTarget& target, const std::string& reason = "") {
    return HoldIt(target, {hours(24), reason});
  }
  std::string HoldIt(const HoldTarget& target, const HoldOrder& order) {
    SettingsInForce settings(settings_, [this](const TextMap&) { return settings_; });
    Observer observer(client_, discovery_, clock_, settings);
    return Said(WriteHold(tools_, observer, target, order));
  }
  std::string UnholdIt(const HoldTarget& target) {
    SettingsInForce settings(settings_, [this](const TextMap&) { return settings_; });
    Observer observer(client_, discovery_, clock_, settings);
    return Said(TakeHoldOff(tools_, observer, target));
  }
  const HoldTarget spark_{cluster_};
  const HoldTarget all_{{"lab", DefaultProfile(), ""}};
};

TEST_F(HoldTest, SaysUntilWhenAndWhatWouldHaveHappened) {
  MakeEphemeral("deployment.apps/bob");
  const std::string said = HoldIt(spark_);
  EXPECT_TRUE(said.starts_with("cluster spark is held until 2026-12-25T00:00:")) << said;
  EXPECT_NE(said.find("; otherwise it would be kept (active)"), std::string::npos) << said;
  EXPECT_TRUE(Mark("hold-until").starts_with("2026-12-25T00:00:"));
  Delete(kDriver);
  kubernetes_.Settle();
  EXPECT_NE(HoldIt(spark_).find("; otherwise it would be deleted (owner-absent)"),
            std::string::npos);
}

// A machine that was suspended may say an hour that is over for all who count.
TEST_F(HoldTest, TheTimeIsTheApiServers) {
  TestClock behind;
  behind.suspended = -hours(3);
  SettingsInForce settings(settings_, [this](const TextMap&) { return settings_; });
  Observer observer(client_, discovery_, clock_, settings);
  for (const HoldTarget& target : {spark_, all_}) {
    const std::string said =
        Said(WriteHold({client_, discovery_, behind, {}}, observer, target, {hours(2), "", true}));
    EXPECT_NE(said.find(" is held until 2026-12-24T02:00:"), std::string::npos) << said;
  }
}

TEST_F(HoldTest, TheReasonStandsBesideItAndGoesWithIt) {
  HoldIt(spark_, "a demo at noon");
  EXPECT_EQ(Mark("hold-reason"), "a demo at noon");
  const std::string said = HoldIt(spark_);
  EXPECT_EQ(Mark("hold-reason"), "");
  HoldIt(spark_, "a demo at noon");
  EXPECT_TRUE(UnholdIt(spark_).starts_with("cluster spark is no longer held; it is kept (shared)"));
  EXPECT_EQ(Mark("hold-until") + Mark("hold-reason"), "");
  EXPECT_TRUE(UnholdIt(spark_).starts_with("cluster spark was not held; "));
}

TEST_F(HoldTest, AHoldThatEndsLaterStaysUnlessItIsOverwritten) {
  for (const auto& [later, said] :
       {std::pair("2027-01-01T00:00:00Z", "2027-01-01T00:00:00Z already"),
        std::pair("for ever", "\"for ever\", which is no time, is changed")}) {
    Annotate(kRoot, "hold-until", later);
    EXPECT_TRUE(HoldIt(spark_, "x")
                    .starts_with(std::string("cluster spark is held until ") + said +
                                 "; --overwrite makes that 2026-"));
    EXPECT_EQ(Mark("hold-until") + Mark("hold-reason"), later);
  }
  HoldIt(spark_, {hours(24), "", true});
  EXPECT_TRUE(Mark("hold-until").starts_with("2026-12-25T00:00:"));
}

TEST_F(HoldTest, ADeletionThatWasBegunIsNotSaidToBeHeld) {
  MarkRoot("phase", "deleting");
  EXPECT_NE(HoldIt(spark_).find("its deletion was begun before: what is gone by then is gone"),
            std::string::npos);
}

TEST_F(HoldTest, ANamespaceIsHeld) {
  const std::string said = HoldIt(all_);
  EXPECT_TRUE(said.starts_with("namespace lab is held until 2026-12-25T00:00:")) << said;
  const auto held = [this] {
    return Read(kNamespace).body.find("hold-until") != std::string::npos;
  };
  EXPECT_TRUE(held());
  EXPECT_NE(UnholdIt(spark_).find("held"), std::string::npos) << "the namespace still holds it";
  EXPECT_EQ(UnholdIt(all_), "namespace lab is no longer held");
  EXPECT_FALSE(held());
}

TEST_F(HoldTest, WhatIsNotThereIsNamed) {
  EXPECT_EQ(HoldIt({{"lab", DefaultProfile(), "none"}}), "error: no cluster none in namespace lab");
  Delete(kRoot);
  kubernetes_.Settle();
  EXPECT_TRUE(HoldIt(spark_).starts_with("error: cluster spark has no master to hold it by"));
}

TEST_F(HoldTest, AnotherDriverIsNamedAsWell) {
  MakeEphemeral("deployment.apps/bob");
  MakeWorkload("alice", R"("uses-oshinko-cluster":"spark",)");
  Delete(kDriver);
  kubernetes_.Settle();
  EXPECT_NE(HoldIt(spark_).find("; otherwise it would be kept (in-use)"), std::string::npos);
  Delete("/apis/apps/v1/namespaces/lab/deployments/alice");
  kubernetes_.Settle();
  EXPECT_NE(UnholdIt(spark_).find("; it will be deleted (owner-absent)"), std::string::npos);
}

TEST_F(HoldTest, OnlyConflictsAreTriedAgain) {
  int writes = 0;
  int conflicts = 1;
  int changes = 0;
  bool inside = false;
  kubernetes_.on_request = [&](const small_kubernetes::Request& request,
                               const small_kubernetes::User&) {
    if (request.method != "PATCH" || std::exchange(inside, true)) return;
    if (++writes <= conflicts) Annotate(kRoot, "x", std::to_string(++changes));
    inside = false;
  };
  EXPECT_TRUE(HoldIt(spark_).starts_with("cluster spark is held until "));
  EXPECT_EQ(writes, 2);
  writes = 0;
  conflicts = 100;
  EXPECT_TRUE(HoldIt(spark_).starts_with("error: "));
  EXPECT_EQ(writes, 10);
  writes = conflicts = 0;
  Refuse("PATCH", kRoot, 403);
  EXPECT_TRUE(HoldIt(spark_).starts_with("error: "));
  EXPECT_TRUE(UnholdIt(spark_).starts_with("error: "));
  EXPECT_EQ(writes, 2);
}

TEST_F(HoldTest, OfSeveralMastersNoneIsHeld) {
  MakeWorkload("spark-m2", R"("oshinko-cluster":"spark","oshinko-type":"master",)");
  kubernetes_.Settle();
  EXPECT_TRUE(HoldIt(spark_).starts_with("error: cluster spark has several masters, "));
}

}  // namespace
}  // namespace cluster_watcher

// Who goes on with a deletion that was begun before, and what an admission policy holds.
#include "watcher/deletion/reaper.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "test/unit/support/reaper_lab.h"

namespace cluster_watcher {
namespace {

using small_kubernetes::Request;
using small_kubernetes::User;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using Outcome = Reaper::Outcome;

class ReaperTest : public ReaperLab {
 protected:
  // Another watcher has begun this long ago, and its pod is gone.
  Snapshot LookAtOthers(Duration ago = seconds(1)) {
    WriteMarks(ago);
    GiveMarksAway("deleting");
    return observer_->SureLook({});
  }
  Outcome TakeOver(const Snapshot& look) { return reaper_->Resume(me_, look, stop_.get_token()); }
  bool IsNoted(const std::string& text) { return Notes().find(text) != std::string::npos; }
};

TEST_F(ReaperTest, DeletesAWholeCluster) {
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_FALSE(MapExists("spark-config"));
  EXPECT_FALSE(Exists(kRoot));
}

// --- A resumption: marks are no evidence.

// Killed anywhere, or the marks are forged, or were brought back by a rollback.
TEST_F(ReaperTest, WhoseDriverIsBackIsKeptWhateverItsMarksSay) {
  for (const bool is_half : {false, true}) {
    SCOPED_TRACE(is_half);
    WriteMarks(minutes(1));
    if (is_half) Delete(kMaps + std::string("/spark-config"));
    StartWatcher();
    EXPECT_EQ(Resume(), Outcome::kSpared);
    EXPECT_EQ(Deletes(), 0u);
    EXPECT_EQ(Mark("phase") + Mark("condemned-by") + Mark("deleting-since"), "");
    EXPECT_TRUE(IsNoted(me_.ToText() + " had begun to delete it")) << Notes();
    EXPECT_TRUE(IsNoted("\"Warning\""));
  }
}

TEST_F(ReaperTest, ItWaitsWhereItCannotRead) {
  WriteMarks();
  Delete(kDriver);
  Refuse("GET", "name%3Dbob", 503);
  EXPECT_EQ(Resume(), Outcome::kSpared);
  EXPECT_EQ(Mark("phase"), "deleting");
  EXPECT_EQ(Deletes(), 0u);
  EXPECT_FALSE(IsNoted("ClusterSpared")) << Notes();
  kubernetes_.GetFaults().Clear();
  EXPECT_EQ(Resume(), Outcome::kDone);
}

TEST_F(ReaperTest, AnAbandonedClusterGoesOnWithATimeOfItsOwn) {
  for (const bool own : {true, false}) {
    SCOPED_TRACE(own);
    MakeHeld();
    const Snapshot look = own ? (WriteMarks(hours(1)), observer_->SureLook({})) : LookAtOthers();
    Delete(kDriver);
    const Duration began = clock_.elapsed;
    std::string by, since, at;
    Before("DELETE", "/spark-config", 1, [&] {
      by = Mark("condemned-by");
      since = Mark("deleting-since");
      at = FormatTime(clock_.WallNow());
    });
    EXPECT_EQ(TakeOver(look), Outcome::kDone);
    EXPECT_EQ(by, me_.ToText());
    EXPECT_EQ(since, at);
    EXPECT_GE(clock_.elapsed - began, minutes(10)) << "its deadline counts from there";
    EXPECT_EQ(IsNoted("taken over"), !own);
    Release();
    MakeRoot();
    MakeMap("spark-config");
    MakeDriver();
    StartWatcher();
  }
}

// Some of what the other one has sent may still be on its way.
TEST_F(ReaperTest, WhoTakesOverLooksFiveSecondsLater) {
  const Snapshot look = LookAtOthers();
  const Duration began = clock_.elapsed;
  kubernetes_.on_request = [&](const Request& request, const User&) {
    if (request.target.find("name%3Dbob") == std::string::npos) return;
    EXPECT_GE(clock_.elapsed - began, seconds(5));
  };
  Before("PATCH", "/spark-m", 2, [] {});
  Delete(kDriver);
  EXPECT_EQ(TakeOver(look), Outcome::kDone);
  EXPECT_GE(clock_.elapsed - began, seconds(5));
}

TEST_F(ReaperTest, WhoIsToldToStopWhileItTakesOverBeginsNothing) {
  const Snapshot look = LookAtOthers();
  Delete(kDriver);
  clock_.At(clock_.elapsed + seconds(2), [this] { stop_.request_stop(); });
  EXPECT_EQ(TakeOver(look), Outcome::kSpared);
  EXPECT_EQ(Deletes(), 0u);
  EXPECT_EQ(Mark("condemned-by"), me_.ToText()) << "which is resumed, or taken over again";
}

TEST_F(ReaperTest, WhatCannotBeTakenOverIsLeft) {
  for (const bool conflict : {true, false}) {
    const Snapshot look = LookAtOthers();
    if (conflict) Annotate(kRoot, "condemned-by", "third/1");
    if (!conflict) Refuse("PATCH", "spark-m", 403);
    EXPECT_EQ(TakeOver(look), Outcome::kSpared);
    EXPECT_EQ(Deletes(), 0u);
    EXPECT_EQ(Mark("condemned-by"), conflict ? "third/1" : kOther);
  }
}

// A third one must not see a deletion that is overdue.
TEST_F(ReaperTest, WhoTakesOverSaysSinceWhen) {
  const Snapshot look = LookAtOthers(hours(1));
  std::string since;
  clock_.At(clock_.elapsed + seconds(1), [&] { since = Mark("deleting-since"); });
  const std::string now = FormatTime(clock_.WallNow());
  TakeOver(look);
  EXPECT_EQ(since, now);
}

TEST_F(ReaperTest, ARootThatTerminatesAlreadyIsNoException) {
  WriteMarks();
  HoldRoot();
  Delete(kRoot);
  StartWatcher();
  EXPECT_EQ(Resume(), Outcome::kSpared) << "its driver is there";
  EXPECT_TRUE(MapExists("spark-config"));
  EXPECT_EQ(Mark("phase"), "");
  WriteMarks();
  Delete(kDriver);
  EXPECT_EQ(Resume(), Outcome::kDone);
  EXPECT_FALSE(MapExists("spark-config"));
}

TEST_F(ReaperTest, AnOwnerThatWasNeverSeenNeedNotBeNamed) {
  WriteMarks();
  Patch(kRoot, R"({"metadata":{"annotations":{"cluster-watcher/recorded-owner":null}}})");
  Delete(kDriver);
  StartWatcher();
  EXPECT_EQ(Resume(), Outcome::kDone);
  EXPECT_FALSE(Exists(kRoot));
}

TEST_F(ReaperTest, OnlyTheOwnerThatTheMarksNameCounts) {
  WriteMarks();
  RecordedOwner other = *observer_->SureLook({}).seen;
  other.uid = "other";
  EXPECT_TRUE(MasterRoot(client_, *observer_->SureLook({}).root).WriteMarks(OwnerMarks(other)));
  Delete(kDriver);
  EXPECT_EQ(Resume(), Outcome::kSpared);
  EXPECT_EQ(Deletes(), 0u);
  EXPECT_EQ(Mark("phase"), "");
}

TEST_F(ReaperTest, AStepThatWasRunIsNotRunAgain) {
  Annotate(kRoot, "before-delete", kStep);
  Annotate(kRoot, "after-delete", kStep);
  WriteMarks();
  Annotate(kRoot, "steps-done", R"([\"before-delete/a\"])");
  Delete(kDriver);
  int runs = 0;
  during_step_ = [&] { ++runs; };
  EXPECT_EQ(Resume(), Outcome::kDone);
  EXPECT_EQ(runs, 1) << "the one after";
}

TEST_F(ReaperTest, ARootThatIsToBeKeptSinceThenStays) {
  WriteMarks();
  Delete(kDriver);
  Annotate(kRoot, "keep", "true");
  EXPECT_EQ(Resume(), Outcome::kSpared);
  EXPECT_EQ(Deletes(), 0u);
  EXPECT_EQ(Mark("phase"), "");
  EXPECT_FALSE(IsNoted("ClusterDeleting"));
}

// A husk that this watcher, or an earlier one, waited for.
TEST_F(ReaperTest, ARestartedWatcherKnowsARootThatAFinalizerHoldsByItsMarks) {
  WriteMarks();
  Delete(kDriver);
  Delete(kMaps + std::string("/spark-config"));
  HoldRoot();
  Delete(kRoot);
  StartWatcher();
  EXPECT_EQ(Resume(), Outcome::kDone);
  EXPECT_EQ(PodsOf("spark-m"), 0u);
  EXPECT_TRUE(IsNoted("example.com/held")) << Notes();
}

// Nothing is deleted on the strength of marks that could not be taken off.
TEST_F(ReaperTest, MarksThatCouldNotBeTakenOffComeOffLater) {
  WriteMarks();
  Refuse("PATCH", "spark-m", 503);
  EXPECT_EQ(Resume(), Outcome::kSpared);
  EXPECT_EQ(Mark("phase"), "deleting");
  Delete(kDriver);
  EXPECT_EQ(Resume(), Outcome::kSpared);
  kubernetes_.GetFaults().Clear();
  EXPECT_EQ(Resume(), Outcome::kSpared);
  EXPECT_EQ(Mark("phase"), "");
  EXPECT_EQ(Deletes(), 0u);
}

// --- The brake.

TEST_F(ReaperTest, TheBrakeIsAHoldForWhatIsToBeCondemned) {
  kubernetes_.brake = true;
  EXPECT_EQ(Condemn(), Outcome::kSpared);
  EXPECT_TRUE(reaper_->is_refused_by_policy());
  EXPECT_EQ(Refusals("hold"), 1);
  EXPECT_TRUE(IsNoted("the brake of cluster-watcher is on"));
  kubernetes_.brake = false;
  EXPECT_EQ(CondemnNow(), Outcome::kDone);
  EXPECT_FALSE(reaper_->is_refused_by_policy());
}

TEST_F(ReaperTest, WhatIsOnlyCondemnedIsSparedByTheBrake) {
  Before("PATCH", "spark-m", 2, [&] { kubernetes_.brake = true; });
  EXPECT_EQ(Condemn(), Outcome::kSpared);
  EXPECT_EQ(Mark("phase"), "") << "marks may be taken off";
  EXPECT_EQ(Deletes(), 0u);
  EXPECT_EQ(Refusals("hold"), 1);
}

// A member's delete, or the root's.
TEST_F(ReaperTest, TheBrakeStopsADeletionWhichGoesOnByItselfAndInItsOwnTime) {
  for (const char* which : {"/other", "/spark-m"}) {
    SCOPED_TRACE(which);
    MakeMap("other");
    RecordOwner();
    Before("DELETE", which, 1, [&] { kubernetes_.brake = true; });
    EXPECT_EQ(Condemn(), Outcome::kSpared);
    EXPECT_TRUE(reaper_->is_refused_by_policy());
    EXPECT_EQ(Mark("phase"), "deleting") << "what was begun will be finished";
    const std::string since = Mark("deleting-since");
    const std::size_t deletes = Deletes();
    AnHourPasses();
    EXPECT_EQ(Resume(), Outcome::kSpared);
    EXPECT_EQ(Deletes(), deletes);
    kubernetes_.brake = false;
    std::string renewed;
    Before("DELETE", "", 1, [&] { renewed = Mark("deleting-since"); });
    EXPECT_EQ(Resume(), Outcome::kDone);
    EXPECT_GT(renewed, since) << "before the next delete";
    EXPECT_FALSE(reaper_->is_refused_by_policy());
    kubernetes_.on_request = nullptr;
    MakeRoot();
    MakeMap("spark-config");
    MakeDriver();
    StartWatcher();
  }
}

// Only what refuses marks too stops all.
class ProtectingPolicyTest : public ReaperTest, public testing::WithParamInterface<int> {};

// A webhook refuses with what status it likes.
INSTANTIATE_TEST_SUITE_P(Of, ProtectingPolicyTest, testing::Values(403, 409, 413, 422));

TEST_P(ProtectingPolicyTest, OfOneMemberHoldsUpNothingElse) {
  MakeMap("other");
  small_kubernetes::Fault fault;
  fault.method = "DELETE";
  fault.contains = "/other";
  fault.times = 0;
  fault.response = {GetParam(),
                    R"({"kind":"Status","apiVersion":"v1","status":"Failure",)"
                    R"("message":"admission webhook \"protect.example.com\" )"
                    R"(denied the request: other stays"})",
                    "application/json", std::nullopt};
  kubernetes_.GetFaults().Add(fault);
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_FALSE(Exists(kRoot));
  EXPECT_FALSE(MapExists("spark-config"));
  EXPECT_TRUE(MapExists("other"));
  EXPECT_TRUE(IsNoted("other stays")) << Notes();
}

TEST_F(ReaperTest, BehindTheBrakeItIsJudgedAgain) {
  RecordOwner();
  Before("DELETE", "", 1, [&] { kubernetes_.brake = true; });
  EXPECT_EQ(Condemn(), Outcome::kSpared);
  MakeDriver();
  EXPECT_EQ(Resume(), Outcome::kSpared);
  EXPECT_EQ(Mark("phase"), "deleting");
  kubernetes_.brake = false;
  EXPECT_EQ(Resume(), Outcome::kSpared);
  EXPECT_EQ(Mark("phase"), "");
  EXPECT_TRUE(MapExists("spark-config"));
}

// A watcher that starts under the brake doesn't know of it.
TEST_F(ReaperTest, NoStepsRunUnderTheBrake) {
  Annotate(kRoot, "before-delete", kStep);
  WriteMarks();
  Delete(kDriver);
  int runs = 0;
  during_step_ = [&] { ++runs; };
  kubernetes_.brake = true;
  StartWatcher();
  EXPECT_EQ(Resume(), Outcome::kSpared);
  EXPECT_EQ(Resume(), Outcome::kSpared);
  EXPECT_EQ(Deletes(), 0u);
  EXPECT_EQ(runs, 0);
  EXPECT_EQ(Mark("phase"), "deleting");
  EXPECT_EQ(Refusals("hold"), 1) << "said once";
  kubernetes_.brake = false;
  EXPECT_EQ(Resume(), Outcome::kDone);
  EXPECT_EQ(runs, 1);
}

// It doesn't end by itself, so it is a missing right, until the deadline.
TEST_F(ReaperTest, WhatTheGuardRefusesIsNoHold) {
  RefuseByGuard("DELETE", "/spark-config");
  EndAfter(hours(1));
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_GE(clock_.elapsed, minutes(10));
  EXPECT_EQ(Refusals("hold"), 0);
}

TEST_F(ReaperTest, APointOfNoReturnThatMayNotBeWrittenIsNotTriedForEver) {
  Refuse("PATCH", "spark-m", 403, 1);
  EXPECT_EQ(Condemn(), Outcome::kSpared);
  EXPECT_LE(kubernetes_.Count("PATCH"), 4u);
  EXPECT_EQ(Deletes(), 0u);
}

}  // namespace
}  // namespace cluster_watcher

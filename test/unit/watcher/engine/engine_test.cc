#include "watcher/engine/engine.h"

#include <gtest/gtest.h>
#include <spdlog/sinks/null_sink.h>

#include <functional>
#include <memory>
#include <string>

#include "probes/base/time_text.h"
#include "test/unit/support/fake_transport.h"
#include "test/unit/support/lab.h"
#include "watcher/loop/owner_record.h"

namespace cluster_watcher {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using Outcome = Engine::Outcome;

// The settings must be complete before somebody reads them.
class LabWithPod : protected Lab {
 protected:
  LabWithPod() { settings_.settings.pod = NameOfPod(); }
};

class EngineTest : public testing::Test, protected LabWithPod {
 protected:
  Outcome Act() {
    const Snapshot look = observer_.SureLook({});
    const Decision decision = Decide(look.facts);
    const WatcherId me{look.pod->meta.name, look.pod->meta.uid};
    return engine_.CarryOut(engine_.Next(me, look, decision, {}), me, look, decision, {});
  }
  std::string UidOf(const std::string& path) {
    const auto object = JsonDocument::Parse(Read(path).body);
    return std::string(object->root()["metadata"]["uid"].AsString().value_or(""));
  }
  // "POD/UID" of this watcher.
  std::string Me() {
    const std::string& pod = settings_.settings.pod;
    return pod + "/" + UidOf(std::string(kPods) + "/" + pod);
  }
  // Another watcher's pod, which lives: "other/UID".
  std::string MakeOther() {
    kubernetes_.Apply(
        R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"other","namespace":"lab"},)"
        R"("spec":{"nodeName":"elsewhere","containers":[{"name":"main","image":"x"}]}})");
    return "other/" + UidOf(std::string(kPods) + "/other");
  }
  // Writes the marks of `by`, as it would.
  void MarkCondemned(const std::string& by) {
    Annotate(kRoot, "root-uid", UidOf(kRoot));
    Annotate(kRoot, "phase", "condemned");
    Annotate(kRoot, "condemned-by", by);
  }
  void MarkDeleting(const std::string& by, Duration ago) {
    MarkCondemned(by);
    Annotate(kRoot, "phase", "deleting");
    Annotate(kRoot, "deleting-since", FormatTime(clock_.WallNow() - ago));
  }
  // Since when can't be told.
  void MarkDeletingSinceYesterday(const std::string& by) {
    MarkDeleting(by, Duration(0));
    Annotate(kRoot, "deleting-since", "yesterday");
  }
  void TakeMarksOff() {
    EXPECT_TRUE(
        MasterRoot(client_, *observer_.SureLook({}).root).WriteMarks(WithoutProtocolMarks()));
  }
  // The owner is known, and is gone.
  void LoseDriver() {
    const Snapshot look = observer_.SureLook({});
    OwnerRecord(tools_).Write(look, Decide(look.facts), look.seen);
    Delete(kDriver);
  }

  static constexpr const char* kPods = "/api/v1/namespaces/lab/pods";

  Log log_{LogLevel::kDebug, LogFormat::kText, std::make_shared<spdlog::sinks::null_sink_st>()};
  EventRecorder events_{client_, clock_, log_.logger(), "test"};
  Announcer announcer_{events_, clock_, log_};
  SettingsInForce in_force_{settings_, [this](const TextMap&) { return settings_; }};
  Observer observer_{client_, discovery_, clock_, in_force_};
  Tools tools_{client_, discovery_, clock_, in_force_, metrics_, log_.logger(), [](Duration) {}};
  Engine engine_{tools_,
                 observer_,
                 announcer_,
                 [](const std::string&) -> Result<std::unique_ptr<Transport>> {
                   return std::unique_ptr<Transport>(std::make_unique<FakeTransport>());
                 },
                 StepsAt::kMaster,
                 Caller::kWatcher};
};

// Its pod can't be asked for, and its mark doesn't say since when: it counts from when it was seen.
TEST_F(EngineTest, ADeletionOfUnknownAgeBlocksNothingForEver) {
  for (const char* since : {"2126-01-01T00:00:00Z", "yesterday"}) {
    SCOPED_TRACE(since);
    MarkDeleting("cli/x", Duration(0));
    Annotate(kRoot, "deleting-since", since);
    EXPECT_EQ(Act(), Outcome::kWaits);
    EXPECT_EQ(Mark("condemned-by"), "cli/x");
    clock_.elapsed += in_force_->delete_deadline + minutes(2);
    EXPECT_EQ(Act(), Outcome::kWaits);
    EXPECT_EQ(Mark("phase"), "") << "it was judged again, and its driver is there";
    EXPECT_TRUE(Exists(kRoot));
  }
}

TEST_F(EngineTest, MarksOfAnotherObjectAreTakenOff) {
  MarkDeleting(Me(), seconds(1));
  Annotate(kRoot, "root-uid", "another");
  EXPECT_EQ(Act(), Outcome::kMarked);
  EXPECT_EQ(Mark("phase") + Mark("condemned-by"), "");
}

TEST_F(EngineTest, WhatIsRefusedForGoodIsKnown) {
  const auto is_refused_after = [this](int status) {
    if (status != 200) Refuse("PATCH", "spark-m", status);
    MarkCondemned("gone/1");
    Annotate(kRoot, "root-uid", "another");
    EXPECT_EQ(Act(), status == 200 ? Outcome::kMarked : Outcome::kKept);
    kubernetes_.GetFaults().Clear();
    return engine_.is_refused();
  };
  EXPECT_FALSE(is_refused_after(503));
  EXPECT_TRUE(is_refused_after(403));
  EXPECT_FALSE(is_refused_after(200));
}

// --- A condemnation.

TEST_F(EngineTest, VerdictsOfBeforeDoNotCount) {
  LoseDriver();
  const auto count_after = [this](const std::function<void()>& marks) {
    engine_.Decide(observer_.SureLook({}), {});
    EXPECT_EQ(engine_.judge().confirmation().count(), 1);
    marks();
    EXPECT_EQ(Act(), Outcome::kWaits);
    return engine_.judge().confirmation().count();
  };
  EXPECT_EQ(count_after([this] { MarkCondemned("cli/x"); }), 0);
  TakeMarksOff();
  const auto mark_unreadable = [this] {
    MarkDeleting(Me(), std::chrono::hours(1));
    Refuse("GET", "name%3Dbob", 503);
  };
  EXPECT_EQ(count_after(mark_unreadable), 0);
}

TEST_F(EngineTest, ACondemnationThatIsWrittenAgainHasAMinuteOfItsOwn) {
  MarkCondemned("cli/x");
  EXPECT_EQ(Act(), Outcome::kWaits);
  TakeMarksOff();
  EXPECT_EQ(Act(), Outcome::kKept);
  clock_.elapsed += minutes(2);
  MarkCondemned("cli/x");
  EXPECT_EQ(Act(), Outcome::kWaits);
  EXPECT_EQ(Mark("condemned-by"), "cli/x");
}

TEST_F(EngineTest, ACondemnationThatCannotBeTakenOffIsNotSaidToBe) {
  Refuse("PATCH", "spark-m", 403);
  MarkCondemned("gone/1");
  EXPECT_EQ(Act(), Outcome::kWaits);
  EXPECT_EQ(kubernetes_.Count("POST", "/events"), 0u);
}

TEST_F(EngineTest, OnesOwnCondemnationIsTakenOffAtOnce) {
  MarkCondemned(Me());
  EXPECT_EQ(Act(), Outcome::kWaits);
  EXPECT_EQ(Mark("phase"), "");
}

TEST_F(EngineTest, ACondemnationIsLeftForAMinuteAndEachOneForItsOwn) {
  const std::string other = MakeOther();
  for (const std::string& by : {std::string("cli/x"), other}) {
    MarkCondemned(by);
    EXPECT_EQ(Act(), Outcome::kWaits);
    EXPECT_EQ(Mark("condemned-by"), by);
    clock_.elapsed += seconds(59);
    EXPECT_EQ(Act(), Outcome::kWaits);
    EXPECT_EQ(Mark("condemned-by"), by);
  }
  clock_.elapsed += seconds(1);
  EXPECT_EQ(Act(), Outcome::kWaits);
  EXPECT_EQ(Mark("phase"), "");
}

TEST_F(EngineTest, ACondemnationOfAPodThatIsGoneIsTakenOffAtOnce) {
  const std::string other = MakeOther();
  const auto phase_after = [this](const std::string& by) {
    MarkCondemned(by);
    EXPECT_EQ(Act(), Outcome::kWaits);
    return Mark("phase");
  };
  EXPECT_EQ(phase_after("gone/1"), "");
  EXPECT_EQ(phase_after("other/1"), "") << "another pod of that name";
  EXPECT_EQ(phase_after(other), "condemned");
  for (const char* ended : {"Failed", "Succeeded"}) {
    Patch(std::string(kPods) + "/other/status",
          R"({"status":{"phase":")" + std::string(ended) + "\"}}");
    EXPECT_EQ(phase_after(other), "") << ended;
  }
}

TEST_F(EngineTest, APodThatCannotBeReadIsNotGone) {
  for (const int status : {403, 410, 500, 503}) {
    Refuse("GET", "/pods/gone", status);
    MarkCondemned("gone/" + std::to_string(status));
    EXPECT_EQ(Act(), Outcome::kWaits);
    EXPECT_EQ(Mark("phase"), "condemned") << status;
    kubernetes_.GetFaults().Clear();
  }
}

// --- A deletion. One that is taken over is judged again, and the driver is there.

TEST_F(EngineTest, ADeletionIsTakenOverOnlyFromOneWhosePodIsDefinitelyGone) {
  const std::string other = MakeOther();
  const auto phase_after = [this](const std::string& by) {
    MarkDeleting(by, minutes(9));
    EXPECT_EQ(Act(), Outcome::kWaits);
    return Mark("phase");
  };
  EXPECT_EQ(phase_after(other), "deleting");
  EXPECT_EQ(phase_after("cli/x"), "deleting");
  EXPECT_EQ(Mark("condemned-by"), "cli/x");
  for (const int status : {403, 410, 503}) {
    Refuse("GET", "/pods/gone", status);
    EXPECT_EQ(phase_after("gone/1"), "deleting") << status;
    kubernetes_.GetFaults().Clear();
  }
  EXPECT_EQ(phase_after("gone/1"), "");
  EXPECT_EQ(phase_after("other/1"), "") << "another pod of that name";
  for (const char* ended : {"Failed", "Succeeded"}) {
    Patch(std::string(kPods) + "/other/status",
          R"({"status":{"phase":")" + std::string(ended) + "\"}}");
    EXPECT_EQ(phase_after(other), "") << ended;
  }
}

TEST_F(EngineTest, AnOverdueDeletionIsTakenOverFromAnybody) {
  for (const std::string& by : {MakeOther(), std::string("cli/x")}) {
    MarkDeleting(by, in_force_->delete_deadline - seconds(1));
    EXPECT_EQ(Act(), Outcome::kWaits);
    EXPECT_EQ(Mark("condemned-by"), by);
    MarkDeleting(by, in_force_->delete_deadline + seconds(1));
    EXPECT_EQ(Act(), Outcome::kWaits);
    EXPECT_EQ(Mark("phase"), "") << by;
  }
}

// It has a time of its own, so that it isn't overdue.
TEST_F(EngineTest, ADeletionIsNotTakenBackFromWhoTookItOver) {
  LoseDriver();
  MarkDeleting("gone/1", std::chrono::hours(1));
  std::string by, since;
  clock_.At(clock_.elapsed + seconds(1), [&] {
    by = Mark("condemned-by");
    since = Mark("deleting-since");
  });
  const std::string now = FormatTime(clock_.WallNow());
  const std::string me = Me();
  EXPECT_EQ(Act(), Outcome::kDone);
  EXPECT_EQ(by, me);
  EXPECT_EQ(since, now);
}

TEST_F(EngineTest, OnesOwnDeletionIsResumedAtOnceHoweverOldItIs) {
  LoseDriver();
  MarkDeleting(Me(), std::chrono::hours(24 * 30));
  EXPECT_EQ(Act(), Outcome::kDone);
  EXPECT_FALSE(Exists(kRoot));
}

// As long as it is seen to be the same one's, and in one go.
TEST_F(EngineTest, TheAgeOfADeletionCountsForEachByItself) {
  const Duration most = in_force_->delete_deadline - minutes(1);
  MarkDeletingSinceYesterday("cli/x");
  EXPECT_EQ(Act(), Outcome::kWaits);
  clock_.elapsed += most;
  MarkDeletingSinceYesterday("cli/y");
  EXPECT_EQ(Act(), Outcome::kWaits);
  clock_.elapsed += most;
  EXPECT_EQ(Act(), Outcome::kWaits);
  EXPECT_EQ(Mark("condemned-by"), "cli/y");
  TakeMarksOff();
  EXPECT_EQ(Act(), Outcome::kKept);
  clock_.elapsed += most;
  MarkDeletingSinceYesterday("cli/y");
  EXPECT_EQ(Act(), Outcome::kWaits);
  EXPECT_EQ(Mark("condemned-by"), "cli/y");
}

TEST_F(EngineTest, TheDeletionOfAnotherClusterIsLeftAlone) {
  MarkDeleting("gone/1", minutes(20));
  observer_.SureLook({});
  Patch(kRoot, R"({"metadata":{"labels":{"oshinko-cluster":"other"}}})");
  EXPECT_EQ(Act(), Outcome::kKept);
  EXPECT_EQ(Mark("condemned-by"), "gone/1");
}

}  // namespace
}  // namespace cluster_watcher

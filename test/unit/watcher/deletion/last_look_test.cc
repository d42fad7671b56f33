// What stops a deletion before its first delete, and who goes on with one that was begun.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "test/unit/support/reaper_lab.h"

namespace cluster_watcher {
namespace {

using small_kubernetes::Fault;
using small_kubernetes::Request;
using small_kubernetes::Response;
using small_kubernetes::User;
using std::chrono::minutes;
using std::chrono::seconds;

class LastLookTest : public ReaperLab {
 protected:
  std::size_t Patches() { return MarksWritten(); }
  // The root is changed before each write of ours from the `first` on.
  void ConflictFrom(int first) {
    kubernetes_.on_request = [this, first, seen = 0](const Request& request, const User&) mutable {
      if (request.method != "PATCH" || !request.target.starts_with(kRoot)) return;
      if (++seen >= first) Annotate(kRoot, "n", std::to_string(seen));
    };
  }
  void RecordOwner() {
    const Snapshot look = observer_->SureLook({});
    EXPECT_TRUE(MasterRoot(client_, *look.root).WriteMarks(OwnerMarks(*look.seen)));
  }
  // Another watcher has begun to delete `first`, this long ago, and its pod is gone.
  Snapshot LookAtOthers(const std::string& first, Duration ago) {
    WriteMarks(first, ago);
    GiveMarksAway("deleting");
    Snapshot snapshot = observer_->SureLook({});
    me_ = {snapshot.pod->meta.name, snapshot.pod->meta.uid};
    return snapshot;
  }
};

TEST_F(LastLookTest, ARootThatIsTakenDownIsNotCondemned) {
  HoldRoot();
  observer_->SureLook({});
  Delete(kDriver);
  Delete(kRoot);
  EXPECT_EQ(CondemnNow(), Reaper::Outcome::kSpared);
  EXPECT_EQ(Patches(), 0u);
}

TEST_F(LastLookTest, WhatCouldNotBeCondemnedIsNotAnnounced) {
  Refuse("PATCH", "spark-m", 403);
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  EXPECT_EQ(Patches(), 1u);
  EXPECT_EQ(Notes().find("ClusterCondemned"), std::string::npos);
}

TEST_F(LastLookTest, StepsThatAnEarlierDeletionRanAreRunAgain) {
  Annotate(kRoot, "before-delete", kStep);
  const Snapshot look = observer_->SureLook({});
  EXPECT_TRUE(MasterRoot(client_, *look.root)
                  .WriteMarks({{annotation::kStepsDone, R"(["before-delete/a"])"}}));
  int runs = 0;
  during_step_ = [&] { ++runs; };
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_EQ(runs, 1);
}

TEST_F(LastLookTest, ARootThatIsTakenDownMeanwhileSparesTheMembers) {
  HoldRoot();
  After("PATCH", "spark-m", 1, [this] { Delete(kRoot); });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  EXPECT_EQ(Deletes(), 0u);
}

TEST_F(LastLookTest, APodThatIsToldToStopMeanwhileSparesTheCluster) {
  const std::string pod = "/api/v1/namespaces/lab/pods/" + settings_.settings.pod;
  kubernetes_.Admin("PATCH", pod, R"({"metadata":{"finalizers":["example.com/held"]}})",
                    "application/merge-patch+json");
  After("PATCH", "spark-m", 1, [&] { Delete(pod); });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  EXPECT_EQ(Deletes(), 0u);
  EXPECT_EQ(Mark("phase"), "");
}

TEST_F(LastLookTest, AnotherOwnerThatIsGoneIsJudgedFromTheBeginning) {
  After("PATCH", "spark-m", 1, [this] {
    MakeDriver();
    observer_->Adopt(observer_->SureLook({}));
    Delete(kDriver);
  });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  EXPECT_EQ(Deletes(), 0u);
  EXPECT_NE(Notes().find("another one now"), std::string::npos) << Notes();
}

TEST_F(LastLookTest, ADeletionThatAnotherWatcherHasTakenOverIsLeftToIt) {
  After("PATCH", "spark-m", 1, [this] { GiveMarksAway("deleting"); });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kOvertaken);
  EXPECT_EQ(Deletes(), 0u);
  EXPECT_EQ(Mark("condemned-by"), kOther);
}

TEST_F(LastLookTest, AnothersCondemnationIsLeftToIt) {
  After("PATCH", "spark-m", 1, [this] { GiveMarksAway("condemned"); });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  EXPECT_EQ(Deletes(), 0u);
  EXPECT_EQ(Mark("condemned-by"), kOther);
}

TEST_F(LastLookTest, MarksWithoutAPhaseAreNoCondemnation) {
  After("PATCH", "spark-m", 1, [this] {
    kubernetes_.Admin("PATCH", kRoot,
                      R"({"metadata":{"annotations":{"cluster-watcher/phase":null}}})",
                      "application/merge-patch+json");
  });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  EXPECT_EQ(Deletes(), 0u);
  EXPECT_EQ(Mark("condemned-by"), "");
}

TEST_F(LastLookTest, NothingIsWrittenOnEvidenceThatHasGrownOld) {
  bool condemned = false;
  kubernetes_.on_answer = [&](const Request& request, const User&, Response&) {
    const bool of_root = request.target.find("deployments/spark-m") != std::string::npos;
    if (of_root && request.method == "PATCH") condemned = true;
    if (!of_root || request.method != "GET" || !condemned || clock_.elapsed > seconds(0)) return;
    clock_.elapsed += seconds(6);
    clock_.At(clock_.elapsed, [this] { MakeDriver(); });
  };
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  EXPECT_EQ(Deletes(), 0u);
  EXPECT_EQ(Patches(), 2u) << "the condemnation, and its end";
}

TEST_F(LastLookTest, ARootThatChangesAllTheTimeIsSparedThoughItsMarksComeOffLater) {
  RecordOwner();
  ConflictFrom(3);
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  EXPECT_EQ(Deletes(), 0u);
  EXPECT_GE(clock_.elapsed, seconds(3)) << "in haste";
  EXPECT_EQ(Mark("phase"), "deleting");
  kubernetes_.on_request = nullptr;
  EXPECT_EQ(Resume(), Reaper::Outcome::kSpared);
  EXPECT_EQ(Mark("phase"), "");
  EXPECT_EQ(Deletes(), 0u);
}

TEST_F(LastLookTest, AStatusThatIsWrittenAllTheTimeHoldsNothingUp) {
  RecordOwner();
  int writes = 0;
  kubernetes_.on_request = [&](const Request& request, const User&) {
    const bool marks = request.method == "PATCH" && request.target.starts_with(kRoot);
    if (marks && ++writes % 2 == 1) {
      kubernetes_.Admin("PATCH", std::string(kRoot) + "/status",
                        R"({"status":{"observedGeneration":)" + std::to_string(writes) + "}}",
                        "application/merge-patch+json");
    }
  };
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_EQ(Refusals("conflict"), 0);
}

TEST_F(LastLookTest, MarksThatCouldNotBeReadComeOffLater) {
  RecordOwner();
  After("PATCH", "spark-m", 2, [this] { Refuse("GET", "deployments/spark-m", 403); });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  kubernetes_.GetFaults().Clear();
  EXPECT_EQ(Mark("phase"), "deleting");
  EXPECT_EQ(Resume(), Reaper::Outcome::kSpared);
  EXPECT_EQ(Mark("phase"), "");
  EXPECT_EQ(Deletes(), 0u);
}

// The watcher that comes after it takes its marks off.
TEST_F(LastLookTest, AWatcherThatIsToldToStopInItsLastLookSaysNothing) {
  After("PATCH", "spark-m", 1, [this] {
    kubernetes_.on_request = [this](const Request& request, const User&) {
      if (request.target.find("name%3Dbob") != std::string::npos) stop_.request_stop();
    };
  });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  EXPECT_EQ(Patches(), 1u);
  EXPECT_EQ(Notes().find("ClusterSpared"), std::string::npos);
}

TEST_F(LastLookTest, BehindThePointOfNoReturnStoppingStopsNothing) {
  Annotate(kRoot, "before-delete", kStep);
  during_step_ = [this] { stop_.request_stop(); };
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_FALSE(Exists(kRoot));
}

TEST_F(LastLookTest, TheMarksTellHowFarItIs) {
  MakeMap("other");
  Annotate(kRoot, "before-delete", kStep);
  std::string before, after, done;
  during_step_ = [&] { before = Mark("phase") + Mark("deletes-begun") + Mark("first-deletes"); };
  Before("DELETE", "", 1, [&] {
    after = Mark("phase") + " " + Mark("deletes-begun");
    done = Mark("steps-done");
  });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_EQ(before, "deleting");
  EXPECT_EQ(after, "deleting true");
  EXPECT_EQ(done, R"(["before-delete/a"])");
}

TEST_F(LastLookTest, AStepForWhichThereIsNoTimeIsNotRun) {
  Annotate(kRoot, "before-delete",
           R"([{\"name\":\"a\",\"http\":{\"url\":\"http://h/\"}},)"
           R"({\"name\":\"b\",\"http\":{\"url\":\"http://h/\"}}])");
  settings_.settings.steps_deadline = minutes(10);
  settings_.settings.delete_deadline = minutes(1);
  StartWatcher();
  int runs = 0;
  during_step_ = [&] {
    ++runs;
    clock_.elapsed += minutes(2);
  };
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_EQ(runs, 1);
}

TEST_F(LastLookTest, AStepOfADeletionThatAnotherHasTakenOverIsNotMarked) {
  Annotate(kRoot, "before-delete", kStep);
  during_step_ = [this] { GiveMarksAway("deleting"); };
  EXPECT_EQ(Condemn(), Reaper::Outcome::kOvertaken);
  EXPECT_EQ(Mark("steps-done"), "");
  EXPECT_EQ(Deletes(), 0u);
}

TEST_F(LastLookTest, ADeletionIsAnnouncedOnce) {
  Annotate(kRoot, "before-delete", kStep);
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  const auto events = JsonDocument::Parse(Notes());
  int announced = 0;
  for (const JsonValue event : events->root()["items"].Elements()) {
    const bool of_root = event["regarding"]["name"].AsString() == "spark-m";
    if (of_root && event["reason"].AsString() == "ClusterDeleting") ++announced;
    EXPECT_TRUE(event["series"].IsNull() || !event["series"].Exists());
  }
  EXPECT_EQ(announced, 1) << Notes();
}

TEST_F(LastLookTest, AWriteThatOutlastsItsEvidenceIsRepeated) {
  bool is_slow = false;
  After("PATCH", "spark-m", 1, [&] {
    kubernetes_.on_answer = [&](const Request& request, const User&, Response&) {
      const bool of_root = request.target.find("deployments/spark-m") != std::string::npos;
      if (!of_root || request.method != "GET" || is_slow) return;
      is_slow = true;
      clock_.elapsed += seconds(3);
      Fault late;
      late.method = "PATCH";
      late.contains = "spark-m";
      late.action = Fault::Action::kPass;
      late.delay_after = seconds(3);
      kubernetes_.GetFaults().Add(late);
    };
  });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_TRUE(is_slow);
  EXPECT_EQ(Patches(), 4u);
}

TEST_F(LastLookTest, WhenItBeganIsWrittenOnceAndAgainWhereItIsMissing) {
  std::string since;
  After("PATCH", "spark-m", 2, [&] { since = Mark("deleting-since"); });
  Refuse("DELETE", "", 500);
  clock_.At(seconds(50), [this] {
    kubernetes_.Admin("PATCH", kRoot,
                      R"({"metadata":{"annotations":{"cluster-watcher/deleting-since":null}}})",
                      "application/merge-patch+json");
  });
  clock_.At(seconds(45), [&] { EXPECT_EQ(Mark("deleting-since"), since); });
  clock_.At(seconds(75), [this] { EXPECT_NE(Mark("deleting-since"), ""); });
  clock_.At(seconds(90), [this] { MakeDriver(); });
  observer_->SureLook({});
  Delete(kDriver);
  EXPECT_EQ(CondemnNow(), Reaper::Outcome::kSpared);
  EXPECT_NE(since, "");
}

// --- A deletion that was begun before.

TEST_F(LastLookTest, HalfAClusterOfAnothersIsFinishedInOurName) {
  AnHourPasses();
  MakeMap("held", R"(,"finalizers":["example.com/held"])");
  AnHourPasses();
  const Snapshot snapshot = LookAtOthers(kGone, minutes(9));
  std::string by;
  Before("DELETE", "", 1, [&] { by = Mark("condemned-by"); });
  const Duration began = clock_.elapsed;
  EXPECT_EQ(reaper_->Resume(me_, snapshot), Reaper::Outcome::kDone);
  EXPECT_EQ(by, me_.ToText());
  EXPECT_GE(clock_.elapsed - began, minutes(10)) << "the deadline counts anew";
  EXPECT_NE(Notes().find("taken over"), std::string::npos);
}

TEST_F(LastLookTest, OnesOwnIsFinishedByItsDeadline) {
  AnHourPasses();
  MakeMap("held", R"(,"finalizers":["example.com/held"])");
  AnHourPasses();
  WriteMarks(kGone, minutes(9));
  const Duration began = clock_.elapsed;
  EXPECT_EQ(Resume(), Reaper::Outcome::kDone);
  EXPECT_LT(clock_.elapsed - began, minutes(2));
}

TEST_F(LastLookTest, WhatCannotBeTakenOverIsLeft) {
  AnHourPasses();
  const Snapshot snapshot = LookAtOthers(kGone, seconds(1));
  Refuse("PATCH", "spark-m", 403);
  EXPECT_EQ(reaper_->Resume(me_, snapshot), Reaper::Outcome::kSpared);
  EXPECT_EQ(Deletes(), 0u);
}

TEST_F(LastLookTest, ADeletionThatIsJudgedAgainIsNoLongerMarkedAsBegun) {
  for (const bool own : {true, false}) {
    SCOPED_TRACE(own);
    const Snapshot others = LookAtOthers("", seconds(1));
    if (own) Annotate(kRoot, "condemned-by", me_.ToText());
    const Snapshot snapshot = observer_->SureLook({});
    std::string begun = "not looked at";
    Before("GET", "name%3Dbob", 1, [&] { begun = Mark("deletes-begun"); });
    EXPECT_EQ(reaper_->Resume(me_, snapshot), Reaper::Outcome::kSpared);
    EXPECT_EQ(begun, "");
    EXPECT_EQ(Notes().find("taken over") == std::string::npos, own);
  }
}

TEST_F(LastLookTest, AStepThatWasRunIsNotRunAgain) {
  AnHourPasses();
  Annotate(kRoot, "after-delete", kStep);
  WriteMarks(kGone, seconds(1));
  Annotate(kRoot, "steps-done", R"([\"after-delete/a\"])");
  int runs = 0;
  during_step_ = [&] { ++runs; };
  EXPECT_EQ(Resume(), Reaper::Outcome::kDone);
  EXPECT_EQ(runs, 0);
}

TEST_F(LastLookTest, ADeletionOfARootThatIsKeptIsNotAnnounced) {
  AnHourPasses();
  WriteMarks(kGone, seconds(1));
  Annotate(kRoot, "keep", "true");
  EXPECT_EQ(Resume(), Reaper::Outcome::kSpared);
  EXPECT_EQ(Deletes(), 0u);
  EXPECT_EQ(Notes().find("goes on"), std::string::npos);
  EXPECT_EQ(Mark("phase"), "");
}

TEST_F(LastLookTest, AWholeClusterIsDeletedOnlyForTheOwnerThatItsMarksName) {
  observer_->SureLook({});
  Delete(kDriver);
  WriteMarks("", seconds(1));
  EXPECT_EQ(Resume(), Reaper::Outcome::kSpared) << "they name none";
  EXPECT_EQ(Deletes(), 0u);
  const auto seen = observer_->SureLook({}).seen;
  RecordedOwner other = *seen;
  other.uid = "other";
  for (const RecordedOwner& owner : {other, *seen}) {
    WriteMarks("", minutes(20));
    EXPECT_TRUE(MasterRoot(client_, *observer_->SureLook({}).root).WriteMarks(OwnerMarks(owner)));
    std::string since;
    Before("DELETE", "", 1, [&] { since = Mark("deleting-since"); });
    const bool same = owner.uid == seen->uid;
    EXPECT_EQ(Resume(), same ? Reaper::Outcome::kDone : Reaper::Outcome::kSpared);
    EXPECT_EQ(since, same ? FormatTime(clock_.WallNow()) : "") << "it begins anew";
  }
}

// A delete failed and the root went, by another's hand, with all that could tell of it.
TEST_F(LastLookTest, ARootThatIsGoneAfterAFruitlessRoundEndsIt) {
  MakeMap("other");
  Refuse("DELETE", "", 500);
  clock_.At(seconds(20), [this] {
    Delete("/api/v1/namespaces/lab/pods/" + NameOfPod());
    Delete(kMaps + std::string("/spark-config"));
    Delete(kRoot);
  });
  clock_.At(minutes(1), [this] { kubernetes_.GetFaults().Clear(); });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  EXPECT_TRUE(MapExists("other"));
}

// No delete was accepted, and meanwhile somebody else deleted the first member.
TEST_F(LastLookTest, AFruitlessDeletionGoesOnOnlyInOurNameAndPhase) {
  for (const bool is_taken_over : {true, false}) {
    SCOPED_TRACE(is_taken_over);
    MakeMap("other");
    Refuse("DELETE", "", 500);
    clock_.At(clock_.elapsed + seconds(2), [&] {
      Delete(kMaps + std::string("/spark-config"));
      if (is_taken_over) {
        GiveMarksAway("deleting");
      } else {
        kubernetes_.Admin("PATCH", kRoot,
                          R"({"metadata":{"annotations":{"cluster-watcher/phase":null}}})",
                          "application/merge-patch+json");
      }
    });
    clock_.At(clock_.elapsed + minutes(1), [this] { kubernetes_.GetFaults().Clear(); });
    EXPECT_EQ(Condemn(), is_taken_over ? Reaper::Outcome::kOvertaken : Reaper::Outcome::kSpared);
    EXPECT_TRUE(MapExists("other"));
    EXPECT_TRUE(Exists(kRoot));
    kubernetes_.GetFaults().Clear();
    ReplaceRoot();
    MakeDriver();
    MakeMap("spark-config");
    StartWatcher();
  }
}

TEST_F(LastLookTest, AFruitlessDeletionWaitsUntilItIsKnownWhetherTheClusterIsHalf) {
  Refuse("DELETE", "", 500);
  clock_.At(seconds(30), [this] { MakeDriver(); });
  clock_.At(seconds(40), [this] { kubernetes_.GetFaults().Clear(); });
  kubernetes_.on_answer = [this](const Request& request, const User&, Response& response) {
    const bool proof = request.target.find("name%3Dspark-config") != std::string::npos;
    if (proof && clock_.elapsed < minutes(1)) response.status = 503;
  };
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  EXPECT_TRUE(MapExists("spark-config"));
  EXPECT_GE(clock_.elapsed, minutes(1));
}

// An operator writes the root's status each second, on an API server that takes 4 s for an answer.
class LateWriteTest : public LastLookTest {
 protected:
  // From the first write of marks that has `mark` on, each write but the last meets a new status.
  void Slow(const std::string& mark, int conflicts, std::function<void()> meanwhile,
            Duration each = seconds(4)) {
    kubernetes_.on_request = [=, this, seen = 0, slow = false](const Request& request,
                                                               const User&) mutable {
      if (!request.target.starts_with(kRoot) || request.target.find("dryRun") != std::string::npos)
        return;
      if (request.method == "PATCH" && request.body.find(mark) != std::string::npos &&
          seen < conflicts) {
        slow = true;
        if (++seen == 1) meanwhile();
        kubernetes_.Admin("PATCH", std::string(kRoot) + "/status",
                          R"({"status":{"observedGeneration":)" + std::to_string(seen) + "}}",
                          "application/merge-patch+json");
        clock_.elapsed += each;
      } else if (slow && request.method == "GET" && seen < conflicts) {
        clock_.elapsed += each;
      }
    };
  }
};

TEST_F(LateWriteTest, StepsDontRunOnEvidenceOfHalfAMinuteAgo) {
  RecordOwner();
  Annotate(kRoot, "before-delete", kStep);
  int runs = 0;
  Duration back_at{0};
  Duration run_at{0};
  during_step_ = [&] {
    ++runs;
    run_at = clock_.elapsed;
  };
  Slow(kPointOfNoReturn, 3, [&] {
    MakeDriver();
    back_at = clock_.elapsed;
  });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  EXPECT_EQ(runs, 0) << "the driver had been back for " << (run_at - back_at).count() << " ms";
}

TEST_F(LateWriteTest, AHoldOfTheNamespaceOf20SecondsAgoKeepsStepsFromRunning) {
  RecordOwner();
  Annotate(kRoot, "before-delete", kStep);
  int runs = 0;
  during_step_ = [&] { ++runs; };
  Slow(kPointOfNoReturn, 3,
       [&] { Annotate("/api/v1/namespaces/lab", "hold-until", "2027-12-24T18:00:00Z"); });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  EXPECT_EQ(runs, 0);
}

TEST_F(LateWriteTest, ADriverThatCameBack20SecondsAgoKeepsItsCluster) {
  RecordOwner();
  Slow(R"("cluster-watcher/deletes-begun":"true")", 3, [&] {
    MakeDriver();
    Delete(kMaps + std::string("/spark-config"));  // it no longer needs this one
  });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  EXPECT_EQ(Deletes(), 0u);
  EXPECT_TRUE(Exists(kRoot));
}

// Nothing was sent yet: the machine is suspended behind the mark, without any conflict. An upgrade
// brings the driver back meanwhile, and prunes a map.
TEST_F(LateWriteTest, NothingWasSentSoNothingOfOursMakesItHalf) {
  RecordOwner();
  bool done = false;
  kubernetes_.on_answer = [&](const Request& request, const User&, Response&) {
    if (done || request.method != "PATCH" ||
        request.body.find(R"("cluster-watcher/deletes-begun":"true")") == std::string::npos)
      return;
    done = true;
    clock_.suspended += minutes(1);
    MakeDriver();
    Delete(kMaps + std::string("/spark-config"));
  };
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  EXPECT_TRUE(done);
  EXPECT_EQ(Deletes(), 0u);
  EXPECT_TRUE(Exists(kRoot));
}

// Each delete is definitely refused (429).
TEST_F(LateWriteTest, RefusedDeletesOfOursMakeNothingHalf) {
  RecordOwner();
  bool done = false;
  Refuse("DELETE", "spark-config", 429);
  kubernetes_.on_answer = [&](const Request& request, const User&, Response&) {
    if (done || request.method != "DELETE") return;
    done = true;
    clock_.elapsed += seconds(6);
    MakeDriver();
    Delete(kMaps + std::string("/spark-config"));
  };
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  EXPECT_TRUE(done);
  EXPECT_TRUE(Exists(kRoot));
}

// The status changes, and the machine is suspended before the point of no return is written again.
TEST_F(LateWriteTest, WhatIsNotYetWrittenIsNotWrittenOnEvidenceOfAMinuteAgo) {
  RecordOwner();
  bool is_back = false;
  int written = 0;
  kubernetes_.on_request = [&](const Request& request, const User&) {
    if (!WritesPointOfNoReturn(request)) return;
    written += is_back;
    if (std::exchange(is_back, true)) return;
    kubernetes_.Admin("PATCH", std::string(kRoot) + "/status",
                      R"({"status":{"observedGeneration":77}})", "application/merge-patch+json");
    clock_.suspended += minutes(1);
    MakeDriver();
  };
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  EXPECT_TRUE(is_back);
  EXPECT_EQ(written, 0);
}

// The pod is told to stop while the point of no return is written again and again.
TEST_F(LateWriteTest, WhoIsToldToStopDoesNotBegin) {
  RecordOwner();
  Slow(kPointOfNoReturn, 3, [&] { stop_.request_stop(); });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  EXPECT_EQ(Deletes(), 0u);
  EXPECT_NE(Mark("phase"), "deleting");
}

// So it is where that takes no time.
TEST_F(LateWriteTest, WhoIsToldToStopWritesNothingAgain) {
  RecordOwner();
  Slow(
      kPointOfNoReturn, 1, [&] { stop_.request_stop(); }, Duration(0));
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  EXPECT_EQ(Mark("phase"), "condemned");
}

// Without any conflict: the machine is suspended for an hour behind the point of no return.
TEST_F(LateWriteTest, StepsDontRunOnEvidenceOfAnHourAgo) {
  RecordOwner();
  Annotate(kRoot, "before-delete", kStep);
  int runs = 0;
  during_step_ = [&] { ++runs; };
  bool done = false;
  kubernetes_.on_answer = [&](const Request& request, const User&, Response&) {
    if (done || !WritesPointOfNoReturn(request)) return;
    done = true;
    clock_.suspended += minutes(60);
    MakeDriver();
  };
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  EXPECT_TRUE(done);
  EXPECT_EQ(runs, 0);
}

// What held: whatever is said on the root between the look and the second write.
TEST_F(LateWriteTest, WhatIsSaidOnTheRootIsHeeded) {
  for (const char* mark : {R"("cluster-watcher/phase":"condemned")", kPointOfNoReturn,
                           R"("cluster-watcher/deletes-begun":"true")"}) {
    RecordOwner();
    int gets = 0;
    bool begun = false, said = false;
    kubernetes_.on_request = [&](const Request& request, const User&) {
      if (!request.target.starts_with(kRoot)) return;
      if (!begun && request.method == "PATCH" && request.body.find(mark) != std::string::npos) {
        begun = true;
        kubernetes_.Admin("PATCH", std::string(kRoot) + "/status",
                          R"({"status":{"observedGeneration":77}})",
                          "application/merge-patch+json");
      } else if (begun && !said && request.method == "PATCH") {
        said = true;  // behind the read, before the second write
        Annotate(kRoot, "keep", "true");
      }
      gets += request.method == "GET";
    };
    EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared) << mark;
    EXPECT_TRUE(said);
    EXPECT_EQ(Deletes(), 0u);
    kubernetes_.on_request = nullptr;
    kubernetes_.Admin("PATCH", kRoot,
                      R"({"metadata":{"annotations":{"cluster-watcher/keep":null}}})",
                      "application/merge-patch+json");
    MakeDriver();
  }
}

// A scale of the root, and a driver's owner annotation.
TEST_F(LateWriteTest, AScaleOfTheRootIsAConflict) {
  RecordOwner();
  bool once = false;
  std::size_t looks = 0;
  kubernetes_.on_request = [&](const Request& request, const User&) {
    if (request.target == "/apis") looks += once;
    if (once || !request.target.starts_with(kRoot) || !WritesPointOfNoReturn(request)) return;
    once = true;
    kubernetes_.Admin("PATCH", kRoot, R"({"spec":{"replicas":2}})", "application/merge-patch+json");
  };
  Condemn();
  EXPECT_GE(looks, 1u) << "looked at again";
}

}  // namespace
}  // namespace cluster_watcher

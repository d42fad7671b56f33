// What stops a deletion before its first delete.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "test/unit/support/reaper_lab.h"
#include "test/unit/support/token_file.h"

namespace cluster_watcher {
namespace {

using small_kubernetes::Fault;
using small_kubernetes::Request;
using small_kubernetes::Response;
using small_kubernetes::User;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr const char* kSet = "/apis/apps/v1/namespaces/lab/statefulsets/w";

class LastLookTest : public ReaperLab {
 protected:
  std::size_t Patches() { return MarksWritten(); }
  // A finalizer holds it until the deadline.
  void MakeHeldFirstWave() {
    MakeMap("held", R"(,"finalizers":["example.com/held"],)"
                    R"("annotations":{"cluster-watcher/delete-order":"-1"})");
  }
  // The root is changed before each write of ours from the `first` on.
  void ConflictFrom(int first) {
    kubernetes_.on_request = [this, first, seen = 0](const Request& request, const User&) mutable {
      if (request.method != "PATCH" || !request.target.starts_with(kRoot)) return;
      if (++seen >= first) Annotate(kRoot, "n", std::to_string(seen));
    };
  }
};

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

TEST_F(LastLookTest, APodThatIsToldToStopMeanwhileSparesTheCluster) {
  const std::string pod = "/api/v1/namespaces/lab/pods/" + settings_.settings.pod;
  Patch(pod, R"({"metadata":{"finalizers":["example.com/held"]}})");
  After("PATCH", "spark-m", 1, [&] { Delete(pod); });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  EXPECT_EQ(Deletes(), 0u);
  EXPECT_EQ(Mark("phase"), "");
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

TEST_F(LastLookTest, AStatusThatIsWrittenAllTheTimeHoldsNothingUp) {
  RecordOwner();
  int writes = 0;
  kubernetes_.on_request = [&](const Request& request, const User&) {
    const bool marks = request.method == "PATCH" && request.target.starts_with(kRoot);
    if (marks && ++writes % 2 == 1) {
      Patch(std::string(kRoot) + "/status",
            R"({"status":{"observedGeneration":)" + std::to_string(writes) + "}}");
    }
  };
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_EQ(Refusals("conflict"), 0);
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

// The driver is back before the deadline.
TEST_F(LastLookTest, IsRepeatedUntilTheRootIsDeleted) {
  MakeHeldFirstWave();
  MakeSetWithClaims("Retain");
  Annotate(kSet, "delete-order", "-1");
  EndAfter(minutes(1));
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  EXPECT_FALSE(Exists(kSet));
  EXPECT_TRUE(Exists(kRoot));
  EXPECT_EQ(Mark("phase"), "");
  EXPECT_NE(Notes().find("already deleted: statefulset.apps/w; configmap/held"), std::string::npos)
      << Notes();
}

// A webhook that is down refuses it.
TEST_F(LastLookTest, IsRepeatedWhereTheRootsDeleteFails) {
  RefuseUntil(minutes(15), "DELETE", "/deployments/spark-m", 500);
  EndAfter(minutes(2));
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  EXPECT_TRUE(Exists(kRoot));
}

// The driver is back meanwhile.
TEST_F(LastLookTest, ComesBeforeDeletesOnceTheApiServerIsBackBehindTheDeadline) {
  MakeHeldFirstWave();
  clock_.At(clock_.elapsed + seconds(50), [this] { RefuseUntil(minutes(15), "", "", 503); });
  EndAfter(minutes(5));
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  EXPECT_TRUE(Exists(kRoot));
  EXPECT_GE(clock_.elapsed, minutes(15));
}

TEST_F(LastLookTest, NeedsNoRightToWriteOnceSomethingIsDeleted) {
  MakeHeldFirstWave();
  clock_.At(clock_.elapsed + seconds(50), [this] { Refuse("PATCH", "spark-m", 403); });
  clock_.At(clock_.elapsed + minutes(3), [this] { Release(); });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_LT(clock_.elapsed, minutes(4));
}

// Nobody is told that it is deleted by a watcher that looks on and on.
TEST_F(LastLookTest, EndsWhereTheRootIsTakenDownDuringADoubt) {
  MakeHeldFirstWave();
  clock_.At(clock_.elapsed + seconds(50),
            [this] { RefuseUntil(clock_.elapsed + minutes(5), "GET", "/deployments?", 503); });
  clock_.At(clock_.elapsed + seconds(90), [this] { Delete(kRoot); });
  Condemn();
  EXPECT_LT(clock_.elapsed, minutes(2)) << log_text_.str();
}

// A person says so while a step runs, or something is waited for.
TEST_F(LastLookTest, SettingsThatItFindsAreThoseOfTheDeletion) {
  settings_.settings.volumes = Volumes::kDelete;
  StartWatcher();
  MakeClaim("data");
  Annotate(kRoot, "before-delete", kStep);
  during_step_ = [this] {
    settings_.settings.volumes = Volumes::kPreserve;
    in_force_->TakeAnnotations({});
  };
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_TRUE(ClaimExists("data"));
}

TEST_F(LastLookTest, ADryRunFromNowOnSparesTheCluster) {
  Annotate(kRoot, "before-delete", kStep);
  during_step_ = [this] {
    settings_.settings.dry_run = true;
    in_force_->TakeAnnotations({});
  };
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  EXPECT_EQ(Deletes(), 0u);
  EXPECT_EQ(Mark("phase"), "");
}

// A delete without an answer may have been carried out, which no look can tell.
TEST_F(LastLookTest, WhatMayBeDeletedIsNamed) {
  Fault lost;
  lost.method = "DELETE";
  lost.contains = "/configmaps/";
  lost.action = Fault::Action::kHang;
  kubernetes_.GetFaults().Add(lost);
  settings_.settings.concurrency = 1;
  StartWatcher();
  EndAfter(seconds(6));
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  EXPECT_NE(Notes().find("(perhaps: its delete was not answered)"), std::string::npos) << Notes();
}

// What somebody annotates to be kept while a doubt is waited out is seen before the next delete.
TEST_F(LastLookTest, NothingIsSentOnAListFromBeforeADoubt) {
  MakeHeldFirstWave();
  MakeSetWithClaims("Retain");
  clock_.At(clock_.elapsed + seconds(50),
            [this] { RefuseUntil(clock_.elapsed + minutes(2), "GET", "/deployments?", 503); });
  clock_.At(clock_.elapsed + seconds(90), [this] {
    MakeMap("kept", R"(,"annotations":{"cluster-watcher/keep":"true"})" +
                        OwnedBy("StatefulSet", "apps/v1", kSet));
    Release();
  });
  EndAfter(minutes(12));
  Condemn();
  EXPECT_TRUE(MapExists("kept")) << log_text_.str();
  EXPECT_TRUE(Exists(kSet));
}

// The deletion that was begun goes on where it was: at the deadline what is left goes.
TEST_F(LastLookTest, ADoubtWhenItIsRepeatedWaits) {
  MakeHeldFirstWave();
  clock_.At(clock_.elapsed + seconds(50),
            [this] { RefuseUntil(clock_.elapsed + minutes(5), "GET", "/deployments?", 503); });
  EndAfter(minutes(12));
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone) << log_text_.str();
  EXPECT_FALSE(Exists(kRoot));
  EXPECT_LT(clock_.elapsed, minutes(11));
}

TEST_F(LastLookTest, ACommandThatGivesUpSendsTheRestAtTheDeadline) {
  settings_.settings.delete_deadline = minutes(1);
  gives_up_ = true;
  StartWatcher();
  MakeHeldFirstWave();
  Condemn();
  EXPECT_FALSE(Exists(kRoot)) << log_text_.str();
}

TEST_F(LastLookTest, TheMarksTellHowFarItIs) {
  MakeMap("other");
  Annotate(kRoot, "before-delete", kStep);
  std::string before, after, done;
  during_step_ = [&] { before = Mark("phase") + Mark("steps-done"); };
  Before("DELETE", "", 1, [&] {
    after = Mark("phase");
    done = Mark("steps-done");
  });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_EQ(before, "deleting");
  EXPECT_EQ(after, "deleting");
  EXPECT_EQ(done, R"(["before-delete/a"])");
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
  EXPECT_EQ(Patches(), 3u);
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
        Patch(std::string(kRoot) + "/status",
              R"({"status":{"observedGeneration":)" + std::to_string(seen) + "}}");
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

// The pod is told to stop while the point of no return is written again and again.
TEST_F(LateWriteTest, WhoIsToldToStopDoesNotBegin) {
  RecordOwner();
  Slow(kPointOfNoReturn, 3, [&] { stop_.request_stop(); });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  EXPECT_EQ(Deletes(), 0u);
  EXPECT_NE(Mark("phase"), "deleting");
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
  for (const char* mark : {R"("cluster-watcher/phase":"condemned")", kPointOfNoReturn}) {
    RecordOwner();
    int gets = 0;
    bool begun = false, said = false;
    kubernetes_.on_request = [&](const Request& request, const User&) {
      if (!request.target.starts_with(kRoot)) return;
      if (!begun && request.method == "PATCH" && request.body.find(mark) != std::string::npos) {
        begun = true;
        Patch(std::string(kRoot) + "/status", R"({"status":{"observedGeneration":77}})");
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
    Patch(kRoot, R"({"metadata":{"annotations":{"cluster-watcher/keep":null}}})");
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
    Patch(kRoot, R"({"spec":{"replicas":2}})");
  };
  Condemn();
  EXPECT_GE(looks, 1u) << "looked at again";
}

class RotatedTokenTest : private TokenFile, public ReaperLab {
 protected:
  RotatedTokenTest() : ReaperLab(Server()) {}
  void Rotate() { TokenFile::Rotate(kubernetes_); }
  // The next requests of this method and target are answered 401.
  void Unauthorize(const std::string& method, const std::string& contains) {
    Fault fault;
    fault.method = method;
    fault.contains = contains;
    fault.times = 1;
    fault.response = {401, R"({"kind":"Status","apiVersion":"v1","code":401})", "application/json",
                      std::nullopt};
    kubernetes_.GetFaults().Add(fault);
  }
};

// Who says 401 may take his time.
TEST_F(RotatedTokenTest, AFirstDeleteIsNotSentAgainOnOldEvidence) {
  Before("DELETE", "", 1, [this] {
    clock_.elapsed += seconds(8);
    MakeDriver();
    Rotate();
  });
  Unauthorize("DELETE", "");
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  EXPECT_TRUE(Exists(kRoot)) << "it is in use";
}

TEST_F(RotatedTokenTest, ADeleteThatIsAnswered401IsSentAgain) {
  Before("DELETE", "", 1, [this] { Rotate(); });
  Unauthorize("DELETE", "");
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_LE(clock_.elapsed, seconds(10));
}

TEST_F(RotatedTokenTest, ThePointOfNoReturnIsNotWrittenAgainOnOldEvidence) {
  bool is_back = false;
  int written = 0;
  kubernetes_.on_request = [&](const Request& request, const User&) {
    if (!WritesPointOfNoReturn(request)) return;
    written += is_back;
    if (std::exchange(is_back, true)) return;
    clock_.elapsed += seconds(8);
    MakeDriver();
    Rotate();
    Unauthorize("PATCH", "spark-m");
  };
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  EXPECT_TRUE(is_back);
  EXPECT_EQ(written, 0);
}

}  // namespace
}  // namespace cluster_watcher

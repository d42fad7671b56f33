// The passes of a deletion, from its first delete to the master root's end, where somebody
// interferes.
#include "watcher/deletion/deletion.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "test/unit/support/reaper_lab.h"

namespace cluster_watcher {
namespace {

using small_kubernetes::Fault;
using small_kubernetes::Request;
using small_kubernetes::Response;
using small_kubernetes::User;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using Outcome = Reaper::Outcome;

constexpr const char* kConfig = "/api/v1/namespaces/lab/configmaps/spark-config";
constexpr const char* kConf = "/api/v1/namespaces/lab/configmaps/spark-conf";  // is mounted
constexpr const char* kServices = "/api/v1/namespaces/lab/services";
constexpr const char* kWorker = "/apis/apps/v1/namespaces/lab/deployments/w";

bool Is(const Request& request, const std::string& method, const std::string& contains) {
  return request.method == method && request.target.find(contains) != std::string::npos;
}

class DeletionTest : public ReaperLab {
 protected:
  void MakeService(const std::string& name) {
    kubernetes_.Apply(R"({"apiVersion":"v1","kind":"Service",)" + Labelled(name) +
                      R"(,"spec":{"ports":[{"port":1}]}})");
  }
  void MakeWorker() { MakeWorkload("w", R"("oshinko-cluster":"spark",)"); }
  void Touch(const std::string& path) { Annotate(path, "root-uid", "1"); }
  void StripMarks() {
    Patch(kRoot, R"({"metadata":{"annotations":{"cluster-watcher/phase":null,)"
                 R"("cluster-watcher/condemned-by":null}}})");
  }
  // The master is a StatefulSet with a claim.
  void MakeRootASet() {
    Delete(kRoot);
    kubernetes_.Apply(
        R"({"apiVersion":"apps/v1","kind":"StatefulSet",)" +
        Meta("spark-m", R"(,"labels":{"oshinko-cluster":"spark","oshinko-type":"master"})") +
        R"(,"spec":{"replicas":1,"serviceName":"m","selector":{"matchLabels":{"app":"spark-m"}},)"
        R"("volumeClaimTemplates":[{"metadata":{"name":"data"},"spec":{"accessModes":)"
        R"(["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}],)"
        R"("template":{"metadata":{"labels":{"app":"spark-m","oshinko-cluster":"spark",)"
        R"("oshinko-type":"master"}},"spec":{"containers":[{"name":"m","image":"x"}]}}}})");
    StartWatcher();
  }
  // The event that says how it ended; empty: nobody was told.
  std::string LastWord() {
    const auto events = JsonDocument::Parse(Notes());
    for (const JsonValue event : events->root()["items"].Elements()) {
      if (event["reason"].AsString() != "ClusterDeleted") continue;
      return std::string(*event["type"].AsString()) + ": " + std::string(*event["note"].AsString());
    }
    return "";
  }
};

// --- While the cluster is whole.

TEST_F(DeletionTest, MarksThatAreTakenOffBeforeADeleteIsAcceptedEndIt) {
  MakeMap("other");
  Before("DELETE", "", 1, [this] {
    Touch(kConfig);
    Delete(kMaps + std::string("/other"));
    StripMarks();
  });
  EXPECT_EQ(Condemn(), Outcome::kSpared);
  EXPECT_TRUE(MapExists("spark-config"));
  EXPECT_TRUE(Exists(kRoot));
}

TEST_F(DeletionTest, WhatWasChangedBeforeItsDeleteIsListedAgainAtOnce) {
  Before("DELETE", "spark-config", 1, [this] { Touch(kConfig); });
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_EQ(DeletesOf("spark-config"), 2u);
  EXPECT_LT(clock_.elapsed, seconds(3));
}

TEST_F(DeletionTest, AFirstDeleteThatFailsOnceIsSentAgainAtOnce) {
  Refuse("DELETE", "spark-config", 500, 0, 1);
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_LT(clock_.elapsed, seconds(3));
  EXPECT_EQ(MarksWritten(), 2u) << "no other look";
}

// The machine, or the API server, is held up in the middle of the first deletes.
TEST_F(DeletionTest, AFirstDeleteBehindOnesThatHangIsNotSentOnOldEvidence) {
  for (const int concurrency : {1, 8}) {
    SCOPED_TRACE(concurrency);
    settings_.settings.concurrency = concurrency;
    StartWatcher();
    for (int i = 0; i < 15; ++i) MakeMap("m" + std::to_string(i));
    Fault hang;
    hang.method = "DELETE";
    hang.contains = "/configmaps/";
    hang.times = concurrency;
    hang.action = Fault::Action::kHang;
    kubernetes_.GetFaults().Add(hang);
    Before("DELETE", "/configmaps/", 1,
           [&] { clock_.At(clock_.elapsed + seconds(6), [&] { MakeDriver(); }); });
    EXPECT_EQ(Condemn(), Outcome::kSpared);
    EXPECT_TRUE(Exists(kRoot)) << "it is in use";
    EXPECT_TRUE(MapExists("spark-config"));
    kubernetes_.on_request = nullptr;
    MakeDriver();
  }
}

// Deletes fail for a while, and the driver comes back.
TEST_F(DeletionTest, AClusterOfWhichNothingIsDeletedYetIsLookedAtAgain) {
  EndAfter(seconds(30));
  RefuseUntil(seconds(40), "DELETE", "spark-config", 500);
  EXPECT_EQ(Condemn(), Outcome::kSpared);
  EXPECT_TRUE(MapExists("spark-config"));
  EXPECT_EQ(Mark("phase"), "");
  EXPECT_LT(clock_.elapsed, minutes(1));
}

TEST_F(DeletionTest, NoClaimIsMarkedForCollectionWhileTheClusterIsWhole) {
  settings_.settings.volumes = Volumes::kCollect;
  StartWatcher();
  MakeClaim("data");
  Refuse("DELETE", "spark-config", 500);
  EndAfter(minutes(1));
  EXPECT_EQ(Condemn(), Outcome::kSpared);
  EXPECT_EQ(kubernetes_.Count("PATCH", "persistentvolumeclaims"), 0u);
}

TEST_F(DeletionTest, WhereTheRootIsTheFirstToGoClaimsAreMarkedBehindIt) {
  settings_.settings.volumes = Volumes::kCollect;
  StartWatcher();
  MakeClaim("data");
  Delete(kConfig);
  Before("PATCH", "persistentvolumeclaims", 1, [this] { EXPECT_EQ(DeletesOf("/spark-m"), 1u); });
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_NE(Read("/api/v1/namespaces/lab/persistentvolumeclaims/data").body.find("collect-after"),
            std::string::npos);
}

TEST_F(DeletionTest, AClaimThatMayNotBeMarkedIsNamed) {
  settings_.settings.volumes = Volumes::kCollect;
  StartWatcher();
  MakeClaim("data");
  Refuse("PATCH", "persistentvolumeclaims/data", 403);
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_NE(Notes().find("data: it could not be marked for collection"), std::string::npos)
      << Notes();
}

// --- Passes.

TEST_F(DeletionTest, EachDeleteIsForTheObjectAsItWasListed) {
  const auto listed = JsonDocument::Parse(Read(kConfig).body);
  const auto meta = ReadObjectMeta(listed->root());
  std::string body;
  kubernetes_.on_request = [&](const Request& request, const User&) {
    if (Is(request, "DELETE", "/spark-config")) body = request.body;
  };
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_NE(body.find('"' + meta->uid + '"'), std::string::npos) << body;
  EXPECT_NE(body.find('"' + meta->resource_version + '"'), std::string::npos) << body;
}

// It was suspended between the list and the delete, for longer than a read of the root counts.
TEST_F(DeletionTest, AProcessThatSleptWhileAnotherTookOverSendsNothing) {
  MakeMap("other");
  Refuse("DELETE", "/other", 500, 0, 1);
  bool slept = false;
  kubernetes_.on_answer = [&](const Request& request, const User&, Response&) {
    if (slept || request.method != "GET" || request.target != kRoot) return;
    if (MapExists("spark-config")) return;
    slept = true;
    clock_.suspended += minutes(30);
    GiveMarksAway("deleting");
  };
  EXPECT_EQ(Condemn(), Outcome::kOvertaken);
  EXPECT_TRUE(slept);
  EXPECT_EQ(DeletesOf("/other"), 1u) << "the one that failed before";
  EXPECT_EQ(Mark("condemned-by"), kOther);
}

TEST_F(DeletionTest, ARootThatWasReadLongAgoIsReadAgainBeforeEachBatch) {
  settings_.settings.concurrency = 1;
  StartWatcher();
  for (int i = 0; i < 3; ++i) MakeMap("m" + std::to_string(i));
  kubernetes_.on_answer = [&](const Request& request, const User&, Response&) {
    if (Is(request, "DELETE", "/configmaps/")) clock_.elapsed += seconds(3);
    if (Is(request, "DELETE", "/m0")) GiveMarksAway("deleting");
  };
  EXPECT_EQ(Condemn(), Outcome::kOvertaken);
  EXPECT_EQ(Deletes(), 1u);
}

// Controllers write status all the time, and an API server may take its time to say so.
TEST_F(DeletionTest, AConflictIsNotSentAgainOnAnOldRead) {
  MakeMap("other", R"(,"annotations":{"cluster-watcher/delete-order":"1"})");
  Refuse("DELETE", "/other", 409, 0, 1);
  Before("DELETE", "/other", 1, [this] {
    clock_.elapsed += seconds(6);
    GiveMarksAway("deleting");
  });
  EXPECT_EQ(Condemn(), Outcome::kOvertaken);
  EXPECT_EQ(DeletesOf("/other"), 1u);
}

// Though the root was read since.
TEST_F(DeletionTest, NorIsAFirstDeleteOnAnOldLook) {
  kubernetes_.on_request = [this, listed = false](const Request& request, const User&) mutable {
    const bool is_list = Is(request, "GET", "/configmaps?labelSelector");
    if (is_list && Mark("phase") == "deleting" && !std::exchange(listed, true)) {
      clock_.elapsed += seconds(3);
    }
    if (!Is(request, "DELETE", "/spark-config") || Exists(kDriver)) return;
    clock_.elapsed += std::chrono::milliseconds(2'400);
    MakeDriver();
  };
  Refuse("DELETE", "/spark-config", 409, 0, 1);
  EXPECT_EQ(Condemn(), Outcome::kSpared);
  EXPECT_EQ(Deletes(), 1u);
}

TEST_F(DeletionTest, ItWaitsAsLongAsTheApiServerAsks) {
  std::optional<Duration> asked;
  kubernetes_.on_answer = [&](const Request& request, const User&, Response& response) {
    if (asked || !Is(request, "DELETE", "spark-config")) return;
    asked = clock_.elapsed;
    response.status = 429;
    response.retry_after = 4;
  };
  EXPECT_EQ(Condemn(), Outcome::kDone);
  ASSERT_TRUE(asked);
  EXPECT_GE(clock_.elapsed, *asked + seconds(4));
}

TEST_F(DeletionTest, WavesGoOneBehindTheOtherInTheForeground) {
  Annotate(kConfig, "delete-order", "-1");
  MakeMap("second");
  std::string policy;
  kubernetes_.on_request = [&](const Request& request, const User&) {
    if (!Is(request, "DELETE", "spark-config")) return;
    policy = request.body;
    EXPECT_EQ(DeletesOf("second"), 0u);
  };
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_NE(policy.find("Foreground"), std::string::npos) << policy;
  EXPECT_FALSE(MapExists("second"));
}

TEST_F(DeletionTest, WhatADeletedMemberControlsIsTheGarbageCollectorsForAWhile) {
  MakeWorker();
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_EQ(DeletesOf("/replicasets/") + DeletesOf("/pods/"), 0u);
}

// Nobody collects, whoever deletes what is in between, or takes the controller off it.
TEST_F(DeletionTest, ThenItIsDeletedHere) {
  const std::string sets = "/apis/apps/v1/namespaces/lab/replicasets";
  const auto leave = [](const std::string&) {};
  const auto remove = [this](const std::string& set) { Delete(set); };
  const auto release = [this](const std::string& set) {
    Patch(set, R"({"metadata":{"ownerReferences":null}})");
  };
  for (const std::function<void(const std::string&)>& meanwhile :
       {std::function<void(const std::string&)>(leave), {remove}, {release}}) {
    MakeWorker();
    kubernetes_.on_request = [&](const Request& request, const User&) {
      if (Is(request, "DELETE", "/spark-m")) kubernetes_.settle_after_writes = true;
      if (!Is(request, "DELETE", "deployments/w") || !Exists(kWorker)) return;
      kubernetes_.settle_after_writes = false;
      const auto list = JsonDocument::Parse(Read(sets + "?labelSelector=app%3Dw").body);
      meanwhile(sets + "/" + ReadObjectMeta(list->root()["items"].At(0))->name);
    };
    const Duration began = clock_.elapsed;
    EXPECT_EQ(Condemn(), Outcome::kDone);
    EXPECT_LT(clock_.elapsed - began, minutes(2));
    EXPECT_EQ(PodsOf("w"), 0u);
    EXPECT_GT(DeletesOf("/pods/w-"), 0u);
    kubernetes_.on_request = nullptr;
    MakeRoot();
    MakeDriver();
    StartWatcher();
  }
}

TEST_F(DeletionTest, WhatFailsInPassingIsListedAgainInTheSamePass) {
  std::map<std::string, std::size_t> asked;
  kubernetes_.on_answer = [&](const Request& request, const User&, Response& response) {
    const std::string target(request.target);
    if (target.find("?labelSelector=oshinko-cluster") == std::string::npos) return;
    const std::size_t number = asked.try_emplace(target, asked.size()).first->second++;
    if (number % 3 != 0) response.status = 503;
  };
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_LT(clock_.elapsed, minutes(1));
}

// It isn't known to be empty.
TEST_F(DeletionTest, AKindThatMayNoLongerBeListedIsWaitedFor) {
  MakeService("s");
  kubernetes_.on_answer = [this, is_listed = false](const Request& request, const User&,
                                                    Response& response) mutable {
    is_listed = is_listed || Is(request, "DELETE", "/services/s");
    const bool is_list = request.target.find("/services?labelSelector") != std::string::npos;
    if (is_list && is_listed && clock_.elapsed < seconds(20)) response.status = 403;
  };
  Refuse("DELETE", "/services/s", 500, 0, 1);
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_GE(clock_.elapsed, seconds(20));
  EXPECT_FALSE(Exists(kServices + std::string("/s")));
}

// Its definition is deleted in the middle, with all objects of that kind.
TEST_F(DeletionTest, AKindThatIsNoLongerServedHoldsNothingUp) {
  DefineRayClusters();
  MakeMap("other");
  Before("DELETE", "spark-config", 1, [this] {
    Delete("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/rayclusters.ray.io");
  });
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_LT(clock_.elapsed, minutes(1));
}

TEST_F(DeletionTest, AKindThatIsNotAmongTheResourcesStays) {
  MakeService("s");
  MakeWorker();
  settings_.settings.resources = {"configmaps"};
  StartWatcher();
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_FALSE(MapExists("spark-config"));
  EXPECT_TRUE(Exists(kServices + std::string("/s")));
  EXPECT_EQ(PodsOf("w"), 1u) << "its end is not waited for";
}

TEST_F(DeletionTest, AMemberWhoseStatusChangesAfterEachListIsDeleted) {
  MakeWorker();
  kubernetes_.on_answer = [this, seen = 0](const Request& request, const User&, Response&) mutable {
    if (!Is(request, "GET", "deployments?label")) return;
    Patch(kWorker + std::string("/status"),
          R"({"status":{"collisionCount":)" + std::to_string(++seen) + "}}");
  };
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_LT(clock_.elapsed, settings_.settings.delete_deadline);
  EXPECT_FALSE(Exists(kWorker));
}

TEST_F(DeletionTest, AMemberThatIsKeptAfterItWasListedStays) {
  MakeMap("kept");
  Before("DELETE", "configmaps/kept", 1,
         [this] { Annotate(kMaps + std::string("/kept"), "keep", "true"); });
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_EQ(DeletesOf("configmaps/kept"), 1u);
  EXPECT_TRUE(MapExists("kept"));
}

TEST_F(DeletionTest, ADriverThatIsBackAndLabelledInMidDeletionStays) {
  MakeWorker();
  MakeHeld();
  clock_.At(seconds(10), [this] { MakeDriver(R"("oshinko-cluster":"spark",)"); });
  clock_.At(seconds(30), [this] { Release(); });
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_GE(clock_.elapsed, seconds(30));
  EXPECT_TRUE(Exists(kDriver));
}

// The driver, a Job, was never seen. A worker of its name is none.
TEST_F(DeletionTest, AWorkerOfTheNameOfADriverThatWasNeverSeenGoes) {
  settings_.settings.owner = *OwnerName::Parse("job/w");
  StartWatcher();
  MakeWorker();
  EXPECT_EQ(CondemnNow(), Outcome::kDone);
  EXPECT_FALSE(Exists(kWorker));
}

// The guard lets its account delete only what bears the label.
TEST_F(DeletionTest, AClaimThatTheGuardProtectsIsNamedAndHoldsNothingUp) {
  settings_.settings.volumes = Volumes::kDelete;
  StartWatcher();
  MakeSetWithClaims("Retain");
  Refuse("DELETE", "persistentvolumeclaims/data-w-0", 403);
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_LT(clock_.elapsed, minutes(1));
  EXPECT_TRUE(ClaimExists("data-w-0"));
  EXPECT_NE(LastWord().find("persistentvolumeclaim/data-w-0"), std::string::npos) << LastWord();
}

// Nothing tells any more that it is the cluster's.
TEST_F(DeletionTest, AClaimWhoseDeleteFailsGoesThoughItsSetIsGone) {
  settings_.settings.volumes = Volumes::kDelete;
  StartWatcher();
  MakeSetWithClaims("Retain");
  Refuse("DELETE", "persistentvolumeclaims/data-w-0", 500, 0, 2);
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_FALSE(ClaimExists("data-w-0"));
}

// --- What ends it in its midst.

TEST_F(DeletionTest, ARootThatIsToBeKeptInMidDeletionEndsIt) {
  MakeHeld();
  Before("DELETE", "spark-config", 1, [&] { Annotate(kRoot, "keep", "true"); });
  EXPECT_EQ(Condemn(), Outcome::kSpared);
  EXPECT_TRUE(Exists(kRoot));
  EXPECT_EQ(Mark("phase"), "");
  EXPECT_EQ(Decide(observer_->SureLook({}).facts).reason, Reason::kHeld);
  EXPECT_NE(Notes().find("configmap/spark-config"), std::string::npos) << "what is gone is named";
}

TEST_F(DeletionTest, ADeletionThatAnotherTakesOverInItsMidstIsLeftToIt) {
  MakeHeld();
  After("DELETE", "spark-config", 1, [this] { GiveMarksAway("deleting"); });
  EXPECT_EQ(Condemn(), Outcome::kOvertaken);
  EXPECT_TRUE(Exists(kRoot));
  EXPECT_EQ(Mark("condemned-by"), kOther);
  EXPECT_EQ(Notes().find("ClusterSpared"), std::string::npos) << "the other one says how it ends";
}

// This watcher hung, another one took over, judged the cluster again and spared it.
TEST_F(DeletionTest, AClusterThatAnotherWatcherSparedIsNotDeletedOn) {
  MakeHeld();
  Before("GET", "/configmaps?labelSelector", 3, [&] {
    TakeMarksOff();
    MakeMap("again");
  });
  EXPECT_EQ(Condemn(), Outcome::kSpared);
  EXPECT_TRUE(MapExists("again"));
  EXPECT_TRUE(Exists(kRoot));
  EXPECT_NE(Notes().find("ClusterSpared"), std::string::npos);
}

TEST_F(DeletionTest, ARootThatGetsAnotherClustersLabelInMidDeletionStays) {
  Before("DELETE", "spark-config", 1,
         [this] { Patch(kRoot, R"({"metadata":{"labels":{"oshinko-cluster":"other"}}})"); });
  EXPECT_EQ(Condemn(), Outcome::kSpared);
  EXPECT_TRUE(Exists(kRoot));
  EXPECT_EQ(Mark("phase"), "");
}

// What is listed before the root is read is this cluster's.
TEST_F(DeletionTest, ANewClustersMembersAreNotTaken) {
  MakeHeld();
  int lists = 0;
  kubernetes_.on_request = [&](const Request& request, const User&) {
    if (!Is(request, "GET", "/configmaps?") || ++lists != 3) return;
    Release();
    ReplaceRoot();
    MakeMap("new");
  };
  EXPECT_EQ(Condemn(), Outcome::kSpared);
  EXPECT_TRUE(MapExists("new"));
  EXPECT_TRUE(Exists(kRoot));
  EXPECT_EQ(Refusals("uid-changed"), 1);
}

TEST_F(DeletionTest, ARootThatIsGoneEndsItAndWhatIsLeftIsNamed) {
  MakeHeld();
  After("DELETE", "spark-config", 1, [this] {
    Delete(kRoot);
    MakeMap("late");
  });
  EXPECT_EQ(Condemn(), Outcome::kSpared);
  EXPECT_TRUE(MapExists("late"));
  EXPECT_NE(Notes().find("configmap/late"), std::string::npos) << Notes();
}

TEST_F(DeletionTest, SoIsAKindThatCouldNotBeListedThen) {
  After("DELETE", "spark-config", 1, [this] {
    Delete(kRoot);
    Refuse("GET", "/services?", 500);
  });
  EXPECT_EQ(Condemn(), Outcome::kSpared);
  EXPECT_NE(Notes().find("left: what could not be listed: list services"), std::string::npos)
      << Notes();
}

TEST_F(DeletionTest, WhereSomebodyElseTakesTheRootDownItGoesOn) {
  MakeMap("late", R"(,"annotations":{"cluster-watcher/delete-order":"1"})");
  HoldRoot();
  After("DELETE", "spark-config", 1, [this] { Delete(kRoot); });
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_FALSE(MapExists("late"));
}

TEST_F(DeletionTest, ARootThatCannotBeReadIsNotDeletedUnread) {
  bool deleted = false;
  kubernetes_.on_answer = [&](const Request& request, const User&, Response& response) {
    deleted = deleted || request.method == "DELETE";
    const bool of_root = request.method == "GET" && request.target == kRoot;
    if (of_root && deleted && clock_.elapsed < minutes(15)) response.status = 403;
  };
  clock_.At(minutes(14), [this] { Annotate(kRoot, "keep", "true"); });
  EXPECT_EQ(Condemn(), Outcome::kSpared);
  EXPECT_EQ(DeletesOf("deployments/spark-m"), 0u);
}

// Of a master alone, too.
TEST_F(DeletionTest, WhatStepsAfterMakeGoesToo) {
  for (const bool alone : {false, true}) {
    SCOPED_TRACE(alone);
    if (alone) Delete(kConfig);
    Annotate(kRoot, "after-delete", kStep);
    during_step_ = [&] { MakeMap("late"); };
    EXPECT_EQ(Condemn(), Outcome::kDone);
    EXPECT_FALSE(MapExists("late"));
    MakeRoot();
    MakeDriver();
    MakeMap("spark-config");
    StartWatcher();
  }
}

TEST_F(DeletionTest, StepsAfterAreNotRunForADeletionThatEnds) {
  Annotate(kRoot, "after-delete", kStep);
  MakeHeld();
  After("DELETE", "spark-config", 1, [this] { Annotate(kRoot, "keep", "true"); });
  int runs = 0;
  during_step_ = [&] { ++runs; };
  EXPECT_EQ(Condemn(), Outcome::kSpared);
  EXPECT_EQ(runs, 0);
}

TEST_F(DeletionTest, AMasterThatIsMadeAnewDuringTheStepsAfterIsLeftAlone) {
  Annotate(kRoot, "after-delete", kStep);
  during_step_ = [&] {
    ReplaceRoot();
    MakeMap("new");
  };
  EXPECT_EQ(Condemn(), Outcome::kSpared);
  EXPECT_TRUE(MapExists("new"));
  EXPECT_TRUE(Exists(kRoot));
}

// --- The deadline.

// They hold the wave behind them up, too.
TEST_F(DeletionTest, WhatTerminatesOrIsForbiddenHoldsTheRootUpUntilTheDeadline) {
  MakeMap("forbidden");
  Refuse("DELETE", "/forbidden", 403);
  MakeHeld();
  Delete(kMaps + std::string("/held"));
  Annotate(kConfig, "delete-order", "1");
  EndAfter(hours(1));
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_GE(clock_.elapsed, minutes(10));
  EXPECT_FALSE(Exists(kRoot));
  EXPECT_FALSE(MapExists("spark-config"));
  EXPECT_NE(LastWord().find("configmap/held: not gone"), std::string::npos) << LastWord();
  EXPECT_NE(LastWord().find("configmap/forbidden: delete"), std::string::npos) << LastWord();
  EXPECT_LT(Deletes(), 1'000u) << "in haste";
}

// It would be made again and again.
TEST_F(DeletionTest, WhatAForbiddenMemberControlsIsNotFoughtOver) {
  MakeWorker();
  Refuse("DELETE", "deployments/w", 403);
  clock_.At(minutes(20), [this] { stop_.request_stop(); });
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_LT(clock_.elapsed, minutes(12));
  EXPECT_FALSE(Exists(kRoot));
  EXPECT_EQ(DeletesOf("/replicasets/w-"), 0u);
  EXPECT_NE(LastWord().find("deployment.apps/w: delete"), std::string::npos) << LastWord();
}

TEST_F(DeletionTest, WhatFailsInPassingIsTriedOnBeyondTheDeadline) {
  MakeMap("other");
  RefuseUntil(minutes(40), "DELETE", "/other", 500);
  clock_.At(minutes(39), [this] { EXPECT_TRUE(Exists(kRoot)); });
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_FALSE(MapExists("other"));
  EXPECT_LT(Deletes(), 1'000u) << "in haste";
  std::size_t said = 0;
  const std::string log = log_text_.str();
  for (std::size_t at = 0; (at = log.find("the deadline has passed", at)) != std::string::npos;
       ++at)
    ++said;
  EXPECT_GE(said, 25u) << "each minute";
  EXPECT_LE(said, 31u);
}

TEST_F(DeletionTest, AClusterOfWhichNothingMayBeDeletedLosesItsRootAtTheDeadline) {
  Refuse("DELETE", "spark-config", 403);
  EndAfter(hours(1));
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_GE(clock_.elapsed, minutes(10));
  EXPECT_FALSE(Exists(kRoot));
}

// Each list outlives the evidence of the look before it.
TEST_F(DeletionTest, AlsoWhereTheApiServerIsSlow) {
  MakeService("s");
  MakeWorker();
  Delete(kConfig);
  Refuse("DELETE", "/services/s", 403);
  kubernetes_.on_request = [this](const Request& request, const User&) {
    if (Is(request, "GET", "/persistentvolumeclaims?limit")) clock_.elapsed += seconds(6);
  };
  clock_.At(clock_.elapsed + hours(1), [this] { kubernetes_.GetFaults().Clear(); });
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_LT(clock_.elapsed, minutes(30));
  EXPECT_FALSE(Exists(kRoot));
  EXPECT_FALSE(Exists(kWorker));
}

TEST_F(DeletionTest, AlsoWhereThatFailsForTheMoment) {
  MakeService("s");
  MakeWorker();
  Delete(kConfig);
  Refuse("DELETE", "/services/s", 500);
  kubernetes_.on_request = [this](const Request& request, const User&) {
    if (Is(request, "GET", "/persistentvolumeclaims?limit")) clock_.elapsed += seconds(6);
  };
  bool worker_was_there = true;
  clock_.At(clock_.elapsed + minutes(30), [&] {
    worker_was_there = Exists(kWorker);
    kubernetes_.GetFaults().Clear();
  });
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_FALSE(worker_was_there);
}

TEST_F(DeletionTest, AKindThatCannotBeListedUntilTheDeadlineIsNamedInAWarning) {
  Refuse("GET", "/services?labelSelector", 503);
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_GE(clock_.elapsed, minutes(10));
  EXPECT_EQ(LastWord().find("Warning"), 0u) << LastWord();
  EXPECT_NE(LastWord().find("services"), std::string::npos) << LastWord();
}

// No delete is accepted meanwhile, so each pass behind the deadline has evidence of its own.
TEST_F(DeletionTest, AlsoWhereTheRootIsAllThereIs) {
  Delete(kMaps + std::string("/spark-config"));
  Refuse("GET", "/services?labelSelector", 503);
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_FALSE(Exists(kRoot));
}

// Each list shows one that nobody has sent yet.
TEST_F(DeletionTest, WhatAControllerMakesAgainEachTimeHoldsTheRootUpUntilTheDeadline) {
  MakeService("s");
  kubernetes_.on_answer = [&](const Request& request, const User&, Response&) {
    if (Is(request, "DELETE", "/services/s")) MakeService("s");
  };
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_GE(clock_.elapsed, minutes(10));
  EXPECT_LT(clock_.elapsed, minutes(12));
}

TEST_F(DeletionTest, WhatIsBelowWhatCouldNotBeListedIsNotLeft) {
  MakeWorker();
  kubernetes_.on_answer = [this](const Request& request, const User&, Response& response) {
    const bool is_of_pass =
        Is(request, "GET", "/replicasets?labelSelector") && Is(request, "GET", "limit=500");
    if (is_of_pass && clock_.elapsed < seconds(20)) response.status = 503;
  };
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_NE(LastWord(), "");
  EXPECT_EQ(LastWord().find("its controller"), std::string::npos) << LastWord();
}

// On a slow API server there is no time for a second one while the evidence is fresh.
TEST_F(DeletionTest, ARootThatIsAllThereIsGoesByTheFirstDelete) {
  Delete(kConfig);
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_EQ(DeletesOf("/spark-m"), 1u);
}

// One of them may be kept, and owned by whatever goes.
TEST_F(DeletionTest, WhileAKindFailsToBeListedNothingGoes) {
  Annotate(kConfig, "keep", "true");
  Patch(kConfig,
        R"({"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Service","name":"s",)"
        R"("uid":")" +
            (MakeService("s"), ObjectUid(kServices + std::string("/s"))) + "\"}]}}");
  kubernetes_.on_answer = [this](const Request& request, const User&, Response& response) {
    const bool fails = clock_.elapsed < minutes(2);
    if (fails && Is(request, "GET", "/configmaps?labelSelector")) response.status = 503;
  };
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_TRUE(Exists(kConfig));
  EXPECT_TRUE(Exists(kServices + std::string("/s")));
  EXPECT_FALSE(Exists(kRoot));
}

TEST_F(DeletionTest, TheRootsDeleteIsTriedForEver) {
  for (const int status : {403, 500}) {
    SCOPED_TRACE(status);
    MakeMap("spark-config");
    RefuseUntil(clock_.elapsed + minutes(30), "DELETE", "deployments/spark-m", status);
    EXPECT_EQ(Condemn(), Outcome::kDone);
    EXPECT_FALSE(Exists(kRoot));
    EXPECT_LT(Deletes(), 625u) << "in haste";
    MakeRoot();
    MakeDriver();
    StartWatcher();
  }
}

// Whoever deleted the Deployment is gone, and the garbage collector is behind.
TEST_F(DeletionTest, WhatADeletedControllerHasLeftGoesBeforeTheRoot) {
  MakeWorkload("spark-w", R"("oshinko-cluster":"spark","oshinko-type":"worker",)");
  kubernetes_.Settle();
  ASSERT_EQ(PodsOf("spark-w"), 1u);
  WriteMarks();
  Delete(kDriver);
  kubernetes_.settle_after_writes = false;
  Delete("/apis/apps/v1/namespaces/lab/deployments/spark-w");
  ASSERT_EQ(PodsOf("spark-w"), 1u);
  bool was_first = false;
  Before("DELETE", "deployments/spark-m", 1, [&] {
    was_first = DeletesOf("replicasets/spark-w") > 0 && DeletesOf("pods/spark-w") > 0;
    kubernetes_.settle_after_writes = true;
  });
  EXPECT_EQ(Resume(), Outcome::kDone);
  EXPECT_TRUE(was_first) << Notes();
}

TEST_F(DeletionTest, WhoGivesUpLeavesItAtTheDeadlineToWhoeverComesLater) {
  gives_up_ = true;
  StartWatcher();
  MakeMap("other");
  Refuse("DELETE", "/other", 500);
  EXPECT_EQ(Condemn(), Outcome::kSpared);
  EXPECT_NE(reaper_->given_up(), "");
  EXPECT_EQ(Mark("phase"), "deleting");
  EXPECT_LT(clock_.elapsed, minutes(12));
}

// The account has lost its Role in the middle, and gets it back after an hour.
TEST_F(DeletionTest, WhatMayNotEvenBeListedForAnHourGoesThen) {
  MakeMap("other");
  MakeWorker();
  After("DELETE", "", 1, [this] { Refuse("", "", 403); });
  clock_.At(hours(1), [this] { kubernetes_.GetFaults().Clear(); });
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_FALSE(Exists(kRoot));
  EXPECT_FALSE(MapExists("other") || MapExists("spark-config"));
  EXPECT_FALSE(Exists(kWorker));
}

// All lists of a pass failed, and then the root can be read.
TEST_F(DeletionTest, AnApiThatComesBackInTheMiddleOfAPassIsListedAgain) {
  MakeMap("spark-conf");
  MakeWorker();
  After("DELETE", "", 1, [this] {
    Refuse("", "", 503);
    kubernetes_.on_request = [this](const Request& request, const User&) {
      const bool is_root = Is(request, "GET", "/deployments/spark-m");
      if (is_root && clock_.elapsed > minutes(11)) kubernetes_.GetFaults().Clear();
    };
  });
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_FALSE(Exists(kRoot));
  EXPECT_FALSE(MapExists("spark-config") || MapExists("spark-conf"));
  EXPECT_FALSE(Exists(kWorker));
}

// --- The root.

// One policy may be what lets us out, and without what it mounts its pod could not start elsewhere.
TEST_F(DeletionTest, NetworkPoliciesAndWhatTheMasterMountsGoRightBeforeTheRoot) {
  MakeMap("spark-conf");
  kubernetes_.Apply(R"({"apiVersion":"networking.k8s.io/v1","kind":"NetworkPolicy",)" +
                    Labelled("out") + R"(,"spec":{"podSelector":{}}})");
  std::vector<std::string> order;
  kubernetes_.on_request = [&](const Request& request, const User&) {
    if (request.method != "DELETE") return;
    const std::string target(request.target);
    order.push_back(target.substr(target.rfind('/') + 1));
    EXPECT_EQ(MapExists("spark-config"), order.back() == "spark-config") << order.back();
  };
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_EQ(order.size(), 4u);
  EXPECT_EQ(order.back(), "spark-m");
  EXPECT_FALSE(MapExists("spark-conf"));
  EXPECT_EQ(kubernetes_.Count("PATCH", "/configmaps/"), 0u);
}

TEST_F(DeletionTest, ANetworkPolicyThatMayNotBeDeletedIsNamed) {
  kubernetes_.Apply(R"({"apiVersion":"networking.k8s.io/v1","kind":"NetworkPolicy",)" +
                    Labelled("out") + R"(,"spec":{"podSelector":{}}})");
  Refuse("DELETE", "/networkpolicies/out", 403);
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_FALSE(Exists(kRoot));
  EXPECT_NE(LastWord().find("out: delete"), std::string::npos) << LastWord();
}

TEST_F(DeletionTest, TheRootWaitsForWhatGoesRightBeforeIt) {
  Delete(kConfig);
  MakeMap("spark-conf");
  RefuseUntil(minutes(2), "DELETE", "/spark-conf", 500);
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_GE(clock_.elapsed, minutes(2));
  EXPECT_FALSE(Exists(kConf));
}

TEST_F(DeletionTest, TheClaimsOfARootThatIsASetGoWithIt) {
  settings_.settings.volumes = Volumes::kDelete;
  MakeRootASet();
  ASSERT_TRUE(ClaimExists("data-spark-m-0"));
  Before("DELETE", "persistentvolumeclaims", 1,
         [this] { EXPECT_FALSE(MapExists("spark-config")); });
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_FALSE(ClaimExists("data-spark-m-0"));
  EXPECT_EQ(DeletesOf("persistentvolumeclaims"), 1u);
}

// The cluster may be a master alone.
TEST_F(DeletionTest, ARootOfWhichAnotherIsSaidRightBeforeItsDeleteStays) {
  for (const bool alone : {false, true}) {
    SCOPED_TRACE(alone);
    if (alone) Delete(kConfig);
    Before("DELETE", "/spark-m", 1, [this] { Annotate(kRoot, "keep", "true"); });
    EXPECT_EQ(Condemn(), Outcome::kSpared);
    EXPECT_TRUE(Exists(kRoot));
    EXPECT_EQ(Mark("phase"), "");
    ReplaceRoot();
    MakeDriver();
    StartWatcher();
    Before("DELETE", "/spark-m", 1, [this] { StripMarks(); });
    EXPECT_EQ(Condemn(), Outcome::kSpared);
    EXPECT_TRUE(Exists(kRoot));
    MakeDriver();
    Before("DELETE", "/spark-m", 1, [this] { GiveMarksAway("deleting"); });
    EXPECT_EQ(Condemn(), Outcome::kOvertaken);
    EXPECT_TRUE(Exists(kRoot));
    ReplaceRoot();
    MakeDriver();
    StartWatcher();
  }
}

TEST_F(DeletionTest, ARootThatChangesIsDeletedSoonAllTheSame) {
  int deletes = 0;
  kubernetes_.on_request = [&](const Request& request, const User&) {
    if (Is(request, "DELETE", "/spark-m") && ++deletes <= 5) {
      Annotate(kRoot, "n", std::to_string(deletes));
    }
  };
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_LT(clock_.elapsed, seconds(30));
}

// Its delete was carried out, and the answer is lost so late that the evidence has grown old.
TEST_F(DeletionTest, ARootWhoseDeletesAnswerIsLostIsNobodyElsesDoing) {
  kubernetes_.on_answer = [this](const Request& request, const User&, Response& response) {
    if (!Is(request, "DELETE", "/spark-m")) return;
    clock_.elapsed += seconds(8);
    response.status = 500;
  };
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_FALSE(Exists(kRoot));
}
// It was still there when it was read right after that.
TEST_F(DeletionTest, NorIsOneWhoseDeleteIsCarriedOutLate) {
  Refuse("DELETE", "/spark-m", 500);
  kubernetes_.on_answer = [this, is_sent = false](const Request& request, const User&,
                                                  Response&) mutable {
    is_sent = is_sent || Is(request, "DELETE", "/spark-m");
    if (!is_sent || !Is(request, "GET", "/services?") || !Exists(kRoot)) return;
    Delete(kRoot);
  };
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_EQ(Refusals("conflict"), 0);
}
// What garbage collection takes then is not what somebody left, and claims are marked.
TEST_F(DeletionTest, ItIsTheSameAsIfItHadBeenAnswered) {
  settings_.settings.volumes = Volumes::kCollect;
  until_ = Until::kAccepted;
  StartWatcher();
  MakeClaim("data");
  Delete(kConfig);
  bool is_lost = false;
  kubernetes_.on_answer = [&](const Request& request, const User&, Response& response) {
    const bool is_read =
        Is(request, "GET", "/deployments/spark-m") || Is(request, "GET", "/deployments?");
    if (Is(request, "DELETE", "/spark-m") || (is_lost && is_read && clock_.elapsed < minutes(3))) {
      is_lost = true;
      response.status = 500;
    }
  };
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_EQ(reaper_->given_up(), "");
  EXPECT_EQ(Refusals("conflict"), 0);
  EXPECT_NE(Read("/api/v1/namespaces/lab/persistentvolumeclaims/data").body.find("collect-after"),
            std::string::npos);
}

// --- Deleted means gone.

TEST_F(DeletionTest, IsSaidOnceTheClustersPodsAreGone) {
  const std::string pod = "/api/v1/namespaces/lab/pods/task";
  kubernetes_.Apply(R"({"apiVersion":"v1","kind":"Pod",)" +
                    Labelled("task", R"(,"finalizers":["example.com/held"])") +
                    R"(,"spec":{"containers":[{"name":"m","image":"x"}]}})");
  clock_.At(minutes(20), [&] {
    EXPECT_FALSE(Exists(kRoot));
    EXPECT_EQ(LastWord(), "");
    Release(pod);
  });
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_GE(clock_.elapsed, minutes(20));
  EXPECT_NE(LastWord(), "");
}

TEST_F(DeletionTest, ANewClusterOfItsNameIsNotWaitedFor) {
  until_ = Until::kAllGone;
  StartWatcher();
  HoldRoot();
  After("DELETE", "spark-m", 1, [this] {
    clock_.At(clock_.elapsed + Duration(10), [this] {
      Release(kRoot);
      MakeRoot();
      MakeMap("of-the-new-one");
    });
  });
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_TRUE(MapExists("of-the-new-one"));
}

TEST_F(DeletionTest, AWatcherThatIsToldToStopSeesItsDeletionThrough) {
  HoldRoot();
  After("DELETE", "spark-m", 1, [this] {
    stop_.request_stop();
    clock_.At(clock_.elapsed + seconds(3), [this] { Release(kRoot); });
  });
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_NE(Notes().find("ClusterDeleted"), std::string::npos);
}

// As where the root is deleted in the foreground, or is our pod.
TEST_F(DeletionTest, ItDoesNotWaitForItsOwnPod) {
  HoldRoot();
  After("DELETE", "spark-m", 1, [this] {
    stop_.request_stop();
    kubernetes_.settle_after_writes = false;  // no ReplicaSet replaces it
    const std::string pod = "/api/v1/namespaces/lab/pods/" + me_.pod;
    Patch(pod, R"({"metadata":{"finalizers":["example.com/held"]}})");
    Delete(pod);
  });
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_LT(clock_.elapsed, seconds(20));
  EXPECT_TRUE(Exists(kRoot));
}

TEST_F(DeletionTest, NorForARootThatIsItsPod) {
  Delete(kRoot);
  kubernetes_.Settle();
  kubernetes_.Apply(R"({"apiVersion":"v1","kind":"Pod",)" +
                    Meta("bare", R"(,"labels":{"oshinko-cluster":"spark","oshinko-type":"master",)"
                                 R"("app":"spark-m"},"finalizers":["example.com/held"])") +
                    R"(,"spec":{"containers":[{"name":"m","image":"x"}]}})");
  StartWatcher();
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_LT(clock_.elapsed, seconds(20));
  EXPECT_NE(Notes().find("ClusterDeleted"), std::string::npos);
}

// Our own pod's end is not to be waited for: who would say it?
TEST_F(DeletionTest, OurOwnPodIsNotWaitedForOnceTheRootIsGone) {
  Patch("/api/v1/namespaces/lab/pods/" + NameOfPod(),
        R"({"metadata":{"finalizers":["example.com/held"]}})");
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_LT(clock_.elapsed, seconds(30));
}

// Its operator is down. Only a delete in the foreground collects what it owns.
TEST_F(DeletionTest, ARootThatAFinalizerHoldsIsDeletedAgainInTheForegroundAndIsAHuskThen) {
  HoldRoot();
  std::vector<Duration> sent;
  std::string last;
  kubernetes_.on_request = [&](const Request& request, const User&) {
    if (!Is(request, "DELETE", "/spark-m")) return;
    sent.push_back(clock_.elapsed);
    last = request.body;
  };
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_LT(clock_.elapsed, minutes(1)) << "that it is a husk is said once it is one";
  ASSERT_EQ(sent.size(), 2u) << "our own pod counts, too";
  EXPECT_GE(sent[1] - sent[0], settings_.settings.operator_grace);
  EXPECT_NE(last.find("Foreground"), std::string::npos) << last;
  EXPECT_EQ(PodsOf("spark-m"), 0u);
  EXPECT_TRUE(Exists(kRoot)) << "finalizers are never taken off";
  EXPECT_EQ(LastWord().find("Warning"), 0u);
  EXPECT_NE(LastWord().find("example.com/held"), std::string::npos) << LastWord();
}

TEST_F(DeletionTest, ThatIsRepeatedEachMinuteWhilePodsRun) {
  HoldRoot();
  const std::string pod = "/api/v1/namespaces/lab/pods/task";
  kubernetes_.Apply(R"({"apiVersion":"v1","kind":"Pod",)" +
                    Labelled("task", R"(,"finalizers":["example.com/held"])") +
                    R"(,"spec":{"containers":[{"name":"m","image":"x"}]}})");
  clock_.At(minutes(15), [&] { Release(pod); });
  EXPECT_EQ(Condemn(), Outcome::kDone);
  const std::size_t sent = DeletesOf("/spark-m");
  EXPECT_GE(sent, 5u);
  EXPECT_LE(sent, 7u);
}

TEST_F(DeletionTest, IsSaidSoonerOrLaterWhereThatIsAskedFor) {
  MakeWorker();
  MakeHeld();
  HoldRoot();
  until_ = Until::kAccepted;
  StartWatcher();
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_LT(clock_.elapsed, seconds(30)) << "that it terminates is enough";
  Release();
  Release(kRoot);
  MakeRoot();
  MakeHeld();
  MakeDriver();
  until_ = Until::kAllGone;
  StartWatcher();
  const Duration began = clock_.elapsed;
  clock_.At(began + minutes(15), [this] { Release(); });
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_GE(clock_.elapsed - began, minutes(15));
  EXPECT_FALSE(Exists(kRoot));
}

// Somebody has called it off.
TEST_F(DeletionTest, NorIsItWhereTheMarksAreTakenOffMeanwhile) {
  HoldRoot();
  After("DELETE", "/spark-m", 1, [this] { StripMarks(); });
  EXPECT_EQ(Condemn(), Outcome::kSpared);
  EXPECT_EQ(DeletesOf("/spark-m"), 1u);
  EXPECT_EQ(LastWord(), "");
}

}  // namespace
}  // namespace cluster_watcher

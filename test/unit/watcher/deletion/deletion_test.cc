// The passes of a deletion, from its first delete to the master root's, where somebody interferes.
#include "watcher/deletion/deletion.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "test/unit/support/reaper_lab.h"

namespace cluster_watcher {
namespace {

using small_kubernetes::Request;
using small_kubernetes::Response;
using small_kubernetes::User;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr const char* kMerge = "application/merge-patch+json";
constexpr const char* kConfig = "/api/v1/namespaces/lab/configmaps/spark-config";
constexpr const char* kServices = "/api/v1/namespaces/lab/services";
constexpr const char* kSet = "/apis/apps/v1/namespaces/lab/statefulsets/w";
constexpr const char* kWorker = "/apis/apps/v1/namespaces/lab/deployments/w";

class DeletionTest : public ReaperLab {
 protected:
  std::size_t DeletesOf(const std::string& what) { return kubernetes_.Count("DELETE", what); }
  void MakeService(const std::string& name, const std::string& more = "") {
    kubernetes_.Apply(R"({"apiVersion":"v1","kind":"Service",)" + Labelled(name, more) +
                      R"(,"spec":{"ports":[{"port":1}]}})");
  }
  void MakeHeld() { MakeMap("held", R"(,"finalizers":["example.com/held"])"); }
  void Release() {
    kubernetes_.Admin("PATCH", kMaps + std::string("/held"), R"({"metadata":{"finalizers":null}})",
                      kMerge);
  }
  void Label(const std::string& map) {
    kubernetes_.Admin("PATCH", kMaps + ("/" + map),
                      R"({"metadata":{"labels":{"oshinko-cluster":"spark"}}})", kMerge);
  }
  void Touch(const std::string& path) { Annotate(path, "n", "1"); }
  void StripMarks() {
    kubernetes_.Admin("PATCH", kRoot,
                      R"({"metadata":{"annotations":{"cluster-watcher/phase":null,)"
                      R"("cluster-watcher/condemned-by":null}}})",
                      kMerge);
  }
  // A set that holds a claim which its controller never lets go of.
  void MakeSetThatHoldsAClaim() {
    MakeSetWithClaims();
    kubernetes_.Apply(
        R"({"apiVersion":"v1","kind":"PersistentVolumeClaim",)" +
        Meta("data-w-9", R"(,"labels":{"app":"w"})" + OwnedBy("StatefulSet", "apps/v1", kSet)) +
        R"(,"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":)"
        R"({"storage":"1Gi"}}}})");
  }
  bool ClaimExists(const std::string& name) {
    return Exists("/api/v1/namespaces/lab/persistentvolumeclaims/" + name);
  }
  // Requests for lists of this kind's members fail until then.
  void RefuseListsUntil(const std::string& plural, Duration until, int status = 503) {
    kubernetes_.on_answer = [=, this](const Request& request, const User&, Response& response) {
      const bool of_it = request.target.find("/" + plural + "?labelSelector") != std::string::npos;
      if (of_it && clock_.elapsed < until) response.status = status;
    };
  }
  // The driver comes back in the end, so that a watcher that hangs ends.
  void EndAfter(Duration time) {
    clock_.At(time, [this] { MakeDriver(); });
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
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  EXPECT_TRUE(MapExists("spark-config"));
  EXPECT_TRUE(Exists(kRoot));
}

TEST_F(DeletionTest, ARootThatIsTakenDownBeforeADeleteIsAcceptedSparesTheMembers) {
  HoldRoot();
  Before("DELETE", "", 1, [this] {
    Touch(kConfig);
    Delete(kRoot);
  });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  EXPECT_EQ(Deletes(), 1u);
  EXPECT_TRUE(MapExists("spark-config"));
}

TEST_F(DeletionTest, AClusterOfWhichNothingMayBeListedIsNotDeleted) {
  kubernetes_.on_answer = [this](const Request& request, const User&, Response& response) {
    if (request.target.find("?labelSelector=oshinko-cluster") == std::string::npos) return;
    if (clock_.elapsed < minutes(20)) response.status = 403;
  };
  observer_->SureLook({});
  Delete(kDriver);
  EndAfter(minutes(15));
  EXPECT_EQ(CondemnNow(), Reaper::Outcome::kSpared);
  EXPECT_EQ(Deletes(), 0u);
  EXPECT_TRUE(Exists(kRoot));
}

TEST_F(DeletionTest, NothingIsBegunWhileAKindFailsInPassing) {
  MakeService("s");
  RefuseListsUntil("services", seconds(8));
  kubernetes_.on_request = [this](const Request& request, const User&) {
    if (request.method != "PATCH" || !request.target.starts_with(kRoot)) return;
    EXPECT_TRUE(clock_.elapsed >= seconds(8) || Mark("deletes-begun").empty());
  };
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_FALSE(Exists(kServices + std::string("/s")));
}

// Jobs go by themselves, so one of them would prove nothing.
TEST_F(DeletionTest, AFewAreNamedFirstAndOneThatProvesItHalf) {
  for (int i = 0; i < 70; ++i) {
    kubernetes_.Apply(R"({"apiVersion":"batch/v1","kind":"Job",)" +
                      Labelled("j-" + std::to_string(i)) +
                      R"(,"spec":{"template":{"spec":{"restartPolicy":"Never","containers":)"
                      R"([{"name":"m","image":"x"}]}}}})");
  }
  std::string first;
  Before("DELETE", "", 1, [&] { first = Mark("first-deletes"); });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  const std::vector<FirstDelete> named = ParseFirstDeletes(first);
  EXPECT_EQ(named.size(), 16u);
  EXPECT_NE(first.find("configmaps/spark-config="), std::string::npos) << first;
}

// A watcher that comes after a crash could not tell that it is half.
TEST_F(DeletionTest, WhatIsNotNamedWaitsForWhatIs) {
  for (int i = 0; i < 16; ++i) MakeMap("a-" + std::to_string(i));
  Refuse("DELETE", "/configmaps/a-", 500);
  EndAfter(minutes(2));
  observer_->SureLook({});
  Delete(kDriver);
  EXPECT_EQ(CondemnNow(), Reaper::Outcome::kSpared);
  EXPECT_EQ(DeletesOf("spark-config"), 0u);
}

TEST_F(DeletionTest, WhatWasChangedBeforeItsDeleteIsListedAgainAtOnce) {
  Before("DELETE", "spark-config", 1, [this] { Touch(kConfig); });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_EQ(DeletesOf("spark-config"), 2u);
  EXPECT_LT(clock_.elapsed, seconds(3));
}

TEST_F(DeletionTest, AFirstDeleteThatFailsOnceIsSentAgainAtOnce) {
  Refuse("DELETE", "spark-config", 500, 0, 1);
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_LT(clock_.elapsed, seconds(3));
  EXPECT_EQ(kubernetes_.Count("PATCH", "spark-m"), 3u) << "no other look";
  EXPECT_EQ(kubernetes_.Count("GET", "/configmaps?labelSelector"), 2u) << "no other list";
}

TEST_F(DeletionTest, NoClaimIsMarkedWhileTheClusterIsWhole) {
  settings_.settings.volumes = Volumes::kCollect;
  StartWatcher();
  MakeClaim("data");
  Refuse("DELETE", "spark-config", 500);
  EndAfter(minutes(1));
  observer_->SureLook({});
  Delete(kDriver);
  EXPECT_EQ(CondemnNow(), Reaper::Outcome::kSpared);
  EXPECT_EQ(kubernetes_.Count("PATCH", "persistentvolumeclaims"), 0u);
}

TEST_F(DeletionTest, WhereOnlyClaimsAreLeftTheyAreMarkedOnFreshEvidence) {
  settings_.settings.volumes = Volumes::kCollect;
  StartWatcher();
  MakeClaim("data");
  Delete(kConfig);
  bool suspended = false;
  After("PATCH", "spark-m", 3, [&] {
    suspended = true;
    clock_.suspended += minutes(1);
    EXPECT_EQ(kubernetes_.Count("PATCH", "persistentvolumeclaims"), 0u);
  });
  EndAfter(minutes(30));
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_TRUE(suspended);
  EXPECT_TRUE(ClaimExists("data"));
  EXPECT_EQ(kubernetes_.Count("PATCH", "persistentvolumeclaims"), 1u);
  EXPECT_GT(kubernetes_.Count("PATCH", "spark-m"), 3u) << "it looks again first";
}

TEST_F(DeletionTest, AMarkOfAClaimThatFailsIsTriedAgain) {
  settings_.settings.volumes = Volumes::kCollect;
  StartWatcher();
  MakeClaim("data");
  MakeHeld();
  Refuse("PATCH", "persistentvolumeclaims", 503, 0, 3);
  clock_.At(seconds(20), [this] { Release(); });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_NE(Read("/api/v1/namespaces/lab/persistentvolumeclaims/data").body.find("collect-after"),
            std::string::npos);
}

// Once a delete was accepted, only a claim that is still in the way waits.
TEST_F(DeletionTest, ASetThatNeverLetsGoOfAClaimGoesAtTheDeadlineWithoutIt) {
  MakeSetThatHoldsAClaim();
  EndAfter(minutes(40));
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_GE(clock_.elapsed, minutes(10));
  EXPECT_FALSE(Exists(kSet));
  EXPECT_TRUE(ClaimExists("data-w-0"));
  EXPECT_TRUE(ClaimExists("data-w-9"));
  EXPECT_FALSE(Exists("/api/v1/namespaces/lab/pods/w-0"));
}

TEST_F(DeletionTest, SoItDoesWhereItIsAllThereIs) {
  Delete(kConfig);
  MakeSetThatHoldsAClaim();
  kubernetes_.on_request = [this](const Request& request, const User&) {
    if (request.method != "PATCH" || !request.target.starts_with(kRoot)) return;
    EXPECT_TRUE(clock_.elapsed >= minutes(10) || Mark("deletes-begun").empty());
  };
  EndAfter(minutes(40));
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_GE(clock_.elapsed, minutes(10));
  EXPECT_FALSE(Exists(kSet));
  EXPECT_TRUE(ClaimExists("data-w-9"));
}

TEST_F(DeletionTest, ASetThatOwnsAKeptMapWaitsForItsClaims) {
  MakeSetThatHoldsAClaim();
  MakeMap("kept", R"(,"annotations":{"cluster-watcher/keep":"true"})" +
                      OwnedBy("StatefulSet", "apps/v1", kSet));
  kubernetes_.on_request = [this](const Request& request, const User&) {
    const bool of_set = request.method == "DELETE" && request.target.starts_with(kSet);
    EXPECT_FALSE(of_set && clock_.elapsed < minutes(10));
  };
  EndAfter(minutes(40));
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_FALSE(Exists(kSet));
  EXPECT_TRUE(MapExists("kept"));
  EXPECT_TRUE(ClaimExists("data-w-9"));
}

// --- What must survive.

TEST_F(DeletionTest, AMapThatIsKeptRightBeforeItsOwnersDeleteStays) {
  MakeOwnerOfAKeptMap();
  Delete(kMaps + std::string("/kept"));
  Before("DELETE", "deployments/w", 1, [this] {
    Touch(kWorker);
    MakeMap("kept", R"(,"annotations":{"cluster-watcher/keep":"true"})" +
                        OwnedBy("Deployment", "apps/v1", kWorker));
  });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_TRUE(MapExists("kept"));
  EXPECT_FALSE(Exists(kWorker));
}

TEST_F(DeletionTest, WhereTheOnlyMemberOwnsAKeptMapWhatElseItOwnsIsFoundFirst) {
  Delete(kConfig);
  MakeOwnerOfAKeptMap();
  kubernetes_.on_answer = [this](const Request& request, const User&, Response& response) {
    const bool all_pods = request.target == "/api/v1/namespaces/lab/pods" ||
                          request.target.starts_with("/api/v1/namespaces/lab/pods?limit");
    if (all_pods && clock_.elapsed < seconds(8)) response.status = 503;
  };
  EndAfter(minutes(40));
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_TRUE(MapExists("kept"));
  const auto left =
      JsonDocument::Parse(Read("/api/v1/namespaces/lab/replicasets?labelSelector=app%3Dw").body);
  EXPECT_EQ(JsonDocument::Parse(Read("/api/v1/namespaces/lab/pods?labelSelector=app%3Dw").body)
                ->root()["items"]
                .size(),
            0u);
  EXPECT_GE(clock_.elapsed, seconds(8));
}

TEST_F(DeletionTest, WhatCannotBeFoundForLongHoldsAnOwnerUpNoLonger) {
  MakeOwnerOfAKeptMap();
  kubernetes_.on_answer = [this](const Request& request, const User&, Response& response) {
    const bool all = request.target.starts_with("/api/v1/namespaces/lab/services") &&
                     request.target.find("labelSelector") == std::string::npos;
    if (all && clock_.elapsed < minutes(30)) response.status = 503;
  };
  EndAfter(minutes(40));
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_TRUE(MapExists("kept"));
  EXPECT_FALSE(Exists(kWorker));
  EXPECT_GE(clock_.elapsed, minutes(10));
  EXPECT_LT(clock_.elapsed, minutes(12));
}

TEST_F(DeletionTest, WhatControlsTheOwnerStays) {
  MakeMap("top");
  const std::string controller = OwnedBy("ConfigMap", "v1", kMaps + std::string("/top")).substr(1);
  std::string reference = controller;
  reference.insert(reference.rfind("}]"), R"(,"controller":true)");
  kubernetes_.Admin("PATCH", kDriver, "{\"metadata\":{" + reference + "}}", kMerge);
  observer_->SureLook({});
  kubernetes_.Admin("PATCH", kDriver, R"({"spec":{"replicas":0}})", kMerge);
  EXPECT_EQ(CondemnNow(), Reaper::Outcome::kDone);
  EXPECT_TRUE(MapExists("top"));
  EXPECT_TRUE(Exists(kDriver));
}

TEST_F(DeletionTest, ADriverThatIsBackAndLabelledInMidDeletionStays) {
  MakeHeld();
  clock_.At(seconds(10), [this] { MakeDriver(R"("oshinko-cluster":"spark",)"); });
  clock_.At(seconds(30), [this] { Release(); });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_GE(clock_.elapsed, seconds(30));
  EXPECT_TRUE(Exists(kDriver));
  EXPECT_EQ(DeletesOf("deployments/bob"), 0u);
}

TEST_F(DeletionTest, AKindThatIsNeverDeletedStaysThoughItLosesItsOwner) {
  MakeOwnerOfAKeptMap();
  const std::string owner = OwnedBy("Deployment", "apps/v1", kWorker);
  kubernetes_.Apply(R"({"apiVersion":"v1","kind":"ServiceAccount",)" + Meta("sa", owner) + "}");
  settings_.settings.resources = {"deployments.apps", "replicasets.apps", "configmaps", "pods",
                                  "serviceaccounts"};
  StartWatcher();
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_TRUE(Exists("/api/v1/namespaces/lab/serviceaccounts/sa"));
  EXPECT_FALSE(Exists(kWorker));
}

TEST_F(DeletionTest, AnOrphanThatIsAnotherClustersOrHasAnotherOwnerStays) {
  MakeOwnerOfAKeptMap();
  const std::string owner = OwnedBy("Deployment", "apps/v1", kWorker);
  MakeBareMap("bare", owner);
  MakeBareMap("others", R"(,"labels":{"oshinko-cluster":"other"})" + owner);
  std::string two = owner;
  two.insert(two.rfind(']'), "," + OwnedBy("Namespace", "v1", "/api/v1/namespaces/lab")
                                       .substr(std::string(R"(,"ownerReferences":[)").size()));
  two.pop_back();
  MakeBareMap("shared", two);
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_FALSE(MapExists("bare"));
  EXPECT_TRUE(MapExists("others"));
  EXPECT_TRUE(MapExists("shared"));
}

TEST_F(DeletionTest, AnOwnerWhoseOrphansCannotBeMarkedWaitsForTheDeadline) {
  MakeOwnerOfAKeptMap();
  std::optional<Duration> deleted;
  kubernetes_.on_answer = [&](const Request& request, const User&, Response& response) {
    const bool of_root = request.target.starts_with(kRoot);
    if (request.method == "PATCH" && of_root && request.body.find(",+") != std::string::npos) {
      response.status = 403;
    }
    if (request.method == "DELETE" && request.target.starts_with(kWorker)) {
      deleted = clock_.elapsed;
    }
  };
  EndAfter(minutes(40));
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  ASSERT_TRUE(deleted);
  EXPECT_GE(*deleted, minutes(10));
  EXPECT_TRUE(MapExists("kept"));
}

// --- Behind the first delete.

TEST_F(DeletionTest, WavesGoOneBehindTheOtherInTheForeground) {
  Annotate(kConfig, "delete-order", "-1");
  MakeMap("second");
  std::string policy;
  kubernetes_.on_request = [&](const Request& request, const User&) {
    if (request.method != "DELETE" || request.target.find("spark-config") == std::string::npos) {
      return;
    }
    policy = request.body;
    EXPECT_EQ(DeletesOf("second"), 0u);
  };
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_NE(policy.find("Foreground"), std::string::npos) << policy;
  EXPECT_FALSE(MapExists("second"));
}

TEST_F(DeletionTest, WhatADeletedMemberControlsIsTheGarbageCollectorsForAWhile) {
  MakeWorkload("w", R"("oshinko-cluster":"spark",)");
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_EQ(DeletesOf("/replicasets/") + DeletesOf("/pods/"), 0u);
}

TEST_F(DeletionTest, ThenItIsDeletedHere) {
  MakeWorkload("w", R"("oshinko-cluster":"spark",)");
  // Nobody collects: what the worker controlled is there as long as we don't delete it.
  After("DELETE", "deployments/w", 1, [this] { kubernetes_.settle_after_writes = true; });
  Before("DELETE", "deployments/w", 1, [this] { kubernetes_.settle_after_writes = false; });
  EndAfter(minutes(40));
  kubernetes_.on_answer = nullptr;
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_LT(clock_.elapsed, minutes(2));
  EXPECT_GT(DeletesOf("/replicasets/w-"), 0u);
  EXPECT_GT(DeletesOf("/pods/w-"), 0u);
}

TEST_F(DeletionTest, ADeletionThatAnotherTakesOverInItsMidstIsLeftToIt) {
  MakeHeld();
  After("DELETE", "spark-config", 1, [this] { GiveMarksAway("deleting"); });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kOvertaken);
  EXPECT_TRUE(Exists(kRoot));
  EXPECT_EQ(Mark("condemned-by"), kOther);
}

TEST_F(DeletionTest, AfterStepsAreNotRunForADeletionThatEnds) {
  Annotate(kRoot, "after-delete", R"([{\"name\":\"a\",\"http\":{\"url\":\"http://h/\"}}])");
  MakeHeld();
  After("DELETE", "spark-config", 1, [this] { Annotate(kRoot, "keep", "true"); });
  int runs = 0;
  during_step_ = [&] { ++runs; };
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  EXPECT_EQ(runs, 0);
}

TEST_F(DeletionTest, AMasterThatIsMadeAnewDuringTheStepsAfterIsLeftAlone) {
  Annotate(kRoot, "after-delete", R"([{\"name\":\"a\",\"http\":{\"url\":\"http://h/\"}}])");
  during_step_ = [&] {
    ReplaceRoot();
    MakeMap("new");
  };
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  EXPECT_TRUE(MapExists("new"));
  EXPECT_TRUE(Exists(kRoot));
}

// Another watcher may have spared the cluster.
TEST_F(DeletionTest, WhileItIsUnknownWhetherMarksWereTakenOffHalfAClusterNothingGoes) {
  MakeMap("other");
  AnHourPasses();
  const Duration known = clock_.elapsed + seconds(30);
  bool stripped = false;
  Refuse("DELETE", "spark-config", 500, 0, 1);
  kubernetes_.on_answer = [&](const Request& request, const User&, Response& response) {
    if (request.method == "DELETE" && !stripped) {
      stripped = true;
      StripMarks();
      return;
    }
    const bool proof = request.target.find("metadata.name%3Dother") != std::string::npos;
    if (proof && clock_.elapsed < known) response.status = 503;
    EXPECT_FALSE(request.method == "DELETE" && clock_.elapsed > known - seconds(29) &&
                 clock_.elapsed < known);
  };
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_GE(clock_.elapsed, known);
  EXPECT_FALSE(Exists(kRoot));
}

TEST_F(DeletionTest, WhoTakesOverWhileMarksAreWrittenAgainFinishesIt) {
  MakeMap("other");
  AnHourPasses();
  Refuse("DELETE", "spark-config", 500, 0, 1);
  bool stripped = false;
  kubernetes_.on_request = [&](const Request& request, const User&) {
    if (request.method != "PATCH" || !request.target.starts_with(kRoot) || !stripped) return;
    GiveMarksAway("deleting");
  };
  kubernetes_.on_answer = [&](const Request& request, const User&, Response&) {
    if (request.method != "DELETE" || stripped) return;
    stripped = true;
    StripMarks();
  };
  EXPECT_EQ(Condemn(), Reaper::Outcome::kOvertaken);
  EXPECT_EQ(DeletesOf("spark-config"), 1u);
  EXPECT_EQ(Mark("condemned-by"), kOther);
}

TEST_F(DeletionTest, MarksThatMayNotBeWrittenAgainHoldHalfAClusterUpForNothing) {
  MakeHeld();
  AnHourPasses();
  After("DELETE", "spark-config", 1, [this] {
    StripMarks();
    Refuse("PATCH", "spark-m", 403);
  });
  clock_.At(clock_.elapsed + seconds(20), [this] { Release(); });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_LT(clock_.elapsed, std::chrono::hours(1) + minutes(1));
}

TEST_F(DeletionTest, MarksThatSayNoLongerThatDeletesAreBegunAreWrittenAgain) {
  MakeHeld();
  AnHourPasses();
  After("DELETE", "spark-config", 1, [this] {
    kubernetes_.Admin("PATCH", kRoot,
                      R"({"metadata":{"annotations":{"cluster-watcher/deletes-begun":null}}})",
                      kMerge);
  });
  clock_.At(clock_.elapsed + seconds(20), [this] {
    EXPECT_EQ(Mark("deletes-begun"), "true");
    MakeMap("again");  // no reason to doubt what bears our name
    Release();
  });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
}

TEST_F(DeletionTest, ARootThatWasSparedRightBeforeItsDeleteStays) {
  AnHourPasses();
  kubernetes_.on_request = [&, reads = 0](const Request& request, const User&) mutable {
    if (request.method != "GET" || request.target != kRoot || MapExists("spark-config")) return;
    if (++reads != 2) return;
    StripMarks();
    MakeMap("again");
  };
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  EXPECT_TRUE(Exists(kRoot));
  EXPECT_TRUE(MapExists("again"));
}

TEST_F(DeletionTest, WhileItIsUnknownWhetherItWasSparedARootStays) {
  AnHourPasses();
  const Duration known = clock_.elapsed + seconds(30);
  kubernetes_.on_request = [&, reads = 0](const Request& request, const User&) mutable {
    EXPECT_FALSE(request.method == "DELETE" && request.target.starts_with(kRoot) &&
                 clock_.elapsed < known);
    if (request.method != "GET" || request.target != kRoot || MapExists("spark-config")) return;
    if (++reads == 2) StripMarks();
  };
  kubernetes_.on_answer = [&](const Request& request, const User&, Response& response) {
    const bool proof = request.target.find("metadata.name%3Dspark-config") != std::string::npos;
    if (proof && clock_.elapsed < known) response.status = 503;
  };
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_FALSE(Exists(kRoot));
}

TEST_F(DeletionTest, ARootThatCannotBeReadIsNotDeletedUnread) {
  bool deleted = false;
  kubernetes_.on_answer = [&](const Request& request, const User&, Response& response) {
    deleted = deleted || request.method == "DELETE";
    const bool of_root = request.method == "GET" && request.target == kRoot;
    if (of_root && deleted && clock_.elapsed < minutes(1)) response.status = 503;
  };
  clock_.At(seconds(30), [this] { Annotate(kRoot, "keep", "true"); });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  EXPECT_TRUE(Exists(kRoot));
  EXPECT_EQ(DeletesOf("deployments/spark-m"), 0u);
}

TEST_F(DeletionTest, AKindThatCanBeListedRightAfterTheDeadlineGoesToo) {
  MakeService("s");
  MakeHeld();
  RefuseListsUntil("services", minutes(10) + seconds(1));
  EndAfter(minutes(40));
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_FALSE(Exists(kServices + std::string("/s")));
}

// --- A root that is going or gone.

TEST_F(DeletionTest, WhatTheRootLeftWithoutAnOwnerIsNoOtherMaster) {
  HoldRoot();
  observer_->SureLook({});
  AnHourPasses();
  const auto sets = JsonDocument::Parse(
      Read("/apis/apps/v1/namespaces/lab/replicasets?labelSelector=app%3Dspark-m").body);
  const auto meta = ReadObjectMeta(sets->root()["items"].At(0));
  FirstDelete orphan = FirstDelete::Of({*FindBuiltInByName("replicasets", "apps"), *meta});
  orphan.is_orphan = true;
  WriteMarks(kGone + ("," + FirstDeletesMark({orphan})), seconds(60));
  Delete(kDriver);
  const Snapshot snapshot = observer_->SureLook({});
  kubernetes_.Admin("DELETE", kRoot,
                    R"({"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":"Orphan"})",
                    "application/json");
  EndAfter(std::chrono::hours(2));
  EXPECT_EQ(reaper_->Resume(snapshot.marks.condemned_by, snapshot), Reaper::Outcome::kDone);
  EXPECT_FALSE(MapExists("spark-config"));
}

TEST_F(DeletionTest, AnOrphanThatIsAnotherDoesNotHideAnotherMaster) {
  AnHourPasses();
  HoldRoot();
  WriteMarks(kGone + std::string(",+configmaps/x=0011223344556677"), seconds(60));
  const Snapshot snapshot = observer_->SureLook({});
  Before("GET", "/deployments?labelSelector", 2, [&] {
    Delete(kRoot);
    MakeWorkload("spark-n", R"("oshinko-cluster":"spark","oshinko-type":"master",)");
  });
  EXPECT_EQ(reaper_->Resume(snapshot.marks.condemned_by, snapshot), Reaper::Outcome::kSpared);
  EXPECT_EQ(Deletes(), 0u);
}

TEST_F(DeletionTest, WhatIsLabelledAfterTheRootHasGoneIsNoMember) {
  for (const bool resumed : {false, true}) {
    SCOPED_TRACE(resumed);
    MakeHeld();
    MakeBareMap("old");
    observer_->SureLook({});
    AnHourPasses();
    observer_->SureLook({});
    if (resumed) WriteMarks(kGone, seconds(60));
    After("DELETE", "spark-config", 1, [this] {
      Delete(kRoot);
      Label("old");
    });
    clock_.At(clock_.elapsed + seconds(20), [this] { Release(); });
    const bool done = (resumed ? Resume() : Condemn()) == Reaper::Outcome::kDone;
    EXPECT_TRUE(done);
    EXPECT_TRUE(MapExists("old"));
    EXPECT_FALSE(MapExists("spark-config"));
    Delete(kMaps + std::string("/old"));
    MakeRoot();
    MakeDriver();
    MakeMap("spark-config");
    StartWatcher();
  }
}

TEST_F(DeletionTest, AKindThatCannotBeListedAtFirstIsListedForARootThatIsGoing) {
  MakeService("s");
  HoldRoot();
  observer_->SureLook({});
  AnHourPasses();
  WriteMarks(kGone, seconds(60));
  const Snapshot snapshot = observer_->SureLook({});
  const Duration until = clock_.elapsed + seconds(20);
  Delete(kRoot);
  kubernetes_.on_answer = [&, lists = 0](const Request& request, const User&,
                                         Response& response) mutable {
    if (request.target.find("/services?labelSelector") == std::string::npos) return;
    if (++lists > 1 && clock_.elapsed < until) response.status = 503;
  };
  EXPECT_EQ(reaper_->Resume(snapshot.marks.condemned_by, snapshot), Reaper::Outcome::kDone);
  EXPECT_FALSE(Exists(kServices + std::string("/s")));
}

TEST_F(DeletionTest, WhatIsMadeWhileTheRootCannotBeReadIsAMember) {
  MakeHeld();
  observer_->SureLook({});
  AnHourPasses();
  WriteMarks(kGone, seconds(60));
  const Snapshot snapshot = observer_->SureLook({});
  const Duration until = clock_.elapsed + seconds(20);
  kubernetes_.on_answer = [&](const Request& request, const User&, Response& response) {
    const bool of_root = request.method == "GET" && request.target == kRoot;
    if (of_root && clock_.elapsed < until) response.status = 503;
  };
  clock_.At(clock_.elapsed + seconds(10), [this] { MakeMap("new"); });
  clock_.At(clock_.elapsed + seconds(40), [this] { Release(); });
  EXPECT_EQ(reaper_->Resume(snapshot.marks.condemned_by, snapshot), Reaper::Outcome::kDone);
  EXPECT_FALSE(MapExists("new"));
}

// --- What somebody else has begun.

TEST_F(DeletionTest, OfAClusterThatIsTakenDownByHandAllGoesThatWasThere) {
  HoldRoot();
  MakeMap("spark-conf");  // is mounted by the master
  observer_->SureLook({});
  AnHourPasses();
  MakeMap("early");
  observer_->SureLook({});
  Delete(kDriver);
  MakeMap("late");
  Delete(kRoot);
  MakeMap("after");
  EXPECT_TRUE(reaper_->FinishOnTermination());
  for (const char* map : {"spark-config", "spark-conf", "early", "late"}) {
    EXPECT_FALSE(MapExists(map)) << map;
  }
  EXPECT_TRUE(MapExists("after"));
}

TEST_F(DeletionTest, ADriverThatIsBackBetweenTwoPassesEndsWhatWasTakenDownByHand) {
  MakeMap("late", R"(,"annotations":{"cluster-watcher/delete-order":"1"})");
  TakeDownByHand();
  After("DELETE", "spark-config", 1, [this] { MakeDriver(); });
  EXPECT_FALSE(reaper_->FinishOnTermination());
  EXPECT_TRUE(MapExists("late"));
}

TEST_F(DeletionTest, AListThatTookLongIsFollowedByALookAndNoPause) {
  TakeDownByHand();
  Duration listed{0};
  kubernetes_.on_request = [&](const Request& request, const User&) {
    if (request.target.find("/configmaps?labelSelector") == std::string::npos) {
      if (request.method == "DELETE") {
        EXPECT_EQ(clock_.elapsed, listed);
      }
      return;
    }
    if (listed == Duration(0)) listed = clock_.elapsed += seconds(6);
  };
  EXPECT_TRUE(reaper_->FinishOnTermination());
  EXPECT_GT(Deletes(), 0u);
}

TEST_F(DeletionTest, AWatcherThatNeverSawTheRootWholeFinishesNothing) {
  HoldRoot();
  Delete(kRoot);
  StartWatcher();
  observer_->SureLook({});
  Delete(kDriver);
  EXPECT_FALSE(reaper_->FinishOnTermination());
  EXPECT_EQ(Deletes(), 0u);
}

TEST_F(DeletionTest, WhatIsLabelledAfterItsFirstListStays) {
  MakeHeld();
  MakeBareMap("old");
  TakeDownByHand();
  Before("GET", "/configmaps?labelSelector", 2, [this] { Label("old"); });
  clock_.At(clock_.elapsed + seconds(20), [this] { Release(); });
  EXPECT_TRUE(reaper_->FinishOnTermination());
  EXPECT_TRUE(MapExists("old"));
}

TEST_F(DeletionTest, IsNotFinishedWhileAKindCannotBeListed) {
  MakeService("s");
  TakeDownByHand();
  RefuseListsUntil("services", clock_.elapsed + seconds(20));
  reaper_->FinishOnTermination();
  EXPECT_GE(clock_.elapsed, std::chrono::hours(1) + seconds(20));
}

// --- The root.

TEST_F(DeletionTest, AMountedObjectOfAnotherClusterIsNotHandedOver) {
  MakeMap("spark-conf");
  Before("PATCH", "spark-conf", 1, [this] {
    kubernetes_.Admin("PATCH", kMaps + std::string("/spark-conf"),
                      R"({"metadata":{"labels":{"oshinko-cluster":"other"}}})", kMerge);
  });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_TRUE(MapExists("spark-conf"));
}

TEST_F(DeletionTest, AMountedObjectThatWasMadeAnewIsNotHandedOver) {
  MakeMap("spark-conf");
  Before("PATCH", "spark-conf", 1, [this] {
    Delete(kMaps + std::string("/spark-conf"));
    MakeMap("spark-conf");
  });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_TRUE(MapExists("spark-conf"));
  EXPECT_EQ(kubernetes_.Count("PATCH", "spark-conf"), 1u);
}

TEST_F(DeletionTest, AMountedObjectThatMayNotBeHandedOverIsDeletedBehindTheRoot) {
  MakeMap("spark-conf");
  Refuse("PATCH", "spark-conf", 403);
  Before("DELETE", "configmaps/spark-conf?", 1, [this] { EXPECT_FALSE(Exists(kRoot)); });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_FALSE(MapExists("spark-conf"));
  EXPECT_EQ(kubernetes_.Count("PATCH", "spark-conf"), 1u);
}

TEST_F(DeletionTest, AMountedObjectThatIsGoneIsNotAskedForAgain) {
  MakeMap("spark-conf");
  Before("PATCH", "spark-conf", 1, [this] { Delete(kMaps + std::string("/spark-conf")); });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_EQ(kubernetes_.Count("PATCH", "spark-conf"), 1u);
}

TEST_F(DeletionTest, ARootThatHasChangedIsDeletedAtOnceAllTheSame) {
  int deletes = 0;
  kubernetes_.on_request = [&](const Request& request, const User&) {
    if (request.method == "DELETE" && request.target.starts_with(kRoot) && ++deletes <= 5) {
      Annotate(kRoot, "n", std::to_string(deletes));
    }
  };
  const Duration began = clock_.elapsed;
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_LT(clock_.elapsed - began, seconds(1));
}

TEST_F(DeletionTest, ARootThatChangesAllTheTimeIsNotDeletedInHaste) {
  int deletes = 0;
  kubernetes_.on_request = [&](const Request& request, const User&) {
    if (request.method == "DELETE" && request.target.starts_with(kRoot) && ++deletes <= 30) {
      Annotate(kRoot, "n", std::to_string(deletes));
    }
  };
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_GE(clock_.elapsed, std::chrono::milliseconds(100));
}

// Its pods go last: ours is among them.
TEST_F(DeletionTest, OfWhatTheRootLeavesOurOwnPodGoesLast) {
  MakeMap("kept", R"(,"annotations":{"cluster-watcher/keep":"true"})" +
                      OwnedBy("Deployment", "apps/v1", kRoot));
  MakeBareMap("left", OwnedBy("Deployment", "apps/v1", kRoot));
  Refuse("DELETE", "/configmaps/left", 503, 0, 2);
  const std::string pod = NameOfPod();
  kubernetes_.on_request = [&](const Request& request, const User&) {
    if (request.method != "DELETE" || request.target.find(pod) == std::string::npos) return;
    EXPECT_FALSE(MapExists("left"));
  };
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_FALSE(MapExists("left"));
  EXPECT_TRUE(MapExists("kept"));
  EXPECT_FALSE(Exists("/api/v1/namespaces/lab/pods/" + pod));
}

TEST_F(DeletionTest, WhatANewMasterHasAdoptedStays) {
  MakeMap("kept", R"(,"annotations":{"cluster-watcher/keep":"true"})" +
                      OwnedBy("Deployment", "apps/v1", kRoot));
  MakeBareMap("left", OwnedBy("Deployment", "apps/v1", kRoot));
  After("DELETE", "deployments/spark-m", 1, [this] {
    MakeRoot();
    kubernetes_.Admin("PATCH", kMaps + std::string("/left"),
                      "{\"metadata\":{" + OwnedBy("Deployment", "apps/v1", kRoot).substr(1) + "}}",
                      kMerge);
  });
  Condemn();
  EXPECT_TRUE(MapExists("left"));
  EXPECT_EQ(Notes().find("configmap/left"), std::string::npos);
}

}  // namespace
}  // namespace cluster_watcher

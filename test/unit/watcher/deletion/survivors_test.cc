// What must survive a deletion: claims that stay, and objects that are annotated to be kept.
#include "watcher/deletion/survivors.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "test/unit/support/reaper_lab.h"

namespace cluster_watcher {
namespace {

using small_kubernetes::Request;
using small_kubernetes::User;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using Outcome = Reaper::Outcome;

constexpr const char* kClaims = "/api/v1/namespaces/lab/persistentvolumeclaims";
constexpr const char* kStatefulSet = "/apis/apps/v1/namespaces/lab/statefulsets/w";
constexpr const char* kWorkers = "/apis/apps/v1/namespaces/lab/deployments/w";
constexpr const char* kRayCluster = "/apis/ray.io/v1/namespaces/lab/rayclusters/kept";
constexpr const char* kKept = R"(,"annotations":{"cluster-watcher/keep":"true"})";

class SurvivorsTest : public ReaperLab {
 protected:
  std::string OwnedByMap(const std::string& map) {
    return OwnedBy("ConfigMap", "v1", kMaps + ("/" + map));
  }
  std::string OwnersOf(const std::string& claim) {
    const auto object = JsonDocument::Parse(Read(kClaims + ("/" + claim)).body);
    std::string owners;
    for (const JsonValue owner : object->root()["metadata"]["ownerReferences"].Elements()) {
      owners += std::string(*owner["name"].AsString()) + " ";
    }
    return owners;
  }
  std::string ReplicaSetOfRoot() {
    const std::string sets = "/apis/apps/v1/namespaces/lab/replicasets";
    const auto list = JsonDocument::Parse(Read(sets + "?labelSelector=app%3Dspark-m").body);
    return sets + "/" + std::string(*list->root()["items"].At(0)["metadata"]["name"].AsString());
  }
  bool IsNamed(const std::string& text) { return Notes().find(text) != std::string::npos; }
  std::string RetainedBy(const std::string& set) {
    const std::string body = Read(set).body;
    return body.find(R"("whenDeleted":"Retain")") != std::string::npos ? "Retain" : "Delete";
  }
  // With the set "w" and what is annotated `kept`, even where volumes are deleted.
  void ExpectClaimsToStay(const std::string& kept) {
    settings_.settings.volumes = Volumes::kDelete;
    MakeSetWithClaims();
    for (const std::string& path : {kClaims + std::string("/data-w-0"), kept}) {
      Patch(path, R"({"metadata":{"labels":{"oshinko-cluster":"spark"}}})");
    }
    Annotate(kept, "keep", "true");
    EXPECT_EQ(Condemn(), Outcome::kDone);
    EXPECT_TRUE(Exists(kStatefulSet));
    EXPECT_TRUE(ClaimExists("data-w-0"));
    EXPECT_EQ(DeletesOf("persistentvolumeclaims"), 0u);
    EXPECT_TRUE(IsNamed("data-w-0: its StatefulSet stays")) << Notes();
  }
  // As MakeOwnerOfAKeptMap, but what is kept is of a kind that can fail to be discovered.
  void MakeOwnerOfAKeptRayCluster() {
    DefineRayClusters();
    MakeOwnerOfAKeptMap();
    Delete(kMaps + std::string("/kept"));
    kubernetes_.Apply(R"({"apiVersion":"ray.io/v1","kind":"RayCluster",)" +
                      Labelled("kept", kKept + OwnedBy("Deployment", "apps/v1", kWorkers)) + "}");
  }
  // Lists of a kind fail for a while.
  void FailLists(const std::string& kind, int status, Duration from, Duration until) {
    kubernetes_.on_answer = [=, this](const Request& request, const User&, auto& response) {
      const bool is_list = request.target.find("/" + kind + "?") != std::string::npos;
      if (is_list && clock_.elapsed >= from && clock_.elapsed < until) response.status = status;
    };
  }
  // Those of ConfigMaps, and something holds the deletion up for longer.
  void FailMaps(int status, Duration from, Duration until) {
    MakeMap("held");
    const std::string held = kMaps + std::string("/held");
    Patch(held, R"({"metadata":{"finalizers":["example.com/held"]}})");
    FailLists("configmaps", status, from, until);
    clock_.At(clock_.elapsed + minutes(30),
              [=, this] { Patch(held, R"({"metadata":{"finalizers":null}})"); });
  }
  void ExpectKeptWhileMapsCannotBeListed(int status, Duration from, Duration until) {
    MakeOwnerOfAKeptMap();
    FailMaps(status, from, until);
    Condemn();
    EXPECT_TRUE(MapExists("kept"));
    EXPECT_TRUE(Exists(kWorkers));
    EXPECT_FALSE(Exists(kRoot));
  }
  // From the second time on, until the deadline has passed.
  void ExpectKeptWhereWhatIsBetweenIsAnswered(int status) {
    MakeMap("top");
    MakeBareMap("bare", OwnedByMap("top"));
    MakeMap("kept", kKept + OwnedByMap("bare"));
    MakeHeld();
    clock_.At(clock_.elapsed + seconds(9), [this] { Release(); });
    kubernetes_.on_answer = [=, reads = 0](const Request& request, const User&,
                                           auto& response) mutable {
      const bool is_it = request.target.find("/configmaps/bare") != std::string::npos;
      if (!is_it || ++reads == 1) return;
      response.status = status;
      response.body = "no longer here";
    };
    EXPECT_EQ(Condemn(), Outcome::kDone);
    EXPECT_TRUE(MapExists("kept"));
    EXPECT_TRUE(MapExists("bare"));
    EXPECT_TRUE(MapExists("top"));
  }
  // A member "ray" that controls the set "w", which isn't labelled.
  void MakeSetBelow(const std::string& kind, const std::string& version, const std::string& path) {
    MakeSetWithClaims();
    std::string owner = OwnedBy(kind, version, path).substr(1);
    owner.insert(owner.size() - 2, R"(,"controller":true)");
    Patch(kStatefulSet, R"({"metadata":{"labels":null,)" + owner + "}}");
  }
};

// --- Objects that are annotated.

TEST_F(SurvivorsTest, AMemberThatOwnsAKeptObjectStaysAndTheRestGoes) {
  MakeOwnerOfAKeptMap();
  kubernetes_.on_request = [](const Request& request, const User&) {
    EXPECT_EQ(request.body.find("Orphan"), std::string::npos) << request.body;
  };
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_LT(clock_.elapsed, minutes(1)) << "it holds nothing up";
  EXPECT_TRUE(MapExists("kept"));
  EXPECT_TRUE(Exists(kWorkers));
  EXPECT_EQ(PodsOf("w"), 2u);
  EXPECT_FALSE(MapExists("spark-config"));
  EXPECT_FALSE(Exists(kRoot));
  EXPECT_TRUE(IsNamed("deployment.apps/w: configmap/kept")) << Notes();
}

// Its owner is known to be held back, whatever the next list lacks.
TEST_F(SurvivorsTest, WhatIsKeptIsNotForgottenWhereItMayNotBeListedForAMoment) {
  ExpectKeptWhileMapsCannotBeListed(403, seconds(5), seconds(6));
}
TEST_F(SurvivorsTest, WhatIsKeptIsNotForgottenWhereItCannotBeListedPastTheDeadline) {
  ExpectKeptWhileMapsCannotBeListed(500, minutes(9), minutes(20));
}

// The first list of a process has none before it to be compared with.
TEST_F(SurvivorsTest, ASingleRefusalOfAListHidesNothing) {
  MakeOwnerOfAKeptMap();
  Before("PATCH", "spark-m", 2, [this] {
    kubernetes_.on_answer = [is_first = true](const Request& request, const User&,
                                              auto& response) mutable {
      const bool is_list = request.target.find("/configmaps?") != std::string::npos;
      if (is_list && std::exchange(is_first, false)) response.status = 403;
    };
  });
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_TRUE(MapExists("kept"));
  EXPECT_TRUE(Exists(kWorkers));
}

// Once it was listed, and what is between could not be read; then other lists fail.
TEST_F(SurvivorsTest, WhatCouldNotBeReadIsAskedForInEachPass) {
  MakeMap("top");
  MakeBareMap("bare", OwnedByMap("top"));
  MakeMap("kept", kKept + OwnedByMap("bare"));
  RefuseUntil(minutes(15), "GET", "/configmaps/bare");
  FailLists("services", 500, seconds(3), minutes(15));
  clock_.At(clock_.elapsed + minutes(14), [this] { EXPECT_EQ(Deletes(), 0u); });
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_TRUE(MapExists("kept"));
  EXPECT_TRUE(MapExists("bare"));
  EXPECT_TRUE(MapExists("top"));
}
TEST_F(SurvivorsTest, SoItIsWhereWhatIsKeptCannotBeListedAnyLonger) {
  MakeMap("top");
  MakeBareMap("bare", OwnedByMap("top"));
  kubernetes_.Apply(R"({"apiVersion":"v1","kind":"Service",)" +
                    Labelled("kept", kKept + OwnedByMap("bare")) +
                    R"(,"spec":{"ports":[{"port":80}]}})");
  RefuseUntil(minutes(15), "GET", "/configmaps/bare");
  FailLists("services", 500, seconds(3), minutes(15));
  clock_.At(clock_.elapsed + minutes(14), [this] { EXPECT_EQ(Deletes(), 0u); });
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_TRUE(Exists("/api/v1/namespaces/lab/services/kept"));
  EXPECT_TRUE(MapExists("bare"));
  EXPECT_TRUE(MapExists("top"));
}

// It was read once; then its API is away, or the authorizer lags behind.
TEST_F(SurvivorsTest, WhatIsBetweenIsNotForgottenWhereItMayNotBeReadAgain) {
  ExpectKeptWhereWhatIsBetweenIsAnswered(403);
}
TEST_F(SurvivorsTest, NorWhereItIsAnsweredThatItsKindIsNotServed) {
  ExpectKeptWhereWhatIsBetweenIsAnswered(404);
}

// What is above one that fails to be listed is known. Another one's could not be read once.
TEST_F(SurvivorsTest, WhatIsKnownOfOneIsNotUnknownForAnothersSake) {
  MakeMap("m");
  MakeBareMap("bare");
  MakeMap("first", kKept + OwnedByMap("bare"));
  kubernetes_.Apply(R"({"apiVersion":"v1","kind":"Service",)" + Labelled("second", kKept) +
                    R"(,"spec":{"ports":[{"port":80}]}})");
  RefuseUntil(seconds(40), "GET", "/configmaps/bare");
  FailLists("services", 500, seconds(20), hours(9));
  EndAfter(hours(1));
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_FALSE(MapExists("m"));
}

// It was seen to hold the root, and then can't be listed.
TEST_F(SurvivorsTest, AClaimThatIsInDangerIsNotForgotten) {
  MakeClaim("data", OwnedBy("Deployment", "apps/v1", kRoot));
  Refuse("PATCH", "persistentvolumeclaims/data", 403);
  FailLists("persistentvolumeclaims", 500, minutes(9), minutes(20));
  EndAfter(minutes(40));
  EXPECT_EQ(Condemn(), Outcome::kSpared);
  EXPECT_EQ(Deletes(), 0u);
  EXPECT_TRUE(ClaimExists("data"));
  EXPECT_TRUE(Exists(kRoot));
}

// It was a member until somebody annotated it; then its kind can't be listed.
TEST_F(SurvivorsTest, ThePodsOfWhatIsKeptStayWhereItCannotBeListed) {
  MakeWorkload("w", R"("oshinko-cluster":"spark",)");
  Before("DELETE", "deployments/w", 1, [this] {
    Annotate(kWorkers, "keep", "true");
    FailLists("deployments", 500, minutes(9), minutes(20));
  });
  MakeHeld();
  clock_.At(minutes(30), [this] { Release(); });
  EndAfter(minutes(40));
  Condemn();
  EXPECT_TRUE(Exists(kWorkers));
  EXPECT_EQ(DeletesOf("replicasets") + DeletesOf("/pods/"), 0u);
}

// That was said while another kind could not be listed.
TEST_F(SurvivorsTest, AlsoWhereItWasAnnotatedWhileListsHadGaps) {
  MakeWorkload("w", R"("oshinko-cluster":"spark",)");
  Annotate(kWorkers, "delete-order", "1");
  MakeHeld();
  Before("DELETE", "configmaps/held", 1, [this] {
    Annotate(kWorkers, "keep", "true");
    kubernetes_.on_answer = [this](const Request& request, const User&, auto& response) {
      const auto lists = [&](const char* kind) {
        return request.target.find(std::string("/") + kind + "?") != std::string::npos;
      };
      const bool is_late = clock_.elapsed >= minutes(9);
      if (lists("services") || (is_late && lists("deployments"))) response.status = 500;
    };
  });
  clock_.At(minutes(30), [this] { Release(); });
  EndAfter(minutes(40));
  Condemn();
  EXPECT_TRUE(Exists(kWorkers));
  EXPECT_EQ(DeletesOf("replicasets") + DeletesOf("/pods/"), 0u);
}

// It may not be let go of, and past the deadline what is between can't be read.
TEST_F(SurvivorsTest, WhatAForeignClaimHoldsIsNotForgottenPastTheDeadline) {
  MakeWorkload("w", R"("oshinko-cluster":"spark",)");
  kubernetes_.Settle();
  const std::string sets = "/apis/apps/v1/namespaces/lab/replicasets";
  const auto list = JsonDocument::Parse(Read(sets + "?labelSelector=app%3Dw").body);
  const std::string set(*list->root()["items"].At(0)["metadata"]["name"].AsString());
  kubernetes_.Apply(R"({"apiVersion":"v1","kind":"PersistentVolumeClaim",)" +
                    Meta("data", OwnedBy("ReplicaSet", "apps/v1", sets + "/" + set)) +
                    R"(,"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":)"
                    R"({"storage":"1Gi"}}}})");
  Refuse("PATCH", "persistentvolumeclaims/data", 403);
  kubernetes_.on_answer = [this](const Request& request, const User&, auto& response) {
    const bool is_it = request.target.find("/replicasets") != std::string::npos;
    if (is_it && clock_.elapsed >= minutes(9)) response.status = 500;
  };
  EndAfter(minutes(40));
  Condemn();
  EXPECT_TRUE(ClaimExists("data"));
  EXPECT_TRUE(Exists(kWorkers));
}

// What owns the kept map stays, and so do its claims.
TEST_F(SurvivorsTest, TheClaimsOfASetThatStaysAreNotForgottenWhereListsFail) {
  settings_.settings.volumes = Volumes::kDelete;
  StartWatcher();
  MakeSetWithClaims();
  for (const std::string& path : {kClaims + std::string("/data-w-0"), std::string(kStatefulSet)}) {
    Patch(path, R"({"metadata":{"labels":{"oshinko-cluster":"spark"}}})");
  }
  MakeMap("kept", kKept + OwnedBy("StatefulSet", "apps/v1", kStatefulSet));
  FailMaps(500, minutes(9), minutes(20));
  Condemn();
  EXPECT_TRUE(MapExists("kept"));
  EXPECT_TRUE(Exists(kStatefulSet));
  EXPECT_TRUE(ClaimExists("data-w-0"));
}

TEST_F(SurvivorsTest, WhatIsKeptNeedNotBeOfAKindThatIsDeleted) {
  MakeOwnerOfAKeptMap();
  settings_.settings.resources = {"deployments.apps", "services"};
  StartWatcher();
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_TRUE(MapExists("kept"));
  EXPECT_TRUE(Exists(kWorkers));
  EXPECT_FALSE(Exists(kRoot));
}

// Its API server is away: what of it is to be kept?
TEST_F(SurvivorsTest, NothingGoesWhileAKindCannotBeDiscovered) {
  MakeOwnerOfAKeptRayCluster();
  Before("PATCH", kRoot, 2, [this] {
    Refuse("GET", "/apis/ray.io", 503);
    clock_.At(clock_.elapsed + seconds(2), [this] { kubernetes_.GetFaults().Clear(); });
  });
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_TRUE(Exists(kWorkers));
  EXPECT_TRUE(Exists(kRayCluster));
}

// A finalizer holds the deletion up, and a list fails once.
TEST_F(SurvivorsTest, NorDoesItPastTheDeadlineWhereAListFailsOnce) {
  MakeOwnerOfAKeptRayCluster();
  Refuse("DELETE", kRoot, 500);
  clock_.At(clock_.elapsed + minutes(11), [this] { Refuse("GET", "/rayclusters?", 503, 0, 8); });
  clock_.At(clock_.elapsed + minutes(13), [this] { kubernetes_.GetFaults().Clear(); });
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_TRUE(Exists(kWorkers));
  EXPECT_TRUE(Exists(kRayCluster));
}

TEST_F(SurvivorsTest, AMemberThatStaysHoldsNoWaveUp) {
  MakeOwnerOfAKeptMap();
  Annotate(kWorkers, "delete-order", "-1");
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_LT(clock_.elapsed, minutes(1));
  EXPECT_TRUE(Exists(kWorkers));
  EXPECT_FALSE(MapExists("spark-config"));
}

TEST_F(SurvivorsTest, WhatIsNoLongerToBeKeptTakesNoClaimAlong) {
  MakeMap("top", kKept);
  MakeClaim("results", OwnedByMap("top"));
  MakeHeld();
  clock_.At(clock_.elapsed + seconds(5), [this] {
    Annotate(kMaps + std::string("/top"), "keep", "false");
    Release();
  });
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_FALSE(MapExists("top"));
  EXPECT_TRUE(ClaimExists("results"));
  EXPECT_FALSE(IsNamed("configmap/top: kept")) << Notes();
}

TEST_F(SurvivorsTest, NoStepsRunWhereTheRootMustStay) {
  int steps = 0;
  during_step_ = [&] { ++steps; };
  Annotate(kRoot, "before-delete", kStep);
  MakeMap("kept", kKept + OwnedBy("ReplicaSet", "apps/v1", ReplicaSetOfRoot()));
  EXPECT_EQ(Condemn(), Outcome::kSpared);
  EXPECT_EQ(steps, 0);
  EXPECT_TRUE(Exists(kRoot));
}

TEST_F(SurvivorsTest, TheClaimsOfAKeptSetStay) { ExpectClaimsToStay(kStatefulSet); }
TEST_F(SurvivorsTest, TheClaimsOfASetWhosePodIsKeptStay) {
  ExpectClaimsToStay("/api/v1/namespaces/lab/pods/w-0");
}

TEST_F(SurvivorsTest, SoDoesAllThatIsBetween) {
  MakeMap("top");
  MakeMap("member", OwnedByMap("top"));
  MakeMap("kept-1", kKept + OwnedByMap("member"));
  MakeMap("other-top");
  MakeBareMap("bare", OwnedByMap("other-top"));
  MakeMap("kept-2", kKept + OwnedByMap("bare"));
  MakeMap("beside", OwnedByMap("top"));
  EXPECT_EQ(Condemn(), Outcome::kDone);
  for (const char* map : {"kept-1", "member", "top", "kept-2", "bare", "other-top"}) {
    EXPECT_TRUE(MapExists(map)) << map;
  }
  EXPECT_FALSE(MapExists("beside"));
}

// Owners that are gone, of no kind that is served, or replaced own nothing.
TEST_F(SurvivorsTest, AKeptMapWithoutALivingOwnerHoldsNothingUp) {
  observer_->SureLook({});
  Delete(kDriver);
  kubernetes_.settle_after_writes = false;  // nobody collects it
  MakeMap("kept", R"(,"annotations":{"cluster-watcher/keep":"true"},"ownerReferences":[)"
                  R"({"apiVersion":"example.com/v1","kind":"Odd","name":"x","uid":"u-1"},)"
                  R"({"apiVersion":"v1","kind":"ConfigMap","name":"gone","uid":"u-2"},)"
                  R"({"apiVersion":"v1","kind":"ConfigMap","name":"spark-config","uid":"u-3"}])");
  clock_.At(seconds(1), [this] { kubernetes_.settle_after_writes = true; });
  EXPECT_EQ(CondemnNow(), Outcome::kDone);
  EXPECT_TRUE(MapExists("kept"));
  EXPECT_FALSE(MapExists("spark-config"));
  EXPECT_LT(clock_.elapsed, seconds(5));
}

TEST_F(SurvivorsTest, WhileWhatIsAboveAKeptMapCannotBeReadNothingGoes) {
  MakeMap("top");
  MakeBareMap("bare", OwnedByMap("top"));
  MakeMap("kept", kKept + OwnedByMap("bare"));
  RefuseUntil(minutes(20), "GET", "/configmaps/bare");
  clock_.At(minutes(19), [this] { EXPECT_EQ(Deletes(), 0u); });
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_TRUE(MapExists("kept"));
  EXPECT_TRUE(MapExists("top"));
}

TEST_F(SurvivorsTest, AMapThatIsKeptRightBeforeItsOwnersDeleteStays) {
  MakeWorkload("w", R"("oshinko-cluster":"spark",)");
  Before("DELETE", "deployments/w", 1, [this] {
    MakeMap("kept", kKept + OwnedBy("Deployment", "apps/v1", kWorkers));
    Annotate(kWorkers, "note", "1");
  });
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_TRUE(MapExists("kept"));
  EXPECT_TRUE(Exists(kWorkers));
}

// Controllers copy annotations to their ReplicaSets, and leave them there.
TEST_F(SurvivorsTest, ACopyThatOutlivesWhatItWasCopiedFromKeepsNothing) {
  for (const char* object : {kRoot, kWorkers}) {
    MakeWorkload("w", R"("oshinko-cluster":"spark",)");
    Annotate(object, "keep", "true");
    Patch(object, R"({"metadata":{"annotations":{"cluster-watcher/keep":null}}})");
  }
  ASSERT_NE(Read("/apis/apps/v1/namespaces/lab/replicasets").body.find("cluster-watcher/keep"),
            std::string::npos);
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_FALSE(Exists(kRoot));
  EXPECT_FALSE(Exists(kWorkers));
}

TEST_F(SurvivorsTest, ARootThatWouldTakeAKeptMapAlongIsSparedBeforeTheFirstDelete) {
  kubernetes_.on_request = [this, made = false](const Request& request, const User&) mutable {
    const bool is_list = request.target.find("/configmaps?labelSelector") != std::string::npos;
    if (made || !is_list || Mark("phase") != "deleting") return;
    made = true;
    MakeMap("kept", kKept + OwnedBy("Deployment", "apps/v1", kRoot));
  };
  EXPECT_EQ(Condemn(), Outcome::kSpared);
  EXPECT_EQ(Deletes(), 0u);
  EXPECT_EQ(Mark("phase"), "");
  EXPECT_TRUE(IsNamed("configmap/kept")) << Notes();
  EXPECT_LT(clock_.elapsed, minutes(1));
}

TEST_F(SurvivorsTest, LaterItStaysAndIsNamed) {
  MakeHeld();
  clock_.At(seconds(5),
            [this] { MakeMap("kept", kKept + OwnedBy("Deployment", "apps/v1", kRoot)); });
  EXPECT_EQ(Condemn(), Outcome::kSpared);
  EXPECT_TRUE(Exists(kRoot));
  EXPECT_TRUE(MapExists("kept"));
  EXPECT_FALSE(MapExists("spark-config"));
  EXPECT_TRUE(IsNamed("configmap/kept is annotated cluster-watcher/keep, but would go with"))
      << Notes();
}

// The driver wants no replicas, and an ownerReference of its own ties it to the cluster.
TEST_F(SurvivorsTest, TheOwnerStaysThoughAMemberOwnsIt) {
  const std::string owned = OwnedByMap("spark-config");
  observer_->SureLook({});
  Patch(kDriver, R"({"spec":{"replicas":0},"metadata":{)" + owned.substr(1) + "}}");
  EXPECT_EQ(CondemnNow(), Outcome::kDone);
  EXPECT_TRUE(Exists(kDriver));
  EXPECT_TRUE(MapExists("spark-config"));
  EXPECT_FALSE(Exists(kRoot));
}

TEST_F(SurvivorsTest, SoDoesWhatControlsIt) {
  MakeMap("top");
  MakeMap("above-top");
  Patch(kMaps + std::string("/top"), "{\"metadata\":{" + OwnedByMap("above-top").substr(1) + "}}");
  std::string owned = OwnedByMap("top").substr(1);
  owned.insert(owned.rfind("}]"), R"(,"controller":true)");
  Patch(kDriver, "{\"metadata\":{" + owned + "}}");
  observer_->SureLook({});
  Patch(kDriver, R"({"spec":{"replicas":0}})");
  EXPECT_EQ(CondemnNow(), Outcome::kDone);
  EXPECT_TRUE(MapExists("top"));
  EXPECT_TRUE(MapExists("above-top"));
  EXPECT_TRUE(Exists(kDriver));
  EXPECT_FALSE(MapExists("spark-config"));
}

// --- Claims.

TEST_F(SurvivorsTest, AClaimIsTakenOffItsOwnersFirst) {
  MakeMap("owner");
  MakeBareMap("another");
  MakeClaim("of-member", OwnedByMap("owner"));
  MakeClaim("of-root", OwnedBy("Deployment", "apps/v1", kRoot));
  std::string two = OwnedByMap("owner");
  two.insert(two.size() - 1,
             "," + OwnedByMap("another").substr(std::string(R"(,"ownerReferences":[)").size()));
  two.pop_back();
  MakeClaim("of-two", two);
  std::vector<std::string> patches;
  kubernetes_.on_request = [&](const Request& request, const User&) {
    if (request.method == "DELETE" &&
        (request.target.ends_with("/owner") || request.target.ends_with("/spark-m"))) {
      EXPECT_EQ(OwnersOf("of-member") + OwnersOf("of-root"), "");
      EXPECT_EQ(OwnersOf("of-two"), "another ");
    }
    if (request.method == "PATCH" && request.target.find(kClaims) == 0) {
      patches.emplace_back(request.body);
    }
  };
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_LT(clock_.elapsed, seconds(10));
  EXPECT_EQ(patches.size(), 3u);
  for (const std::string& patch : patches) {
    EXPECT_NE(patch.find(R"("uid":")"), std::string::npos) << patch;
    EXPECT_NE(patch.find(R"("resourceVersion":")"), std::string::npos) << patch;
  }
  for (const char* claim : {"of-member", "of-root", "of-two"}) EXPECT_TRUE(ClaimExists(claim));
  EXPECT_FALSE(MapExists("owner"));
  EXPECT_FALSE(Exists(kRoot));
}

// So nothing goes before that is known.
TEST_F(SurvivorsTest, ARootThatAClaimHoldsIsSparedWhole) {
  MakeClaim("data", OwnedBy("Deployment", "apps/v1", kRoot));
  Refuse("PATCH", "persistentvolumeclaims/data", 403);
  EXPECT_EQ(Condemn(), Outcome::kSpared);
  EXPECT_GE(clock_.elapsed, minutes(10));
  EXPECT_EQ(Deletes(), 0u);
  EXPECT_EQ(Mark("phase"), "");
  EXPECT_TRUE(IsNamed("the master root stays: persistentvolumeclaim/data")) << Notes();
}

// It is an ephemeral volume's, and goes with that pod.
TEST_F(SurvivorsTest, AClaimThatAPodOwnsIsNotWritten) {
  const std::string pod = "/api/v1/namespaces/lab/pods/task";
  kubernetes_.Apply(R"({"apiVersion":"v1","kind":"Pod",)" + Labelled("task") +
                    R"(,"spec":{"containers":[{"name":"m","image":"x"}]}})");
  MakeClaim("scratch", OwnedBy("Pod", "v1", pod));
  MakeClaim("kept", kKept + OwnedByMap("spark-config"));
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_FALSE(ClaimExists("scratch"));
  EXPECT_TRUE(ClaimExists("kept"));
  EXPECT_FALSE(MapExists("spark-config"));
  EXPECT_EQ(kubernetes_.Count("PATCH", "/scratch"), 0u);
}

TEST_F(SurvivorsTest, SoItsPodStaysWhereTheClaimIsToBeKept) {
  const std::string pod = "/api/v1/namespaces/lab/pods/task";
  kubernetes_.Apply(R"({"apiVersion":"v1","kind":"Pod",)" + Labelled("task") +
                    R"(,"spec":{"containers":[{"name":"m","image":"x"}]}})");
  MakeClaim("scratch", kKept + OwnedBy("Pod", "v1", pod));
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_TRUE(ClaimExists("scratch"));
  EXPECT_TRUE(Exists(pod));
  EXPECT_TRUE(IsNamed("pod/task: persistentvolumeclaim/scratch")) << Notes();
}

// Retain is written before the delete, wherever the set stands.
TEST_F(SurvivorsTest, TheClaimsOfASetThatWouldTakeThemAlongStay) {
  MakeSetWithClaims();
  Before("DELETE", "/statefulsets/w", 1, [this] { EXPECT_EQ(RetainedBy(kStatefulSet), "Retain"); });
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_LT(clock_.elapsed, seconds(30));
  EXPECT_FALSE(Exists(kStatefulSet));
  EXPECT_TRUE(ClaimExists("data-w-0"));
}

TEST_F(SurvivorsTest, SoDoThoseOfASetBelowACustomResource) {
  DefineRayClusters();
  const std::string ray = "/apis/ray.io/v1/namespaces/lab/rayclusters/ray";
  kubernetes_.Apply(R"({"apiVersion":"ray.io/v1","kind":"RayCluster",)" + Labelled("ray") + "}");
  MakeSetBelow("RayCluster", "ray.io/v1", ray);
  Before("DELETE", "/rayclusters/ray", 1,
         [this] { EXPECT_EQ(RetainedBy(kStatefulSet), "Retain"); });
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_LT(clock_.elapsed, seconds(30));
  EXPECT_FALSE(Exists(ray));
  EXPECT_TRUE(ClaimExists("data-w-0"));
}

TEST_F(SurvivorsTest, SoDoThoseOfASetThatTheRootControls) {
  MakeSetBelow("Deployment", "apps/v1", kRoot);
  Before("DELETE", "/spark-m", 1, [this] { EXPECT_EQ(RetainedBy(kStatefulSet), "Retain"); });
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_LT(clock_.elapsed, seconds(30));
  EXPECT_FALSE(Exists(kRoot));
  EXPECT_TRUE(ClaimExists("data-w-0"));
}

TEST_F(SurvivorsTest, ASetThatIsToBeKeptIsNotWrittenAndKeepsItsClaims) {
  settings_.settings.volumes = Volumes::kDelete;
  StartWatcher();
  MakeSetWithClaims();
  Annotate(kStatefulSet, "keep", "true");
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_EQ(RetainedBy(kStatefulSet), "Delete");
  EXPECT_TRUE(ClaimExists("data-w-0"));
}

// An operator writes the reference back each second, or our account may not patch claims.
TEST_F(SurvivorsTest, AClaimThatIsNeverLetGoOfKeepsItsSet) {
  for (const bool may_patch : {true, false}) {
    SCOPED_TRACE(may_patch);
    MakeSetWithClaims("Retain");
    const std::string owned = OwnedBy("StatefulSet", "apps/v1", kStatefulSet);
    MakeClaim("data-w-9", owned);
    if (!may_patch) Refuse("PATCH", "persistentvolumeclaims/data-w-9", 403);
    kubernetes_.on_answer = [&](const Request& request, const User&, small_kubernetes::Response&) {
      if (request.method != "PATCH" || !request.target.ends_with("/data-w-9") || !may_patch) return;
      Patch(kClaims + std::string("/data-w-9"), "{\"metadata\":{" + owned.substr(1) + "}}");
    };
    const Duration began = clock_.elapsed;
    clock_.At(began + seconds(30), [this] { EXPECT_FALSE(MapExists("spark-config")); });
    EXPECT_EQ(Condemn(), Outcome::kDone);
    EXPECT_GE(clock_.elapsed - began, minutes(10));
    EXPECT_FALSE(Exists(kRoot));
    EXPECT_TRUE(Exists(kStatefulSet));
    EXPECT_TRUE(ClaimExists("data-w-9"));
    EXPECT_TRUE(IsNamed("statefulset.apps/w: persistentvolumeclaim/data-w-9")) << Notes();
    kubernetes_.on_answer = nullptr;
    kubernetes_.GetFaults().Clear();
    Delete(kStatefulSet);
    Delete(kClaims + std::string("/data-w-9"));
    MakeRoot();
    MakeMap("spark-config");
    MakeDriver();
    StartWatcher();
  }
}

TEST_F(SurvivorsTest, ASetWhoseClaimsMayNotBeListedStaysAndTheRestGoes) {
  MakeSetWithClaims();
  Refuse("GET", "/persistentvolumeclaims", 403);
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_TRUE(Exists(kStatefulSet));
  EXPECT_TRUE(ClaimExists("data-w-0"));
  EXPECT_FALSE(MapExists("spark-config"));
  EXPECT_FALSE(Exists(kRoot));
  EXPECT_TRUE(IsNamed("statefulset.apps/w: its claims can't be listed")) << Notes();
}

// Anything may own one of them.
TEST_F(SurvivorsTest, WhileClaimsOrSetsFailToBeListedNothingGoes) {
  for (const char* kind : {"/persistentvolumeclaims", "/statefulsets"}) {
    SCOPED_TRACE(kind);
    MakeClaim("data", OwnedByMap("spark-config"));
    const Duration began = clock_.elapsed;
    const std::size_t before = Deletes();
    kubernetes_.on_answer = [=, this](const Request& request, const User&,
                                      small_kubernetes::Response& response) {
      const bool is_list = request.target.find(kind + std::string("?limit")) != std::string::npos;
      if (is_list && clock_.elapsed < began + minutes(2)) response.status = 503;
    };
    clock_.At(began + minutes(1), [&] { EXPECT_EQ(Deletes(), before); });
    EXPECT_EQ(Condemn(), Outcome::kDone);
    EXPECT_TRUE(ClaimExists("data"));
    EXPECT_FALSE(MapExists("spark-config"));
    kubernetes_.on_answer = nullptr;
    Delete(kClaims + std::string("/data"));
    MakeRoot();
    MakeMap("spark-config");
    MakeDriver();
    StartWatcher();
  }
}

// --- What is read late, or changes meanwhile.

TEST_F(SurvivorsTest, TheClaimsOfASetThatIsLeftAloneStay) {
  settings_.settings.volumes = Volumes::kDelete;
  StartWatcher();
  MakeSetWithClaims("Retain");
  MakeBareMap("foreign");
  std::string owner = OwnedByMap("foreign").substr(1);
  owner.insert(owner.size() - 2, R"(,"controller":true)");
  Patch(kStatefulSet, R"({"metadata":{)" + owner + "}}");
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_TRUE(Exists(kStatefulSet)) << "its controller is not of the cluster";
  EXPECT_TRUE(ClaimExists("data-w-0"));
  EXPECT_EQ(DeletesOf("persistentvolumeclaims"), 0u);
}

TEST_F(SurvivorsTest, NorIsASetThatIsLeftAloneWritten) {
  MakeSetWithClaims();
  MakeBareMap("foreign");
  std::string owner = OwnedByMap("foreign").substr(1);
  owner.insert(owner.size() - 2, R"(,"controller":true)");
  Patch(kStatefulSet, R"({"metadata":{)" + owner + "}}");
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_TRUE(Exists(kStatefulSet));
  EXPECT_EQ(RetainedBy(kStatefulSet), "Delete");
}

TEST_F(SurvivorsTest, AForeignClaimWhoseOwnerCannotBeReadHoldsNothingUpForEver) {
  MakeBareMap("foreign");
  kubernetes_.Apply(R"({"apiVersion":"v1","kind":"PersistentVolumeClaim",)" +
                    Meta("somebodys", OwnedByMap("foreign")) +
                    R"(,"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":)"
                    R"({"storage":"1Gi"}}}})");
  RefuseUntil(hours(5), "GET", "/configmaps/foreign");
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_LT(clock_.elapsed, minutes(15));
}

TEST_F(SurvivorsTest, AForeignSetWhoseOwnerCannotBeReadHoldsNothingUpForEver) {
  MakeBareMap("foreign");
  MakeSetWithClaims();
  std::string owner = OwnedByMap("foreign").substr(1);
  Patch(kStatefulSet, R"({"metadata":{"labels":null,)" + owner + "}}");
  RefuseUntil(hours(5), "GET", "/configmaps/foreign");
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_LT(clock_.elapsed, minutes(15));
  EXPECT_TRUE(Exists(kStatefulSet));
}

// A workflow's job, whose definitions were uninstalled.
TEST_F(SurvivorsTest, AnOwnersMakerOfAKindThatIsNoLongerServedHoldsNothingUp) {
  observer_->SureLook({});
  Patch(kDriver, R"({"spec":{"replicas":0}})");
  Patch(kDriver, R"({"metadata":{"ownerReferences":[{"apiVersion":"argoproj.io/v1alpha1",)"
                 R"("kind":"Workflow","name":"nightly","uid":"0123"}]}})");
  EXPECT_EQ(CondemnNow(), Outcome::kDone);
  EXPECT_LT(clock_.elapsed, minutes(5));
}

// Its definition's conversion webhook is gone, say.
TEST_F(SurvivorsTest, AnOwnersMakerThatCannotBeReadHoldsNothingUpForEver) {
  MakeBareMap("maker");
  observer_->SureLook({});
  Patch(kDriver, R"({"spec":{"replicas":0}})");
  Patch(kDriver, R"({"metadata":{)" + OwnedByMap("maker").substr(1) + "}}");
  RefuseUntil(hours(5), "GET", "/configmaps/maker");
  EXPECT_EQ(CondemnNow(), Outcome::kDone);
  EXPECT_LT(clock_.elapsed, minutes(15));
}

// The garbage collector is behind: without its controller the set is a member.
TEST_F(SurvivorsTest, ASetWhoseControllerIsGoneKeepsItsClaimsToo) {
  MakeSetWithClaims();
  MakeBareMap("controller");
  observer_->SureLook({});
  Delete(kDriver);
  kubernetes_.settle_after_writes = false;
  std::string owner = OwnedByMap("controller").substr(1);
  owner.insert(owner.size() - 2, R"(,"controller":true)");
  Patch(kStatefulSet, R"({"metadata":{)" + owner + "}}");
  Delete(kMaps + std::string("/controller"));
  Before("DELETE", "statefulsets/w", 1, [this] {
    EXPECT_NE(Read(kStatefulSet).body.find(R"("whenDeleted":"Retain")"), std::string::npos);
    kubernetes_.settle_after_writes = true;
  });
  EXPECT_EQ(CondemnNow(), Outcome::kDone);
  EXPECT_FALSE(Exists(kStatefulSet));
  EXPECT_TRUE(ClaimExists("data-w-0"));
}

// What holds up nothing for the owner's sake still does for what is kept.
TEST_F(SurvivorsTest, WhatCannotBeReadAboveTheOwnerIsAskedForAboveAKeptMapToo) {
  MakeMap("top");
  MakeBareMap("bare", OwnedByMap("top"));
  MakeMap("kept", kKept + OwnedByMap("bare"));
  observer_->SureLook({});
  Patch(kDriver, R"({"metadata":{)" + OwnedByMap("bare").substr(1) + "}}");
  Patch(kDriver, R"({"spec":{"replicas":0}})");
  RefuseUntil(minutes(30), "GET", "/configmaps/bare");
  clock_.At(minutes(29), [this] { EXPECT_EQ(Deletes(), 0u); });
  CondemnNow();
  EXPECT_TRUE(MapExists("kept"));
}

TEST_F(SurvivorsTest, AClaimOfWhatIsLeftAloneIsNotWritten) {
  MakeOwnerOfAKeptMap();
  MakeBareMap("foreign");
  std::string owner = OwnedByMap("foreign").substr(1);
  owner.insert(owner.size() - 2, R"(,"controller":true)");
  Patch(kWorkers, R"({"metadata":{)" + owner + "}}");
  MakeClaim("data", OwnedBy("Deployment", "apps/v1", kWorkers));
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_TRUE(Exists(kWorkers));
  EXPECT_EQ(OwnersOf("data"), "w ");
}

TEST_F(SurvivorsTest, WhatIsKeptBehindASlowListStays) {
  kubernetes_.Apply(
      R"({"apiVersion":"apps/v1","kind":"Deployment",)" + Labelled("w") +
      R"(,"spec":{"replicas":0,"selector":{"matchLabels":{"app":"w"}},"template":{"metadata":)"
      R"({"labels":{"app":"w"}},"spec":{"containers":[{"name":"m","image":"x"}]}}}})");
  bool was_slow = false;
  bool is_made = false;
  kubernetes_.on_answer = [&](const Request& request, const User&, small_kubernetes::Response&) {
    const bool is_list = request.target.find("/persistentvolumeclaims?limit") != std::string::npos;
    if (is_list && !std::exchange(was_slow, true)) clock_.elapsed += seconds(6);
    const bool writes = was_slow && WritesPointOfNoReturn(request);
    if (writes && !std::exchange(is_made, true)) {
      MakeBareMap("kept", kKept + OwnedBy("Deployment", "apps/v1", kWorkers));
      Patch(kMaps + std::string("/kept"), R"({"metadata":{"labels":{"oshinko-cluster":"spark"}}})");
    }
  };
  EXPECT_EQ(Condemn(), Outcome::kDone);
  EXPECT_TRUE(is_made);
  EXPECT_TRUE(MapExists("kept"));
}

TEST_F(SurvivorsTest, AResumptionAsksWhatKeepsTheClusterOtherwise) {
  MakeMap("beside", R"(,"annotations":{"cluster-watcher/owner":"deployment.apps/another"})");
  observer_->SureLook({});
  WriteMarks();
  Delete(kDriver);
  TakeMarksOff();
  EXPECT_FALSE(LookAndDecide(*observer_, {}).decision.abandoned()) << "it is ambiguous";
  MakeDriver();
  StartWatcher();
  WriteMarks();
  Delete(kDriver);
  EXPECT_EQ(Resume(), Outcome::kSpared);
  EXPECT_TRUE(Exists(kRoot));
}

TEST_F(SurvivorsTest, TheLastLookAsksWhatKeptTheClusterBefore) {
  After("PATCH", "/spark-m", 1, [this] {
    MakeMap("beside", R"(,"annotations":{"cluster-watcher/owner":"deployment.apps/another"})");
  });
  EXPECT_EQ(Condemn(), Outcome::kSpared);
  EXPECT_TRUE(Exists(kRoot));
}

// As where etcd is restored from a backup right behind it.
TEST_F(SurvivorsTest, ARootThatIsThereAgainAfterItsDeleteIsDeletedAgain) {
  RefuseUntil(minutes(1), "DELETE", "/deployments/spark-m", 200);
  clock_.At(hours(2), [this] { stop_.request_stop(); });
  Condemn();
  EXPECT_LT(clock_.elapsed, minutes(15));
  EXPECT_FALSE(Exists(kRoot));
}

}  // namespace
}  // namespace cluster_watcher

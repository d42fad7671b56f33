// Two accidents at once: what a deletion does where one thing more goes wrong than it is used to.
#include <gtest/gtest.h>
#include <malloc.h>

#include <functional>
#include <optional>
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

class TwoAccidentsTest : public ReaperLab {
 protected:
  // How many objects at `path` have the label app=`app`.
  std::size_t CountOf(const std::string& path, const std::string& app) {
    const std::string body = Read(path + "?labelSelector=app%3D" + app).body;
    return JsonDocument::Parse(body)->root()["items"].size();
  }
};

// The machine, or the API server, is held up in the middle of the first deletes. `--concurrency=1`
// or 8 that hang: those behind are sent on evidence of which nobody asks again how old it is.
TEST_F(TwoAccidentsTest, AFirstDeleteBehindOnesThatHangIsNotSentOnOldEvidence) {
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
    EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
    EXPECT_TRUE(Exists(kDriver));
    EXPECT_TRUE(Exists(kRoot)) << "it is in use";
    EXPECT_TRUE(MapExists("spark-config"));
    kubernetes_.on_request = nullptr;
    MakeRoot();
    MakeDriver();
  }
}

// The same where the cluster is taken down by hand and the pod is told to stop.
TEST_F(TwoAccidentsTest, AMemberBehindOneThatHangsIsNotDeletedOnOldEvidenceWhenToldToStop) {
  settings_.settings.concurrency = 1;
  StartWatcher();
  for (int i = 0; i < 15; ++i) MakeMap("m" + std::to_string(i));
  TakeDownByHand();
  Fault hang;
  hang.method = "DELETE";
  hang.contains = "/configmaps/";
  hang.action = Fault::Action::kHang;
  kubernetes_.GetFaults().Add(hang);
  Before("DELETE", "/configmaps/", 1,
         [&] { clock_.At(clock_.elapsed + seconds(6), [&] { MakeDriver(); }); });
  EXPECT_FALSE(reaper_->FinishOnTermination());
  EXPECT_TRUE(MapExists("spark-config"));
  EXPECT_TRUE(MapExists("m14"));
}

// There is nothing to delete but the root, with what the master mounts.
class RootAloneTest : public ReaperLab {
 protected:
  RootAloneTest() {
    Delete(kMaps + std::string("/spark-config"));
    MakeMap("spark-conf");  // is mounted by the master
  }
  // From the root's first delete on nobody is answered for so long.
  void BeAwayFromItsDelete(
      Duration away, std::function<void()> in_the_middle = [] {}) {
    kubernetes_.on_answer = [=, this, until = std::optional<Duration>()](
                                const Request& request, const User&, Response& response) mutable {
      if (!until && request.method == "DELETE" && request.target.starts_with(kRoot)) {
        until = clock_.elapsed + away;
        clock_.At(clock_.elapsed + away / 2, in_the_middle);
      }
      if (!until || clock_.elapsed >= *until) return;
      response = {503, R"({"kind":"Status","apiVersion":"v1","code":503})", "application/json",
                  std::nullopt};
    };
  }
};

// Its delete is carried out, and the answer is lost so late that the evidence has grown old.
TEST_F(RootAloneTest, WhatIsBehindItGoesThoughTheAnswerToItsDeleteIsLost) {
  kubernetes_.on_answer = [this](const Request& request, const User&, Response& response) {
    if (request.method != "DELETE" || !request.target.starts_with(kRoot)) return;
    clock_.elapsed += seconds(8);
    response = {500, R"({"kind":"Status","apiVersion":"v1","code":500})", "application/json",
                std::nullopt};
  };
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_FALSE(Exists(kRoot));
  EXPECT_FALSE(MapExists("spark-conf"));
}

// Its delete is refused; then the driver is back, and somebody takes the root down to replace it.
TEST_F(RootAloneTest, ThatSomebodyElseTakesItDownIsNoDeletionOfOurs) {
  Fault late;
  late.method = "DELETE";
  late.contains = "/deployments/spark-m";
  late.times = 1;
  late.response = {429, R"({"kind":"Status","apiVersion":"v1","code":429})", "application/json",
                   std::nullopt};
  late.delay_after = seconds(6);
  kubernetes_.GetFaults().Add(late);
  Before("DELETE", "/deployments/spark-m", 1, [this] {
    clock_.At(clock_.elapsed + seconds(3), [this] {
      kubernetes_.on_request = nullptr;
      MakeDriver();
      Delete(kRoot);
    });
  });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  EXPECT_TRUE(MapExists("spark-conf"));
  EXPECT_EQ(Notes().find("is deleted ("), std::string::npos) << Notes();
}

// Its delete is never sent, as where one of several API servers is dead. The rest is the same.
TEST_F(RootAloneTest, ThatItsDeleteWasNeverSentMakesItNoDeletionOfOurs) {
  RefuseConnectionsForDeletes();
  kubernetes_.on_request = [this](const Request& request, const User&) {
    if (request.method != "GET" || request.target != kRoot || Mark("deletes-begun") != "true") {
      return;
    }
    kubernetes_.on_request = nullptr;
    clock_.At(clock_.elapsed + seconds(2), [this] {
      MakeDriver();
      Delete(kRoot);
    });
  };
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  EXPECT_FALSE(Exists(kRoot));
  EXPECT_TRUE(MapExists("spark-conf"));
  EXPECT_EQ(Notes().find("is deleted ("), std::string::npos) << Notes();
}

// No delete is ever sent; then the driver is back, and somebody deletes what was to go first.
TEST_F(TwoAccidentsTest, WhatWasNeverSentMakesNoHalfCluster) {
  MakeMap("a");
  MakeMap("b");
  RefuseConnectionsForDeletes();
  kubernetes_.on_request = [this](const Request& request, const User&) {
    if (!WritesPointOfNoReturn(request) ||
        request.body.find("configmaps/a=") == std::string::npos) {
      return;
    }
    kubernetes_.on_request = nullptr;
    clock_.At(clock_.elapsed + seconds(2), [this] {
      MakeDriver();
      Delete(kMaps + std::string("/a"));
    });
    clock_.At(clock_.elapsed + seconds(4), [this] { kubernetes_.GetFaults().Clear(); });
  };
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  EXPECT_FALSE(MapExists("a"));
  EXPECT_TRUE(MapExists("b"));
  EXPECT_TRUE(Exists(kRoot));
}

// Its delete is carried out, the answer is lost, and nobody answers until the evidence is old.
TEST_F(RootAloneTest, WhatIsBehindItGoesThoughTheApiServerIsAwayThen) {
  kubernetes_.Admin("PATCH", "/api/v1/namespaces/lab/pods/" + NameOfPod(),
                    R"({"metadata":{"finalizers":["example.com/held"]}})",
                    "application/merge-patch+json");
  BeAwayFromItsDelete(seconds(20));
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_FALSE(Exists(kRoot));
  EXPECT_FALSE(MapExists("spark-conf"));
  EXPECT_EQ(Notes().find("ClusterSpared"), std::string::npos) << Notes();
}

// Its delete fails, and nobody answers for a while. Meanwhile the driver is back, and somebody puts
// another master in the place of the root, which mounts the same.
TEST_F(RootAloneTest, WhatIsBehindItStaysWhereAnotherMasterIsThereThen) {
  for (const int away : {2, 20, 600}) {
    SCOPED_TRACE(away);
    Refuse("DELETE", "/deployments/spark-m", 500, 0, 1);
    BeAwayFromItsDelete(seconds(away), [this] {
      MakeDriver();
      Delete(kRoot);
      MakeWorkload("spark-m2", R"("oshinko-cluster":"spark","oshinko-type":"master",)");
    });
    EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
    EXPECT_TRUE(MapExists("spark-conf"));
    kubernetes_.on_answer = nullptr;
    kubernetes_.GetFaults().Clear();
    Delete("/apis/apps/v1/namespaces/lab/deployments/spark-m2");
    MakeRoot();
    StartWatcher();
  }
}

// So it stays where that can't be told, as the masters can't be listed.
TEST_F(RootAloneTest, WhatIsBehindItStaysWhereAnotherMasterMayBeThere) {
  Refuse("DELETE", "/deployments/spark-m", 500, 0, 1);
  bool begun = false;
  kubernetes_.on_answer = [&](const Request& request, const User&, Response& response) {
    if (request.method == "DELETE" && request.target.starts_with(kRoot) && !begun) {
      begun = true;
      MakeDriver();
      Delete(kRoot);
      MakeWorkload("spark-m2", R"("oshinko-cluster":"spark","oshinko-type":"master",)");
    } else if (begun && clock_.elapsed < minutes(2) &&
               request.target.find("?labelSelector=oshinko-cluster") != std::string::npos) {
      response = {503, R"({"kind":"Status","apiVersion":"v1","code":503})", "application/json",
                  std::nullopt};
    }
  };
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  EXPECT_TRUE(MapExists("spark-conf"));
}

// The longer it isn't known to go, the likelier it is by another's hand.
TEST_F(RootAloneTest, WhatIsBehindItStaysWhereItIsNotKnownToGoForMinutes) {
  Refuse("DELETE", "/deployments/spark-m", 500, 0, 1);
  BeAwayFromItsDelete(minutes(4), [this] {
    MakeDriver();
    Delete(kRoot);
  });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  EXPECT_TRUE(MapExists("spark-conf"));
}

// So it stays where somebody has taken the marks off a root that waits for its finalizer.
TEST_F(RootAloneTest, WhatIsBehindItStaysWhereItWasSparedMeanwhile) {
  kubernetes_.Admin("PATCH", kRoot, R"({"metadata":{"finalizers":["example.com/held"]}})",
                    "application/merge-patch+json");
  kubernetes_.on_answer = [&](const Request& request, const User&, Response& response) {
    if (request.method != "DELETE" || !request.target.starts_with(kRoot)) return;
    kubernetes_.on_answer = nullptr;
    kubernetes_.Admin("PATCH", kRoot,
                      R"({"metadata":{"annotations":{"cluster-watcher/phase":null}}})",
                      "application/merge-patch+json");
    response = {500, R"({"kind":"Status","apiVersion":"v1","code":500})", "application/json",
                std::nullopt};
  };
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  EXPECT_TRUE(MapExists("spark-conf"));
}

// The cluster is half. The root's delete fails once, and then it can't be read.
TEST_F(TwoAccidentsTest, ARootThatCannotBeReadIsDeletedAllTheSame) {
  MakeMap("a");
  Refuse("DELETE", "/deployments/spark-m", 500, 0, 1);
  std::optional<Duration> since;
  bool was_there = true;
  kubernetes_.on_answer = [&](const Request& request, const User&, Response& response) {
    const bool is_root = request.target.starts_with(kRoot);
    if (!since && is_root && request.method == "DELETE") {
      since = clock_.elapsed;
      clock_.At(*since + seconds(30), [&] { was_there = Exists(kRoot); });
    }
    if (!since || !is_root || request.method != "GET" || clock_.elapsed >= *since + seconds(60)) {
      return;
    }
    response = {403, R"({"kind":"Status","apiVersion":"v1","reason":"Forbidden","code":403})",
                "application/json", std::nullopt};
  };
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_TRUE(since);
  EXPECT_FALSE(was_there) << "after half a minute";
}

// The root is a StatefulSet, whose claims bear no label of the cluster, and all that there is.
class RootSetAloneTest : public ReaperLab {
 protected:
  RootSetAloneTest() {
    Delete(kMaps + std::string("/spark-config"));
    Delete(kRoot);
    settings_.settings.volumes = Volumes::kDelete;
    MakeRootSet();
    StartWatcher();
  }
  // Its pod mounts "spark-conf".
  void MakeRootSet() {
    kubernetes_.Apply(
        R"({"apiVersion":"apps/v1","kind":"StatefulSet",)" +
        Meta("spark-m", R"(,"labels":{"oshinko-cluster":"spark","oshinko-type":"master"})") +
        R"(,"spec":{"replicas":1,"serviceName":"m","selector":{"matchLabels":{"app":"spark-m"}},)"
        R"("volumeClaimTemplates":[{"metadata":{"name":"data"},"spec":{"accessModes":)"
        R"(["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}],)"
        R"("template":{"metadata":{"labels":{"app":"spark-m","oshinko-cluster":"spark",)"
        R"("oshinko-type":"master"}},"spec":{"containers":[{"name":"m","image":"x"}],)"
        R"("volumes":[{"name":"c","configMap":{"name":"spark-conf"}}]}}}})");
  }
  const std::string claim_ = "/api/v1/namespaces/lab/persistentvolumeclaims/data-spark-m-0";
};

// What is mounted is deleted before them, and may take its time.
TEST_F(RootSetAloneTest, ItsClaimsStayWhereItIsMadeAnewBeforeTheirFirstDelete) {
  MakeMap("spark-conf");
  Refuse("DELETE", "/configmaps/spark-conf", 403, 0, 1);
  After("DELETE", "/configmaps/spark-conf", 1, [this] {
    EXPECT_FALSE(Exists("/apis/apps/v1/namespaces/lab/statefulsets/spark-m"));
    MakeRootSet();
  });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_TRUE(Exists(claim_));
  EXPECT_TRUE(MapExists("spark-conf"));
}

TEST_F(RootSetAloneTest, ItsClaimsGoThoughTheAnswerToItsDeleteIsLost) {
  kubernetes_.on_answer = [](const Request& request, const User&, Response& response) {
    if (request.method != "DELETE" || !request.target.ends_with("/statefulsets/spark-m")) return;
    response = {500, R"({"kind":"Status","apiVersion":"v1","code":500})", "application/json",
                std::nullopt};
  };
  ASSERT_TRUE(Exists(claim_));
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_FALSE(Exists(claim_));
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

// So may those that were sent beside it.
TEST_F(RotatedTokenTest, AFirstDeleteBesideOnesThatHangIsNotSentAgainOnOldEvidence) {
  settings_.settings.concurrency = 8;
  StartWatcher();
  for (int i = 0; i < 15; ++i) MakeMap("m" + std::to_string(i));
  Before("DELETE", "", 1, [this] {
    Rotate();
    clock_.At(clock_.elapsed + seconds(6), [this] { MakeDriver(); });
  });
  Unauthorize("DELETE", "");
  Fault hang;
  hang.method = "DELETE";
  hang.times = 7;
  hang.action = Fault::Action::kHang;
  kubernetes_.GetFaults().Add(hang);
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

// The master mounts what owns a kept object: it is handed over to the root, and goes with it by
// garbage collection, which takes the kept object along.
TEST_F(TwoAccidentsTest, AKeptObjectStaysThoughItsOwnerIsMountedByTheMaster) {
  MakeMap("spark-conf");  // is mounted by the master
  MakeMap("kept", R"(,"annotations":{"cluster-watcher/keep":"true"})" +
                      OwnedBy("ConfigMap", "v1", kMaps + std::string("/spark-conf")));
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_TRUE(MapExists("kept"));
  EXPECT_FALSE(MapExists("spark-conf"));
}

// The same where it may not be handed over and is deleted behind the root.
TEST_F(TwoAccidentsTest, AKeptObjectStaysThoughItsMountedOwnerMayNotBeHandedOver) {
  MakeMap("spark-conf");
  MakeMap("kept", R"(,"annotations":{"cluster-watcher/keep":"true"})" +
                      OwnedBy("ConfigMap", "v1", kMaps + std::string("/spark-conf")));
  Refuse("PATCH", "/configmaps/spark-conf", 403);
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_TRUE(MapExists("kept"));
}

// What was given away to be deleted while the cluster was whole goes though the cluster is spared.
TEST_F(TwoAccidentsTest, ClaimsOfAClusterThatWasSparedOutliveItsMasterRoot) {
  settings_.settings.volumes = Volumes::kDelete;
  StartWatcher();
  Delete(kMaps + std::string("/spark-config"));
  kubernetes_.Apply(
      R"({"apiVersion":"apps/v1","kind":"StatefulSet",)" + Labelled("w") +
      R"(,"spec":{"replicas":1,"serviceName":"w","selector":{"matchLabels":{"app":"w"}},)"
      R"("volumeClaimTemplates":[{"metadata":{"name":"data"},"spec":{"accessModes":)"
      R"(["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}],)"
      R"("template":{"metadata":{"labels":{"app":"w"}},"spec":{"containers":)"
      R"([{"name":"m","image":"x"}]}}}})");
  const std::string claim = "/api/v1/namespaces/lab/persistentvolumeclaims/data-w-0";
  ASSERT_TRUE(Exists(claim));
  Before("GET", "/persistentvolumeclaims?labelSelector=app", 1, [this] { MakeDriver(); });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  kubernetes_.on_request = nullptr;
  ReplaceRoot();
  EXPECT_TRUE(Exists("/apis/apps/v1/namespaces/lab/statefulsets/w"));
  EXPECT_TRUE(Exists(claim)) << "its data is in use";
}

TEST_F(TwoAccidentsTest, WhatTheMasterMountsOutlivesItsRootWhereTheClusterWasSpared) {
  Delete(kMaps + std::string("/spark-config"));
  MakeMap("spark-conf");  // is mounted by the master
  Refuse("DELETE", "/deployments/spark-m", 500);
  observer_->SureLook({});
  Delete(kDriver);
  clock_.At(clock_.elapsed + seconds(30), [&] { MakeDriver(); });
  clock_.At(clock_.elapsed + seconds(60), [&] { kubernetes_.GetFaults().Clear(); });
  EXPECT_EQ(CondemnNow(), Reaper::Outcome::kSpared);
  EXPECT_EQ(kubernetes_.Count("PATCH", "/configmaps/"), 0u);
  ReplaceRoot();
  EXPECT_TRUE(MapExists("spark-conf"));
}

TEST_F(TwoAccidentsTest, WhatTheMasterMountsOutlivesItsRootWhereThatIsKept) {
  MakeMap("spark-conf");  // is mounted by the master
  Before("DELETE", "deployments/spark-m", 1, [&] { Annotate(kRoot, "keep", "true"); });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  kubernetes_.on_request = nullptr;
  ReplaceRoot();
  EXPECT_TRUE(MapExists("spark-conf"));
}

// Nothing was deleted yet, for the deletes fail. What goes by itself (its owner, which isn't its
// controller, has ended) proves nothing half: the driver is back.
TEST_F(TwoAccidentsTest, WhatIsGarbageCollectedByItselfProvesNothingHalf) {
  const std::string pod = "/api/v1/namespaces/lab/pods/task";
  kubernetes_.Apply(R"({"apiVersion":"v1","kind":"Pod",)" + Meta("task") +
                    R"(,"spec":{"containers":[{"name":"m","image":"x"}]}})");
  MakeMap("of-task", OwnedBy("Pod", "v1", pod));
  Refuse("DELETE", "/configmaps/", 500);
  AnHourPasses();
  observer_->SureLook({});
  Delete(kDriver);
  clock_.At(clock_.elapsed + seconds(20), [&] {
    kubernetes_.Admin("DELETE", pod + "?gracePeriodSeconds=0");
    MakeDriver();
  });
  clock_.At(clock_.elapsed + seconds(60), [&] { kubernetes_.GetFaults().Clear(); });
  EXPECT_EQ(CondemnNow(), Reaper::Outcome::kSpared);
  EXPECT_FALSE(MapExists("of-task"));
  EXPECT_TRUE(MapExists("spark-config"));
  EXPECT_TRUE(Exists(kRoot));
}

// The driver wants no replicas, and an ownerReference of its own ties it to the cluster. It doesn't
// carry the cluster's label, so it isn't listed, and goes with what owns it.
TEST_F(TwoAccidentsTest, TheOwnerStaysThoughAMemberOrTheRootOwnsIt) {
  for (const bool by_root : {false, true}) {
    SCOPED_TRACE(by_root);
    const std::string owned =
        by_root ? OwnedBy("Deployment", "apps/v1", kRoot)
                : OwnedBy("ConfigMap", "v1", kMaps + std::string("/spark-config"));
    observer_->SureLook({});
    kubernetes_.Admin("PATCH", kDriver,
                      R"({"spec":{"replicas":0},"metadata":{)" + owned.substr(1) + "}}",
                      "application/merge-patch+json");
    EXPECT_EQ(CondemnNow(), Reaper::Outcome::kDone);
    EXPECT_TRUE(Exists(kDriver)) << "the owner is never deleted";
    MakeRoot();
    MakeMap("spark-config");
    MakeDriver();
    StartWatcher();
  }
}

// Half a cluster, and a kind that can't be listed any more: the deadline ends it all the same, as
// it does where nothing else goes wrong.
TEST_F(TwoAccidentsTest, MarksThatAreTakenOffWhileAKindCannotBeListedHoldNothingUpForEver) {
  MakeMap("held", R"(,"finalizers":["example.com/held"])");
  AnHourPasses();
  const Duration end = clock_.elapsed + std::chrono::hours(2);  // so that this ends
  bool broken = false;
  kubernetes_.on_request = [&, lists = 0](const Request& request, const User&) mutable {
    if (request.target.find("/configmaps?labelSelector") == std::string::npos) return;
    if (++lists == 3) {
      TakeMarksOff();
      broken = true;
    }
  };
  kubernetes_.on_answer = [&](const Request& request, const User&, Response& response) {
    const bool of_it = request.target.find("/services?labelSelector") != std::string::npos;
    if (of_it && broken && clock_.elapsed < end) response.status = 500;
  };
  // Done, or called off and so judged again.
  EXPECT_TRUE(Condemn() == Reaper::Outcome::kDone || Mark("phase").empty());
  EXPECT_LT(clock_.elapsed, end - std::chrono::hours(1));
}

// The first delete's answer was lost.
TEST_F(TwoAccidentsTest, ALostAnswerWhileAKindCannotBeListedHoldsNothingUpForEver) {
  MakeMap("other");
  AnHourPasses();
  const Duration end = clock_.elapsed + std::chrono::hours(2);  // so that this ends
  kubernetes_.on_answer = [&](const Request& request, const User&, Response& response) {
    const bool of_it = request.target.find("/services?labelSelector") != std::string::npos;
    if (of_it && clock_.elapsed < end) response.status = 500;
  };
  Refuse("DELETE", "", 500);
  clock_.At(clock_.elapsed + seconds(40), [&] { kubernetes_.GetFaults().Clear(); });
  Before("DELETE", "", 1,
         [this] { kubernetes_.Admin("DELETE", kMaps + std::string("/spark-config")); });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_FALSE(Exists(kRoot));
  EXPECT_LT(clock_.elapsed, end - std::chrono::hours(1));
}

// The watcher was restarted in the middle.
TEST_F(TwoAccidentsTest, AKindThatCannotBeListedHoldsNoResumedDeletionUpForEver) {
  AnHourPasses();
  WriteMarks(kGone, seconds(60));
  Delete(kDriver);
  Refuse("GET", "/services?labelSelector", 500);
  // It is done, or its marks are taken off and it is judged again.
  const auto is_stuck = [this] { return Mark("phase") == "deleting"; };
  for (int poll = 0; poll < 720 && is_stuck(); ++poll) {
    clock_.elapsed += seconds(5);
    Resume();
  }
  EXPECT_FALSE(is_stuck()) << "an hour has passed";
}

// A cluster of which nothing is deleted before the root: what appears after the first list goes
// too.
TEST_F(TwoAccidentsTest, WhatAppearsBehindTheListOfAMasterAloneGoesToo) {
  Delete(kMaps + std::string("/spark-config"));
  bool listed = false;
  bool made = false;
  kubernetes_.on_request = [&](const Request& request, const User&) {
    if (request.method != "GET") return;
    if (request.target.find("/configmaps?labelSelector") != std::string::npos) listed = true;
    const bool of_driver = request.target.find("metadata.name%3Dbob") != std::string::npos;
    if (!listed || made || !of_driver) return;  // the last look before deletes-begun
    made = true;
    MakeMap("late");
  };
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_TRUE(made);
  EXPECT_TRUE(!MapExists("late") || Notes().find("configmap/late") != std::string::npos);
}

// What the master mounts may not be handed over, so it is deleted behind the root: once.
TEST_F(TwoAccidentsTest, WhatMayNotBeHandedOverGoesBehindTheRoot) {
  Delete(kMaps + std::string("/spark-config"));
  MakeMap("other");
  MakeMap("spark-conf");  // is mounted by the master
  Refuse("PATCH", "/configmaps/spark-conf", 403);
  Refuse("DELETE", "/configmaps/spark-conf", 503, 0, 1);
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_FALSE(Exists(kRoot));
  EXPECT_FALSE(MapExists("spark-conf"));
}

// An object that two members own, and no other, is nobody's once both are deleted with Orphan.
TEST_F(TwoAccidentsTest, WhatTwoOrphaningMembersOwnGoesOrIsNamed) {
  const auto uid = [&](const std::string& name) {
    const auto object = JsonDocument::Parse(Read(kMaps + ("/" + name)).body);
    return std::string(*object->root()["metadata"]["uid"].AsString());
  };
  const auto owner = [&](const std::string& name) {
    return R"({"apiVersion":"v1","kind":"ConfigMap","name":")" + name + R"(","uid":")" + uid(name) +
           R"("})";
  };
  MakeMap("one");
  MakeMap("two");
  const std::string both = R"(,"ownerReferences":[)" + owner("one") + "," + owner("two") + "]";
  MakeBareMap("both", both);
  MakeMap("kept", R"(,"annotations":{"cluster-watcher/keep":"true"})" + both);
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_TRUE(MapExists("kept"));
  EXPECT_FALSE(MapExists("one") || MapExists("two"));
  EXPECT_TRUE(!MapExists("both") || Notes().find("configmap/both") != std::string::npos);
}

// No kind of members can be listed, but all else can: the deadline ends it, and names them.
TEST_F(TwoAccidentsTest, WhereNoKindOfMembersCanBeListedTheRootGoesAtTheDeadline) {
  settings_.settings.resources = {"configmaps"};
  StartWatcher();
  Refuse("GET", "/configmaps?labelSelector", 500);
  Refuse("GET", "/persistentvolumeclaims?labelSelector", 403);
  clock_.At(std::chrono::hours(2), [this] { MakeDriver(); });  // so that this ends
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_FALSE(Exists(kRoot));
}

// One worker is kept, so its ReplicaSet is deleted with Orphan and each other pod of it by itself.
// The sidecar has 64 MiB in all.
TEST_F(TwoAccidentsTest, ManyPodsThatLoseTheirOwnerAreNotHeldAsWhole) {
  kubernetes_.log_requests = false;
  kubernetes_.Apply(
      R"({"apiVersion":"apps/v1","kind":"Deployment",)" + Labelled("w") +
      R"(,"spec":{"replicas":2000,"selector":{"matchLabels":{"app":"w"}},"template":{"metadata":)"
      R"({"labels":{"app":"w"},"annotations":{"note":")" +
      std::string(4'000, 'x') + R"("}},"spec":{"containers":[{"name":"main","image":"x"}]}}}})");
  const auto pods =
      JsonDocument::Parse(Read("/api/v1/namespaces/lab/pods?labelSelector=app%3Dw&limit=1").body);
  const std::string one(*pods->root()["items"].At(0)["metadata"]["name"].AsString());
  kubernetes_.Admin("PATCH", "/api/v1/namespaces/lab/pods/" + one,
                    R"({"metadata":{"labels":{"oshinko-cluster":"spark"},)"
                    R"("annotations":{"cluster-watcher/keep":"true"}}})",
                    "application/merge-patch+json");
  std::size_t in_a_row = 0, before = 0, most = 0;
  kubernetes_.on_request = [&](const Request& request, const User&) {
    const bool is_it =
        request.target.find("pods?fieldSelector=metadata.name%3Dw-") != std::string::npos;
    if (!is_it) in_a_row = 0;
    if (!is_it) return;
    const std::size_t now = mallinfo2().uordblks;
    if (in_a_row++ == 0) before = now;
    if (now > before) most = std::max(most, now - before);
  };
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_FALSE(Exists(kRoot));
  EXPECT_LT(most, 16u << 20) << "bytes, of 2,000 pods of 5 kB";
}

// The definition of a kind of members is deleted in the middle, with all objects of that kind.
TEST_F(TwoAccidentsTest, AKindThatIsNoLongerServedHoldsNothingUp) {
  DefineRayClusters();
  ASSERT_TRUE(Exists("/apis/ray.io/v1/namespaces/lab/rayclusters"));
  MakeMap("other");
  Before("DELETE", "spark-config", 1, [this] {
    Delete("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/rayclusters.ray.io");
  });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_LT(clock_.elapsed, minutes(1));
  EXPECT_FALSE(Exists(kRoot));
}

// The root terminates for long, and another master is there: said once, not at every poll.
TEST_F(TwoAccidentsTest, ThatAnotherMasterIsThereIsNotSaidAtEveryPoll) {
  AnHourPasses();
  HoldRoot();
  WriteMarks(kGone, seconds(60));
  Delete(kRoot);
  kubernetes_.Apply(R"({"apiVersion":"apps/v1","kind":"Deployment",)" + Meta("spark-n") +
                    R"(,"spec":{"replicas":1,"selector":{"matchLabels":{"app":"n"}},"template":{)"
                    R"("metadata":{"labels":{"app":"n","oshinko-cluster":"spark"},"annotations":{)"
                    R"("cluster-watcher/status":"injected"}},"spec":{"containers":[{"name":"main",)"
                    R"("image":"x"}]}}}})");
  StartWatcher();
  for (int poll = 0; poll < 60 && Mark("phase") == "deleting"; ++poll) {
    EXPECT_EQ(Resume(), Reaper::Outcome::kSpared);
    clock_.elapsed += seconds(5);
  }
  EXPECT_EQ(Mark("phase"), "");
  std::size_t events = 0;
  const std::string notes = Notes();
  for (std::size_t at = 0; (at = notes.find(R"("reason":)", at)) != std::string::npos; ++at)
    ++events;
  EXPECT_LE(events, 10u);
  EXPECT_TRUE(MapExists("spark-config"));
}

constexpr const char* kWorker = "/apis/apps/v1/namespaces/lab/deployments/w";
constexpr const char* kKept = R"(,"annotations":{"cluster-watcher/keep":"true"})";

// A member that owns a kept object is deleted with Orphan, and somebody takes the root down then.
// What the member controlled bears the cluster's label, and has lost its controller.
TEST_F(TwoAccidentsTest, WhatAnOrphaningMemberControlledGoesThoughTheRootIsTakenDown) {
  MakeWorkload("w", R"("oshinko-cluster":"spark",)");
  MakeMap("kept", kKept + OwnedBy("Deployment", "apps/v1", kWorker));
  HoldRoot();
  After("DELETE", "deployments/w", 1, [this] { Delete(kRoot); });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_TRUE(MapExists("kept"));
  EXPECT_EQ(CountOf("/apis/apps/v1/namespaces/lab/replicasets", "w"), 0u);
  EXPECT_EQ(CountOf("/api/v1/namespaces/lab/pods", "w"), 0u);
  EXPECT_LT(clock_.elapsed, minutes(2));
}

// The same where somebody else deletes a member, and leaves what it controls.
TEST_F(TwoAccidentsTest, WhatAMemberThatIsOrphanedByHandControlledGoesThoughTheRootIsTakenDown) {
  MakeWorkload("w", R"("oshinko-cluster":"spark",)");
  MakeMap("held", R"(,"finalizers":["example.com/held"])");
  HoldRoot();
  Before("DELETE", "deployments/w", 1, [this] {
    kubernetes_.Admin("DELETE", std::string(kWorker) + "?propagationPolicy=Orphan");
    Delete(kRoot);
  });
  clock_.At(seconds(30), [this] {
    kubernetes_.Admin("PATCH", kMaps + std::string("/held"), R"({"metadata":{"finalizers":null}})",
                      "application/merge-patch+json");
  });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_EQ(CountOf("/api/v1/namespaces/lab/pods", "w"), 0u);
}

// The driver, which still exists, owns what the master mounts: the garbage collector leaves that.
TEST_F(TwoAccidentsTest, WhatTheMasterMountsGoesThoughItHasAnotherOwner) {
  MakeMap("spark-conf", OwnedBy("Deployment", "apps/v1", kDriver));
  observer_->SureLook({});
  kubernetes_.Admin("PATCH", kDriver, R"({"spec":{"replicas":0}})", "application/merge-patch+json");
  EXPECT_EQ(CondemnNow(), Reaper::Outcome::kDone);
  EXPECT_FALSE(Exists(kRoot));
  EXPECT_FALSE(MapExists("spark-conf"));
}

// A deletion that was another watcher's ends, and so do its marks.
TEST_F(TwoAccidentsTest, MarksThatWereTakenOverComeOffWhereTheRootIsAnotherClusters) {
  AnHourPasses();
  WriteMarks(kGone, seconds(60));
  Annotate(kRoot, "condemned-by", kOther);
  const Snapshot look = observer_->SureLook({});
  me_ = {look.pod->meta.name, look.pod->meta.uid};
  Before("DELETE", "spark-config", 1, [this] {
    kubernetes_.Admin("PATCH", kRoot, R"({"metadata":{"labels":{"oshinko-cluster":"other"}}})",
                      "application/merge-patch+json");
  });
  EXPECT_EQ(reaper_->Resume(me_, look), Reaper::Outcome::kSpared);
  EXPECT_TRUE(Exists(kRoot));
  EXPECT_EQ(Mark("phase"), "");
}

// `--resources` without the kinds that a Deployment makes: they go with it if nothing it owns is
// kept, so they go behind it if something is.
TEST_F(TwoAccidentsTest, WhatAnOrphaningMemberControlledGoesWhateverTheResources) {
  settings_.settings.resources = {"deployments.apps", "configmaps"};
  for (const char* labels : {"", R"("oshinko-cluster":"spark",)"}) {
    SCOPED_TRACE(labels);
    StartWatcher();
    MakeWorkload("w", labels);
    kubernetes_.Admin("PATCH", kWorker, R"({"metadata":{"labels":{"oshinko-cluster":"spark"}}})",
                      "application/merge-patch+json");
    MakeMap("kept", kKept + OwnedBy("Deployment", "apps/v1", kWorker));
    Before("DELETE", kRoot, 1,
           [&] { EXPECT_EQ(CountOf("/apis/apps/v1/namespaces/lab/replicasets", "w"), 0u); });
    EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
    EXPECT_TRUE(MapExists("kept"));
    EXPECT_FALSE(Exists(kWorker));
    EXPECT_EQ(CountOf("/api/v1/namespaces/lab/pods", "w"), 0u);
    Delete(kMaps + std::string("/kept"));
    MakeRoot();
    MakeMap("spark-config");
    MakeDriver();
  }
}

// The driver, a Job, was never seen. A worker of its name is none.
TEST_F(TwoAccidentsTest, AWorkerOfTheNameOfADriverThatWasNeverSeenGoes) {
  settings_.settings.owner = *OwnerName::Parse("job/w");
  StartWatcher();
  MakeWorkload("w", R"("oshinko-cluster":"spark",)");
  EXPECT_EQ(CondemnNow(), Reaper::Outcome::kDone);
  EXPECT_FALSE(Exists(kWorker));
}

// A claim that isn't made from a set's templates may be tied to the set by hand.
TEST_F(TwoAccidentsTest, AClaimThatASetOwnsButDidNotMakeIsPreserved) {
  kubernetes_.Apply(
      R"({"apiVersion":"apps/v1","kind":"StatefulSet",)" + Labelled("w") +
      R"(,"spec":{"replicas":1,"serviceName":"w","selector":{"matchLabels":{"app":"w"}},)"
      R"("template":{"metadata":{"labels":{"app":"w"}},"spec":{"containers":)"
      R"([{"name":"m","image":"x"}]}}}})");
  const std::string set = "/apis/apps/v1/namespaces/lab/statefulsets/w";
  MakeClaim("scratch", OwnedBy("StatefulSet", "apps/v1", set));
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_FALSE(Exists(set));
  EXPECT_TRUE(Exists("/api/v1/namespaces/lab/persistentvolumeclaims/scratch"));
}

// Its kind is never deleted, whatever `--resources` says, and whoever owns it.
TEST_F(TwoAccidentsTest, AServiceAccountThatAMemberOwnsStays) {
  settings_.settings.resources = {"configmaps", "serviceaccounts"};
  StartWatcher();
  kubernetes_.Apply(
      R"({"apiVersion":"v1","kind":"ServiceAccount",)" +
      Labelled("sa", OwnedBy("ConfigMap", "v1", kMaps + std::string("/spark-config"))) + "}");
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_FALSE(MapExists("spark-config"));
  EXPECT_TRUE(Exists("/api/v1/namespaces/lab/serviceaccounts/sa"));
}

// Claims that go with the master root, which owns a kept object and so is deleted with Orphan.
TEST_F(TwoAccidentsTest, ClaimsThatAreHandedOverGoThoughTheRootOwnsAKeptObject) {
  settings_.settings.volumes = Volumes::kDelete;
  StartWatcher();
  MakeSetWithClaims();
  const std::string claim = "/api/v1/namespaces/lab/persistentvolumeclaims/data-w-0";
  ASSERT_TRUE(Exists(claim));
  MakeMap("kept", kKept + OwnedBy("Deployment", "apps/v1", kRoot));
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_TRUE(MapExists("kept"));
  EXPECT_FALSE(Exists(kRoot));
  EXPECT_FALSE(Exists(claim));
}

// Everything may be done but delete, from the first delete on, and again after an hour.
TEST_F(TwoAccidentsTest, WhatMayNotBeDeletedForAnHourGoesThen) {
  MakeMap("other");
  MakeWorkload("w", R"("oshinko-cluster":"spark",)");
  Refuse("DELETE", "", 403, 1);
  clock_.At(std::chrono::hours(1), [this] { kubernetes_.GetFaults().Clear(); });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_FALSE(Exists(kRoot));
  EXPECT_FALSE(MapExists("other") || MapExists("spark-config"));
  EXPECT_FALSE(Exists(kWorker));
  EXPECT_LT(Deletes(), 5'000u) << "in no haste";
}

// The account has lost its Role in the middle, and gets it back after an hour.
TEST_F(TwoAccidentsTest, WhatMayNotEvenBeListedForAnHourGoesThen) {
  MakeMap("other");
  MakeWorkload("w", R"("oshinko-cluster":"spark",)");
  After("DELETE", "", 1, [this] { Refuse("", "", 403); });
  clock_.At(std::chrono::hours(1), [this] { kubernetes_.GetFaults().Clear(); });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_FALSE(Exists(kRoot));
  EXPECT_FALSE(MapExists("other") || MapExists("spark-config"));
  EXPECT_FALSE(Exists(kWorker));
}

}  // namespace
}  // namespace cluster_watcher

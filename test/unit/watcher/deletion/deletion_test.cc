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
  // The set "w" is all there is to delete but the root, and only we delete its claims.
  void MakeASetAloneThatRetainsClaims() {
    settings_.settings.volumes = Volumes::kDelete;
    StartWatcher();
    Delete(kConfig);
    MakeSetWithClaims();
    kubernetes_.Admin(
        "PATCH", kSet,
        R"({"spec":{"persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Retain"}}})", kMerge);
    kubernetes_.Settle();
  }
  // What cluster_watcher_deletes_total counts, of all resources.
  double DeletesWith(const std::string& result) {
    double sum = 0;
    for (const auto& family : metrics_.Collect()) {
      if (family.name != "cluster_watcher_deletes_total") continue;
      for (const auto& metric : family.metric) {
        for (const auto& label : metric.label) {
          if (label.value == result) sum += metric.counter.value;
        }
      }
    }
    return sum;
  }
  void MakeService(const std::string& name, const std::string& more = "") {
    kubernetes_.Apply(R"({"apiVersion":"v1","kind":"Service",)" + Labelled(name, more) +
                      R"(,"spec":{"ports":[{"port":1}]}})");
  }
  // The driver, which the map controls, is scaled to 0.
  Reaper::Outcome CondemnWithDriverControlledBy(const std::string& map) {
    std::string reference = OwnedBy("ConfigMap", "v1", kMaps + ("/" + map)).substr(1);
    reference.insert(reference.rfind("}]"), R"(,"controller":true)");
    kubernetes_.Admin("PATCH", kDriver, "{\"metadata\":{" + reference + "}}", kMerge);
    observer_->SureLook({});
    kubernetes_.Admin("PATCH", kDriver, R"({"spec":{"replicas":0}})", kMerge);
    return CondemnNow();
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
  void ListsTakeLong() {
    kubernetes_.on_request = [this](const Request& request, const User&) {
      if (request.target.find("/configmaps?labelSelector") == std::string::npos) return;
      clock_.elapsed += std::chrono::milliseconds(900);
    };
  }
  void Touch(const std::string& path) { Annotate(path, "root-uid", "1"); }
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
  std::size_t PodsOf(const std::string& app) {
    const std::string pods = "/api/v1/namespaces/lab/pods?labelSelector=app%3D" + app;
    return JsonDocument::Parse(Read(pods).body)->root()["items"].size();
  }
  // The master is a StatefulSet. `more` of its spec.
  void MakeRootASet(const std::string& more = "") {
    Delete(kRoot);
    kubernetes_.Apply(
        R"({"apiVersion":"apps/v1","kind":"StatefulSet",)" +
        Meta("spark-m", R"(,"labels":{"oshinko-cluster":"spark","oshinko-type":"master"})") +
        R"(,"spec":{"replicas":1,"serviceName":"m","selector":{"matchLabels":{"app":"spark-m",)"
        R"("oshinko-cluster":"spark"}},)" +
        more +
        R"("template":{"metadata":{"labels":{"app":"spark-m","oshinko-cluster":"spark",)"
        R"("oshinko-type":"master"}},"spec":{"containers":[{"name":"m","image":"x"}]}}}})");
    StartWatcher();
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

TEST_F(DeletionTest, AtTheDeadlineItWaitsNoLonger) {
  for (int i = 0; i < 16; ++i) MakeMap("a-" + std::to_string(i));
  Refuse("DELETE", "/configmaps/a-", 500);
  EndAfter(minutes(40));
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_GE(clock_.elapsed, minutes(10));
  EXPECT_FALSE(MapExists("spark-config"));
}

// Both passes at the deadline need the evidence of one look.
TEST_F(DeletionTest, AtTheDeadlineAWholeClusterGoesAlsoWhereListsTakeLong) {
  Refuse("DELETE", "spark-config", 500);
  ListsTakeLong();
  EndAfter(std::chrono::hours(1));
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_FALSE(Exists(kRoot));
}

TEST_F(DeletionTest, AtTheDeadlineAWholeClusterGoesAlsoWhereItsMemberChangesAllTheTime) {
  Refuse("DELETE", "spark-config", 409);
  ListsTakeLong();
  EndAfter(std::chrono::hours(1));
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_FALSE(Exists(kRoot));
}

TEST_F(DeletionTest, BetweenItsFewTriesAtTheDeadlineIsTime) {
  Refuse("DELETE", "spark-config", 500);
  std::vector<Duration> tries;
  kubernetes_.on_request = [&](const Request& request, const User&) {
    const bool is_try =
        request.method == "DELETE" && request.target.find("spark-config") != std::string::npos;
    if (is_try) tries.push_back(clock_.elapsed);
  };
  EndAfter(std::chrono::hours(1));
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  ASSERT_GE(tries.size(), 2u);
  EXPECT_GE(tries.back(), minutes(10));
  EXPECT_GE(tries.back() - tries[tries.size() - 2], Duration(40));
}

// The root's delete was accepted, but nobody knows for a while.
TEST_F(DeletionTest, AMemberThatTheDeadlineLeftGoesWhenItCanWhileTheRootCannotBeRead) {
  Refuse("DELETE", "spark-config", 500);
  Before("DELETE", "deployments/spark-m", 1, [this] {
    kubernetes_.GetFaults().Clear();
    Refuse("GET", "deployments", 503);
    clock_.At(clock_.elapsed + seconds(5), [this] { kubernetes_.GetFaults().Clear(); });
  });
  EndAfter(std::chrono::hours(1));
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_FALSE(MapExists("spark-config"));
}

TEST_F(DeletionTest, ASetWhoseClaimsTakeLongToSettleAgainNeedsAnotherLook) {
  Delete(kConfig);
  MakeSetWithClaims();
  Refuse("DELETE", "statefulsets/w", 500, 0, 1);
  kubernetes_.on_request = [this](const Request& request, const User&) {
    if (request.method != "GET" || request.target != kSet || Deletes() == 0) return;
    clock_.elapsed += seconds(6);
    MakeDriver();
  };
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  EXPECT_EQ(Deletes(), 1u);
}

TEST_F(DeletionTest, WhatLosesItsOwnerStaysWhileTheClusterIsWhole) {
  Delete(kConfig);
  MakeOwnerOfAKeptMap();
  MakeBareMap("bare", OwnedBy("Deployment", "apps/v1", kWorker));
  Refuse("DELETE", "deployments/w", 500);
  After("DELETE", "deployments/w", 1, [this] {
    kubernetes_.Admin("PATCH", kMaps + std::string("/bare"),
                      R"({"metadata":{"ownerReferences":null}})", kMerge);
  });
  EndAfter(minutes(1));
  observer_->SureLook({});
  Delete(kDriver);
  EXPECT_EQ(CondemnNow(), Reaper::Outcome::kSpared);
  EXPECT_TRUE(MapExists("bare"));
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
  EXPECT_EQ(MarksWritten(), 3u) << "no other look";
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

TEST_F(DeletionTest, WhereOnlyClaimsAreLeftOneLookSuffices) {
  settings_.settings.volumes = Volumes::kCollect;
  StartWatcher();
  MakeClaim("data");
  Delete(kConfig);
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_EQ(MarksWritten(), 3u);
}

TEST_F(DeletionTest, AMarkOfAClaimThatFailsAtTheDeadlineIsTriedAgain) {
  settings_.settings.volumes = Volumes::kCollect;
  StartWatcher();
  MakeClaim("data");
  MakeHeld();
  kubernetes_.on_request = [this](const Request& request, const User&) {
    const bool of_claim = request.target.find("persistentvolumeclaims/data") != std::string::npos;
    if (request.method != "PATCH" || !of_claim) return;
    if (clock_.elapsed < minutes(10) + seconds(1)) Refuse("PATCH", "claims/data", 503, 0, 1);
  };
  Refuse("PATCH", "persistentvolumeclaims/data", 503, 0, 1);
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
  Delete(kConfig);
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
  EXPECT_EQ(PodsOf("w"), 0u);
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
  EXPECT_EQ(PodsOf("w"), 0u);
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
  EXPECT_EQ(CondemnWithDriverControlledBy("top"), Reaper::Outcome::kDone);
  EXPECT_TRUE(MapExists("top"));
  EXPECT_TRUE(Exists(kDriver));
}

TEST_F(DeletionTest, SoItDoesThoughItLosesItsOwnOwner) {
  MakeOwnerOfAKeptMap();
  MakeBareMap("top", OwnedBy("Deployment", "apps/v1", kWorker));
  EXPECT_EQ(CondemnWithDriverControlledBy("top"), Reaper::Outcome::kDone);
  EXPECT_TRUE(MapExists("top"));
  EXPECT_FALSE(Exists(kWorker));
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
  MakeBareMap("above");
  MakeBareMap("foreign", OwnedBy("ConfigMap", "v1", kMaps + std::string("/above")));
  std::string two = owner;
  two.insert(two.rfind(']'), "," + OwnedBy("Namespace", "v1", "/api/v1/namespaces/lab")
                                       .substr(std::string(R"(,"ownerReferences":[)").size()));
  two.pop_back();
  MakeBareMap("shared", two);
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_FALSE(MapExists("bare"));
  EXPECT_TRUE(MapExists("others"));
  EXPECT_TRUE(MapExists("shared"));
  EXPECT_TRUE(MapExists("foreign"));
  EXPECT_LT(clock_.elapsed, minutes(1)) << "nobody waits for it";
}

TEST_F(DeletionTest, AKeptMapStaysWhateverIsBetweenItAndAMember) {
  const auto owned_by = [this](const std::string& map) {
    return OwnedBy("ConfigMap", "v1", kMaps + ("/" + map));
  };
  const std::string keep = R"(,"annotations":{"cluster-watcher/keep":"true"})";
  MakeMap("top");
  MakeMap("member", owned_by("top"));
  MakeMap("kept-1", keep + owned_by("member"));
  MakeMap("other-top");
  MakeBareMap("bare", owned_by("other-top"));
  MakeMap("kept-2", keep + owned_by("bare"));
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_TRUE(MapExists("kept-1"));
  EXPECT_TRUE(MapExists("kept-2"));
  EXPECT_FALSE(MapExists("top"));
  EXPECT_FALSE(MapExists("other-top"));
}

TEST_F(DeletionTest, AClaimWithoutTheLabelStaysThoughItLosesItsOwner) {
  settings_.settings.volumes = Volumes::kDelete;
  StartWatcher();
  MakeOwnerOfAKeptMap();
  kubernetes_.Apply(R"({"apiVersion":"v1","kind":"PersistentVolumeClaim",)" +
                    Meta("mine", OwnedBy("Deployment", "apps/v1", kWorker)) +
                    R"(,"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":)"
                    R"({"storage":"1Gi"}}}})");
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_TRUE(ClaimExists("mine"));
  EXPECT_FALSE(Exists(kWorker));
}

TEST_F(DeletionTest, AKindThatIsNotAmongTheResourcesStays) {
  MakeService("s");
  settings_.settings.resources = {"configmaps"};
  StartWatcher();
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_FALSE(MapExists("spark-config"));
  EXPECT_TRUE(Exists(kServices + std::string("/s")));
}

TEST_F(DeletionTest, WhatLostItsOwnerIsWaitedFor) {
  MakeOwnerOfAKeptMap();
  const std::string bare = kMaps + std::string("/bare");
  MakeBareMap("bare",
              R"(,"finalizers":["example.com/held"])" + OwnedBy("Deployment", "apps/v1", kWorker));
  clock_.At(seconds(20), [this, bare] {
    kubernetes_.Admin("PATCH", bare, R"({"metadata":{"finalizers":null}})", kMerge);
    MakeBareMap("bare");  // somebody's new one
  });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_GE(clock_.elapsed, seconds(20));
  EXPECT_EQ(DeletesOf("configmaps/bare"), 1u);
  EXPECT_TRUE(MapExists("bare"));
}

TEST_F(DeletionTest, WhatLostItsOwnerAndIsToBeKeptMeanwhileStays) {
  MakeOwnerOfAKeptMap();
  MakeBareMap("bare", OwnedBy("Deployment", "apps/v1", kWorker));
  Before("DELETE", "configmaps/bare", 1,
         [this] { Annotate(kMaps + std::string("/bare"), "keep", "true"); });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_TRUE(MapExists("bare"));
  EXPECT_EQ(DeletesOf("configmaps/bare"), 1u);
}

TEST_F(DeletionTest, AKindThatMayNotBeListedHoldsNoOwnerUp) {
  MakeOwnerOfAKeptMap();
  Refuse("GET", "/services", 403);
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_TRUE(MapExists("kept"));
  EXPECT_LT(clock_.elapsed, seconds(5));
}

// Owners that are gone, of no kind that is served, or replaced own nothing.
TEST_F(DeletionTest, AKeptMapWithoutALivingOwnerHoldsNothingUp) {
  observer_->SureLook({});
  Delete(kDriver);
  kubernetes_.settle_after_writes = false;  // nobody collects it
  MakeBareMap("middle", OwnedBy("ConfigMap", "v1", kConfig));
  MakeMap("kept", R"(,"annotations":{"cluster-watcher/keep":"true"},"ownerReferences":[)"
                  R"({"apiVersion":"example.com/v1","kind":"Odd","name":"x","uid":"u-1"},)"
                  R"({"apiVersion":"v1","kind":"ConfigMap","name":"gone","uid":"u-2"},)"
                  R"({"apiVersion":"v1","kind":"ConfigMap","name":"middle","uid":"u-3"}])");
  std::string body;
  kubernetes_.on_request = [&](const Request& request, const User&) {
    if (request.method == "DELETE" && request.target.starts_with(kConfig)) body = request.body;
  };
  EXPECT_EQ(CondemnNow(), Reaper::Outcome::kDone);
  EXPECT_TRUE(MapExists("kept"));
  EXPECT_EQ(body.find("Orphan"), std::string::npos) << body;
  EXPECT_LT(clock_.elapsed, seconds(5));
}

TEST_F(DeletionTest, OfMarkedOrphansOnlyTheOnesThatAreMeantGo) {
  MakeBareMap("left");
  MakeBareMap("hidden");
  AnHourPasses();
  WriteMarks(kGone + std::string(",+configmaps/left=0011223344556677,+") + Named("hidden") +
                 ",+nonsense.example.com/x=0011223344556677",
             seconds(1));
  Refuse("GET", "metadata.name%3Dhidden", 403);
  const Duration began = clock_.elapsed;
  EXPECT_EQ(Resume(), Reaper::Outcome::kDone);
  EXPECT_TRUE(MapExists("left")) << "it is another one";
  EXPECT_LT(clock_.elapsed - began, seconds(20));
}

// Until then it would make them anew.
TEST_F(DeletionTest, WhatLosesItsOwnerStaysUntilThatIsDeleted) {
  MakeOwnerOfAKeptMap();
  Refuse("DELETE", "deployments/w", 500, 0, 3);
  kubernetes_.on_request = [this](const Request& request, const User&) {
    if (request.method != "DELETE" || request.target.find("/replicasets/w-") == std::string::npos) {
      return;
    }
    EXPECT_FALSE(Exists(kWorker));
  };
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_GT(DeletesOf("/replicasets/w-"), 0u);
}

TEST_F(DeletionTest, WhatStillNamesItsDeletedOwnerGoes) {
  MakeOwnerOfAKeptMap();
  MakeBareMap("bare", OwnedBy("Deployment", "apps/v1", kWorker));
  Before("DELETE", "deployments/w", 1, [this] { kubernetes_.settle_after_writes = false; });
  bool gone = false;
  clock_.At(seconds(30), [&] {
    gone = !MapExists("bare");
    kubernetes_.settle_after_writes = true;
    kubernetes_.Settle();
  });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_TRUE(gone);
}

TEST_F(DeletionTest, ARootThatIsToBeKeptWhileOrphansAreMarkedEndsIt) {
  MakeOwnerOfAKeptMap();
  Before("PATCH", "spark-m", 4, [this] { Annotate(kRoot, "keep", "true"); });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  EXPECT_TRUE(Exists(kWorker));
}

TEST_F(DeletionTest, ARootThatIsGoneNeedsNoMarksOfOrphans) {
  MakeOwnerOfAKeptMap();
  observer_->SureLook({});
  AnHourPasses();
  WriteMarks(kGone, seconds(60));
  Delete(kDriver);
  const Snapshot snapshot = observer_->SureLook({});
  Before("GET", "/configmaps?labelSelector", 2, [this] { Delete(kRoot); });
  EXPECT_EQ(reaper_->Resume(snapshot.marks.condemned_by, snapshot), Reaper::Outcome::kDone);
  EXPECT_FALSE(Exists(kWorker));
  EXPECT_TRUE(MapExists("kept"));
  EXPECT_LT(clock_.elapsed, std::chrono::hours(1) + minutes(1));
}

TEST_F(DeletionTest, AKindThatCannotBeReadAtAllHoldsItUpForSeconds) {
  for (const bool is_short : {false, true}) {
    SCOPED_TRACE(is_short);
    if (is_short) settings_.settings.delete_deadline = seconds(3);
    StartWatcher();
    Refuse("GET", "/services", 503);
    std::optional<Duration> first;
    const Duration began = clock_.elapsed;
    After("DELETE", "spark-config", 1, [&] { first = clock_.elapsed - began; });
    EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
    ASSERT_TRUE(first);
    EXPECT_LT(*first, is_short ? seconds(9) : seconds(60));
    kubernetes_.GetFaults().Clear();
    MakeMap("spark-config");
    MakeRoot();
    MakeDriver();
  }
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

TEST_F(DeletionTest, AKindThatFailsInPassingLeavesNothingWithoutAnOwner) {
  AnHourPasses();
  WriteMarks(kGone, seconds(60));
  const Duration until = clock_.elapsed + seconds(8);
  kubernetes_.on_answer = [&, lists = 0](const Request& request, const User&,
                                         Response& response) mutable {
    if (request.method == "DELETE" && request.target.find("spark-config") != std::string::npos) {
      EXPECT_EQ(request.body.find("Orphan"), std::string::npos);
    }
    if (request.target.find("/services?labelSelector") == std::string::npos) return;
    if (++lists > 1 && clock_.elapsed < until) response.status = 503;
  };
  EXPECT_EQ(Resume(), Reaper::Outcome::kDone);
}

// --- Behind the first delete.

TEST_F(DeletionTest, EachDeleteIsForTheObjectAsItWasListed) {
  const auto listed = JsonDocument::Parse(Read(kConfig).body);
  const auto meta = ReadObjectMeta(listed->root());
  std::string body;
  kubernetes_.on_request = [&](const Request& request, const User&) {
    if (request.method == "DELETE" && request.target.starts_with(kConfig)) body = request.body;
  };
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_NE(body.find('"' + meta->uid + '"'), std::string::npos) << body;
  EXPECT_NE(body.find('"' + meta->resource_version + '"'), std::string::npos) << body;
}

TEST_F(DeletionTest, ItWaitsAsLongAsTheApiServerAsks) {
  MakeMap("other");
  std::optional<Duration> asked;
  kubernetes_.on_answer = [&](const Request& request, const User&, Response& response) {
    if (request.method != "DELETE" || request.target.find("spark-config") == std::string::npos) {
      return;
    }
    if (!asked) {
      asked = clock_.elapsed;
      response.status = 429;
      response.retry_after = 15;
    }
  };
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  ASSERT_TRUE(asked);
  EXPECT_GE(clock_.elapsed, *asked + seconds(15));
}

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

TEST_F(DeletionTest, AlsoWhereSomebodyElseDeletedWhatIsBetween) {
  MakeWorkload("w", R"("oshinko-cluster":"spark",)");
  Before("DELETE", "deployments/w", 1, [this] { kubernetes_.settle_after_writes = false; });
  After("DELETE", "deployments/w", 1, [this] {
    const auto sets = JsonDocument::Parse(
        Read("/apis/apps/v1/namespaces/lab/replicasets?labelSelector=app%3Dw").body);
    const auto meta = ReadObjectMeta(sets->root()["items"].At(0));
    Delete("/apis/apps/v1/namespaces/lab/replicasets/" + meta->name);
  });
  EndAfter(minutes(40));
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_LT(clock_.elapsed, minutes(2));
  EXPECT_GT(DeletesOf("/pods/w-"), 0u);
}

TEST_F(DeletionTest, WhatHasLostItsControllerIsAMemberItself) {
  MakeWorkload("w", R"("oshinko-cluster":"spark",)");
  Before("DELETE", "deployments/w", 1, [this] {
    const auto sets = JsonDocument::Parse(
        Read("/apis/apps/v1/namespaces/lab/replicasets?labelSelector=app%3Dw").body);
    const auto meta = ReadObjectMeta(sets->root()["items"].At(0));
    kubernetes_.settle_after_writes = false;
    kubernetes_.Admin("PATCH", "/apis/apps/v1/namespaces/lab/replicasets/" + meta->name,
                      R"({"metadata":{"ownerReferences":null}})", kMerge);
  });
  EndAfter(minutes(40));
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_LT(clock_.elapsed, minutes(2));
  EXPECT_GT(DeletesOf("/replicasets/w-"), 0u);
}

TEST_F(DeletionTest, WhatAMemberControlsThatMayNotBeDeletedGoesAtTheDeadline) {
  MakeWorkload("w", R"("oshinko-cluster":"spark",)");
  Refuse("DELETE", "deployments/w", 403);
  kubernetes_.on_request = [this](const Request& request, const User&) {
    const bool of_it = request.target.find("/replicasets/w-") != std::string::npos;
    EXPECT_FALSE(request.method == "DELETE" && of_it && clock_.elapsed < minutes(10));
  };
  EndAfter(minutes(40));
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_GT(DeletesOf("/replicasets/w-"), 0u);
}

// It isn't known to be empty.
TEST_F(DeletionTest, AKindThatMayNoLongerBeListedIsWaitedFor) {
  MakeService("s");
  kubernetes_.on_answer = [this, lists = 0](const Request& request, const User&,
                                            Response& response) mutable {
    if (request.target.find("/services?labelSelector") == std::string::npos) return;
    if (++lists > 1 && clock_.elapsed < seconds(20)) response.status = 403;
  };
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_GE(clock_.elapsed, seconds(20));
  EXPECT_FALSE(Exists(kServices + std::string("/s")));
}

TEST_F(DeletionTest, ADeletionThatAnotherTakesOverInItsMidstIsLeftToIt) {
  MakeHeld();
  After("DELETE", "spark-config", 1, [this] { GiveMarksAway("deleting"); });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kOvertaken);
  EXPECT_TRUE(Exists(kRoot));
  EXPECT_EQ(Mark("condemned-by"), kOther);
}

TEST_F(DeletionTest, AfterStepsAreNotRunForADeletionThatEnds) {
  Annotate(kRoot, "after-delete", kStep);
  MakeHeld();
  After("DELETE", "spark-config", 1, [this] { Annotate(kRoot, "keep", "true"); });
  int runs = 0;
  during_step_ = [&] { ++runs; };
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  EXPECT_EQ(runs, 0);
}

TEST_F(DeletionTest, AMasterThatIsMadeAnewDuringTheStepsAfterIsLeftAlone) {
  Annotate(kRoot, "after-delete", kStep);
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
    MakeMap("again");  // no reason to doubt what bears our name
  });
  clock_.At(clock_.elapsed + seconds(20), [this] {
    EXPECT_EQ(Mark("deletes-begun"), "true");
    Release();
  });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
}

TEST_F(DeletionTest, OurNameWithoutAPhaseIsNoMark) {
  MakeHeld();
  AnHourPasses();
  After("DELETE", "spark-config", 1, [this] {
    kubernetes_.Admin("PATCH", kRoot,
                      R"({"metadata":{"annotations":{"cluster-watcher/phase":null}}})", kMerge);
    MakeMap("again");
  });
  clock_.At(clock_.elapsed + seconds(20), [this] { Release(); });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  EXPECT_TRUE(MapExists("again"));
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

// In the second in which the root was last seen, its versions tell.
TEST_F(DeletionTest, SoItDoesWhereTheRootIsGoneAtOnce) {
  kubernetes_.Admin("PATCH", "/api/v1/namespaces/lab/pods/" + NameOfPod(),
                    R"({"metadata":{"finalizers":["example.com/held"]}})", kMerge);
  MakeMap("early");
  observer_->SureLook({});
  Delete(kDriver);
  Delete(kRoot);
  MakeMap("after");
  EXPECT_TRUE(reaper_->FinishOnTermination());
  EXPECT_FALSE(MapExists("early"));
  EXPECT_TRUE(MapExists("after"));
}

TEST_F(DeletionTest, WhatTheMasterMountsGoesWithoutARootToWaitFor) {
  Delete(kConfig);
  MakeMap("spark-conf");
  TakeDownByHand();
  EXPECT_TRUE(reaper_->FinishOnTermination());
  EXPECT_FALSE(MapExists("spark-conf"));
}

TEST_F(DeletionTest, TheClaimsOfARootThatIsASetGoWithoutItAsWell) {
  settings_.settings.volumes = Volumes::kDelete;
  Delete(kConfig);
  MakeRootASet(R"("volumeClaimTemplates":[{"metadata":{"name":"data"},"spec":{"accessModes":)"
               R"(["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}],)");
  const std::string set = "/apis/apps/v1/namespaces/lab/statefulsets/spark-m";
  kubernetes_.Admin("PATCH", set, R"({"metadata":{"finalizers":["example.com/held"]}})", kMerge);
  observer_->SureLook({});
  AnHourPasses();
  observer_->SureLook({});
  Delete(kDriver);
  Delete(set);
  EXPECT_TRUE(reaper_->FinishOnTermination());
  EXPECT_FALSE(ClaimExists("data-spark-m-0"));
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

TEST_F(DeletionTest, IsNotFinishedUnderTheBrakeAndGoesOnBehindIt) {
  TakeDownByHand();
  kubernetes_.brake = true;
  clock_.At(clock_.elapsed + seconds(20), [this] {
    EXPECT_EQ(Deletes(), 0u);
    EXPECT_NE(Notes().find("the brake"), std::string::npos);
    EXPECT_EQ(Notes().find("is being deleted"), std::string::npos);
    kubernetes_.brake = false;
  });
  EXPECT_TRUE(reaper_->FinishOnTermination());
  EXPECT_FALSE(MapExists("spark-config"));
}

TEST_F(DeletionTest, IsNotFinishedWhileAKindCannotBeListed) {
  MakeService("s");
  TakeDownByHand();
  RefuseListsUntil("services", clock_.elapsed + seconds(20));
  reaper_->FinishOnTermination();
  EXPECT_GE(clock_.elapsed, std::chrono::hours(1) + seconds(20));
}

// --- The root.

TEST_F(DeletionTest, TheClaimsOfARootThatIsASetGoWithIt) {
  settings_.settings.volumes = Volumes::kDelete;
  MakeRootASet(R"("volumeClaimTemplates":[{"metadata":{"name":"data"},"spec":{"accessModes":)"
               R"(["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}],)");
  ASSERT_TRUE(ClaimExists("data-spark-m-0"));
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_FALSE(ClaimExists("data-spark-m-0"));
  EXPECT_EQ(DeletesOf("persistentvolumeclaims"), 1u);
}

// Its pod could not start again elsewhere once one is being deleted.
TEST_F(DeletionTest, AClaimThatTheMasterMountsIsDeletedRightBeforeTheRoot) {
  settings_.settings.volumes = Volumes::kDelete;
  Delete(kRoot);
  kubernetes_.Apply(
      R"({"apiVersion":"apps/v1","kind":"Deployment",)" +
      Meta("spark-m", R"(,"labels":{"oshinko-cluster":"spark","oshinko-type":"master"})") +
      R"(,"spec":{"replicas":1,"selector":{"matchLabels":{"app":"spark-m"}},"template":{"metadata":)"
      R"({"labels":{"app":"spark-m","oshinko-cluster":"spark","oshinko-type":"master"}},"spec":)"
      R"({"containers":[{"name":"m","image":"x"}],"volumes":[{"name":"d",)"
      R"("persistentVolumeClaim":{"claimName":"mounted"}}]}}}})");
  kubernetes_.Apply(R"({"apiVersion":"v1","kind":"PersistentVolumeClaim",)" + Labelled("mounted") +
                    R"(,"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":)"
                    R"({"storage":"1Gi"}}}})");
  StartWatcher();
  kubernetes_.on_request = [this](const Request& request, const User&) {
    if (request.method != "DELETE") return;
    if (request.target.ends_with("/mounted")) {
      EXPECT_FALSE(MapExists("spark-config"));
    }
    const bool is_dry = request.body.find("dryRun") != std::string::npos;
    if (request.target.ends_with("/spark-m") && !is_dry) {
      EXPECT_EQ(DeletesOf("persistentvolumeclaims"), 1u);
    }
  };
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_FALSE(ClaimExists("mounted"));
  EXPECT_EQ(kubernetes_.Count("PATCH", "/mounted"), 0u);
}

// So that a set that is to be kept after all keeps its claims.
TEST_F(DeletionTest, WhereThereIsNothingButASetItGoesBeforeItsClaims) {
  settings_.settings.volumes = Volumes::kDelete;
  StartWatcher();
  Delete(kConfig);
  MakeSetWithClaims();
  for (int i = 1; i < 20; ++i) {
    kubernetes_.Apply(R"({"apiVersion":"v1","kind":"PersistentVolumeClaim",)" +
                      Meta("data-w-" + std::to_string(i), R"(,"labels":{"app":"w"})") +
                      R"(,"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":)"
                      R"({"storage":"1Gi"}}}})");
  }
  std::string first;
  bool claims_at_root = true;
  kubernetes_.on_request = [&](const Request& request, const User&) {
    if (request.method != "DELETE") return;
    if (first.empty()) first = std::string(request.target) + Mark("first-deletes");
    if (request.target.starts_with(kRoot)) claims_at_root = ClaimExists("data-w-19");
  };
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_NE(first.find("/statefulsets/wstatefulsets.apps/w="), std::string::npos) << first;
  EXPECT_FALSE(claims_at_root) << "they go before the root";
  EXPECT_EQ(first.find(",persistentvolumeclaims"), std::string::npos) << first;
  EXPECT_NE(first.find("+persistentvolumeclaims/data-w-19="), std::string::npos) << first;
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(ClaimExists("data-w-" + std::to_string(i))) << i;
}

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
  kubernetes_.on_request = [this](const Request& request, const User&) {
    if (request.method == "DELETE" && request.target.ends_with("/spark-conf")) {
      EXPECT_FALSE(Exists(kRoot));
    }
  };
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_FALSE(MapExists("spark-conf"));
  EXPECT_EQ(kubernetes_.Count("PATCH", "spark-conf"), 1u);
}

TEST_F(DeletionTest, AMountedObjectThatIsGoneIsNotAskedForAgain) {
  MakeMap("spark-conf");
  Before("PATCH", "spark-conf", 1, [this] { Delete(kMaps + std::string("/spark-conf")); });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_EQ(kubernetes_.Count("PATCH", "spark-conf"), 1u);
  EXPECT_EQ(DeletesOf("/spark-conf"), DeletesOf("/spark-config"));
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

TEST_F(DeletionTest, OfWhatTheRootLeavesOurOwnPodGoesLast) {
  MakeRootASet();
  const std::string root = "/apis/apps/v1/namespaces/lab/statefulsets/spark-m";
  const std::string owned = OwnedBy("StatefulSet", "apps/v1", root);
  MakeMap("kept", R"(,"annotations":{"cluster-watcher/keep":"true"})" + owned);
  MakeBareMap("left", owned);
  MakeBareMap("going", R"(,"finalizers":["example.com/held"])" + owned);
  Refuse("DELETE", "/configmaps/left", 503, 0, 2);
  kubernetes_.on_request = [this](const Request& request, const User&) {
    if (request.method != "DELETE" || !request.target.ends_with("/pods/spark-m-0")) return;
    EXPECT_FALSE(MapExists("left"));
  };
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_FALSE(MapExists("left"));
  EXPECT_TRUE(MapExists("kept"));
  EXPECT_FALSE(Exists("/api/v1/namespaces/lab/pods/spark-m-0"));
  EXPECT_EQ(Notes().find("configmap/going"), std::string::npos) << "it goes";
}

TEST_F(DeletionTest, WhatANewMasterHasAdoptedStays) {
  MakeMap("kept", R"(,"annotations":{"cluster-watcher/keep":"true"})" +
                      OwnedBy("Deployment", "apps/v1", kRoot));
  MakeBareMap("left", OwnedBy("Deployment", "apps/v1", kRoot));
  std::string marked;
  Before("DELETE", "deployments/spark-m", 1, [&] { marked = Mark("first-deletes"); });
  After("DELETE", "deployments/spark-m", 1, [this] {
    MakeWorkload("spark-n", R"("oshinko-cluster":"spark","oshinko-type":"master",)");
    const std::string owned =
        OwnedBy("Deployment", "apps/v1", "/apis/apps/v1/namespaces/lab/deployments/spark-n");
    kubernetes_.Admin("PATCH", kMaps + std::string("/left"),
                      "{\"metadata\":{" + owned.substr(1) + "}}", kMerge);
  });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_TRUE(MapExists("left"));
  EXPECT_EQ(Notes().find("configmap/left"), std::string::npos);
  EXPECT_NE(marked.find(",+replicasets.apps/spark-m-"), std::string::npos) << marked;
}

TEST_F(DeletionTest, ARootThatIsTakenDownWithoutItsPodsLeavesThemWhatTheyMount) {
  MakeMap("spark-conf");
  kubernetes_.on_request = [&, reads = 0](const Request& request, const User&) mutable {
    if (request.method != "GET" || request.target != kRoot || MapExists("spark-config")) return;
    if (++reads != 2) return;
    kubernetes_.Admin("DELETE", kRoot,
                      R"({"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":"Orphan"})",
                      "application/json");
  };
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  EXPECT_TRUE(MapExists("spark-conf"));
}

// It would not go with a root that is gone.
TEST_F(DeletionTest, AMountedObjectGoesThoughTheRootIsTakenDownRightBeforeItsDelete) {
  for (const bool is_held : {true, false}) {
    SCOPED_TRACE(is_held);
    MakeMap("spark-conf");
    if (is_held) HoldRoot();
    kubernetes_.on_request = [&, reads = 0](const Request& request, const User&) mutable {
      if (request.method != "GET" || request.target != kRoot || MapExists("spark-config")) return;
      if (++reads == 2) Delete(kRoot);
    };
    EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
    EXPECT_FALSE(MapExists("spark-conf"));
    kubernetes_.on_request = nullptr;
    kubernetes_.Admin("PATCH", kRoot, R"({"metadata":{"finalizers":null}})", kMerge);
    Delete(kMaps + std::string("/spark-conf"));
    MakeMap("spark-config");
    MakeRoot();
    MakeDriver();
    StartWatcher();
  }
}

TEST_F(DeletionTest, AMemberWhoseStatusChangesAfterEachListIsDeleted) {
  MakeWorkload("w", R"("oshinko-cluster":"spark",)");
  kubernetes_.on_answer = [this, seen = 0](const Request& request, const User&, Response&) mutable {
    const bool is_list =
        request.method == "GET" && request.target.find("deployments?label") != std::string::npos;
    if (!is_list) return;
    kubernetes_.Admin("PATCH", kWorker + std::string("/status"),
                      R"({"status":{"collisionCount":)" + std::to_string(++seen) + "}}", kMerge);
  };
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_LT(clock_.elapsed, settings_.settings.delete_deadline);
  EXPECT_FALSE(Exists(kWorker));
}

TEST_F(DeletionTest, AMemberThatIsKeptAfterEachListIsNotDeleted) {
  MakeMap("kept");
  Before("DELETE", "configmaps/kept", 1,
         [this] { Annotate(kMaps + std::string("/kept"), "keep", "true"); });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_EQ(DeletesOf("configmaps/kept"), 1u);
  EXPECT_TRUE(MapExists("kept"));
}

// --- What changes at the last moment.

TEST_F(DeletionTest, ASetThatIsKeptRightBeforeItsDeleteKeepsItsClaims) {
  settings_.settings.volumes = Volumes::kDelete;
  StartWatcher();
  Delete(kConfig);
  MakeSetWithClaims();
  ASSERT_TRUE(ClaimExists("data-w-0"));
  bool done = false;
  kubernetes_.on_request = [&](const Request& request, const User&) {
    if (done || request.method != "PATCH" || request.target.find("spark-m") == std::string::npos)
      return;
    if (request.body.find("first-deletes\":\"") == std::string::npos) return;
    done = true;
    Annotate(kSet, "keep", "true");
  };
  Condemn();
  EXPECT_TRUE(done);
  EXPECT_TRUE(Exists(kSet));
  EXPECT_TRUE(ClaimExists("data-w-0"));
}

TEST_F(DeletionTest, ASetThatIsKeptAfterItWasListedKeepsItsClaims) {
  settings_.settings.volumes = Volumes::kDelete;
  StartWatcher();
  MakeSetWithClaims();
  Before("DELETE", "configmaps", 1, [this] { Annotate(kSet, "keep", "true"); });
  Condemn();
  EXPECT_TRUE(Exists(kSet));
  EXPECT_TRUE(ClaimExists("data-w-0"));
}

TEST_F(DeletionTest, AClaimThatIsGarbageCollectedByItselfProvesNothing) {
  settings_.settings.volumes = Volumes::kDelete;
  StartWatcher();
  Delete(kConfig);
  MakeSetWithClaims();
  const std::string pod = "/api/v1/namespaces/lab/pods/task";
  kubernetes_.Apply(R"({"apiVersion":"v1","kind":"Pod",)" + Meta("task") +
                    R"(,"spec":{"containers":[{"name":"m","image":"x"}]}})");
  kubernetes_.Apply(
      R"({"apiVersion":"v1","kind":"PersistentVolumeClaim",)" +
      Meta("data-w-7", R"(,"labels":{"app":"w"})" + OwnedBy("Pod", "v1", pod)) +
      R"(,"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}})");
  Refuse("DELETE", "/persistentvolumeclaims/", 500);
  Refuse("DELETE", "/statefulsets/", 500);
  AnHourPasses();
  observer_->SureLook({});
  Delete(kDriver);
  clock_.At(clock_.elapsed + seconds(20), [&] {
    kubernetes_.Admin("DELETE", pod + "?gracePeriodSeconds=0");
    MakeDriver();
  });
  clock_.At(clock_.elapsed + seconds(60), [&] { kubernetes_.GetFaults().Clear(); });
  EXPECT_EQ(CondemnNow(), Reaper::Outcome::kSpared);
  EXPECT_TRUE(Exists(kSet));
  EXPECT_TRUE(Exists(kRoot));
  EXPECT_TRUE(ClaimExists("data-w-0"));
}

TEST_F(DeletionTest, ARootThatIsKeptRightBeforeItsDeleteKeepsTheClaimsThatItMounts) {
  settings_.settings.volumes = Volumes::kDelete;
  Delete(kRoot);
  kubernetes_.Apply(
      R"({"apiVersion":"apps/v1","kind":"Deployment",)" +
      Meta("spark-m", R"(,"labels":{"oshinko-cluster":"spark","oshinko-type":"master"})") +
      R"(,"spec":{"replicas":1,"selector":{"matchLabels":{"app":"spark-m"}},"template":{"metadata":)"
      R"({"labels":{"app":"spark-m","oshinko-cluster":"spark","oshinko-type":"master"}},"spec":)"
      R"({"containers":[{"name":"m","image":"x"}],"volumes":[{"name":"d",)"
      R"("persistentVolumeClaim":{"claimName":"mounted"}}]}}}})");
  MakeClaim("mounted");
  StartWatcher();
  Before("DELETE", "spark-m", 1, [this] { Annotate(kRoot, "keep", "true"); });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  EXPECT_TRUE(Exists(kRoot));
  EXPECT_TRUE(ClaimExists("mounted"));
}

TEST_F(DeletionTest, ARootThatIsSparedRightBeforeItsDeleteStays) {
  MakeRootASet();
  AnHourPasses();
  const std::string root = "/apis/apps/v1/namespaces/lab/statefulsets/spark-m";
  Before("DELETE", "statefulsets/spark-m", 1, [&] {
    kubernetes_.Admin("PATCH", root,
                      R"({"metadata":{"annotations":{"cluster-watcher/phase":null,)"
                      R"("cluster-watcher/condemned-by":null}}})",
                      kMerge);
    MakeMap("again");
    MakeDriver();
  });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  EXPECT_TRUE(Exists(root));
}

TEST_F(DeletionTest, ARootThatIsTakenOverRightBeforeItsDeleteStays) {
  MakeRootASet();
  AnHourPasses();
  const std::string root = "/apis/apps/v1/namespaces/lab/statefulsets/spark-m";
  Before("DELETE", "statefulsets/spark-m", 1, [&] { Annotate(root, "condemned-by", kOther); });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kOvertaken);
  EXPECT_TRUE(Exists(root));
}

TEST_F(DeletionTest, ARootOfAWholeClusterThatIsSparedRightBeforeItsDeleteStays) {
  MakeRootASet();
  Delete(kConfig);
  const std::string root = "/apis/apps/v1/namespaces/lab/statefulsets/spark-m";
  Before("DELETE", "statefulsets/spark-m", 1, [&] {
    kubernetes_.Admin("PATCH", root,
                      R"({"metadata":{"annotations":{"cluster-watcher/phase":null,)"
                      R"("cluster-watcher/condemned-by":null}}})",
                      kMerge);
  });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  EXPECT_TRUE(Exists(root));
}

TEST_F(DeletionTest, TheGuardsRefusalOfMarksHoldsNothingUpThatIsFinished) {
  TakeDownByHand();
  kubernetes_.on_answer = [](const Request& request, const User&, Response& response) {
    if (request.method != "PATCH" || request.target.find("dryRun") == std::string::npos) return;
    response.status = 403;
    response.body =
        R"({"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"ValidatingAdmissionPolicy 'cluster-watcher-guard' with binding 'cluster-watcher-guard' denied request: no annotation","details":{"name":"spark-m","group":"apps","kind":"deployments","causes":[{"message":"ValidatingAdmissionPolicy 'cluster-watcher-guard' with binding 'cluster-watcher-guard' denied request: no annotation"}]}})";
  };
  const Duration began = clock_.elapsed;
  EXPECT_TRUE(reaper_->FinishOnTermination());
  EXPECT_FALSE(MapExists("spark-config"));
  EXPECT_LT(clock_.elapsed - began, seconds(30));
}

TEST_F(DeletionTest, ARootThatIsASetAndKeptRightBeforeItsDeleteKeepsItsClaims) {
  settings_.settings.volumes = Volumes::kDelete;
  MakeRootASet(
      R"("volumeClaimTemplates":[{"metadata":{"name":"data"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}],)");
  const std::string root = "/apis/apps/v1/namespaces/lab/statefulsets/spark-m";
  ASSERT_TRUE(ClaimExists("data-spark-m-0"));
  Before("DELETE", "statefulsets/spark-m", 1, [&] { Annotate(root, "keep", "true"); });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  EXPECT_TRUE(Exists(root));
  EXPECT_TRUE(ClaimExists("data-spark-m-0"));
}

// A member that was made anew under the brake may be missing from a list that fails.
TEST_F(DeletionTest, WhatIsNotSurelyHalfDoesNotKeepYoung) {
  StartHalfUnderTheBrake(std::chrono::minutes(1));
  EXPECT_EQ(Resume(), Reaper::Outcome::kSpared);
  MakeMap("again");
  clock_.elapsed += std::chrono::minutes(11);
  const std::string since = Mark("deleting-since");
  kubernetes_.on_answer = [](const Request& request, const User&, Response& response) {
    if (request.target.find("/configmaps?labelSelector") != std::string::npos)
      response.status = 503;
  };
  EXPECT_EQ(Resume(), Reaper::Outcome::kSpared);
  kubernetes_.on_answer = nullptr;
  EXPECT_EQ(Mark("deleting-since"), since);
  MakeDriver();
  kubernetes_.brake = false;
  EXPECT_EQ(Resume(), Reaper::Outcome::kSpared);
  EXPECT_TRUE(Exists(kRoot));
  EXPECT_TRUE(MapExists("again"));
}

TEST_F(DeletionTest, WhereASetStaysAfterAllSoDoItsClaims) {
  settings_.settings.volumes = Volumes::kDelete;
  StartWatcher();
  Delete(kConfig);
  MakeSetWithClaims();
  Before("DELETE", "statefulsets/w", 1, [this] { Annotate(kSet, "keep", "true"); });
  Condemn();
  EXPECT_TRUE(Exists(kSet));
  EXPECT_TRUE(ClaimExists("data-w-0"));
}

TEST_F(DeletionTest, ASetThatIsToBeKeptIsNotWritten) {
  MakeSetWithClaims();
  Before("GET", "statefulsets/w", 1, [this] { Annotate(kSet, "keep", "true"); });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_NE(Read(kSet).body.find(R"("whenDeleted":"Delete")"), std::string::npos);
}

// Nobody else would: it bears no label of the cluster.
TEST_F(DeletionTest, AClaimOfASetWhoseDeleteIsRefusedIsNamed) {
  settings_.settings.volumes = Volumes::kDelete;
  StartWatcher();
  MakeSetWithClaims();
  kubernetes_.Admin("PATCH", kSet,
                    R"({"spec":{"persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Retain"}}})",
                    kMerge);
  kubernetes_.Settle();
  Refuse("DELETE", "persistentvolumeclaims/data-w-0", 403, 0, 1000);
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_TRUE(ClaimExists("data-w-0"));
  EXPECT_NE(Notes().find("left: persistentvolumeclaim/data-w-0: it was not deleted"),
            std::string::npos)
      << Notes();
}

// The delete of the set was carried out, and its answer is lost.
TEST_F(DeletionTest, TheClaimsOfASetWhoseDeletesAnswerIsLostGo) {
  MakeASetAloneThatRetainsClaims();
  ASSERT_TRUE(ClaimExists("data-w-0"));
  bool lost = false;
  kubernetes_.on_answer = [&](const Request& request, const User&, small_kubernetes::Response& r) {
    if (lost || request.method != "DELETE" ||
        request.target.find("statefulsets/w") == std::string::npos)
      return;
    lost = true;
    r = {500, R"({"kind":"Status","apiVersion":"v1","code":500})", "application/json",
         std::nullopt};
  };
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_TRUE(lost);
  EXPECT_FALSE(Exists(kSet));
  EXPECT_FALSE(Exists(kRoot));
  EXPECT_FALSE(ClaimExists("data-w-0"));
}

// The watcher is killed right behind the delete of the set, and started again.
TEST_F(DeletionTest, TheClaimsOfASetGoThoughTheWatcherDiesInBetween) {
  MakeASetAloneThatRetainsClaims();
  struct Killed {};
  kubernetes_.on_request = [&](const Request& request, const User&) {
    if (request.method == "DELETE" &&
        request.target.find("persistentvolumeclaims") != std::string::npos)
      throw Killed();
  };
  EXPECT_THROW(Condemn(), Killed);
  kubernetes_.on_request = nullptr;
  EXPECT_FALSE(Exists(kSet));
  StartWatcher();
  EXPECT_EQ(Resume(), Reaper::Outcome::kDone);
  EXPECT_FALSE(ClaimExists("data-w-0"));
}

// The root, as `kubectl delete deployment` leaves it, is gone at once; its pod is still there.
TEST_F(DeletionTest, IsHeldByTheBrakeThoughTheRootIsGone) {
  MakeService("s");
  const std::string pod = "/api/v1/namespaces/lab/pods/" + settings_.settings.pod;
  kubernetes_.Admin("PATCH", pod, R"({"metadata":{"finalizers":["example.com/held"]}})", kMerge);
  observer_->SureLook({});
  AnHourPasses();
  observer_->SureLook({});
  Delete(kDriver);
  Delete(kRoot);
  kubernetes_.Settle();
  ASSERT_FALSE(Exists(kRoot));
  ASSERT_TRUE(Exists(pod));
  kubernetes_.brake = true;
  clock_.At(clock_.elapsed + seconds(20), [&] {
    EXPECT_GE(Refusals("hold"), 1);
    EXPECT_NE(Notes().find("as long as this holds"), std::string::npos);
    kubernetes_.brake = false;
  });
  EXPECT_TRUE(reaper_->FinishOnTermination());
  EXPECT_FALSE(MapExists("spark-config"));
  EXPECT_EQ(DeletesWith("forbidden"), 0);
}

// The brake is put on between a set and its claims, and released.
TEST_F(DeletionTest, TheBrakeBetweenASetAndItsClaimsLosesNone) {
  MakeASetAloneThatRetainsClaims();
  After("DELETE", "statefulsets/w", 1, [&] { kubernetes_.brake = true; });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  EXPECT_FALSE(Exists(kSet));
  kubernetes_.brake = false;
  EXPECT_EQ(Resume(), Reaper::Outcome::kDone);
  EXPECT_FALSE(ClaimExists("data-w-0"));
}

// A claim that lies behind: its resourceVersion differs by an ownerReference that somebody adds.
TEST_F(DeletionTest, AWaitingClaimThatChangesIsNotForgotten) {
  MakeASetAloneThatRetainsClaims();
  Before("DELETE", "statefulsets/w", 1, [&] {
    kubernetes_.Admin("PATCH", "/api/v1/namespaces/lab/persistentvolumeclaims/data-w-0",
                      R"({"metadata":{"labels":{"oshinko-cluster":"spark"}}})", kMerge);
  });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_FALSE(ClaimExists("data-w-0"));
}

// An old webhook doesn't support dry runs: 400 for each dry run of a delete.
TEST_F(DeletionTest, ARootWhoseDeleteCannotBeTriedGoes) {
  settings_.settings.volumes = Volumes::kDelete;
  MakeRootASet(R"("volumeClaimTemplates":[{"metadata":{"name":"data"},"spec":{"accessModes":)"
               R"(["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}],)");
  const std::string set = "/apis/apps/v1/namespaces/lab/statefulsets/spark-m";
  int tries = 0;
  kubernetes_.on_answer = [&](const Request& request, const User&, small_kubernetes::Response& r) {
    if (request.method != "DELETE" ||
        request.target.find("statefulsets/spark-m") == std::string::npos)
      return;
    if (request.body.find("dryRun") == std::string::npos &&
        request.target.find("dryRun") == std::string::npos)
      return;
    if (++tries > 2000) throw std::string("for ever");
    r = {
        400,
        R"({"kind":"Status","apiVersion":"v1","status":"Failure","reason":"BadRequest","code":400,"message":"admission webhook \"x\" does not support dry run"})",
        "application/json", std::nullopt};
  };
  EXPECT_NO_THROW(EXPECT_EQ(Condemn(), Reaper::Outcome::kDone))
      << clock_.elapsed.count() / 3600000 << " h";
  EXPECT_FALSE(Exists(set));
}

}  // namespace
}  // namespace cluster_watcher

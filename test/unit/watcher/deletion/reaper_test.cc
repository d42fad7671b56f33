// Runs the protocol against a small Kubernetes and interferes at the worst moments.
#include "watcher/deletion/reaper.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "test/unit/support/reaper_lab.h"

namespace cluster_watcher {
namespace {

using small_kubernetes::Fault;
using small_kubernetes::Request;
using small_kubernetes::Response;
using small_kubernetes::User;
using std::chrono::minutes;
using std::chrono::seconds;

using ReaperTest = ReaperLab;

TEST_F(ReaperTest, DeletesAWholeCluster) {
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_FALSE(MapExists("spark-config"));
  EXPECT_FALSE(Exists(kRoot));
}

// Its monotonic clock stands still meanwhile.
TEST_F(ReaperTest, AMachineThatWasSuspendedBeforeTheFirstDeleteLooksAgain) {
  Before("PATCH", "spark-m", 3, [this] {
    clock_.suspended += minutes(1);
    MakeDriver();
  });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  EXPECT_EQ(Deletes(), 0u);
  EXPECT_EQ(Mark("phase"), "");
}

TEST_F(ReaperTest, WhereClaimsTakeLongToSettleBeforeTheFirstDeleteItLooksAgain) {
  Delete(kMaps + std::string("/spark-config"));
  MakeSetWithClaims();
  Before("GET", "/statefulsets/w", 1, [this] {
    clock_.elapsed += seconds(6);
    MakeDriver();
  });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  EXPECT_EQ(Deletes(), 0u);
}

// A process may be suspended anywhere for minutes, and wake up to a different cluster.
TEST_F(ReaperTest, ANewClustersMembersAreNotTakenWhenTheRootWasReadBefore) {
  MakeMap("held", R"(,"finalizers":["example.com/held"])");
  int lists = 0;
  kubernetes_.on_request = [&](const Request& request, const User&) {
    if (request.method != "GET" || request.target.find("/configmaps?") == std::string::npos) return;
    if (++lists != 3) return;
    kubernetes_.Admin("PATCH", kMaps + std::string("/held"), R"({"metadata":{"finalizers":null}})",
                      "application/merge-patch+json");
    ReplaceRoot();
    MakeMap("new");
  };
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  EXPECT_EQ(lists, 3);
  EXPECT_TRUE(MapExists("new"));
  EXPECT_TRUE(Exists(kRoot));
}

TEST_F(ReaperTest, AResumedDeletionDoesNotTakeWhatWasMadeAfterItsRootHadGone) {
  observer_->SureLook({});
  AnHourPasses();
  WriteMarks(kGone, seconds(60));
  Delete(kDriver);
  const Snapshot snapshot = observer_->SureLook({});
  // The first list proves the cluster half.
  Before("GET", "/configmaps?labelSelector", 2, [&] {
    clock_.elapsed += minutes(5);
    Delete(kRoot);
    MakeMap("new");
  });
  EXPECT_EQ(reaper_->Resume(snapshot.marks.condemned_by, snapshot), Reaper::Outcome::kDone);
  EXPECT_TRUE(MapExists("new"));
  EXPECT_FALSE(MapExists("spark-config")) << "it was there with the root";
}

TEST_F(ReaperTest, AClusterThatWasSparedIsNotDeletedWhereItsMarksCannotBeTakenOff) {
  // `deletes-begun` is written, but the answer comes too late, and the driver is back by then.
  Fault late;
  late.method = "PATCH";
  late.contains = "spark-m";
  late.skip = 2;
  late.action = Fault::Action::kPass;
  late.delay_after = minutes(1);
  kubernetes_.GetFaults().Add(late);
  int patches = 0;
  kubernetes_.on_request = [&](const Request& request, const User&) {
    if (request.method != "PATCH" || request.target.find("spark-m") == std::string::npos) return;
    if (++patches == 3) MakeDriver();
    if (patches < 4) return;
    kubernetes_.Admin("PATCH", kRoot,
                      R"({"metadata":{"annotations":{"n":")" + std::to_string(patches) + "\"}}}",
                      "application/merge-patch+json");
  };
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  EXPECT_EQ(Mark("deletes-begun"), "true") << "it could not be taken off";
  EXPECT_EQ(Resume(), Reaper::Outcome::kSpared);
  EXPECT_EQ(Deletes(), 0u);
  kubernetes_.on_request = nullptr;
  EXPECT_EQ(Resume(), Reaper::Outcome::kSpared);
  EXPECT_EQ(Mark("phase"), "");
  EXPECT_TRUE(MapExists("spark-config"));
}

TEST_F(ReaperTest, AClusterThatCannotBeListedIsStillWhole) {
  // Past the point of no return, all lists fail for a while and the driver comes back.
  observer_->SureLook({});
  Delete(kDriver);
  int patches = 0;
  kubernetes_.on_answer = [&](const Request& request, const User&, Response& response) {
    const bool of_root = request.target.find("spark-m") != std::string::npos;
    if (request.method == "PATCH" && of_root && ++patches == 2) MakeDriver();
    const bool listed = request.target.find("labelSelector=oshinko-cluster") != std::string::npos;
    if (patches >= 2 && listed && clock_.elapsed < seconds(60)) response.status = 503;
  };
  EXPECT_EQ(CondemnNow(), Reaper::Outcome::kSpared);
  EXPECT_EQ(Deletes(), 0u);
  EXPECT_EQ(Mark("phase"), "");
}

// Of a master alone, too.
TEST_F(ReaperTest, WhatStepsAfterMakeGoesToo) {
  for (const bool alone : {false, true}) {
    SCOPED_TRACE(alone);
    if (alone) Delete(kMaps + std::string("/spark-config"));
    Annotate(kRoot, "after-delete", kStep);
    during_step_ = [&] { MakeMap("late"); };
    EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
    EXPECT_FALSE(MapExists("late"));
    EXPECT_FALSE(Exists(kRoot));
    MakeRoot();
    MakeDriver();
    MakeMap("spark-config");
    StartWatcher();
  }
}

TEST_F(ReaperTest, AMasterThatIsReplacedDuringTheStepsAfterIsLeftAlone) {
  Annotate(kRoot, "after-delete", kStep);
  during_step_ = [&] { ReplaceRoot(); };
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  EXPECT_TRUE(Exists(kRoot));
}

TEST_F(ReaperTest, ADriverThatComesBackWithTheClustersLabelIsNoMember) {
  MakeMap("held", R"(,"finalizers":["example.com/held"])");
  Before("GET", "/configmaps?", 2, [&] {
    MakeDriver(R"("oshinko-cluster":"spark",)");
    kubernetes_.Admin("PATCH", kMaps + std::string("/held"), R"({"metadata":{"finalizers":null}})",
                      "application/merge-patch+json");
  });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_TRUE(Exists(kDriver));
}

TEST_F(ReaperTest, AStatefulSetWhoseClaimsAreNotLetGoOfYetGoesPastTheDeadlineToo) {
  MakeSetWithClaims();
  const std::string claim = "/api/v1/namespaces/lab/persistentvolumeclaims/data-w-0";
  ASSERT_TRUE(Exists(claim));
  observer_->SureLook({});
  Delete(kDriver);
  AnHourPasses();
  WriteMarks(kGone, minutes(30));  // long past its deadline
  EXPECT_EQ(Resume(), Reaper::Outcome::kDone);
  EXPECT_FALSE(Exists("/apis/apps/v1/namespaces/lab/statefulsets/w"));
  EXPECT_FALSE(Exists(kRoot));
  EXPECT_TRUE(Exists(claim));
}

TEST_F(ReaperTest, OneDeleteThatFailsPastTheDeadlineIsTriedAgain) {
  observer_->SureLook({});
  Delete(kDriver);
  AnHourPasses();
  WriteMarks(kGone, minutes(30));
  Refuse("DELETE", "spark-config", 503, 0, 2);
  EXPECT_EQ(Resume(), Reaper::Outcome::kDone);
  EXPECT_FALSE(MapExists("spark-config"));
}

TEST_F(ReaperTest, ARootThatCannotBeReadHoldsNothingUpForEver) {
  MakeMap("held", R"(,"finalizers":["example.com/held"])");
  kubernetes_.on_answer = [&](const Request& request, const User&, Response& response) {
    const bool of_root = request.method == "GET" && request.target == kRoot;
    const bool in_time = clock_.elapsed < minutes(30);
    if (of_root && in_time && Deletes() > 0) response.status = 403;
  };
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_GE(clock_.elapsed, minutes(10));
  EXPECT_FALSE(Exists(kRoot));
}

TEST_F(ReaperTest, AMountedObjectThatWasChangedMeanwhileIsHandedOverAllTheSame) {
  MakeMap("spark-conf");
  Before("PATCH", "spark-conf", 1, [&] {
    kubernetes_.Admin("PATCH", kMaps + std::string("/spark-conf"),
                      R"({"metadata":{"annotations":{"n":"1"}}})", "application/merge-patch+json");
  });
  kubernetes_.on_answer = [&](const Request& request, const User&, Response&) {
    EXPECT_FALSE(request.method == "DELETE" &&
                 request.target.find("spark-conf") != std::string::npos &&
                 request.target.find("spark-config") == std::string::npos)
        << "the master may have to start again";
  };
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_FALSE(MapExists("spark-conf")) << "it went with the root";
}

TEST_F(ReaperTest, ARootThatIsToBeKeptInMidDeletionEndsIt) {
  MakeMap("held", R"(,"finalizers":["example.com/held"])");
  Before("DELETE", "spark-config", 1, [&] { Annotate(kRoot, "keep", "true"); });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  EXPECT_TRUE(Exists(kRoot));
  EXPECT_EQ(Mark("phase") + Mark("deletes-begun") + Mark("first-deletes"), "");
  EXPECT_EQ(Decide(observer_->SureLook({}).facts).reason, Reason::kHeld);
  EXPECT_NE(Notes().find("configmap/spark-config"), std::string::npos) << "what is gone is named";
}

TEST_F(ReaperTest, TheBrakeIsAHoldForWhatIsToBeCondemned) {
  kubernetes_.brake = true;
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  EXPECT_TRUE(reaper_->is_refused_by_policy());
  EXPECT_EQ(Refusals("hold"), 1);
  EXPECT_NE(Notes().find("the brake of cluster-watcher is on"), std::string::npos);
  kubernetes_.brake = false;
  EXPECT_EQ(CondemnNow(), Reaper::Outcome::kDone);
  EXPECT_FALSE(reaper_->is_refused_by_policy());
}

// The point of no return, and the first delete.
TEST_F(ReaperTest, TheBrakeSparesWhatIsStillWhole) {
  for (const int mark : {2, 3}) {
    Before("PATCH", "spark-m", mark, [&] { kubernetes_.brake = true; });
    EXPECT_EQ(mark == 2 ? Condemn() : CondemnNow(), Reaper::Outcome::kSpared);
    EXPECT_EQ(Mark("phase"), "") << "marks may be taken off";
    EXPECT_EQ(Deletes(), 0u);
    kubernetes_.brake = false;
  }
  EXPECT_EQ(Refusals("hold"), 2);
}

TEST_F(ReaperTest, TheBrakeStopsADeletionAndItsTimeDoesNotCount) {
  MakeMap("held", R"(,"finalizers":["example.com/held"])");
  After("DELETE", "held", 1, [&] { kubernetes_.brake = true; });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  EXPECT_LT(clock_.elapsed, minutes(1)) << "though no delete was due";
  EXPECT_TRUE(reaper_->is_refused_by_policy());
  EXPECT_EQ(Mark("phase"), "deleting") << "what was begun will be finished";
  const std::string since = Mark("deleting-since");
  MakeMap("late");
  AnHourPasses();
  const std::size_t deletes = Deletes();
  EXPECT_EQ(Resume(), Reaper::Outcome::kSpared);
  EXPECT_EQ(Deletes(), deletes);
  EXPECT_TRUE(MapExists("late"));
  Annotate("/api/v1/namespaces/lab/configmaps/late", "keep", "true");
  kubernetes_.brake = false;
  std::string renewed;
  Before("DELETE", "", 1, [&] { renewed = Mark("deleting-since"); });
  const auto released = clock_.elapsed;
  EXPECT_EQ(Resume(), Reaper::Outcome::kDone);
  EXPECT_GT(renewed, since) << "before the next delete";
  EXPECT_GE(clock_.elapsed - released, minutes(10)) << "it has its whole time again";
}

TEST_F(ReaperTest, TheTimeUnderTheBrakeDoesNotCountAlthoughTheRootHasChanged) {
  MakeMap("held", R"(,"finalizers":["example.com/held"])");
  After("DELETE", "held", 1, [&] { kubernetes_.brake = true; });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  AnHourPasses();
  EXPECT_EQ(Resume(), Reaper::Outcome::kSpared);
  kubernetes_.brake = false;
  const std::string since = Mark("deleting-since");
  // The second is the write; the first tries it.
  Before("PATCH", "spark-m", 2, [this] { Annotate(kRoot, "n", "1"); });
  EXPECT_EQ(Resume(), Reaper::Outcome::kSpared) << "a conflict";
  EXPECT_EQ(Mark("deleting-since"), since);
  const auto released = clock_.elapsed;
  EXPECT_EQ(Resume(), Reaper::Outcome::kDone);
  EXPECT_GE(clock_.elapsed - released, minutes(10));
}

// A watcher that starts under the brake doesn't know of it.
TEST_F(ReaperTest, TheBrakeStopsADeletionThatIsResumed) {
  StartHalfUnderTheBrake(seconds(1));
  EXPECT_EQ(Resume(), Reaper::Outcome::kSpared);
  EXPECT_EQ(Deletes(), 0u);
  EXPECT_NE(Notes().find("configmap"), std::string::npos);
  kubernetes_.brake = false;
  EXPECT_EQ(Resume(), Reaper::Outcome::kDone);
}

// It doesn't end by itself.
TEST_F(ReaperTest, WhatTheGuardRefusesIsNoHold) {
  StartHalfUnderTheBrake(seconds(1));
  kubernetes_.on_answer = [](const Request&, const User&, Response& response) {
    for (std::size_t at = 0;
         (at = response.body.find("cluster-watcher-brake", at)) != std::string::npos;) {
      response.body.replace(at, 21, "cluster-watcher-guard");
    }
  };
  clock_.At(clock_.elapsed + minutes(20), [this] { kubernetes_.brake = false; });
  EXPECT_EQ(Resume(), Reaper::Outcome::kDone);
  EXPECT_EQ(Refusals("hold"), 0);
}

// And one that is started after it must not take its time for the deletion's.
TEST_F(ReaperTest, ADeletionThatIsHeldKeepsYoung) {
  MakeMap("first");
  MakeMap("held", R"(,"finalizers":["example.com/held"])");
  observer_->SureLook({});
  Delete(kDriver);
  AnHourPasses();
  WriteMarks(Named("first"), minutes(6));
  Delete("/api/v1/namespaces/lab/configmaps/first");
  kubernetes_.brake = true;
  const std::string since = Mark("deleting-since");
  EXPECT_EQ(Resume(), Reaper::Outcome::kSpared);
  const std::string renewed = Mark("deleting-since");
  EXPECT_GT(renewed, since);
  clock_.elapsed += minutes(1);
  EXPECT_EQ(Resume(), Reaper::Outcome::kSpared);
  EXPECT_EQ(Mark("deleting-since"), renewed) << "not with each poll";
  clock_.elapsed += minutes(6);
  EXPECT_EQ(Resume(), Reaper::Outcome::kSpared);
  EXPECT_GT(Mark("deleting-since"), renewed);
  EXPECT_EQ(Refusals("hold"), 1);
}

TEST_F(ReaperTest, TheBrakeHoldsTheRootsDeleteBack) {
  Before("DELETE", "spark-m", 1, [&] { kubernetes_.brake = true; });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  EXPECT_TRUE(Exists(kRoot));
  EXPECT_EQ(Mark("phase"), "deleting");
  kubernetes_.brake = false;
  EXPECT_EQ(Resume(), Reaper::Outcome::kDone);
}

TEST_F(ReaperTest, ARootThatIsToBeKeptRightBeforeItsDeleteStays) {
  Before("DELETE", "deployments/spark-m", 1, [&] { Annotate(kRoot, "keep", "true"); });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  EXPECT_TRUE(Exists(kRoot));
  EXPECT_EQ(Mark("phase"), "");
}

TEST_F(ReaperTest, AMemberThatIsToBeKeptRightBeforeItsDeleteStays) {
  MakeMap("other");
  Before("DELETE", "spark-config", 1,
         [&] { Annotate(kMaps + std::string("/spark-config"), "keep", "true"); });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_TRUE(MapExists("spark-config"));
  EXPECT_FALSE(MapExists("other"));
}

TEST_F(ReaperTest, WhatIsDeletedFirstIsMarkedBefore) {
  std::string first, marked;
  kubernetes_.on_request = [&](const Request& request, const User&) {
    if (request.method != "DELETE" || !first.empty()) return;
    first = Named("spark-config");
    marked = Mark("first-deletes");
  };
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_EQ(marked, first);
}

// A watcher died between the mark of the deletes and the first of them, or the marks are forged, of
// the first version, or were brought back by a rollback.
TEST_F(ReaperTest, AClusterThatMayBeWholeIsJudgedAgain) {
  AnHourPasses();
  const std::string whole = Named("spark-config");
  MakeMap("made-again");
  struct Case {
    std::string first;
    Duration ago;
  };
  for (const Case& one :
       {Case{whole, seconds(1)}, Case{"", seconds(1)}, Case{"nonsense", seconds(1)},
        Case{kGone, std::chrono::hours(25)}, Case{kGone, seconds(0)},
        Case{kGone, -std::chrono::hours(2)}, Case{"pods/gone=0011223344556677", seconds(1)},
        Case{"jobs.batch/gone=0011223344556677", seconds(1)},
        Case{"+configmaps/gone=0011223344556677", seconds(1)}}) {
    WriteMarks(one.first, one.ago);
    EXPECT_EQ(Resume(), Reaper::Outcome::kSpared) << one.first;
    EXPECT_EQ(Deletes(), 0u) << one.first;
    EXPECT_EQ(Mark("phase") + Mark("deletes-begun") + Mark("first-deletes"), "") << one.first;
  }
  EXPECT_NE(Notes().find("already deleted: configmaps/gone"), std::string::npos);
}

TEST_F(ReaperTest, HalfAClusterIsFinishedAlthoughItsDriverIsBack) {
  AnHourPasses();
  WriteMarks(kGone, seconds(1));
  EXPECT_EQ(Resume(), Reaper::Outcome::kDone);
  EXPECT_FALSE(Exists(kRoot));
}

// Times are whole seconds, but what the mark names was there when the deletion began.
TEST_F(ReaperTest, AMemberMadeInTheSecondOfTheDeletionIsNotMadeAnewIfTheMarkNamesIt) {
  AnHourPasses();
  MakeMap("new");
  WriteMarks(std::string(kGone) + "," + Named("new"), seconds(0));
  EXPECT_EQ(Resume(), Reaper::Outcome::kDone);
  EXPECT_FALSE(Exists(kRoot));
}

TEST_F(ReaperTest, WhatCannotBeToldHalfYetIsWaitedFor) {
  AnHourPasses();
  WriteMarks(kGone, seconds(1));
  Refuse("GET", "/services?labelSelector", 503);
  EXPECT_EQ(Resume(), Reaper::Outcome::kSpared);
  EXPECT_EQ(Mark("phase"), "deleting");
  EXPECT_EQ(Deletes(), 0u);
}

// Deletes fail for a while, and the driver comes back: nothing is deleted on old evidence.
TEST_F(ReaperTest, AClusterOfWhichNothingIsDeletedYetIsLookedAtAgain) {
  Refuse("DELETE", "spark-config", 500);
  observer_->SureLook({});
  Delete(kDriver);
  clock_.At(clock_.elapsed + seconds(30), [&] { MakeDriver(); });
  clock_.At(clock_.elapsed + seconds(40), [&] { kubernetes_.GetFaults().Clear(); });
  EXPECT_EQ(CondemnNow(), Reaper::Outcome::kSpared);
  EXPECT_TRUE(MapExists("spark-config"));
  EXPECT_EQ(Mark("phase"), "");
  EXPECT_LT(clock_.elapsed, minutes(1));
}

TEST_F(ReaperTest, WhatOwnsAKeptObjectGoesWithoutIt) {
  const std::string worker = "/apis/apps/v1/namespaces/lab/deployments/w";
  MakeOwnerOfAKeptMap();
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_TRUE(MapExists("kept"));
  EXPECT_FALSE(Exists(worker));
  for (const char* plural :
       {"/apis/apps/v1/namespaces/lab/replicasets", "/api/v1/namespaces/lab/pods"}) {
    const auto left =
        JsonDocument::Parse(Read(plural + std::string("?labelSelector=app%3Dw")).body);
    EXPECT_EQ(left->root()["items"].size(), 0u) << plural;
  }
}

TEST_F(ReaperTest, AClaimThatIsPreservedStaysAlthoughAMemberOwnsIt) {
  MakeMap("owner");
  const std::string claim = "/api/v1/namespaces/lab/persistentvolumeclaims/data";
  MakeClaim("data", OwnedBy("ConfigMap", "v1", kMaps + std::string("/owner")));
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_FALSE(MapExists("owner"));
  EXPECT_TRUE(Exists(claim));
  EXPECT_EQ(Notes().find("persistentvolumeclaim"), std::string::npos) << "no news for people";
}

TEST_F(ReaperTest, ARootThatOwnsAKeptObjectGoesWithoutIt) {
  const auto object = JsonDocument::Parse(Read(kRoot).body);
  const std::string uid(*object->root()["metadata"]["uid"].AsString());
  MakeMap("kept", R"(,"annotations":{"cluster-watcher/keep":"true"},"ownerReferences":[{)"
                  R"("apiVersion":"apps/v1","kind":"Deployment","name":"spark-m","uid":")" +
                      uid + R"("}])");
  MakeMap("spark-conf");  // is mounted by the master
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_TRUE(MapExists("kept"));
  EXPECT_FALSE(MapExists("spark-conf"));
  EXPECT_FALSE(Exists(kRoot));
  const auto left = JsonDocument::Parse(
      Read("/api/v1/namespaces/lab/pods?labelSelector=oshinko-cluster%3Dspark").body);
  EXPECT_EQ(left->root()["items"].size(), 0u);
}

// What the root has controlled, our own pod, has to go behind it.
class ControllerRootTest : public ReaperTest {
 protected:
  ControllerRootTest() {
    Delete(kRoot);
    const std::string labels = R"("labels":{"oshinko-cluster":"spark","oshinko-type":"master",)"
                               R"("app":"spark-m"})";
    kubernetes_.Apply(
        R"({"apiVersion":"v1","kind":"ReplicationController",)" + Meta("spark-m", "," + labels) +
        R"(,"spec":{"replicas":1,"selector":{"app":"spark-m"},"template":{"metadata":{)" + labels +
        R"(},"spec":{"containers":[{"name":"main","image":"x"}]}}}})");
    MakeMap("kept", R"(,"annotations":{"cluster-watcher/keep":"true"})" +
                        OwnedBy("ReplicationController", "v1", root_));
    StartWatcher();
    pod_ = "/api/v1/namespaces/lab/pods/" + NameOfPod();
  }
  const std::string root_ = "/api/v1/namespaces/lab/replicationcontrollers/spark-m";
  std::string pod_;
};

// Else its master would go on without a root.
TEST_F(ControllerRootTest, OurOwnPodGoesHoweverLongItsDeleteFails) {
  Refuse("DELETE", "/pods/", 500);
  clock_.At(minutes(5), [this] { kubernetes_.GetFaults().Clear(); });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_GE(clock_.elapsed, minutes(5));
  EXPECT_FALSE(Exists(pod_));
  EXPECT_EQ(Notes().find("left of the master root"), std::string::npos) << Notes();
}

// The guard refuses it as long as it isn't marked.
TEST_F(ControllerRootTest, OurOwnPodGoesHoweverLongItCanNotBeMarked) {
  Refuse("PATCH", "/pods/", 500);
  Refuse("DELETE", "/pods/", 403);
  clock_.At(minutes(5), [this] { kubernetes_.GetFaults().Clear(); });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_GE(clock_.elapsed, minutes(5));
  EXPECT_FALSE(Exists(pod_));
}

// A command isn't as patient.
TEST_F(ControllerRootTest, WhoGivesUpNamesIt) {
  gives_up_ = true;
  StartWatcher();
  Refuse("DELETE", "/pods/", 500);
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_TRUE(Exists(pod_));
  EXPECT_NE(Notes().find("left of the master root"), std::string::npos) << Notes();
}

// What a root has controlled, and has to be deleted with Orphan too, is marked on the root.
TEST_F(ReaperTest, WhatIsBehindARootThatIsReplacedIsNotTriedForEver) {
  MakeMap("a", R"(,"annotations":{"cluster-watcher/keep":"true"})" +
                   OwnedBy("Deployment", "apps/v1", kRoot));
  const auto sets = JsonDocument::Parse(
      Read("/apis/apps/v1/namespaces/lab/replicasets?labelSelector=app%3Dspark-m").body);
  const std::string set = "/apis/apps/v1/namespaces/lab/replicasets/" +
                          std::string(*sets->root()["items"].At(0)["metadata"]["name"].AsString());
  MakeMap("b", R"(,"annotations":{"cluster-watcher/keep":"true"})" +
                   OwnedBy("ReplicaSet", "apps/v1", set));
  kubernetes_.on_request = [this](const Request& request, const User&) {
    if (request.method != "PATCH" || request.target != kRoot || Exists(kRoot)) return;
    kubernetes_.on_request = nullptr;
    kubernetes_.Apply(R"({"apiVersion":"apps/v1","kind":"Deployment",)" + Meta("spark-m", "") +
                      R"(,"spec":{"replicas":0,"selector":{"matchLabels":{"app":"x"}},)"
                      R"("template":{"metadata":{"labels":{"app":"x"}},)"
                      R"("spec":{"containers":[{"name":"main","image":"x"}]}}}})");
  };
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_TRUE(Exists(kRoot));
  EXPECT_TRUE(Exists(set));
  EXPECT_LT(clock_.elapsed, minutes(5));
}

TEST_F(ControllerRootTest, OneThatIsRefusedForGoodIsNamed) {
  Refuse("DELETE", "/pods/", 403);
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_TRUE(Exists(pod_));
  EXPECT_NE(Notes().find("left of the master root"), std::string::npos) << Notes();
}

// It still names the root that has gone.
TEST_F(ControllerRootTest, OneThatCanNotBeReadIsNamedAlthoughTheRootsDeleteWasNotAnswered) {
  kubernetes_.on_answer = [this](const Request& request, const User&, Response& response) {
    if (request.method != "DELETE" || request.target != root_) return;
    response.status = 500;
    Refuse("GET", "metadata.name%3D" + NameOfPod(), 503);
    Refuse("PATCH", "/pods/", 403);
    Refuse("DELETE", "/pods/", 403);
  };
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_TRUE(Exists(pod_));
  EXPECT_FALSE(Exists(root_));
  EXPECT_NE(Notes().find("left of the master root"), std::string::npos) << Notes();
}

TEST_F(ControllerRootTest, OurOwnPodGoesBehindWhatCanNotBeReadYet) {
  MarkUnreadable();
  After("DELETE", "/replicationcontrollers/spark-m", 1, [this] {
    clock_.At(clock_.elapsed + seconds(8), [this] { kubernetes_.GetFaults().Clear(); });
  });
  bool was_left = true;
  Before("DELETE", "/pods/", 1, [&] { was_left = MapExists("left"); });
  EXPECT_EQ(Resume(), Reaper::Outcome::kDone);
  EXPECT_FALSE(Exists(pod_));
  EXPECT_FALSE(was_left);
}

// The garbage collector takes its time with the root.
TEST_F(ControllerRootTest, TheBrakeHoldsOurOwnPodUntilItIsOff) {
  After("DELETE", root_, 1, [this] {
    kubernetes_.settle_after_writes = true;
    kubernetes_.brake = true;
    clock_.At(clock_.elapsed + std::chrono::milliseconds(20), [this] { kubernetes_.Settle(); });
    clock_.At(clock_.elapsed + minutes(5), [this] { kubernetes_.brake = false; });
  });
  Before("DELETE", root_, 1, [this] { kubernetes_.settle_after_writes = false; });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_FALSE(Exists(root_));
  EXPECT_FALSE(Exists(pod_));
}

// An earlier watcher has deleted the root with Orphan, and nobody has taken the references off yet.
TEST_F(ControllerRootTest, WhatIsDeletedIsNotNamedAsLeft) {
  observer_->SureLook({});
  AnHourPasses();
  Delete(kDriver);
  WriteMarks(kGone + (",+" + Named(NameOfPod(), "pods")), seconds(1));
  kubernetes_.Admin("PATCH", pod_, R"({"metadata":{"finalizers":["example.com/held"]}})",
                    "application/merge-patch+json");
  kubernetes_.settle_after_writes = false;
  kubernetes_.Admin("DELETE", root_, R"({"propagationPolicy":"Orphan"})");
  EXPECT_EQ(Resume(), Reaper::Outcome::kDone);
  EXPECT_NE(Read(pod_).body.find("deletionTimestamp"), std::string::npos);
  EXPECT_EQ(Notes().find("left: pods/"), std::string::npos) << Notes();
}

TEST_F(ControllerRootTest, WhatIsBehindTheRootGoesHoweverLongTheApiServerIsAway) {
  MakeBareMap("behind", OwnedBy("ReplicationController", "v1", root_));
  kubernetes_.on_answer = [this](const Request& request, const User&, Response&) {
    if (request.target != root_ || Exists(root_)) return;  // until it is known to be gone
    if (request.method != "GET") return;
    kubernetes_.on_answer = nullptr;
    Refuse("GET", root_, 503);
    clock_.At(clock_.elapsed + minutes(5), [this] { kubernetes_.GetFaults().Clear(); });
  };
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_FALSE(Exists(root_));
  EXPECT_FALSE(MapExists("behind"));
  EXPECT_FALSE(Exists(pod_));
  EXPECT_GE(clock_.elapsed, minutes(5));
}

TEST_F(ControllerRootTest, OurOwnPodStaysWhereANewRootHasAdoptedIt) {
  After("DELETE", root_, 1, [this] {
    kubernetes_.Apply(
        R"({"apiVersion":"v1","kind":"ReplicationController",)" + Meta("spark-n") +
        R"(,"spec":{"replicas":1,"selector":{"app":"spark-m"},"template":{"metadata":{"labels":)"
        R"({"app":"spark-m"}},"spec":{"containers":[{"name":"main","image":"x"}]}}}})");
  });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_FALSE(Exists(root_));
  EXPECT_TRUE(Exists(pod_));
}

// It is a master root then: the guard lets it go only if it is marked.
TEST_F(ControllerRootTest, OurOwnPodIsMarkedWhereItGoesBehindItsRoot) {
  std::string marked;
  Before("DELETE", "/pods/", 1, [&] { marked = Read(pod_).body; });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_FALSE(Exists(root_));
  EXPECT_FALSE(Exists(pod_));
  EXPECT_EQ(kubernetes_.Count("DELETE", "/pods/"), 1u) << "as it is since it was marked";
  EXPECT_TRUE(MapExists("kept"));
  for (const std::string& mark :
       {std::string(kPointOfNoReturn), R"("cluster-watcher/condemned-by":")" + me_.ToText() + '"',
        R"("cluster-watcher/root-uid":")" + me_.uid + '"'}) {
    EXPECT_NE(marked.find(mark), std::string::npos) << mark << " in " << marked;
  }
  EXPECT_EQ(marked.find("deletes-begun"), std::string::npos)
      << "who comes after a crash judges it anew";
}

TEST_F(ReaperTest, AKindThatCannotBeListedUntilTheDeadlineIsNamedInAWarning) {
  Refuse("GET", "/services?labelSelector", 503);
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_GE(clock_.elapsed, minutes(10));
  const auto events = JsonDocument::Parse(Notes());
  bool named = false;
  for (const JsonValue event : events->root()["items"].Elements()) {
    if (event["reason"].AsString() != "ClusterDeleted") continue;
    EXPECT_EQ(event["type"].AsString(), "Warning");
    named = event["note"].AsString()->find("services") != std::string_view::npos;
  }
  EXPECT_TRUE(named) << Notes();
}

// Each kind is answered every third time, and never all of them in turn.
TEST_F(ReaperTest, WhatFailsInPassingIsListedAgainInTheSamePass) {
  std::map<std::string, std::size_t> asked;
  kubernetes_.on_answer = [&](const Request& request, const User&, Response& response) {
    const std::string target(request.target);
    if (target.find("?labelSelector=oshinko-cluster") == std::string::npos) return;
    const std::size_t number = asked.try_emplace(target, asked.size()).first->second++;
    if (number % 3 != 0) response.status = 503;
  };
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_FALSE(Exists(kRoot));
  EXPECT_LT(clock_.elapsed, minutes(1));
}

TEST_F(ReaperTest, APointOfNoReturnThatMayNotBeWrittenIsNotTriedForEver) {
  Refuse("PATCH", "spark-m", 403, 1);
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  const std::size_t patches = kubernetes_.Count("PATCH");
  EXPECT_LE(patches, 4u);
  EXPECT_EQ(Deletes(), 0u);
}

// Marks may be forged: what one names needn't be the cluster's.
TEST_F(ReaperTest, OnlyWhatIsMarkedAsLeftOfAKeptObjectsOwnerIsTakenByItsMark) {
  observer_->SureLook({});
  MakeBareMap("first");
  MakeBareMap("left");
  MakeBareMap("owned", OwnedBy("Deployment", "apps/v1", kDriver));
  MakeBareMap("others", R"(,"labels":{"oshinko-cluster":"other"})");
  MakeBareMap("kept", R"(,"annotations":{"cluster-watcher/keep":"true"})");
  const std::string claim = "/api/v1/namespaces/lab/persistentvolumeclaims/data";
  MakeClaim("data");
  AnHourPasses();
  std::string marks = kGone + ("," + Named("first"));
  for (const char* map : {"left", "owned", "others", "kept"}) marks += ",+" + Named(map);
  marks += ",+" + Named("data", "persistentvolumeclaims");
  WriteMarks(marks, seconds(1));
  // Nor is what can't be read at first forgotten.
  kubernetes_.on_answer = [&](const Request& request, const User&, Response& response) {
    const bool of_it = request.target.find("metadata.name%3Dleft") != std::string::npos;
    if (of_it && clock_.elapsed < std::chrono::hours(1) + seconds(30)) response.status = 503;
  };
  EXPECT_EQ(Resume(), Reaper::Outcome::kDone);
  EXPECT_FALSE(MapExists("left"));
  for (const char* map : {"first", "owned", "others", "kept"}) EXPECT_TRUE(MapExists(map)) << map;
  EXPECT_LT(clock_.elapsed, std::chrono::hours(1) + minutes(2));
  EXPECT_TRUE(Exists(claim));
}

// The garbage collector takes the reference off later.
TEST_F(ReaperTest, WhatAMemberThatStillTerminatesHadControlledGoesBehindTheRoot) {
  MakeOwnerOfAKeptMap();
  Refuse("DELETE", "/replicasets/", 500);
  Before("DELETE", "/deployments/w", 1, [this] { kubernetes_.settle_after_writes = false; });
  After("DELETE", "/spark-m", 1, [this] { kubernetes_.GetFaults().Clear(); });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_TRUE(Exists("/apis/apps/v1/namespaces/lab/deployments/w"));
  const auto sets = JsonDocument::Parse(
      Read("/apis/apps/v1/namespaces/lab/replicasets?labelSelector=app%3Dw").body);
  EXPECT_EQ(sets->root()["items"].size(), 0u);
}

// Nobody finds it any more once the root is gone.
TEST_F(ReaperTest, WhatIsMarkedAndCanNotBeReadIsWaitedForBehindTheRoot) {
  MarkUnreadable();
  Before("DELETE", "/spark-m", 1, [this] {
    clock_.At(clock_.elapsed + seconds(8), [this] { kubernetes_.GetFaults().Clear(); });
  });
  EXPECT_EQ(Resume(), Reaper::Outcome::kDone);
  EXPECT_FALSE(MapExists("left"));
  EXPECT_EQ(Notes().find("left of the master root"), std::string::npos) << Notes();
}

// As long as the root is there, until the deadline.
TEST_F(ReaperTest, WhatIsMarkedAndCanNotBeReadIsWaitedForBeforeTheRoot) {
  MarkUnreadable();
  clock_.At(clock_.elapsed + minutes(5), [this] {
    EXPECT_TRUE(Exists(kRoot));
    kubernetes_.GetFaults().Clear();
  });
  EXPECT_EQ(Resume(), Reaper::Outcome::kDone);
  EXPECT_FALSE(MapExists("left"));
}

// Our own pod has its grace period from the root's delete on, and no more.
TEST_F(ReaperTest, WhatIsMarkedAndCanNeverBeReadIsNamedBeforeTheRootGoes) {
  MarkUnreadable();
  std::string notes;
  Duration gone_at{};
  Before("DELETE", "/spark-m", 1, [&] {
    gone_at = clock_.elapsed;
    notes = Notes();
  });
  EXPECT_EQ(Resume(), Reaper::Outcome::kDone);
  EXPECT_TRUE(MapExists("left"));
  EXPECT_NE(notes.find("configmaps/left: "), std::string::npos) << notes;
  EXPECT_LT(clock_.elapsed - gone_at, seconds(30));
}

// An authorizer hiccups, or a RoleBinding is made anew.
TEST_F(ReaperTest, WhatIsMarkedAndForbiddenOnceIsNotForgotten) {
  MarkUnreadable();
  kubernetes_.GetFaults().Clear();
  Refuse("GET", "metadata.name%3Dleft", 403, 0, 1);
  EXPECT_EQ(Resume(), Reaper::Outcome::kDone);
  EXPECT_FALSE(MapExists("left"));
}

TEST_F(ReaperTest, WhatIsMarkedAndForbiddenIsNamedAndHoldsNothingUp) {
  MarkUnreadable();
  kubernetes_.GetFaults().Clear();
  Refuse("GET", "metadata.name%3Dleft", 403);
  const Duration began = clock_.elapsed;
  EXPECT_EQ(Resume(), Reaper::Outcome::kDone);
  EXPECT_TRUE(MapExists("left"));
  EXPECT_NE(Notes().find("configmaps/left: left of the master root"), std::string::npos) << Notes();
  EXPECT_LT(clock_.elapsed - began, seconds(30));
}

// By the time it can be read somebody has applied it with a new cluster of that name.
TEST_F(ReaperTest, WhatANewClusterMayUseStaysBehindTheRoot) {
  MarkUnreadable();
  AfterRoot(seconds(7), [this] {
    MakeDriver();
    MakeWorkload("spark-m", "");  // no label tells
    kubernetes_.GetFaults().Clear();
  });
  EXPECT_EQ(Resume(), Reaper::Outcome::kDone);
  EXPECT_TRUE(Exists(kRoot));
  EXPECT_TRUE(MapExists("left"));
}

TEST_F(ReaperTest, NorDoesItWhereTheNewMasterCanNotBeListed) {
  MarkUnreadable();
  AfterRoot(seconds(1), [this] {
    MakeDriver();
    MakeWorkload("spark-n", R"("oshinko-cluster":"spark","oshinko-type":"master",)");
    kubernetes_.GetFaults().Clear();
    Refuse("GET", "/deployments?labelSelector", 503);
    Refuse("GET", "/replicasets?labelSelector", 503);
    Refuse("GET", "/pods?labelSelector", 503);
  });
  EXPECT_EQ(Resume(), Reaper::Outcome::kDone);
  EXPECT_TRUE(MapExists("left"));
}

// Its pods aren't made yet, and nothing else is labelled as a master.
TEST_F(ReaperTest, NorWhereOnlyTheTemplateOfANewRootTells) {
  MarkUnreadable();
  AfterRoot(seconds(7), [this] {
    MakeDriver();
    kubernetes_.settle_after_writes = false;
    const std::string labels = R"("labels":{"oshinko-cluster":"spark")";
    kubernetes_.Apply(
        R"({"apiVersion":"apps/v1","kind":"Deployment",)" + Meta("spark-n", "," + labels + "}") +
        R"(,"spec":{"replicas":1,"selector":{"matchLabels":{"app":"n"}},"template":{"metadata":{)" +
        labels + R"(,"app":"n","oshinko-type":"master"}},"spec":{"containers":)" +
        R"([{"name":"main","image":"x"}]}}}})");
    kubernetes_.GetFaults().Clear();
  });
  EXPECT_EQ(Resume(), Reaper::Outcome::kDone);
  EXPECT_TRUE(MapExists("left"));
}

// Such a kind is also why the root is deleted with Orphan.
TEST_F(ReaperTest, AKindThatCanNeverBeListedKeepsNothingBehindTheRoot) {
  MakeMap("first");
  observer_->SureLook({});
  Refuse("GET", "/services?labelSelector", 503);
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_FALSE(Exists(kRoot));
  const auto sets = JsonDocument::Parse(
      Read("/apis/apps/v1/namespaces/lab/replicasets?labelSelector=app%3Dspark-m").body);
  EXPECT_EQ(sets->root()["items"].size(), 0u) << Notes();
  const auto pods =
      JsonDocument::Parse(Read("/api/v1/namespaces/lab/pods?labelSelector=app%3Dspark-m").body);
  EXPECT_EQ(pods->root()["items"].size(), 0u) << Notes();
}

// Its own pod stays meanwhile, so there is no haste.
TEST_F(ReaperTest, WhatTheRootLeavesGoesHoweverLongAKindThatRunsPodsCanNotBeListed) {
  MakeMap("first");
  After("DELETE", "/configmaps/first", 1,
        [this] { Refuse("GET", "/statefulsets?labelSelector", 503); });
  clock_.At(clock_.elapsed + minutes(15), [this] {
    EXPECT_FALSE(Exists(kRoot));
    kubernetes_.GetFaults().Clear();
  });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  const auto pods =
      JsonDocument::Parse(Read("/api/v1/namespaces/lab/pods?labelSelector=app%3Dspark-m").body);
  EXPECT_EQ(pods->root()["items"].size(), 0u) << Notes();
}

// Its Deployment's controller has copied it, and has left it there.
TEST_F(ReaperTest, AReplicaSetIsNotKeptByACopyThatOutlivesItsDeployment) {
  MakeMap("first");
  MakeMap("kept", R"(,"annotations":{"cluster-watcher/keep":"true"})" +
                      OwnedBy("Deployment", "apps/v1", kRoot));
  Annotate(kRoot, "keep", "true");
  kubernetes_.Admin("PATCH", kRoot, R"({"metadata":{"annotations":{"cluster-watcher/keep":null}}})",
                    "application/merge-patch+json");
  const char* sets = "/apis/apps/v1/namespaces/lab/replicasets?labelSelector=app%3Dspark-m";
  ASSERT_NE(Read(sets).body.find("cluster-watcher/keep"), std::string::npos);
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_TRUE(MapExists("kept"));
  EXPECT_EQ(JsonDocument::Parse(Read(sets).body)->root()["items"].size(), 0u) << Notes();
}

// Only ReplicaSets get copies.
TEST_F(ReaperTest, WhatIsKeptStaysAlsoWhereADeploymentControlsIt) {
  MakeOwnerOfAKeptMap();
  std::string owner =
      OwnedBy("Deployment", "apps/v1", "/apis/apps/v1/namespaces/lab/deployments/w");
  owner.insert(owner.size() - 2, R"(,"controller":true)");
  MakeMap("controlled", R"(,"annotations":{"cluster-watcher/keep":"true"})" + owner);
  Delete(kMaps + std::string("/kept"));
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_FALSE(Exists("/apis/apps/v1/namespaces/lab/deployments/w"));
  EXPECT_TRUE(MapExists("controlled"));
}

TEST_F(ReaperTest, AKeptPodOfTheRootKeepsNoOthers) {
  MakeMap("first");
  kubernetes_.Admin("PATCH", kRoot, R"({"spec":{"replicas":3}})", "application/merge-patch+json");
  const char* pods = "/api/v1/namespaces/lab/pods?labelSelector=app%3Dspark-m";
  const auto before = JsonDocument::Parse(Read(pods).body);
  ASSERT_EQ(before->root()["items"].size(), 3u);
  const auto kept = ReadObjectMeta(before->root()["items"].At(2));
  Annotate("/api/v1/namespaces/lab/pods/" + kept->name, "keep", "true");
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  const auto left = JsonDocument::Parse(Read(pods).body);
  EXPECT_EQ(left->root()["items"].size(), 1u) << Notes();
}

TEST_F(ReaperTest, WhatIsMountedStaysWhereTheRootIsMadeAnew) {
  Delete(kMaps + std::string("/spark-config"));
  MakeMap("first");
  MakeBareMap("other");
  MakeMap("spark-conf", OwnedBy("ConfigMap", "v1", kMaps + std::string("/other")));
  Refuse("DELETE", "/configmaps/spark-conf", 403, 0, 1);
  After("DELETE", "/configmaps/spark-conf", 1, [this] {
    EXPECT_FALSE(Exists(kRoot));
    MakeDriver();
    MakeRoot();
  });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_TRUE(Exists(kRoot));
  EXPECT_TRUE(MapExists("spark-conf"));
  EXPECT_NE(Notes().find("configmap/spark-conf: left"), std::string::npos) << Notes();
}

// It terminates, and the garbage collector takes the reference off later.
TEST_F(ReaperTest, WhatIsMarkedAndCanNotBeToldYetIsWaitedForBehindTheRoot) {
  observer_->SureLook({});
  MakeBareMap("above", R"(,"finalizers":["example.com/held"])");
  MakeBareMap("left", OwnedBy("ConfigMap", "v1", kMaps + std::string("/above")));
  AnHourPasses();
  WriteMarks(kGone + (",+" + Named("left")), seconds(1));
  Delete(kMaps + std::string("/above"));
  AfterRoot(seconds(8), [this] {
    kubernetes_.Admin("PATCH", kMaps + std::string("/left"),
                      R"({"metadata":{"ownerReferences":null}})", "application/merge-patch+json");
  });
  EXPECT_EQ(Resume(), Reaper::Outcome::kDone);
  EXPECT_FALSE(MapExists("left")) << Notes();
}

// It terminates until the garbage collector has taken the reference off.
TEST_F(ReaperTest, WhatAMemberHadControlledGoesAlthoughTheAnswerToItsDeleteIsLost) {
  MakeOwnerOfAKeptMap();
  kubernetes_.on_answer = [this](const Request& request, const User&, Response& response) {
    const bool of_it = request.target.find("/deployments/w") != std::string::npos;
    if (request.method != "DELETE" || !of_it) return;
    kubernetes_.on_answer = nullptr;
    response.status = 500;
  };
  Before("DELETE", "/deployments/w", 1, [this] { kubernetes_.settle_after_writes = false; });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  const auto sets = JsonDocument::Parse(
      Read("/apis/apps/v1/namespaces/lab/replicasets?labelSelector=app%3Dw").body);
  EXPECT_EQ(sets->root()["items"].size(), 0u) << Notes();
}

// A claim of the set "w", which an earlier watcher has deleted, is marked.
class MarkedClaimTest : public ReaperLab {
 protected:
  MarkedClaimTest() {
    settings_.settings.volumes = Volumes::kDelete;
    StartWatcher();
    observer_->SureLook({});
    kubernetes_.Apply(R"({"apiVersion":"v1","kind":"PersistentVolumeClaim",)" + Meta("data-w-0") +
                      R"(,"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":)"
                      R"({"storage":"1Gi"}}}})");
    AnHourPasses();
    WriteMarks(kGone + (",statefulsets.apps/w=0011223344556677,+" +
                        Named("data-w-0", "persistentvolumeclaims")),
               seconds(1));
  }
  const std::string claim_ = "/api/v1/namespaces/lab/persistentvolumeclaims/data-w-0";
};

TEST_F(MarkedClaimTest, GoesHoweverLongItsDeleteFails) {
  Refuse("DELETE", "/persistentvolumeclaims/", 500);
  clock_.At(clock_.elapsed + minutes(15), [this] {
    EXPECT_FALSE(Exists(kRoot));
    kubernetes_.GetFaults().Clear();
  });
  EXPECT_EQ(Resume(), Reaper::Outcome::kDone);
  EXPECT_FALSE(Exists(claim_));
}

TEST_F(MarkedClaimTest, StaysWhereItsSetIsMadeAnewMeanwhile) {
  Refuse("GET", "metadata.name%3Ddata-w-0", 503);
  Before("DELETE", "/spark-m", 1, [this] {
    kubernetes_.GetFaults().Clear();
    Refuse("DELETE", "/persistentvolumeclaims/", 403, 0, 1);
  });
  After("DELETE", "/persistentvolumeclaims/", 1, [this] { MakeSetWithClaims(); });
  EXPECT_EQ(Resume(), Reaper::Outcome::kDone);
  EXPECT_EQ(Read(claim_).body.find("deletionTimestamp"), std::string::npos);
  EXPECT_TRUE(Exists(claim_));
}

// A set that keeps its claims writes nothing on them.
TEST_F(MarkedClaimTest, StaysAlsoWhereItCanNotBeReadThen) {
  Refuse("GET", "metadata.name%3Ddata-w-0", 503);
  Before("DELETE", "/spark-m", 1, [this] {
    kubernetes_.GetFaults().Clear();
    Refuse("DELETE", "/persistentvolumeclaims/", 403, 0, 1);
  });
  After("DELETE", "/persistentvolumeclaims/", 1, [this] {
    MakeSetWithClaims("Retain");
    Refuse("GET", "metadata.name%3Ddata-w-0", 503);
  });
  EXPECT_EQ(Resume(), Reaper::Outcome::kDone);
  EXPECT_EQ(Read(claim_).body.find("deletionTimestamp"), std::string::npos);
  EXPECT_TRUE(Exists(claim_));
}

// The set "w" goes first, and then its claim.
class WaitingClaimTest : public ReaperLab {
 protected:
  WaitingClaimTest() {
    settings_.settings.volumes = Volumes::kDelete;
    StartWatcher();
    Delete(kMaps + std::string("/spark-config"));
    MakeSetWithClaims("Retain");
  }
  // Its deletes are refused until they were behind the root; then this happens.
  void AtFirstDeleteBehindRoot(const std::function<void()>& what) {
    Refuse("DELETE", "/persistentvolumeclaims/data-w-0", 403);
    kubernetes_.on_answer = [=, this](const Request& request, const User&, Response&) {
      const bool of_it = request.target.find("/data-w-0") != std::string::npos;
      if (request.method != "DELETE" || !of_it || Exists(kRoot)) return;
      kubernetes_.GetFaults().Clear();
      what();
      kubernetes_.on_answer = nullptr;
    };
  }
  const std::string set_ = "/apis/apps/v1/namespaces/lab/statefulsets/w";
  const std::string claim_ = "/api/v1/namespaces/lab/persistentvolumeclaims/data-w-0";
};

TEST_F(WaitingClaimTest, GoesBehindTheRoot) {
  AtFirstDeleteBehindRoot([] {});
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_FALSE(Exists(claim_));
}

TEST_F(WaitingClaimTest, StaysWhereItsSetIsMadeAnewBehindTheRoot) {
  AtFirstDeleteBehindRoot([this] { MakeSetWithClaims("Retain"); });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_TRUE(Exists(set_));
  EXPECT_TRUE(Exists(claim_));
  EXPECT_NE(Notes().find("persistentvolumeclaim/data-w-0: "), std::string::npos) << Notes();
}

TEST_F(WaitingClaimTest, StaysWhereTheRootIsMadeAnew) {
  AtFirstDeleteBehindRoot([this] { MakeRoot(); });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_TRUE(Exists(kRoot));
  EXPECT_TRUE(Exists(claim_));
}

TEST_F(WaitingClaimTest, GoesAlthoughItsSetCanNotBeRead) {
  Refuse("GET", "/statefulsets?fieldSelector", 403);
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_FALSE(Exists(claim_));
}

TEST_F(WaitingClaimTest, IsNamedWhereItsSetCanNotBeReadToTryAgain) {
  AtFirstDeleteBehindRoot([this] { Refuse("GET", "/statefulsets?fieldSelector", 503); });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_TRUE(Exists(claim_));
  EXPECT_NE(Notes().find("persistentvolumeclaim/data-w-0: "), std::string::npos) << Notes();
}

TEST_F(WaitingClaimTest, GoesWhileItsSetTerminates) {
  kubernetes_.Admin("PATCH", set_, R"({"metadata":{"finalizers":["example.com/held"]}})",
                    "application/merge-patch+json");
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_TRUE(Exists(set_));
  EXPECT_FALSE(Exists(claim_));
}

TEST_F(MarkedClaimTest, IsNamedWhereItsSetCanNoLongerBeRead) {
  Refuse("DELETE", "/persistentvolumeclaims/", 500);
  After("DELETE", "/persistentvolumeclaims/", 1,
        [this] { Refuse("GET", "/statefulsets?fieldSelector", 403); });
  EXPECT_EQ(Resume(), Reaper::Outcome::kDone);
  EXPECT_TRUE(Exists(claim_));
  EXPECT_NE(Notes().find("persistentvolumeclaims/data-w-0: "), std::string::npos) << Notes();
}

TEST_F(ReaperTest, AClaimIsTakenByItsMarkOnlyWhereItsSetIsMarkedAndGone) {
  settings_.settings.volumes = Volumes::kDelete;
  StartWatcher();
  observer_->SureLook({});
  std::string marks = kGone + std::string(",statefulsets.apps/w=0011223344556677");
  for (const char* claim : {"data", "data-x-0", "data-w-0"}) {
    kubernetes_.Apply(R"({"apiVersion":"v1","kind":"PersistentVolumeClaim",)" + Meta(claim) +
                      R"(,"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":)"
                      R"({"storage":"1Gi"}}}})");
    marks += ",+" + Named(claim, "persistentvolumeclaims");
  }
  AnHourPasses();
  WriteMarks(marks, seconds(1));
  EXPECT_EQ(Resume(), Reaper::Outcome::kDone);
  const std::string claims = "/api/v1/namespaces/lab/persistentvolumeclaims/";
  EXPECT_TRUE(Exists(claims + "data"));
  EXPECT_TRUE(Exists(claims + "data-x-0"));
  EXPECT_FALSE(Exists(claims + "data-w-0"));
}

TEST_F(ReaperTest, WhatLosesItsOwnerIsMarkedAlthoughTheRootHasChanged) {
  MakeOwnerOfAKeptMap();
  Before("PATCH", "spark-m", 4, [this] { Annotate(kRoot, "n", "1"); });
  std::string marked;
  kubernetes_.on_answer = [&](const Request& request, const User&, Response&) {
    const bool of_it = request.target.find("/deployments/w") != std::string::npos;
    if (request.method == "DELETE" && of_it) marked = Mark("first-deletes");
  };
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_NE(marked.find(",+replicasets.apps/w-"), std::string::npos) << marked;
}

TEST_F(ReaperTest, AClusterOfOneSetWhoseClaimsTakeLongToSettleGoes) {
  Delete(kMaps + std::string("/spark-config"));
  MakeSetWithClaims();
  int looks = 0;
  kubernetes_.on_request = [&](const Request& request, const User&) {
    if (request.method != "GET" || !request.target.ends_with("/statefulsets/w")) return;
    clock_.elapsed += seconds(6);
    if (++looks == 20) MakeDriver();  // so that this ends
  };
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_FALSE(Exists("/apis/apps/v1/namespaces/lab/statefulsets/w"));
  EXPECT_TRUE(Exists("/api/v1/namespaces/lab/persistentvolumeclaims/data-w-0"));
}

TEST_F(ReaperTest, WhatNeedsNeitherClaimsNorOrphansGoesFirst) {
  MakeSetWithClaims();
  std::string first;
  kubernetes_.on_request = [&](const Request& request, const User&) {
    if (request.method == "DELETE" && first.empty()) first = request.target;
    const bool of_set = request.target.ends_with("/statefulsets/w");
    EXPECT_FALSE(request.method == "GET" && of_set && first.empty());
  };
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_NE(first.find("spark-config"), std::string::npos) << first;
}

// This watcher hung, another one took over, judged the cluster again and spared it.
TEST_F(ReaperTest, AClusterThatAnotherWatcherSparedIsNotDeletedOn) {
  AnHourPasses();
  MakeMap("held", R"(,"finalizers":["example.com/held"])");
  AnHourPasses();
  Before("GET", "/configmaps?labelSelector", 3, [&] {
    TakeMarksOff();
    MakeMap("again");
  });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  EXPECT_TRUE(MapExists("again"));
  EXPECT_TRUE(Exists(kRoot));
  EXPECT_EQ(Mark("phase") + Mark("deletes-begun"), "");
  EXPECT_NE(Notes().find("ClusterSpared"), std::string::npos);
}

TEST_F(ReaperTest, HalfAClusterIsFinishedAlthoughItsMarksWereTakenOff) {
  MakeMap("held", R"(,"finalizers":["example.com/held"])");
  AnHourPasses();
  std::string phase;
  kubernetes_.on_request = [&, lists = 0](const Request& request, const User&) mutable {
    if (request.method == "DELETE" && request.target.starts_with(kRoot)) phase = Mark("phase");
    if (request.target.find("/configmaps?labelSelector") == std::string::npos) return;
    if (++lists == 3) TakeMarksOff();
  };
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_EQ(phase, "deleting") << "it is written again";
}

TEST_F(ReaperTest, AWatcherThatIsRestartedWhileTheRootTerminatesFinishesTheMembers) {
  AnHourPasses();
  HoldRoot();
  WriteMarks(kGone, seconds(60));
  Delete(kRoot);
  StartWatcher();
  Before("GET", "/configmaps?labelSelector", 2, [&] { MakeMap("new"); });
  EXPECT_EQ(Resume(), Reaper::Outcome::kDone);
  EXPECT_FALSE(MapExists("spark-config"));
  EXPECT_TRUE(MapExists("new"));
}

TEST_F(ReaperTest, NothingMoreIsDeletedOnceAnotherMasterIsThere) {
  for (const bool labelled : {true, false}) {
    SCOPED_TRACE(labelled);
    MakeRoot();
    StartWatcher();
    AnHourPasses();
    HoldRoot();
    WriteMarks(kGone, seconds(60));
    const Snapshot snapshot = observer_->SureLook({});
    Before("GET", "/deployments?labelSelector", 2, [&] {
      Delete(kRoot);
      if (labelled) {
        MakeWorkload("spark-n", R"("oshinko-cluster":"spark","oshinko-type":"master",)");
      } else {
        kubernetes_.Apply(
            R"({"apiVersion":"apps/v1","kind":"Deployment",)" + Meta("spark-n") +
            R"(,"spec":{"replicas":1,"selector":{"matchLabels":{"app":"n"}},"template":{)"
            R"("metadata":{"labels":{"app":"n","oshinko-cluster":"spark"},"annotations":{)"
            R"("cluster-watcher/status":"injected"}},"spec":{"containers":[{"name":"main",)"
            R"("image":"x"}]}}}})");
      }
    });
    EXPECT_EQ(reaper_->Resume(snapshot.marks.condemned_by, snapshot), Reaper::Outcome::kSpared);
    EXPECT_EQ(Deletes(), 0u);
    EXPECT_TRUE(MapExists("spark-config"));
    kubernetes_.on_request = nullptr;
    Delete("/apis/apps/v1/namespaces/lab/deployments/spark-n");
    kubernetes_.Admin("PATCH", kRoot, R"({"metadata":{"finalizers":null}})",
                      "application/merge-patch+json");
  }
}

TEST_F(ReaperTest, ARootThatGetsAnotherClustersLabelInMidDeletionStays) {
  Before("DELETE", "spark-config", 1, [this] {
    kubernetes_.Admin("PATCH", kRoot, R"({"metadata":{"labels":{"oshinko-cluster":"other"}}})",
                      "application/merge-patch+json");
  });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  EXPECT_TRUE(Exists(kRoot));
  EXPECT_EQ(Mark("phase"), "");
  EXPECT_NE(Notes().find("another cluster"), std::string::npos);
}

TEST_F(ReaperTest, AKeptObjectStaysThoughWhatIsAboveItMayNotBeRead) {
  MakeMap("top");
  MakeBareMap("middle", OwnedBy("ConfigMap", "v1", kMaps + std::string("/top")));
  MakeMap("kept", R"(,"annotations":{"cluster-watcher/keep":"true"})" +
                      OwnedBy("ConfigMap", "v1", kMaps + std::string("/middle")));
  Refuse("GET", "/configmaps/middle", 403);
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_TRUE(MapExists("kept"));
  EXPECT_FALSE(MapExists("top"));
  EXPECT_FALSE(Exists(kRoot));
  EXPECT_LT(clock_.elapsed, minutes(5));
}

TEST_F(ReaperTest, AKeptObjectStaysThoughItCannotBeListedWhenADeletionIsResumed) {
  MakeMap("top");
  const std::string kept = "/api/v1/namespaces/lab/services/kept";
  kubernetes_.Apply(R"({"apiVersion":"v1","kind":"Service",)" +
                    Labelled("kept", R"(,"annotations":{"cluster-watcher/keep":"true"})" +
                                         OwnedBy("ConfigMap", "v1", kMaps + std::string("/top"))) +
                    "}");
  AnHourPasses();
  for (const Duration ago : {Duration(seconds(60)), Duration(minutes(30))}) {
    WriteMarks(kGone, ago);
    const MonotonicTime until = clock_.Now() + seconds(60);
    kubernetes_.on_answer = [&, lists = 0](const Request& request, const User&,
                                           Response& response) mutable {
      if (request.target.find("/services?labelSelector") == std::string::npos) return;
      if (++lists > 1 && clock_.Now() < until) response.status = 503;
    };
    EXPECT_EQ(Resume(), Reaper::Outcome::kDone);
    EXPECT_TRUE(Exists(kept));
    EXPECT_FALSE(MapExists("top"));
    EXPECT_FALSE(Exists(kRoot));
    MakeRoot();
    MakeMap("top");
    StartWatcher();
    AnHourPasses();
  }
}

TEST_F(ReaperTest, AMountedObjectThatIsToBeKeptMeanwhileIsNotHandedOver) {
  MakeMap("spark-conf");
  Before("PATCH", "spark-conf", 1,
         [&] { Annotate(kMaps + std::string("/spark-conf"), "keep", "true"); });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_TRUE(MapExists("spark-conf"));
}

TEST_F(ReaperTest, ReadsThatFailOnceAreRepeatedToProveAClusterHalf) {
  AnHourPasses();
  WriteMarks(kGone, seconds(1));
  Refuse("GET", "metadata.name%3Dgone", 503, 0, 1);
  Refuse("GET", "/services?labelSelector", 503, 0, 1);
  EXPECT_EQ(Resume(), Reaper::Outcome::kDone);
}

TEST_F(ReaperTest, ARootsDeleteThatIsRefusedIsNotRepeatedAtOnce) {
  Refuse("DELETE", "deployments/spark-m", 503, 0, 8);
  std::optional<Duration> last;
  kubernetes_.on_request = [&](const Request& request, const User&) {
    if (request.method != "DELETE" || !request.target.starts_with(kRoot)) return;
    EXPECT_TRUE(!last || *last < clock_.elapsed);
    last = clock_.elapsed;
  };
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
}

TEST_F(ReaperTest, DeletesThatAreForbiddenAreNotRepeatedInHaste) {
  Refuse("DELETE", "spark-config", 403);
  observer_->SureLook({});
  Delete(kDriver);
  clock_.At(clock_.elapsed + minutes(5), [&] { MakeDriver(); });
  EXPECT_EQ(CondemnNow(), Reaper::Outcome::kSpared);
  EXPECT_LE(Deletes(), 70u);
}

TEST_F(ReaperTest, TheDeadlineCountsFromTheLastPointOfNoReturn) {
  Annotate(kRoot, "before-delete", kStep);
  MakeMap("held", R"(,"finalizers":["example.com/held"])");
  during_step_ = [&] { clock_.elapsed += minutes(9); };
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_GE(clock_.elapsed, minutes(19));
}

// As where its namespace is deleted: a look has a problem for ever.
TEST_F(ReaperTest, ARootThatGoesWithOurPodBeforeTheFirstDeleteEndsIt) {
  Before("DELETE", "", 1, [this] {
    Delete("/api/v1/namespaces/lab/pods/" + NameOfPod());
    Delete(kMaps + std::string("/spark-config"));
    Delete(kRoot);
  });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  EXPECT_FALSE(Exists(kRoot));
}

// The member's delete was carried out, and its answer was lost.
TEST_F(ReaperTest, HalfAClusterIsFinishedAlthoughOurPodIsGone) {
  MakeMap("other");
  Refuse("DELETE", "", 500);
  Before("DELETE", "", 1, [this] {
    kubernetes_.Admin("DELETE", kMaps + std::string("/spark-config"));
    kubernetes_.Admin("DELETE", "/api/v1/namespaces/lab/pods/" + NameOfPod());
  });
  clock_.At(clock_.elapsed + seconds(30), [&] { kubernetes_.GetFaults().Clear(); });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_FALSE(MapExists("other"));
  EXPECT_FALSE(Exists(kRoot));
}

// Nothing is left to be deleted first, and nothing is proven half.
TEST_F(ReaperTest, AClusterWhoseMembersAreAllStuckGoesAtTheDeadline) {
  MakeMap("held", R"(,"finalizers":["example.com/held"])");
  Delete(kMaps + std::string("/held"));
  Delete(kMaps + std::string("/spark-config"));
  clock_.At(std::chrono::hours(1), [this] { MakeDriver(); });  // so that this ends
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_FALSE(Exists(kRoot));
}

TEST_F(ReaperTest, WhatIsLeftOfTheRootIsNamed) {
  MakeMap("kept", R"(,"annotations":{"cluster-watcher/keep":"true"})" +
                      OwnedBy("Deployment", "apps/v1", kRoot));
  Refuse("DELETE", "/replicasets/", 403);
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_NE(Notes().find("replicaset.apps/spark-m-"), std::string::npos) << Notes();
}

TEST_F(ReaperTest, AMemberOfARootThatIsTakenDownIsNotDeletedOnOldEvidence) {
  TakeDownByHand();
  Before("GET", "/configmaps?labelSelector", 1, [&] {
    clock_.elapsed += seconds(6);
    MakeDriver();
  });
  EXPECT_FALSE(reaper_->FinishOnTermination());
  EXPECT_EQ(Deletes(), 0u);
  EXPECT_TRUE(MapExists("spark-config"));
}

// It is seen when what loses its owner is to be marked on the root.
TEST_F(ReaperTest, WhatIsLeftOfARootThatWasTakenDownIsThatOfTheNextOne) {
  MakeMap("top");
  MakeMap("kept", R"(,"annotations":{"cluster-watcher/keep":"true"})" +
                      OwnedBy("ConfigMap", "v1", kMaps + std::string("/top")));
  MakeMap("below", OwnedBy("ConfigMap", "v1", kMaps + std::string("/top")));
  TakeDownByHand();
  Before("PATCH", "/deployments/spark-m", 1, [this] {
    kubernetes_.Admin("PATCH", kRoot, R"({"metadata":{"finalizers":null}})",
                      "application/merge-patch+json");
    MakeRoot();
  });
  EXPECT_FALSE(reaper_->FinishOnTermination());
  EXPECT_EQ(Deletes(), 0u);
  EXPECT_TRUE(MapExists("spark-config"));
}

// An Oshinko cluster's master Service is labelled as the master is.
TEST_F(ReaperTest, AMasterServiceIsNoOtherMaster) {
  MakeMasterService("");
  AnHourPasses();
  HoldRoot();
  WriteMarks(kGone, seconds(60));
  Delete(kDriver);
  Delete(kRoot);
  StartWatcher();
  EXPECT_EQ(Resume(), Reaper::Outcome::kDone);
  EXPECT_FALSE(MapExists("spark-config"));
}

TEST_F(ReaperTest, NorIsOneThatIsKeptWhereTheRootIsTakenDownByHand) {
  MakeMasterService(R"("annotations":{"cluster-watcher/keep":"true"},)");
  MakeMap("late", R"(,"annotations":{"cluster-watcher/delete-order":"1"})");
  HoldRoot();
  Before("DELETE", "spark-config", 1, [this] { Delete(kRoot); });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_FALSE(MapExists("late"));
}

// Nothing can be deleted, so the cluster stays whole and each round is judged again; at the
// deadline the root goes all the same. The driver comes back only to end a watcher that hangs.
TEST_F(ReaperTest, AClusterWhoseMembersCanNotBeDeletedGoesAtTheDeadline) {
  for (const int status : {403, 500}) {
    SCOPED_TRACE(status);
    Refuse("DELETE", "spark-config", status);
    clock_.At(clock_.elapsed + std::chrono::hours(1), [this] { MakeDriver(); });
    EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
    EXPECT_FALSE(Exists(kRoot));
    EXPECT_LT(Deletes(), 1'000u) << "in haste";
    if (status == 500) break;
    kubernetes_.GetFaults().Clear();
    MakeRoot();
    MakeDriver();
    StartWatcher();
  }
}

// A member of the first wave terminates for long. That says nothing of what was begun now.
TEST_F(ReaperTest, AMemberThatIsStuckProvesNothing) {
  MakeMap("held", R"(,"finalizers":["example.com/held"])");
  Delete(kMaps + std::string("/held"));
  Annotate(kMaps + std::string("/spark-config"), "delete-order", "1");
  AnHourPasses();
  clock_.At(clock_.elapsed + minutes(1), [this] { MakeDriver(); });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  EXPECT_TRUE(MapExists("spark-config"));
  EXPECT_TRUE(Exists(kRoot));
}

TEST_F(ReaperTest, WhatIsBehindAStuckWaveGoesAtTheDeadline) {
  kubernetes_.Apply(R"({"apiVersion":"v1","kind":"Pod",)" +
                    Labelled("held", R"(,"finalizers":["example.com/held"])") +
                    R"(,"spec":{"containers":[{"name":"m","image":"x"}]}})");
  Delete("/api/v1/namespaces/lab/pods/held");
  Annotate(kMaps + std::string("/spark-config"), "delete-order", "1");
  clock_.At(clock_.elapsed + std::chrono::hours(1), [this] { MakeDriver(); });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_FALSE(Exists(kRoot));
  EXPECT_FALSE(MapExists("spark-config"));
}

TEST_F(ReaperTest, AClaimThatIsPreservedStaysWhateverTheResources) {
  MakeMap("top");
  MakeClaim("data", OwnedBy("ConfigMap", "v1", kMaps + std::string("/top")));
  settings_.settings.resources = {"configmaps", "deployments.apps"};
  StartWatcher();
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_FALSE(MapExists("top"));
  EXPECT_TRUE(Exists("/api/v1/namespaces/lab/persistentvolumeclaims/data"));
}

// The machine is suspended after the members were listed.
TEST_F(ReaperTest, AClusterThatIsTakenDownIsNotFinishedAfterASuspension) {
  TakeDownByHand();
  bool listed = false;
  bool suspended = false;
  kubernetes_.on_request = [&](const Request& request, const User&) {
    if (request.target.find("/configmaps?labelSelector") != std::string::npos) {
      listed = true;
    } else if (listed && !suspended && request.target.ends_with("/deployments/spark-m")) {
      suspended = true;
      clock_.suspended += minutes(10);
      MakeDriver();
    }
  };
  reaper_->FinishOnTermination();
  EXPECT_TRUE(suspended);
  EXPECT_EQ(Deletes(), 0u);
  EXPECT_TRUE(MapExists("spark-config"));
}

// A watcher that was killed before its steps is started again under the brake.
TEST_F(ReaperTest, NoStepsRunUnderTheBrake) {
  Annotate(kRoot, "before-delete", kStep);
  observer_->SureLook({});
  Delete(kDriver);
  const Snapshot look = observer_->SureLook({});
  EXPECT_TRUE(MasterRoot(client_, *look.root).WriteMarks(OwnerMarks(*look.seen)));
  const Snapshot again = observer_->SureLook({});
  EXPECT_TRUE(
      MasterRoot(client_, *again.root)
          .WriteMarks({{annotation::kPhase, "deleting"},
                       {annotation::kReason, "owner-absent"},
                       {annotation::kCondemnedBy, look.pod->meta.name + "/" + look.pod->meta.uid},
                       {annotation::kDeletingSince, FormatTime(clock_.WallNow())}}));
  int runs = 0;
  during_step_ = [&] { ++runs; };
  kubernetes_.brake = true;
  StartWatcher();
  EXPECT_EQ(Resume(), Reaper::Outcome::kSpared);
  EXPECT_EQ(Deletes(), 0u);
  EXPECT_EQ(runs, 0);
}

}  // namespace
}  // namespace cluster_watcher

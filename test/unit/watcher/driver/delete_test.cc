#include "watcher/driver/delete.h"

#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>

#include <regex>
#include <sstream>

#include "probes/base/time_text.h"
#include "test/unit/support/driver_lab.h"
#include "test/unit/support/fake_transport.h"
#include "watcher/driver/await.h"
#include "watcher/driver/claim.h"
#include "watcher/driver/driver_run.h"
#include "watcher/driver/find_profile.h"
#include "watcher/driver/who_acts.h"

namespace cluster_watcher {
namespace {

using small_kubernetes::Request;
using small_kubernetes::Response;
using small_kubernetes::User;

constexpr const char* kPods = "/api/v1/namespaces/lab/pods";

// Everything is on the machine that it is run on.
class OnlyHere final : public Transport {
 public:
  std::vector<HttpResult> Perform(std::span<const HttpRequest> requests, std::size_t,
                                  std::stop_token) override {
    return {requests.size(), Unexpected{TransportError{TransportError::Kind::kLocal, "here"}}};
  }
};

class DeleteTest : public DriverLab {
 protected:
  DeleteTest() {
    settings_.settings.owner.reset();
    settings_.settings.cluster = "spark";
  }
  // Deletes because `app` has ended so.
  DriverOutcome Ended(const std::string& app, const std::string& status = "completed") {
    return Run({cluster_, AppStatus{*OwnerName::Parse(app), status}, waits_});
  }
  DriverOutcome Asked() { return Run({cluster_, std::nullopt, waits_}); }
  std::optional<DriverOutcome> Finish() {
    std::optional<DriverOutcome> outcome;
    With([&](const DeletionWork& work) { outcome = FinishOwnDeletion(work, cluster_); });
    return outcome;
  }
  DriverOutcome Run(const DeleteRequest& request) {
    DriverOutcome outcome;
    With([&](const DeletionWork& work) { outcome = cluster_watcher::Delete(work, request); });
    return outcome;
  }
  void With(const std::function<void(const DeletionWork&)>& what) {
    SettingsInForce in_force(settings_, [this](const TextMap& annotations) {
      ResolvedSettings resolved = settings_;
      const auto owner = annotations.find("cluster-watcher/owner");
      if (owner != annotations.end()) resolved.settings.owner = *OwnerName::Parse(owner->second);
      return resolved;
    });
    Observer observer(client_, discovery_, clock_, in_force);
    observer.SetCaller(caller_uid_, caller_);
    EventRecorder events(client_, clock_, log_.logger(), me_.pod);
    Announcer announcer(events, clock_, log_);
    Tools tools{.client = client_,
                .discovery = discovery_,
                .clock = clock_,
                .settings = in_force,
                .metrics = metrics_,
                .log = log_.logger(),
                .turn = [](Duration) {},
                .until = waits_ ? Until::kAllGone : Until::kAccepted,
                .heeds_stop = true,
                .hurry = stop_.get_token()};
    const Dial dial = [](const std::string&) -> Result<std::unique_ptr<Transport>> {
      return std::unique_ptr<Transport>(std::make_unique<OnlyHere>());
    };
    const DriverTools driver{client_, discovery_, clock_, stop_.get_token()};
    what({driver, tools, observer, announcer, dial, steps_at_, me_});
  }
  void Scale(const std::string& path, int replicas) {
    Patch(path, R"({"spec":{"replicas":)" + std::to_string(replicas) + "}}");
  }
  // A pod of its own of the driver, which runs.
  std::string MakePodOf(const std::string& app, const std::string& name) {
    kubernetes_.Apply(R"({"apiVersion":"v1","kind":"Pod",)" +
                      Meta(name, R"(,"labels":{"app":")" + app + R"("})") +
                      R"(,"spec":{"containers":[{"name":"m","image":"x"}]},)"
                      R"("status":{"phase":"Running"}})");
    return ObjectUid(kPods + ("/" + name));
  }
  // The note of the last Event with this reason.
  std::string LastNote(const std::string& reason) {
    const auto list =
        JsonDocument::Parse(Read("/apis/events.k8s.io/v1/namespaces/lab/events").body);
    std::pair<std::string, std::string> last;
    for (const JsonValue event : list->root()["items"].Elements()) {
      if (event["reason"].AsString() != reason) continue;
      last = std::max(last, {std::string(*event["eventTime"].AsString()),
                             std::string(*event["note"].AsString())});
    }
    return last.second;
  }
  bool IsWhole() { return Exists(kRoot) && Exists(kWorker) && Exists(kService); }
  bool IsDeleted() { return !Exists(kRoot) && !Exists(kWorker) && !Exists(kService); }
  void HoldByFinalizer(const std::string& path) {
    Patch(path, R"({"metadata":{"finalizers":["example.com/held"]}})");
  }
  void Let(const std::string& path) { Patch(path, R"({"metadata":{"finalizers":null}})"); }
  // It goes before the `number`th write of marks.
  void ExpectToBeToldThatTheRootIsGone(int number, const std::function<DriverOutcome()>& ask) {
    Before("PATCH", "spark-m", number, [this] { Delete(kRoot); });
    const DriverOutcome outcome = ask();
    EXPECT_EQ(outcome.exit, DriverExit::kFailed) << outcome.said;
    EXPECT_NE(outcome.error.find("say cluster-watcher delete spark"), std::string::npos)
        << outcome.error;
    EXPECT_TRUE(Exists(kWorker));
  }
  std::ostringstream log_text_;
  Log log_{LogLevel::kDebug, LogFormat::kText,
           std::make_shared<spdlog::sinks::ostream_sink_st>(log_text_)};
  WatcherId me_{"cli", "abc"};
  std::string caller_uid_;
  std::string caller_;
  StepsAt steps_at_ = StepsAt::kElsewhere;
  bool waits_ = false;
  std::stop_source stop_;
};

// --- By the rules -------------------------------------------------------------------------------

TEST_F(DeleteTest, WhatHasCompletedGoesAtOnce) {
  MakeEphemeral("deployment.apps/bob");
  std::string by, reason;
  Before("DELETE", "/", 1, [&] {
    by = Mark("condemned-by");
    reason = Mark("reason");
  });
  const MonotonicTime began = clock_.Now();
  const DriverOutcome outcome = Ended("deployment/bob");
  EXPECT_EQ(outcome.exit, DriverExit::kDone) << outcome.error;
  EXPECT_EQ(outcome.said, "cluster spark is being deleted");
  EXPECT_EQ(by, "cli/abc");
  EXPECT_EQ(reason, "completed");
  EXPECT_TRUE(IsDeleted());
  EXPECT_TRUE(Exists(kDriver));
  EXPECT_LT(clock_.Now() - began, std::chrono::seconds(10)) << "neither grace nor confirmations";
}

TEST_F(DeleteTest, WhatWasTerminatedIsExpectedBack) {
  MakeEphemeral("deployment.apps/bob");
  const DriverOutcome outcome = Ended("bob", "terminated");
  EXPECT_EQ(outcome.exit, DriverExit::kDone) << outcome.error;
  EXPECT_EQ(outcome.said, "kept: active");
  EXPECT_TRUE(IsWhole());
}

TEST_F(DeleteTest, OneThatIsScaledDownGoesThoughTheCallerStillRuns) {
  MakeEphemeral("deployment.apps/bob");
  Scale(kDriver, 0);
  kubernetes_.Settle();
  caller_uid_ = MakePodOf("bob", "bob-1");
  const std::string other = MakePodOf("bob", "bob-2");
  const DriverOutcome kept = Ended("bob", "terminated");
  EXPECT_EQ(kept.said, "kept: driver-running") << kept.error;
  ASSERT_EQ(kept.warnings.size(), 1u);
  EXPECT_NE(kept.warnings[0].find("pod/bob-2 still runs"), std::string::npos) << kept.warnings[0];
  Delete(kPods + std::string("/bob-2"));
  EXPECT_EQ(Ended("bob", "terminated").said, "cluster spark is being deleted");
}

// The others would lose it once there is only one of them.
TEST_F(DeleteTest, OneOfSeveralDriversSaysNothingForTheOthers) {
  MakeEphemeral("deployment.apps/bob");
  Scale(kDriver, 2);
  EXPECT_EQ(Ended("bob").said, "kept: shared-by-replicas");
  Scale(kDriver, 1);
  EXPECT_EQ(Ended("bob", "terminated").said, "kept: active");
  Scale(kDriver, 2);
  EXPECT_EQ(Ended("bob", "terminated").said, "kept: shared-by-replicas");
}

TEST_F(DeleteTest, HoldsBindIt) {
  MakeEphemeral("deployment.apps/bob");
  Annotate(kRoot, "hold-until", "2099-01-01T00:00:00Z");
  const DriverOutcome outcome = Ended("bob");
  EXPECT_EQ(outcome.exit, DriverExit::kDone);
  EXPECT_EQ(outcome.said, "kept: held");
  EXPECT_TRUE(IsWhole());
}

TEST_F(DeleteTest, AnotherDriverKeepsIt) {
  MakeEphemeral("deployment.apps/bob");
  MakeWorkload("alice", R"("uses-oshinko-cluster":"spark",)");
  EXPECT_EQ(Ended("bob").said, "kept: in-use");
  EXPECT_TRUE(IsWhole());
}

TEST_F(DeleteTest, SoDoesASecondMaster) {
  MakeEphemeral("deployment.apps/bob");
  MakeWorkload("spark-n", R"("oshinko-cluster":"spark","oshinko-type":"master",)");
  LabelObject("/apis/apps/v1/namespaces/lab/deployments/spark-n",
              R"("oshinko-cluster":"spark","oshinko-type":"master")");
  kubernetes_.Settle();
  EXPECT_EQ(Ended("bob").said, "kept: ambiguous");
  EXPECT_TRUE(IsWhole());
}

TEST_F(DeleteTest, ASharedClusterIsNobodysToDelete) {
  const DriverOutcome outcome = Ended("bob");
  EXPECT_EQ(outcome.exit, DriverExit::kFailed);
  EXPECT_EQ(outcome.error, "cluster spark is shared");
  EXPECT_TRUE(IsWhole());
}

TEST_F(DeleteTest, AnothersIsTheirs) {
  MakeEphemeral("deployment.apps/bob");
  MakeWorkload("alice", "");
  const DriverOutcome outcome = Ended("alice");
  EXPECT_EQ(outcome.exit, DriverExit::kFailed);
  EXPECT_EQ(outcome.error,
            "cluster spark belongs to deployment.apps/bob, not deployment.apps/alice");
  EXPECT_TRUE(IsWhole());
}

TEST_F(DeleteTest, AnOwnerThatIsGoneHasEnded) {
  MakeEphemeral("deployment.apps/bob");
  Delete(kDriver);
  kubernetes_.Settle();
  EXPECT_EQ(Ended("deployment/bob", "terminated").said, "cluster spark is being deleted");
}

TEST_F(DeleteTest, AnOwnerThatCantBeReadIsNotGone) {
  MakeEphemeral("deployment.apps/bob");
  Refuse("GET", "bob", 403);
  const DriverOutcome outcome = Ended("deployment/bob");
  EXPECT_EQ(outcome.exit, DriverExit::kFailed);
  EXPECT_TRUE(outcome.error.starts_with("owner deployment/bob unknown: ")) << outcome.error;
  EXPECT_TRUE(IsWhole());
}

TEST_F(DeleteTest, WhereTheOwnerIsUnknownNothingIsSaidForIt) {
  MakeEphemeral("deployment.apps/bob");
  Refuse("GET", "deployments?fieldSelector=metadata.name%3Dbob", 500, 1);
  const DriverOutcome outcome = Ended("deployment/bob");
  EXPECT_EQ(outcome.exit, DriverExit::kFailed);
  EXPECT_NE(outcome.error.find("unknown: "), std::string::npos) << outcome.error;
  EXPECT_TRUE(IsWhole());
}

// A container that was started again in the pod that had begun: that pod is one of the driver's.
TEST_F(DeleteTest, WhoIsStartedAgainJudgesItsOwnAgain) {
  MakeEphemeral("deployment.apps/bob");
  me_ = {"bob-1", MakePodOf("bob", "bob-1")};
  EXPECT_FALSE(Finish());
  MarkRoot("phase", "condemned");
  Annotate(kRoot, "condemned-by", me_.ToText());
  ASSERT_TRUE(Finish());
  EXPECT_EQ(Mark("phase"), "");
  EXPECT_TRUE(IsWhole());
  MarkRoot("phase", "deleting");
  Annotate(kRoot, "reason", "asked");
  Annotate(kRoot, "condemned-by", me_.ToText());
  clock_.elapsed += std::chrono::hours(1);
  Annotate(kRoot, "deleting-since", cluster_watcher::FormatTime(clock_.WallNow()));
  const auto finished = Finish();
  ASSERT_TRUE(finished);
  EXPECT_EQ(finished->said, "cluster spark is kept");
  EXPECT_EQ(Mark("phase"), "");
  EXPECT_TRUE(IsWhole());
}

TEST_F(DeleteTest, NoClusterNoDeletion) {
  settings_.settings.cluster = "dask";
  const DeleteRequest request{
      {"lab", DefaultProfile(), "dask"}, AppStatus{*OwnerName::Parse("bob"), "completed"}, false};
  EXPECT_EQ(Run(request).error, "no cluster dask");
  const DriverOutcome asked = Run({request.cluster, std::nullopt, false});
  EXPECT_EQ(asked.exit, DriverExit::kNoCluster);
  EXPECT_EQ(asked.error, "no cluster dask");
}

// The driver wants to run again between the look and the point of no return.
TEST_F(DeleteTest, WhoComesBackInTimeKeepsIt) {
  MakeEphemeral("deployment.apps/bob");
  Scale(kDriver, 0);
  kubernetes_.Settle();
  kubernetes_.on_answer = [this](const Request& request, const User&, Response&) {
    const bool is_mark =
        request.method == "PATCH" && request.body.find(R"("condemned")") != std::string::npos;
    if (is_mark) Scale(kDriver, 1);
  };
  EXPECT_EQ(Ended("bob", "terminated").said, "kept: active");
  EXPECT_TRUE(IsWhole());
  EXPECT_EQ(Mark("phase"), "");
}

TEST_F(DeleteTest, ItIsAlreadyBeingDeletedByWhoeverIsThere) {
  MakeEphemeral("deployment.apps/bob");
  const std::string pod = "spark-m-watcher";
  const std::string by = pod + "/" + MakePodOf("other", pod);
  MarkDeleting(by);
  const DriverOutcome outcome = Ended("bob");
  EXPECT_EQ(outcome.exit, DriverExit::kDone) << outcome.error;
  EXPECT_EQ(outcome.said, "already being deleted by " + by);
  EXPECT_TRUE(IsWhole());
  EXPECT_EQ(Mark("condemned-by"), by);
  EXPECT_EQ(Asked().said, "cluster spark is being deleted") << "at once, whoever is at it";
  EXPECT_TRUE(IsDeleted());
}

TEST_F(DeleteTest, WhatADeadPodHasBegunIsFinished) {
  MakeEphemeral("deployment.apps/bob");
  MarkDeleting("spark-m-gone/0123");
  EXPECT_EQ(Ended("bob").said, "cluster spark is being deleted");
  EXPECT_TRUE(IsDeleted());
}

// Nor is it being deleted by whom is gone, where we may not take it over.
TEST_F(DeleteTest, WhatCannotBeTakenOverIsNotSaidToGo) {
  MakeEphemeral("deployment.apps/bob");
  MarkDeleting("spark-m-gone/0123");
  Refuse("PATCH", "spark-m", 500);
  const DriverOutcome outcome = Ended("bob");
  EXPECT_EQ(outcome.exit, DriverExit::kFailed) << outcome.said;
  EXPECT_TRUE(IsWhole());
}

// By whom can't judge it isn't taken over, nor waited for by a program that is to run.
TEST_F(DeleteTest, WhatCannotBeJudgedIsNotTakenOver) {
  MakeEphemeral("deployment.apps/bob");
  MarkDeleting("spark-m-gone/0123");
  Refuse("GET", "deployments?fieldSelector=metadata.name%3Dbob", 500);
  clock_.At(clock_.elapsed + std::chrono::minutes(9), [this] { stop_.request_stop(); });
  const DriverOutcome outcome = Ended("bob");
  EXPECT_NE(outcome.error.find("unknown"), std::string::npos) << outcome.error << outcome.said;
  EXPECT_EQ(Mark("condemned-by"), "spark-m-gone/0123");
  me_ = {"bob-2", MakePodOf("bob", "bob-2")};
  EXPECT_FALSE(Finish());
  EXPECT_LT(clock_.elapsed, std::chrono::minutes(2));
}
TEST_F(DeleteTest, NorIsWhatCannotBeTakenOverWaitedForByAProgram) {
  MakeEphemeral("deployment.apps/bob");
  MarkDeleting("spark-m-gone/0123");
  Refuse("PATCH", "spark-m", 403);
  me_ = {"bob-2", MakePodOf("bob", "bob-2")};
  clock_.At(clock_.elapsed + std::chrono::minutes(9), [this] { stop_.request_stop(); });
  EXPECT_FALSE(Finish());
  EXPECT_LT(clock_.elapsed, std::chrono::minutes(2));
}

// Its root bears another cluster's label by now, and that one's marks.
TEST_F(DeleteTest, WhatHasBecomeAnotherClustersIsAmbiguous) {
  MakeEphemeral("deployment.apps/bob");
  MarkDeleting("cli/another");
  LabelObject(kRoot, R"("oshinko-cluster":"other")");
  clock_.At(clock_.elapsed + std::chrono::minutes(9), [this] { stop_.request_stop(); });
  waits_ = true;
  EXPECT_EQ(Ended("bob").said, "kept: ambiguous");
  EXPECT_TRUE(IsWhole());
}

// It may not delete: who has the right to finish the other's deletion is to find it as it was.
TEST_F(DeleteTest, AProgramTakesNothingOverThatItMayNotDelete) {
  MakeEphemeral("deployment.apps/bob");
  MarkDeleting("spark-m-gone/0123");
  Delete(kDriver);
  kubernetes_.Settle();
  me_ = {"alice-2", MakePodOf("alice", "alice-2")};
  Refuse("DELETE", "/", 403);
  kubernetes_.on_answer = [](const Request& request, const User&, Response& response) {
    if (request.target.find("selfsubject") == std::string::npos) return;
    response.body =
        std::regex_replace(response.body, std::regex("\"allowed\":true"), "\"allowed\":false");
  };
  clock_.At(clock_.elapsed + std::chrono::minutes(9), [this] { stop_.request_stop(); });
  EXPECT_FALSE(Finish());
  EXPECT_EQ(Mark("condemned-by"), "spark-m-gone/0123");
  EXPECT_LT(clock_.elapsed, std::chrono::minutes(9));
}

// Its watcher goes by the name of its pod, as we do there.
TEST_F(DeleteTest, InsideOfTheWatchersOwnPodNothingIsDeleted) {
  const std::string pod = NameOfPod();
  PutWatcherIntoPod(R"({"running":{}})");
  me_ = {pod, ObjectUid(kPods + ("/" + pod))};
  const DriverOutcome outcome = Asked();
  EXPECT_EQ(outcome.exit, DriverExit::kFailed) << outcome.said;
  EXPECT_TRUE(IsWhole());
}

TEST_F(DeleteTest, TheBrakeIsAHold) {
  MakeEphemeral("deployment.apps/bob");
  kubernetes_.brake = true;
  const DriverOutcome ended = Ended("bob");
  EXPECT_EQ(ended.exit, DriverExit::kDone);
  EXPECT_EQ(ended.said, "kept: held");
  const DriverOutcome asked = Asked();
  EXPECT_EQ(asked.exit, DriverExit::kFailed);
  EXPECT_TRUE(asked.error.starts_with("cluster spark is kept: ")) << asked.error;
  EXPECT_TRUE(IsWhole());
}

// --- Asked for ----------------------------------------------------------------------------------

// It was selected, and meanwhile another has got its name.
TEST_F(DeleteTest, OnlyTheClusterThatIsMeantGoes) {
  const std::string meant = ObjectUid(kRoot);
  const auto run = [&] { return Run({cluster_, std::nullopt, false, meant}); };
  ReplaceRoot();
  EXPECT_EQ(run().exit, DriverExit::kNoCluster);
  EXPECT_TRUE(IsWhole());
  Delete(kRoot);
  EXPECT_EQ(run().exit, DriverExit::kNoCluster) << "what is left isn't, either";
  EXPECT_TRUE(Exists(kWorker));
}

TEST_F(DeleteTest, WhatIsAskedForGoesWhateverKeepsIt) {
  MakeEphemeral("deployment.apps/bob");
  Annotate(kRoot, "hold-until", "2099-01-01T00:00:00Z");
  Annotate(kRoot, "keep", "true");
  MakeMap("kept", R"(,"annotations":{"cluster-watcher/keep":"true"})");
  std::string reason;
  Before("DELETE", "/", 1, [&] { reason = Mark("reason"); });
  const DriverOutcome outcome = Asked();
  EXPECT_EQ(outcome.exit, DriverExit::kDone) << outcome.error;
  EXPECT_EQ(reason, "asked");
  EXPECT_TRUE(IsDeleted());
  EXPECT_TRUE(MapExists("kept"));
  EXPECT_TRUE(Exists(kDriver));
}

TEST_F(DeleteTest, ItsEventsNameWhoAsked) {
  MakeEphemeral("deployment.apps/bob");
  EXPECT_EQ(Asked().exit, DriverExit::kDone);
  const std::string events =
      kubernetes_.Admin("GET", "/apis/events.k8s.io/v1/namespaces/lab/events").body;
  EXPECT_NE(events.find("Asked for by admin"), std::string::npos) << events;
}

TEST_F(DeleteTest, TheLastEventAndTheLastLineNameWhoAsked) {
  MakeEphemeral("deployment.apps/bob");
  waits_ = true;
  EXPECT_EQ(Asked().said, "cluster spark deleted");
  for (const char* reason : {"ClusterDeleting", "ClusterDeleted"}) {
    EXPECT_TRUE(LastNote(reason).ends_with(". Asked for by admin")) << LastNote(reason);
  }
  EXPECT_TRUE(log_text_.str().ends_with(". Asked for by admin\n")) << log_text_.str();
  EXPECT_EQ(kubernetes_.Count("POST", "selfsubjectreviews"), 1u) << "it is asked once";
}

TEST_F(DeleteTest, WhoMayNotAskWhoTheyAreDeletesAllTheSame) {
  waits_ = true;
  Refuse("POST", "selfsubjectreviews", 403);
  EXPECT_EQ(Asked().said, "cluster spark deleted");
  EXPECT_TRUE(IsDeleted());
  EXPECT_TRUE(
      LastNote("ClusterDeleted").ends_with(". Asked for by somebody who may not ask who they are"))
      << LastNote("ClusterDeleted");
}

TEST_F(DeleteTest, WhatIsCalledOffNamesWhoAskedForIt) {
  MakeEphemeral("deployment.apps/bob");
  Before("PATCH", "spark-m", 2, [this] { Annotate(kRoot, "hold-until", "2099-01-01T00:00:00Z"); });
  EXPECT_EQ(Ended("bob").said, "kept: held");
  EXPECT_TRUE(LastNote("ClusterSpared").ends_with(". Its deletion was asked for by admin"))
      << LastNote("ClusterSpared");
}

// Without a master root its end was told to nobody but who waited.
TEST_F(DeleteTest, WhatIsLeftWithoutAMasterRootIsTold) {
  Delete(kRoot);
  kubernetes_.Settle();
  Refuse("DELETE", "/services/", 403);
  EXPECT_EQ(Asked().exit, DriverExit::kFailed);
  const std::string note = LastNote("ClusterDeleting");
  EXPECT_NE(note.find("is not all deleted; left: service/spark: delete services"),
            std::string::npos)
      << note;
  EXPECT_TRUE(note.ends_with(". Its deletion was asked for by admin")) << note;
}

TEST_F(DeleteTest, WhoWaitsIsToldWhichFinalizerHoldsIt) {
  waits_ = true;
  MakeMap("held");
  HoldByFinalizer(kMaps + std::string("/held"));
  clock_.At(clock_.elapsed + std::chrono::minutes(20),
            [this] { Let(kMaps + std::string("/held")); });
  EXPECT_EQ(Asked().exit, DriverExit::kFailed);
  const std::string note = LastNote("ClusterDeleted");
  EXPECT_NE(note.find("configmap/held: not gone by the deadline, held by the finalizer "
                      "example.com/held"),
            std::string::npos)
      << note;
}

TEST_F(DeleteTest, ARootThatMustStayIsTriedOnceAndNamed) {
  MakeMap("kept", R"(,"annotations":{"cluster-watcher/keep":"true"},"ownerReferences":[)"
                  R"({"apiVersion":"apps/v1","kind":"Deployment","name":"spark-m","uid":")" +
                      ObjectUid(kRoot) + R"("}])");
  const DriverOutcome outcome = Asked();
  EXPECT_EQ(outcome.exit, DriverExit::kFailed) << outcome.said;
  EXPECT_NE(outcome.error.find("the master root stays: "), std::string::npos) << outcome.error;
  EXPECT_EQ(kubernetes_.Count("PATCH", kRoot), 3u) << "condemned, deleting, and back";
  EXPECT_TRUE(IsWhole());
}

TEST_F(DeleteTest, TheHoldThatIsPassedOverIsSaid) {
  MakeEphemeral("deployment.apps/bob");
  Annotate(kRoot, "hold-until", "2099-01-01T00:00:00Z");
  const DriverOutcome outcome = Asked();
  ASSERT_EQ(outcome.warnings.size(), 1u);
  EXPECT_TRUE(outcome.warnings[0].starts_with("passed over: ")) << outcome.warnings[0];
}

TEST_F(DeleteTest, AlsoOfAClusterWithoutARoot) {
  Delete(kRoot);
  kubernetes_.Settle();
  Annotate("/api/v1/namespaces/lab", "hold-until", "2099-01-01T00:00:00Z");
  const DriverOutcome outcome = Asked();
  EXPECT_EQ(outcome.exit, DriverExit::kDone) << outcome.error;
  ASSERT_EQ(outcome.warnings.size(), 1u);
  EXPECT_TRUE(outcome.warnings[0].starts_with("passed over: hold-until on the namespace"))
      << outcome.warnings[0];
}

TEST_F(DeleteTest, EvenAClusterWhoseOwnerIsUnknown) {
  MakeEphemeral("deployment.apps/bob");
  Refuse("GET", "bob", 403);
  EXPECT_EQ(Asked().said, "cluster spark is being deleted");
}

TEST_F(DeleteTest, WithoutAMasterRootWhatIsListedGoes) {
  Delete(kRoot);
  kubernetes_.Settle();
  MakeMap("kept", R"(,"annotations":{"cluster-watcher/keep":"true"})");
  kubernetes_.on_answer = [this](const Request& request, const User&, Response&) {
    // Somebody's new cluster of that name.
    if (request.method == "DELETE" && !MapExists("new")) MakeMap("new");
  };
  const DriverOutcome outcome = Asked();
  EXPECT_EQ(outcome.said, "cluster spark is being deleted") << outcome.error;
  EXPECT_FALSE(Exists(kWorker) || Exists(kService) || MapExists("spark-config"));
  EXPECT_TRUE(MapExists("kept"));
  EXPECT_TRUE(MapExists("new"));
}

TEST_F(DeleteTest, TheBrakeHoldsWhatHasNoMasterRootToo) {
  Delete(kRoot);
  kubernetes_.Settle();
  kubernetes_.brake = true;
  const DriverOutcome outcome = Asked();
  EXPECT_EQ(outcome.exit, DriverExit::kFailed);
  EXPECT_NE(outcome.error.find("brake"), std::string::npos) << outcome.error;
  EXPECT_TRUE(Exists(kWorker) && Exists(kService));
  kubernetes_.brake = false;
  EXPECT_EQ(Asked().exit, DriverExit::kDone);
  const std::string events =
      kubernetes_.Admin("GET", "/apis/events.k8s.io/v1/namespaces/lab/events").body;
  for (const char* reason : {"ClusterDeleting", "ClusterDeleted"}) {
    EXPECT_NE(events.find(reason), std::string::npos) << events;
  }
}

TEST_F(DeleteTest, WhatIsKeptIsNoCluster) {
  for (const char* path : {kRoot, kWorker, kService}) Delete(path);
  Delete(kMaps + std::string("/spark-config"));
  kubernetes_.Settle();
  MakeMap("kept", R"(,"annotations":{"cluster-watcher/keep":"true"})");
  EXPECT_EQ(Asked().error, "no cluster spark");
}

TEST_F(DeleteTest, OfSeveralMastersEachGoes) {
  const char* other = "/apis/apps/v1/namespaces/lab/deployments/spark-n";
  MakeWorkload("spark-n", R"("oshinko-cluster":"spark","oshinko-type":"master",)");
  LabelObject(other, R"("oshinko-cluster":"spark","oshinko-type":"master")");
  kubernetes_.Settle();
  EXPECT_EQ(Asked().said, "cluster spark is being deleted");
  EXPECT_TRUE(IsDeleted());
  EXPECT_FALSE(Exists(other));
}

TEST_F(DeleteTest, WhatMayNotBeDeletedIsSaidBefore) {
  small_kubernetes::Fault fault;
  fault.method = "POST";
  fault.contains = "selfsubjectaccessreviews";
  fault.times = 0;
  fault.response = {201,
                    R"({"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1",)"
                    R"("status":{"allowed":false}})",
                    "application/json", std::nullopt};
  kubernetes_.GetFaults().Add(fault);
  const DriverOutcome outcome = Asked();
  EXPECT_EQ(outcome.exit, DriverExit::kFailed);
  EXPECT_NE(outcome.error.find("needs in namespace lab the rules"), std::string::npos);
  EXPECT_NE(outcome.error.find(R"("services")"), std::string::npos) << outcome.error;
  EXPECT_EQ(outcome.error.find("cronjobs"), std::string::npos) << "the cluster has none";
  EXPECT_TRUE(IsWhole());
  EXPECT_EQ(Mark("phase"), "");
}

TEST_F(DeleteTest, ToldToStopInTimeItDeletesNothing) {
  Before("PATCH", "spark-m", 1, [this] { stop_.request_stop(); });
  const DriverOutcome outcome = Asked();
  EXPECT_EQ(outcome.exit, DriverExit::kFailed);
  EXPECT_TRUE(IsWhole());
}

// --- Waiting ------------------------------------------------------------------------------------

TEST_F(DeleteTest, MembersThatTerminateAreNotWaitedFor) {
  HoldByFinalizer(kWorker);
  const DriverOutcome outcome = Asked();
  EXPECT_EQ(outcome.said, "cluster spark is being deleted") << outcome.error;
  EXPECT_FALSE(Exists(kRoot));
  EXPECT_TRUE(Exists(kWorker));
}

TEST_F(DeleteTest, UnlessItIsToWait) {
  waits_ = true;
  HoldByFinalizer(kWorker);
  HoldByFinalizer(kRoot);
  bool worker_was_there = true;
  Before("DELETE", "spark-m", 1, [&] { worker_was_there = Exists(kWorker); });
  const auto on_request = kubernetes_.on_request;
  kubernetes_.on_request = [&, lists = 0](const Request& request, const User& user) mutable {
    on_request(request, user);
    if (request.method == "GET" && ++lists == 300) Let(kWorker);
    if (request.method == "GET" && lists == 900) Let(kRoot);
  };
  const DriverOutcome outcome = Asked();
  EXPECT_EQ(outcome.said, "cluster spark deleted") << outcome.error;
  EXPECT_FALSE(worker_was_there);
  EXPECT_TRUE(IsDeleted());
}

// Whoever makes a cluster of that name again makes the next one.
TEST_F(DeleteTest, WhoWaitsDoesNotWaitForWhatIsMadeMeanwhile) {
  waits_ = true;
  HoldByFinalizer(kRoot);
  Before("DELETE", "spark-m", 1, [this] {
    clock_.At(clock_.elapsed + std::chrono::seconds(5), [this] { MakeMap("next"); });
    clock_.At(clock_.elapsed + std::chrono::seconds(10), [this] { Let(kRoot); });
    clock_.At(clock_.elapsed + std::chrono::hours(1), [this] { stop_.request_stop(); });
  });
  const DriverOutcome outcome = Asked();
  EXPECT_EQ(outcome.said, "cluster spark deleted") << outcome.error;
  EXPECT_TRUE(MapExists("next"));
}

TEST_F(DeleteTest, WhoWaitsIsToldWhatMayNotBeDeleted) {
  waits_ = true;
  Refuse("DELETE", "/services/", 403);
  const DriverOutcome outcome = Asked();
  EXPECT_EQ(outcome.exit, DriverExit::kFailed) << outcome.said;
  EXPECT_NE(outcome.error.find("not all deleted; left: service/"), std::string::npos)
      << outcome.error;
  EXPECT_FALSE(Exists(kRoot));
}

TEST_F(DeleteTest, WhoWaitsDoesNotWaitForAKindThatCannotBeListed) {
  waits_ = true;
  Refuse("GET", "/horizontalpodautoscalers?", 500);
  clock_.At(clock_.elapsed + std::chrono::hours(1), [this] { stop_.request_stop(); });
  const DriverOutcome outcome = Asked();
  EXPECT_EQ(outcome.error.find("told to stop"), std::string::npos) << outcome.error;
  EXPECT_TRUE(IsDeleted());
}

TEST_F(DeleteTest, WhoWaitsIsToldWhichKindCouldNotBeListedInTheEnd) {
  waits_ = true;
  Before("DELETE", "spark-m", 1, [this] { Refuse("GET", "/horizontalpodautoscalers?", 500); });
  const DriverOutcome outcome = Asked();
  EXPECT_EQ(outcome.exit, DriverExit::kFailed) << outcome.said;
  EXPECT_NE(outcome.error.find("horizontalpodautoscalers"), std::string::npos) << outcome.error;
  EXPECT_FALSE(Exists(kRoot));
}

// Right before it was condemned, or right behind that. Whose the rest is, its marks no longer say.
TEST_F(DeleteTest, WhoeverAsksIsToldThatSomebodyDeletedTheRoot) {
  ExpectToBeToldThatTheRootIsGone(1, [this] { return Asked(); });
}
TEST_F(DeleteTest, AlsoIfItWasCondemned) {
  ExpectToBeToldThatTheRootIsGone(2, [this] { return Asked(); });
}
TEST_F(DeleteTest, SoIsAnApplication) {
  MakeEphemeral("deployment.apps/bob");
  ExpectToBeToldThatTheRootIsGone(1, [this] { return Ended("bob"); });
}
// Whose deletion was taken over deletes nothing any more.
TEST_F(DeleteTest, AlsoIfItWasTakenOverFromADeadWatcher) {
  MakeEphemeral("deployment.apps/bob");
  MarkDeleting("dead/0b0e", "owner-absent");
  clock_.At(clock_.elapsed + std::chrono::seconds(3), [this] {
    Delete(kRoot);
    kubernetes_.Settle();
  });
  const DriverOutcome outcome = Ended("bob");
  EXPECT_EQ(outcome.exit, DriverExit::kFailed) << outcome.said;
  EXPECT_TRUE(Exists(kWorker));
}
// Its driver is one that the rest doesn't name.
TEST_F(DeleteTest, TheOwnerStaysWhereSomebodyDeletesTheRoot) {
  LabelObject(kDriver, R"("oshinko-cluster":"spark")");
  LabelObject(kRoot, R"("ephemeral":"bob")");
  Before("PATCH", "spark-m", 1, [this] { Delete(kRoot); });
  Asked();
  EXPECT_TRUE(Exists(kDriver));
}
TEST_F(DeleteTest, WhereNothingIsLeftThenItIsDone) {
  Before("PATCH", "spark-m", 1, [this] {
    for (const char* path : {kRoot, kWorker, kService}) Delete(path);
    kubernetes_.Settle();
  });
  const DriverOutcome outcome = Asked();
  EXPECT_EQ(outcome.exit, DriverExit::kDone) << outcome.error;
}

TEST_F(DeleteTest, WhoWaitsIsToldWhatIsLeftWhereSomebodyDeletesTheRootMeanwhile) {
  waits_ = true;
  HoldByFinalizer(kWorker);
  clock_.At(clock_.elapsed + std::chrono::seconds(20), [this] {
    Delete(kRoot);
    MakeMap("late");
  });
  const DriverOutcome outcome = Asked();
  EXPECT_EQ(outcome.exit, DriverExit::kFailed) << outcome.said;
  EXPECT_NE(outcome.error.find("somebody deleted the master root; left: configmap/late"),
            std::string::npos)
      << outcome.error;
}

// All but the root was gone, and its pods end later.
TEST_F(DeleteTest, WhoWaitsWaitsAlsoWhereSomebodyElseDeletesTheRoot) {
  waits_ = true;
  Before("DELETE", "spark-m", 1, [this] { Delete(kRoot); });
  const std::string pod = kPods + ("/" + std::string("late"));
  kubernetes_.Apply(R"({"apiVersion":"v1","kind":"Pod",)" +
                    Meta("late", R"(,"finalizers":["example.com/held"],)"
                                 R"("labels":{"oshinko-cluster":"spark"})") +
                    R"(,"spec":{"containers":[{"name":"m","image":"x"}]}})");
  bool was_there = false;
  clock_.At(clock_.elapsed + std::chrono::minutes(2), [&] {
    was_there = Exists(pod);
    Let(pod);
  });
  const DriverOutcome outcome = Asked();
  EXPECT_EQ(outcome.exit, DriverExit::kDone) << outcome.error;
  EXPECT_TRUE(was_there);
  EXPECT_FALSE(Exists(pod));
}

// Whoever began it is dead.
TEST_F(DeleteTest, WhoWaitsIsToldWhatMayNotBeDeletedOfADeletionThatIsResumed) {
  waits_ = true;
  MarkDeleting("spark-m-watcher/gone");
  MakeEphemeral("deployment.apps/bob");
  Annotate(kRoot, "recorded-owner",
           R"({\"kind\":\"deployment.apps\",\"namespace\":\"lab\",\"name\":\"bob\",\"uid\":\")" +
               ObjectUid(kDriver) + R"(\"})");
  Refuse("DELETE", "/services/", 403);
  const DriverOutcome outcome = Ended("bob");
  EXPECT_EQ(outcome.exit, DriverExit::kFailed) << outcome.said;
  EXPECT_NE(outcome.error.find("not all deleted; left: service/"), std::string::npos)
      << outcome.error;
}

TEST_F(DeleteTest, WhoWaitsWaitsForAnothersDeletionToo) {
  MakeEphemeral("deployment.apps/bob");
  waits_ = true;
  const std::string by = "spark-m-watcher/" + MakePodOf("other", "spark-m-watcher");
  MarkDeleting(by);
  kubernetes_.on_request = [&, lists = 0](const Request& request, const User&) mutable {
    if (request.method != "GET" || ++lists != 400) return;
    for (const char* path : {kWorker, kService, kRoot}) Delete(path);
    Delete(kMaps + std::string("/spark-config"));
    kubernetes_.Settle();
  };
  const DriverOutcome outcome = Ended("bob");
  EXPECT_EQ(outcome.exit, DriverExit::kDone) << outcome.error;
  EXPECT_TRUE(IsDeleted());
}

// Ctrl-C, where a finalizer of somebody else's holds a member.
TEST_F(DeleteTest, WhoWaitsCanBeToldToStop) {
  waits_ = true;
  HoldByFinalizer(kWorker);
  const MonotonicTime began = clock_.Now();
  clock_.At(clock_.elapsed + std::chrono::seconds(20), [this] { stop_.request_stop(); });
  const DriverOutcome outcome = Asked();
  EXPECT_EQ(outcome.exit, DriverExit::kFailed);
  EXPECT_EQ(outcome.error, "told to stop: cluster spark is being deleted");
  EXPECT_LT(clock_.Now() - began, std::chrono::seconds(30));
  EXPECT_FALSE(Exists(kRoot) && Read(kRoot).body.find("deletionTimestamp") == std::string::npos)
      << "all that can be is done";
}

// It ends by itself once it no longer waits, and not all is gone then.
TEST_F(DeleteTest, WithoutAMasterRootToo) {
  waits_ = true;
  Delete(kRoot);
  kubernetes_.Settle();
  HoldByFinalizer(kWorker);
  clock_.At(clock_.elapsed + std::chrono::seconds(20), [this] { stop_.request_stop(); });
  const DriverOutcome outcome = Asked();
  EXPECT_EQ(outcome.exit, DriverExit::kFailed) << outcome.said;
  EXPECT_EQ(outcome.error, "told to stop: cluster spark is being deleted");
}

// --- Steps --------------------------------------------------------------------------------------

TEST_F(DeleteTest, StepsThatOnlyTheMasterReachesFailAtOnce) {
  Annotate(kRoot, "before-delete",
           R"([{\"name\":\"drain\",\"http\":{\"url\":\"http://127.0.0.1:8080/\"},)"
           R"(\"onFailure\":\"retry\"}])");
  const MonotonicTime began = clock_.Now();
  EXPECT_EQ(Asked().said, "cluster spark is being deleted");
  EXPECT_LT(clock_.Now() - began, std::chrono::seconds(10));
  EXPECT_NE(
      log_text_.str().find("drain: http://127.0.0.1:8080 is reached only from the master pod"),
      std::string::npos)
      << log_text_.str();
}

TEST_F(DeleteTest, StepsCanBePassedOver) {
  steps_at_ = StepsAt::kNowhere;
  Annotate(kRoot, "before-delete",
           R"([{\"name\":\"drain\",\"http\":{\"url\":\"http://spark:8080/\"},)"
           R"(\"onFailure\":\"retry\"}])");
  EXPECT_EQ(Asked().said, "cluster spark is being deleted");
  EXPECT_EQ(log_text_.str().find("drain"), std::string::npos) << log_text_.str();
}

// --- Beside other pods, other commands and new clusters of the name -----------------------------

// A rollout: the new pod's `run` has awaited and claimed the cluster, and its program runs. Then
// the old pod's program ends by itself, and its `run` says so.
TEST_F(DeleteTest, TheOldPodOfARolloutSaysNothingForTheNewOne) {
  MakeEphemeral("deployment.apps/bob");
  caller_uid_ = MakePodOf("bob", "bob-old");
  MakePodOf("bob", "bob-new");
  EXPECT_EQ(Await(tools_, cluster_, *OwnerName::Parse("deployment/bob"), Duration(1000)).exit,
            DriverExit::kDone);
  EXPECT_EQ(Claim(tools_, cluster_, *OwnerName::Parse("deployment/bob"), false).exit,
            DriverExit::kDone);
  const DriverOutcome outcome = Ended("deployment/bob");
  EXPECT_TRUE(IsWhole()) << outcome.said << ": pod/bob-new is using it";
}

// One of the pods of a Job that run side by side has done its part.
TEST_F(DeleteTest, OnePodOfAParallelJobSaysNothingForTheOthers) {
  kubernetes_.Apply(R"({"apiVersion":"batch/v1","kind":"Job",)" + Meta("etl", "") +
                    R"(,"spec":{"parallelism":2,"completions":2,"template":{"metadata":{"labels":)"
                    R"({"app":"etl"}},"spec":{"restartPolicy":"Never","containers":)"
                    R"([{"name":"m","image":"x"}]}}}})");
  kubernetes_.Settle();
  MakeEphemeral("job.batch/etl");
  const std::string uid = ObjectUid("/apis/batch/v1/namespaces/lab/jobs/etl");
  const auto make = [&](const std::string& name) {
    kubernetes_.Apply(
        R"({"apiVersion":"v1","kind":"Pod",)" +
        Meta(name,
             R"(,"labels":{"app":"etl","job-name":"etl","controller-uid":")" + uid +
                 R"(","batch.kubernetes.io/controller-uid":")" + uid +
                 R"("},"ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":"etl",)"
                 R"("uid":")" +
                 uid + R"(","controller":true}])") +
        R"(,"spec":{"containers":[{"name":"m","image":"x"}]},"status":{"phase":"Running"}})");
    return ObjectUid(kPods + ("/" + name));
  };
  caller_uid_ = make("etl-1");
  make("etl-2");
  const DriverOutcome outcome = Ended("job/etl");
  EXPECT_TRUE(IsWhole()) << outcome.said << outcome.error << ": pod/etl-2 is using it";
}

// `run` claimed for the Deployment that it found. That was deleted with --cascade=orphan, or
// replaced by force, and the new one's pod uses the cluster.
TEST_F(DeleteTest, AnEndedDriverSaysNothingForTheNextOneOfItsName) {
  MakeEphemeral("deployment.apps/bob");
  caller_uid_ = MakePodOf("bob", "bob-old");
  auto ready = MakeReady(
      tools_, {cluster_, *OwnerName::Parse("deployment/bob"), std::nullopt, false, Duration(1000)});
  ASSERT_TRUE(ready);
  Delete(kDriver);
  kubernetes_.Settle();
  MakeDriver();
  kubernetes_.Settle();
  ASSERT_TRUE(MakeReady(tools_, {cluster_, *OwnerName::Parse("deployment/bob"), std::nullopt, false,
                                 Duration(1000)}));
  const DriverOutcome outcome = Run({cluster_, AppStatus{ready->app, "completed"}, false});
  EXPECT_TRUE(IsWhole()) << outcome.said << ": the new Deployment's pod is using it";
}

// As long as a kind can't be listed each pass counts as the first.
TEST_F(DeleteTest, WithoutARootANewClusterSurvivesAKindThatCantBeListed) {
  Delete(kRoot);
  kubernetes_.Settle();
  Refuse("GET", "/horizontalpodautoscalers?", 500);
  const MonotonicTime began = clock_.Now();
  kubernetes_.on_request = [this, began, done = false](const Request&, const User&) mutable {
    // Somebody has completed the cluster meanwhile.
    const bool is_later = clock_.Now() - began >= std::chrono::minutes(1);
    if (!is_later || std::exchange(done, true)) return;
    MakeRoot();
    LabelObject(kRoot, R"("oshinko-cluster":"spark","oshinko-type":"master")");
    kubernetes_.Settle();
  };
  const DriverOutcome outcome = Asked();
  EXPECT_TRUE(Exists(kRoot)) << outcome.said << outcome.error;
}

// What had no master when we looked has one when its members are listed.
TEST_F(DeleteTest, AMasterThatIsMadeMeanwhileIsNotListed) {
  Delete(kRoot);
  kubernetes_.Settle();
  Before("POST", "selfsubjectaccessreviews", 1, [this] {
    MakeRoot();
    LabelObject(kRoot, R"("oshinko-cluster":"spark","oshinko-type":"master")");
    kubernetes_.Settle();
  });
  const DriverOutcome outcome = Asked();
  EXPECT_TRUE(Exists(kRoot)) << outcome.said << ": it was deleted without any marks";
}

// What owns a kept object stays, and is named.
TEST_F(DeleteTest, WithoutARootAKeptObjectKeepsItsOwner) {
  Delete(kRoot);
  kubernetes_.Settle();
  MakeMap("kept", R"(,"annotations":{"cluster-watcher/keep":"true"},"ownerReferences":[)"
                  R"({"apiVersion":"apps/v1","kind":"Deployment","name":"spark-w","uid":")" +
                      ObjectUid(kWorker) + R"("}])");
  int wrong = 0;
  kubernetes_.on_answer = [&](const Request& request, const User&, Response& response) {
    if (request.method == "PATCH" && response.status >= 400) ++wrong;
  };
  const MonotonicTime began = clock_.Now();
  const DriverOutcome outcome = Asked();
  EXPECT_NE(outcome.error.find("not all deleted"), std::string::npos) << outcome.said;
  EXPECT_TRUE(Exists(kWorker));
  EXPECT_TRUE(MapExists("kept"));
  EXPECT_LT(clock_.Now() - began, std::chrono::minutes(1));
  EXPECT_EQ(wrong, 0) << "marks were written on what is not there";
}

// The owner is never deleted.
TEST_F(DeleteTest, OfSeveralMastersTheOwnerStays) {
  LabelObject(kDriver, R"("oshinko-cluster":"spark")");
  MakeWorkload("spark-n", R"("oshinko-cluster":"spark","oshinko-type":"master",)");
  LabelObject("/apis/apps/v1/namespaces/lab/deployments/spark-n",
              R"("oshinko-cluster":"spark","oshinko-type":"master")");
  MakeEphemeral("deployment.apps/bob");
  kubernetes_.Settle();
  EXPECT_EQ(Asked().said, "cluster spark is being deleted");
  EXPECT_TRUE(Exists(kDriver));
}
// The master pod is evicted, or rolled out again, while the command is at it.
TEST_F(DeleteTest, AMasterPodThatIsReplacedMeanwhileChangesNothing) {
  MakeEphemeral("deployment.apps/bob");
  kubernetes_.on_answer = [this, done = false](const Request& request, const User&,
                                               Response&) mutable {
    const bool is_mark =
        request.method == "PATCH" && request.body.find(R"("condemned")") != std::string::npos;
    if (!is_mark || std::exchange(done, true)) return;
    Delete(kPods + ("/" + NameOfPod()));
    kubernetes_.Settle();
  };
  const DriverOutcome outcome = Ended("bob");
  EXPECT_EQ(outcome.said, "cluster spark is being deleted") << outcome.error;
  EXPECT_EQ(Exists(kRoot) ? Mark("phase") : "", "") << "left behind";
}
TEST_F(DeleteTest, NorDoesItAfterThePointOfNoReturn) {
  MakeEphemeral("deployment.apps/bob");
  kubernetes_.on_answer = [this, done = false](const Request& request, const User&,
                                               Response&) mutable {
    const bool is_mark =
        request.method == "PATCH" && request.body.find(R"("deleting")") != std::string::npos;
    if (!is_mark || std::exchange(done, true)) return;
    Delete(kPods + ("/" + NameOfPod()));
    kubernetes_.Settle();
  };
  const DriverOutcome outcome = Asked();
  EXPECT_EQ(outcome.said, "cluster spark is being deleted") << outcome.error;
  EXPECT_EQ(Exists(kRoot) ? Mark("phase") : "", "") << "left behind";
}

// It is spared by who had begun it: its driver is back.
TEST_F(DeleteTest, WhoWaitsForAnothersDeletionEndsWhereThatIsCalledOff) {
  MakeEphemeral("deployment.apps/bob");
  waits_ = true;
  MarkDeleting("spark-m-watcher/" + MakePodOf("other", "spark-m-watcher"));
  const MonotonicTime began = clock_.Now();
  kubernetes_.on_request = [&, off = false](const Request&, const User&) mutable {
    if (clock_.Now() - began > std::chrono::seconds(30) && !std::exchange(off, true)) {
      Patch(kRoot, R"({"metadata":{"annotations":{"cluster-watcher/phase":null,)"
                   R"("cluster-watcher/condemned-by":null}}})");
    }
    if (clock_.Now() - began > std::chrono::hours(2)) stop_.request_stop();
  };
  const DriverOutcome outcome = Asked();
  EXPECT_LT(clock_.Now() - began, std::chrono::hours(1)) << outcome.error;
}

// What controls it now is the root.
TEST_F(DeleteTest, WhoWaitsIsNotToldToStopWhereTheRootIsNoneAnyMore) {
  waits_ = true;
  MakeWorkload("above", R"("oshinko-cluster":"spark",)");
  LabelObject("/apis/apps/v1/namespaces/lab/deployments/above", R"("oshinko-cluster":"spark")");
  Before("PATCH", "spark-m", 1, [this] {
    Patch(kRoot, R"({"metadata":{"ownerReferences":[{"apiVersion":"apps/v1","kind":"Deployment",)"
                 R"("name":"above","controller":true,"uid":")" +
                     ObjectUid("/apis/apps/v1/namespaces/lab/deployments/above") + R"("}]}})");
  });
  const DriverOutcome outcome = Asked();
  EXPECT_EQ(outcome.exit, DriverExit::kFailed) << outcome.said;
  EXPECT_EQ(outcome.error,
            "cluster spark is not deleted: its deletion was called off, or takes too long: delete "
            "it again");
  EXPECT_TRUE(IsWhole());
}

// Whoever began it, another command, is dead, and nobody watches the cluster.
TEST_F(DeleteTest, WhoWaitsForADeadCommandTakesOverInTheEnd) {
  waits_ = true;
  MarkDeleting("cli/dead", "asked");
  const MonotonicTime began = clock_.Now();
  kubernetes_.on_request = [&](const Request&, const User&) {
    if (clock_.Now() - began > std::chrono::hours(2)) stop_.request_stop();
  };
  const DriverOutcome outcome = Asked();
  EXPECT_TRUE(IsDeleted()) << outcome.error;
}

// `kubectl delete --cascade=foreground` of the master alone, or a finalizer on it.
TEST_F(DeleteTest, WhatIsLeftOfAClusterWhoseMasterIsGoingIsNobodys) {
  MakeEphemeral("deployment.apps/bob");
  HoldByFinalizer(kRoot);
  Delete(kRoot);
  const DriverOutcome outcome = Ended("bob");
  EXPECT_EQ(outcome.exit, DriverExit::kDone) << outcome.error;
  EXPECT_FALSE(Exists(kWorker)) << outcome.said << ", and nobody does";
}

// A dry run of the watcher's: its pod says so.
TEST_F(DeleteTest, AMasterOnADryRunIsNotDeletedByItsDriver) {
  MakeEphemeral("deployment.apps/bob");
  settings_.settings.dry_run = true;
  const DriverOutcome outcome = Ended("bob");
  EXPECT_TRUE(IsWhole()) << outcome.said;
}

// Somebody put it on a dry run after a scare. The program is to run.
TEST_F(DeleteTest, WhatIsOnADryRunByNowIsNotWaitedFor) {
  MakeEphemeral("deployment.apps/bob");
  me_ = {"bob-2", MakePodOf("bob", "bob-2")};
  MarkRoot("phase", "deleting");
  Annotate(kRoot, "condemned-by", me_.ToText());
  With([&](const DeletionWork& work) {
    clock_.At(clock_.elapsed + std::chrono::minutes(9), [this] { stop_.request_stop(); });
    settings_.settings.dry_run = true;  // as its pod is annotated
    FinishOwnDeletion(work, cluster_);
  });
  EXPECT_LT(clock_.elapsed, std::chrono::minutes(9));
}

// `run` finishes what it had begun before its container was started again, makes the cluster again,
// and deletes that when its program has ended. One Observer lives through all of it.
TEST_F(DeleteTest, WhoFinishesItsOwnDeletesTheNextOneToo) {
  MakeEphemeral("deployment.apps/bob");
  const std::string pod = NameOfPod("bob");
  me_ = {pod, ObjectUid(kPods + ("/" + pod))};
  caller_uid_ = me_.uid;
  MarkRoot("phase", "condemned");
  Annotate(kRoot, "condemned-by", me_.ToText());
  With([&](const DeletionWork& work) {
    ASSERT_TRUE(FinishOwnDeletion(work, cluster_));
    // The cluster is used for a day. Its master's pod is evicted meanwhile.
    Delete(kPods + ("/" + NameOfPod()));
    kubernetes_.Settle();
    const DriverOutcome outcome = cluster_watcher::Delete(
        work, {cluster_, AppStatus{*OwnerName::Parse("deployment/bob"), "completed"}, false});
    EXPECT_EQ(outcome.said, "cluster spark is being deleted") << outcome.error;
  });
}

// Ctrl-C behind the condemnation. Where no watcher is, nobody takes it off, and each driver's
// `await` and `claim` come to 12.
TEST_F(DeleteTest, WhoIsToldToStopTakesItsCondemnationOff) {
  Before("PATCH", "spark-m", 1, [this] { stop_.request_stop(); });
  EXPECT_EQ(Asked().exit, DriverExit::kFailed);
  EXPECT_EQ(Mark("phase"), "");
}

// The driver's pod was killed while its `run` deleted the cluster; no watcher is there.
TEST_F(DeleteTest, TheNextPodOfADriverCallsOffWhatTheFormerBegan) {
  MakeEphemeral("deployment.apps/bob");
  MarkDeleting("bob-old/0123", "completed");
  me_ = {"bob-2", MakePodOf("bob", "bob-2")};
  clock_.elapsed += std::chrono::minutes(20);
  With([&](const DeletionWork& work) {
    EXPECT_FALSE(FinishOwnDeletion(work, cluster_)) << "the driver runs again";
    const auto ready = MakeReady(tools_, {cluster_, *OwnerName::Parse("deployment/bob"),
                                          std::nullopt, false, std::chrono::minutes(30)});
    EXPECT_TRUE(ready) << ready.error().error;
  });
  EXPECT_EQ(Mark("phase"), "");
}

// A master whose template alone says that it is one, as `create` applies it, and whose pod is just
// being rescheduled, is no cluster without a master.
TEST_F(DeleteTest, AMasterWithoutAPodAtTheMomentIsDeletedAsOne) {
  LabelObject(kRoot, R"("oshinko-cluster":"spark","oshinko-type":null)");
  Annotate(kRoot, "before-delete",
           R"([{\"name\":\"drain\",\"http\":{\"url\":\"http://spark:8080/\"}}])");
  Scale(kRoot, 0);
  kubernetes_.Settle();
  std::string phase = "-";
  Before("DELETE", "/", 1, [&] { phase = Mark("phase"); });
  EXPECT_EQ(Asked().said, "cluster spark is being deleted");
  EXPECT_EQ(phase, "deleting");
  EXPECT_NE(log_text_.str().find("drain"), std::string::npos) << "its steps are run";
}

// A world in which one request fails for the moment, before or after its effect.
class FailingDelete : public DeleteTest {
 public:
  // Whether the deletion got as far as its request number `n`.
  bool FailRequest(int n, bool by_rules, bool with_effect) {
    MakeEphemeral("deployment.apps/bob");
    const Response error{500, R"({"kind":"Status","apiVersion":"v1","code":500})",
                         "application/json", std::nullopt};
    int count = 0;
    kubernetes_.on_answer = [&](const Request& request, const User&, Response& response) {
      if (++count != n) return;
      which = std::string(request.method) + " " + std::string(request.target);
      if (with_effect) response = error;
    };
    if (!with_effect) {
      small_kubernetes::Fault fault;
      fault.skip = n - 1;
      fault.response = error;
      kubernetes_.GetFaults().Add(fault);
    }
    const MonotonicTime began = clock_.Now();
    said = (by_rules ? Ended("bob") : Asked()).said;
    took = clock_.Now() - began;
    return count >= n;
  }
  using DeleteTest::IsDeleted;

  std::string which;  // of the requests failed
  std::string said;
  MonotonicTime::duration took{};

 private:
  void TestBody() override {}
};

TEST(DeleteWithOneFailureTest, NoneHoldsItUp) {
  for (const auto& [by_rules, with_effect] :
       {std::pair(false, false), {false, true}, {true, false}, {true, true}}) {
    bool was_sent = true;
    for (int n = 1; was_sent; n += 7) {
      FailingDelete world;
      was_sent = world.FailRequest(n, by_rules, with_effect);
      EXPECT_EQ(world.said, "cluster spark is being deleted") << world.which;
      EXPECT_TRUE(world.IsDeleted()) << world.which;
      EXPECT_LT(world.took, std::chrono::minutes(1)) << world.which;
    }
  }
}

// The API server was overloaded for some seconds when `run` began, or the account may not read
// pods. Hours later the old pod of a rollout ends.
TEST_F(DeleteTest, WhoCantReadItsPodSpeaksForNoOtherOne) {
  MakeEphemeral("deployment.apps/bob");
  MakePodOf("bob", "bob-old");
  MakePodOf("bob", "bob-new");
  Refuse("GET", "/pods/bob-old", 503);
  const Actor actor = WhoActs(tools_, "lab", [](const std::string& name) {
    return name == "POD_NAME" ? std::optional<std::string>("bob-old") : std::nullopt;
  });
  kubernetes_.GetFaults().Clear();
  caller_uid_ = actor.pod_uid;
  caller_ = actor.pod;
  me_ = actor.id;
  const DriverOutcome outcome = Ended("deployment/bob");
  EXPECT_TRUE(IsWhole()) << outcome.said << ": pod/bob-new is using it";
}

// Bob's word is not about a cluster that is alice's by the time of the first look. She is to be
// scaled up in a moment; her own grace period is an hour.
TEST_F(DeleteTest, ItsWordIsNotAboutAClusterThatHasBecomeAnothers) {
  MakeEphemeral("deployment.apps/bob");
  MakeWorkload("alice", "");
  Scale("/apis/apps/v1/namespaces/lab/deployments/alice", 0);
  kubernetes_.Settle();
  settings_.settings.grace_period = std::chrono::hours(1);
  Before("GET", "namespaces/lab/deployments/spark-m", 2,
         [&] { MakeEphemeral("deployment.apps/alice"); });
  const DriverOutcome outcome = Ended("deployment/bob");
  kubernetes_.on_request = nullptr;
  EXPECT_EQ(outcome.exit, DriverExit::kFailed) << outcome.said;
  EXPECT_TRUE(IsWhole()) << "it belongs to alice";
}

// The pod template alone says whose it is, and says that it is alice's by the second look: her
// driver runs.
TEST_F(DeleteTest, NorAboutOneWhoseTemplateSaysSo) {
  MakeWorkload("alice", "");
  const auto give_to = [this](const std::string& owner) {
    Patch(kRoot, R"({"spec":{"strategy":{"type":"Recreate"},"template":{"metadata":)"
                 R"({"annotations":{"cluster-watcher/owner":")" +
                     owner + R"("}}}}})");
  };
  give_to("deployment.apps/bob");
  kubernetes_.Settle();
  Before("PATCH", "spark-m", 1, [&] {
    give_to("deployment.apps/alice");
    kubernetes_.Settle();
  });
  const DriverOutcome outcome = Ended("deployment/bob");
  kubernetes_.on_request = nullptr;
  EXPECT_EQ(outcome.exit, DriverExit::kFailed) << outcome.said;
  EXPECT_TRUE(IsWhole()) << "it belongs to alice";
}

// Nor about another one of its owner's name, which was made while that ended.
TEST_F(DeleteTest, NorAboutTheNextOwnerOfThatName) {
  MakeEphemeral("deployment.apps/bob");
  Before("GET", "namespaces/lab/deployments/spark-m", 2, [&] {
    Delete(kDriver);
    MakeDriver();
    kubernetes_.Settle();
  });
  const DriverOutcome outcome = Ended("deployment/bob");
  kubernetes_.on_request = nullptr;
  EXPECT_TRUE(IsWhole()) << outcome.said;
}

TEST_F(DeleteTest, NorAboutOneThatIsMadeWhileItsOwnIsGone) {
  MakeEphemeral("deployment.apps/bob");
  Delete(kDriver);
  kubernetes_.Settle();
  Before("GET", "namespaces/lab/deployments/spark-m", 2, [&] {
    MakeDriver();
    kubernetes_.Settle();
  });
  const DriverOutcome outcome = Ended("deployment/bob");
  kubernetes_.on_request = nullptr;
  EXPECT_EQ(outcome.exit, DriverExit::kFailed) << outcome.said;
  EXPECT_TRUE(IsWhole());
}

// A name alone may mean a Deployment, but no ReplicaSet.
TEST_F(DeleteTest, NorAboutOneOfAnotherKindWhileItsOwnIsGone) {
  Delete(kDriver);
  kubernetes_.Apply(
      R"({"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"bob","namespace":"lab"},)"
      R"("spec":{"replicas":1,"selector":{"matchLabels":{"app":"b"}},"template":{"metadata":)"
      R"({"labels":{"app":"b"}},"spec":{"containers":[{"name":"m","image":"x"}]}}}})");
  kubernetes_.Settle();
  MakeEphemeral("replicaset.apps/bob");
  const DriverOutcome outcome = Ended("bob");
  EXPECT_EQ(outcome.exit, DriverExit::kFailed) << outcome.said;
  EXPECT_TRUE(IsWhole());
}

// What was not found where it is looked for by its name alone is no other one for that.
TEST_F(DeleteTest, ButItIsAboutAnOwnerThatIsElsewhere) {
  kubernetes_.Apply(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"home"}})");
  kubernetes_.Apply(
      R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"ann","namespace":"home",)"
      R"("labels":{"app":"ann"}},"spec":{"replicas":1,"selector":{"matchLabels":{"app":"ann"}},)"
      R"("template":{"metadata":{"labels":{"app":"ann"}},"spec":{"containers":)"
      R"([{"name":"m","image":"x"}]}}}})");
  kubernetes_.Settle();
  settings_.settings.owner_namespace = "home";
  MakeEphemeral("deployment.apps/ann");
  EXPECT_EQ(Ended("deployment/ann").said, "cluster spark is being deleted");
}

// Its watcher may look for the driver elsewhere, or be on a dry run.
TEST_F(DeleteTest, NoApplicationsWordCountsWhereSettingsCanNotBeSeen) {
  MakeEphemeral("deployment.apps/bob");
  Patch(kRoot, R"({"spec":{"template":{"spec":{"initContainers":[{"name":"cluster-watcher",)"
               R"("image":"w","restartPolicy":"Always","envFrom":[{"configMapRef":)"
               R"({"name":"watchers"}}]}]}}}})");
  Delete(kDriver);
  kubernetes_.Settle();
  const DriverOutcome outcome = Ended("deployment/bob", "terminated");
  EXPECT_NE((outcome.said + outcome.error).find("envFrom"), std::string::npos)
      << outcome.said << outcome.error;
  EXPECT_TRUE(IsWhole());
  Asked();
  EXPECT_TRUE(IsDeleted()) << "a person's word";
}

// A bare name was found as a StatefulSet, before a Deployment was called so.
TEST_F(DeleteTest, OneOfItsNameSaysNothingForTheOwnerThatWasSeen) {
  kubernetes_.Apply(
      R"({"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"bob","namespace":"lab"},)"
      R"("spec":{"replicas":1,"selector":{"matchLabels":{"app":"b"}},"template":{"metadata":)"
      R"({"labels":{"app":"b"}},"spec":{"containers":[{"name":"m","image":"x"}]}}}})");
  kubernetes_.Settle();
  LabelObject(kRoot, R"("ephemeral":"bob")");
  MarkRoot("recorded-owner",
           R"({\"kind\":\"statefulset.apps\",\"namespace\":\"lab\",\"name\":\"bob\",)"
           R"(\"uid\":\")" +
               ObjectUid("/apis/apps/v1/namespaces/lab/statefulsets/bob") + R"(\"})");
  const DriverOutcome outcome = Ended("deployment/bob");
  EXPECT_EQ(outcome.error,
            "deployment.apps/bob isn't statefulset.apps/bob, the owner of cluster "
            "spark, for which nothing is said");
  EXPECT_TRUE(IsWhole());
}

// It was selected as what a cluster without a master had left.
TEST_F(DeleteTest, OneThatWasMadeSinceIsNotMeant) {
  EXPECT_EQ(Run({cluster_, std::nullopt, waits_, ""}).exit, DriverExit::kNoCluster);
  EXPECT_TRUE(IsWhole());
  Run({cluster_, std::nullopt, waits_, ObjectUid(kRoot)});
  EXPECT_TRUE(IsDeleted());
}

TEST_F(DeleteTest, WhatIsLeftIsSaidAlsoWhereNobodyWaits) {
  waits_ = false;
  Refuse("DELETE", "/services/", 403);
  const DriverOutcome outcome = Asked();
  EXPECT_EQ(outcome.exit, DriverExit::kFailed) << outcome.said;
  EXPECT_NE(outcome.error.find("not all deleted"), std::string::npos) << outcome.error;
}

// Of another framework's cluster of the name a Service is left.
TEST_F(DeleteTest, AClusterThatHasNoPodsIsOneOfTheName) {
  DefineRayClusters();
  kubernetes_.Apply(R"({"apiVersion":"v1","kind":"Service",)" +
                    Meta("ray", R"(,"labels":{"ray.io/cluster":"spark"})") +
                    R"(,"spec":{"ports":[{"port":1}]}})");
  const auto found = FindProfile(tools_, "lab", "spark");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().exit, DriverExit::kWrongUsage) << found.error().error;
}

}  // namespace
}  // namespace cluster_watcher

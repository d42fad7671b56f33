// Runs the protocol against a small Kubernetes and interferes at the worst moments.
#include "watcher/deletion/reaper.h"

#include <gtest/gtest.h>
#include <spdlog/sinks/null_sink.h>

#include "test/unit/support/fake_transport.h"
#include "test/unit/support/lab.h"

namespace cluster_watcher {
namespace {

using small_kubernetes::Fault;
using small_kubernetes::Request;
using small_kubernetes::Response;
using small_kubernetes::User;
using std::chrono::seconds;

class ReaperTest : public testing::Test, protected Lab {
 protected:
  ReaperTest() { StartWatcher(); }

  // Starts a watcher in the current master pod.
  void StartWatcher() {
    settings_.settings.pod = NameOfPod();
    in_force_ =
        std::make_unique<SettingsInForce>(settings_, [this](const TextMap&) { return settings_; });
    observer_ = std::make_unique<Observer>(client_, discovery_, clock_, *in_force_);
    const auto dial = [this](const std::string&) -> Result<std::unique_ptr<Transport>> {
      return std::unique_ptr<Transport>(std::make_unique<Step>(*this));
    };
    const Tools tools{client_,  discovery_,    clock_,         *in_force_,
                      metrics_, log_.logger(), [](Duration) {}};
    reaper_ = std::make_unique<Reaper>(tools, *observer_, announcer_, dial);
  }

  std::size_t Deletes() { return kubernetes_.Count("DELETE"); }

  // Calls `what` just before the `number`th request of this method whose target contains `contains`
  // takes effect.
  void Before(const std::string& method, const std::string& contains, int number,
              std::function<void()> what) {
    kubernetes_.on_request = [=, this, seen = 0](const Request& request, const User&) mutable {
      const bool is_it = request.method == method &&
                         request.target.find(contains) != std::string::npos && ++seen == number;
      if (is_it) what();
    };
  }
  // Does what the master pod's watcher does once the driver has been gone for the grace period.
  Reaper::Outcome Condemn() {
    observer_->SureLook({});
    Delete(kDriver);
    return CondemnNow();
  }
  Reaper::Outcome CondemnNow() {
    const auto [snapshot, decision] = LookAndDecide(*observer_, {});
    EXPECT_TRUE(decision.abandoned()) << decision.detail;
    me_ = {snapshot.pod->meta.name, snapshot.pod->meta.uid};
    return reaper_->Condemn(me_, snapshot, decision, {}, {});
  }
  Reaper::Outcome Resume() {
    const Snapshot snapshot = observer_->SureLook({});
    me_ = {snapshot.pod->meta.name, snapshot.pod->meta.uid};
    EXPECT_EQ(snapshot.marks.phase, Phase::kDeleting);
    EXPECT_EQ(snapshot.marks.condemned_by, me_);
    return reaper_->Resume(me_, snapshot, snapshot.marks);
  }
  // Writes the marks as an earlier watcher of this pod would have.
  void WriteMarks(bool deletes_begun, const std::string& since) {
    const Snapshot look = observer_->SureLook({});
    AnnotationChanges changes = {
        {annotation::kPhase, "deleting"},
        {annotation::kReason, "owner-absent"},
        {annotation::kCondemnedBy, look.pod->meta.name + "/" + look.pod->meta.uid},
        {annotation::kDeletingSince, since}};
    if (deletes_begun) changes[annotation::kDeletesBegun] = "true";
    EXPECT_TRUE(MasterRoot(client_, *look.root).WriteMarks(changes));
  }

  Log log_{LogLevel::kDebug, LogFormat::kText, std::make_shared<spdlog::sinks::null_sink_st>()};
  EventRecorder events_{client_, clock_, log_.logger(), "test"};
  Announcer announcer_{events_, clock_, log_};

  std::function<void()> during_step_ = [] {};
  struct Step final : Transport {
    explicit Step(ReaperTest& of_test) : test(of_test) {}
    std::vector<HttpResult> Perform(std::span<const HttpRequest>, std::size_t,
                                    std::stop_token) override {
      test.during_step_();
      return {Answer(200, "")};
    }
    ReaperTest& test;
  };
  std::unique_ptr<SettingsInForce> in_force_;
  std::unique_ptr<Observer> observer_;
  std::unique_ptr<Reaper> reaper_;
  WatcherId me_;
};

TEST_F(ReaperTest, DeletesAWholeCluster) {
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_FALSE(MapExists("spark-config"));
  EXPECT_FALSE(Exists(kRoot));
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
  WriteMarks(true, "2026-12-24T00:00:00Z");
  Delete(kDriver);
  const Snapshot snapshot = observer_->SureLook({});
  clock_.elapsed += std::chrono::minutes(20);
  Delete(kRoot);
  MakeMap("new");
  EXPECT_EQ(reaper_->Resume(snapshot.marks.condemned_by, snapshot, snapshot.marks),
            Reaper::Outcome::kDone);
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
  late.delay_after = std::chrono::minutes(1);
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

TEST_F(ReaperTest, AMasterThatIsReplacedDuringTheStepsAfterIsLeftAlone) {
  Annotate(kRoot, "after-delete", R"([{\"name\":\"a\",\"http\":{\"url\":\"http://h/\"}}])");
  during_step_ = [&] { MakeMap("late"); };
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_FALSE(MapExists("late"));
  EXPECT_FALSE(Exists(kRoot));
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
  kubernetes_.Apply(
      R"({"apiVersion":"apps/v1","kind":"StatefulSet",)" + Labelled("w") +
      R"(,"spec":{"replicas":1,"serviceName":"w","selector":{"matchLabels":{"app":"w"}},)"
      R"("persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Delete","whenScaled":"Retain"},)"
      R"("volumeClaimTemplates":[{"metadata":{"name":"data"},"spec":{"accessModes":)"
      R"(["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}],)"
      R"("template":{"metadata":{"labels":{"app":"w"}},"spec":{"containers":)"
      R"([{"name":"m","image":"x"}]}}}})");
  const std::string claim = "/api/v1/namespaces/lab/persistentvolumeclaims/data-w-0";
  ASSERT_TRUE(Exists(claim));
  observer_->SureLook({});
  Delete(kDriver);
  WriteMarks(true, "2026-12-23T00:00:00Z");  // long past its deadline
  EXPECT_EQ(Resume(), Reaper::Outcome::kDone);
  EXPECT_FALSE(Exists("/apis/apps/v1/namespaces/lab/statefulsets/w"));
  EXPECT_FALSE(Exists(kRoot));
  EXPECT_TRUE(Exists(claim));
}

TEST_F(ReaperTest, OneDeleteThatFailsPastTheDeadlineIsTriedAgain) {
  observer_->SureLook({});
  Delete(kDriver);
  WriteMarks(true, "2026-12-23T00:00:00Z");
  Refuse("DELETE", "spark-config", 503, 0, 2);
  EXPECT_EQ(Resume(), Reaper::Outcome::kDone);
  EXPECT_FALSE(MapExists("spark-config"));
}

TEST_F(ReaperTest, ARootThatCannotBeReadHoldsNothingUpForEver) {
  MakeMap("held", R"(,"finalizers":["example.com/held"])");
  kubernetes_.on_answer = [&](const Request& request, const User&, Response& response) {
    const bool of_root = request.method == "GET" && request.target == kRoot;
    const bool in_time = clock_.elapsed < std::chrono::minutes(30);
    if (of_root && in_time && Deletes() > 0) response.status = 403;
  };
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_GE(clock_.elapsed, std::chrono::minutes(10));
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

TEST_F(ReaperTest, AMasterThatIsKeptIsAMistakeAndIsNotDeletedLater) {
  Before("DELETE", "spark-config", 1, [&] {
    kubernetes_.Admin("PATCH", kRoot,
                      R"({"metadata":{"annotations":{"cluster-watcher/keep":"true"}}})",
                      "application/merge-patch+json");
  });
  EXPECT_EQ(Condemn(), Reaper::Outcome::kDone);
  EXPECT_TRUE(Exists(kRoot));
  EXPECT_EQ(Decide(observer_->SureLook({}).facts).reason, Reason::kMisconfigured);
}

TEST_F(ReaperTest, APointOfNoReturnThatMayNotBeWrittenIsNotTriedForEver) {
  Refuse("PATCH", "spark-m", 403, 1);
  EXPECT_EQ(Condemn(), Reaper::Outcome::kSpared);
  const std::size_t patches = kubernetes_.Count("PATCH");
  EXPECT_LE(patches, 4u);
  EXPECT_EQ(Deletes(), 0u);
}

}  // namespace
}  // namespace cluster_watcher

#include "watcher/sweep/sweep.h"

#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>

#include <sstream>
#include <stdexcept>

#include "probes/base/duration_text.h"
#include "probes/base/time_text.h"
#include "probes/kube/cached_lists.h"
#include "test/unit/support/driver_lab.h"
#include "test/unit/support/token_file.h"
#include "watcher/driver/create.h"
#include "watcher/driver/who_acts.h"

namespace cluster_watcher {
namespace {

using small_kubernetes::Request;
using small_kubernetes::User;

class SweepTest : public DriverLab {
 protected:
  explicit SweepTest(ApiServer server = WithToken()) : DriverLab(std::move(server)) {
    settings_.settings.owner.reset();
    settings_.settings.startup_grace = std::chrono::minutes(5);
    MakeEphemeral("deployment.apps/bob");
  }

  SweepProgress Sweep(const std::string& ns = "lab") {
    told_.clear();
    CachedLists lists(transport_, ns, "oshinko-cluster");
    KubeClient client(lists, tokens_, [](const RequestRecord&) {});
    Discovery discovery(client);
    const DriverTools glance{client, discovery, clock_, stop_.get_token()};
    const DriverTools driver{client_, discovery_, clock_, stop_.get_token()};
    EventRecorder events(client_, clock_, log_.logger(), "cli");
    const SettingsInForce::WithAnnotations settings = [this](const TextMap& annotations) {
      ResolvedSettings resolved = settings_;
      if (annotations.contains("cluster-watcher/dry-run")) resolved.settings.dry_run = true;
      if (const auto owner = annotations.find("cluster-watcher/owner");
          owner != annotations.end()) {
        resolved.settings.owner = *OwnerName::Parse(owner->second);
      }
      if (const auto grace = annotations.find("cluster-watcher/startup-grace");
          grace != annotations.end()) {
        resolved.settings.startup_grace = *ParseDuration(grace->second);
      }
      return resolved;
    };
    const auto dial = [](const std::string&) -> Result<std::unique_ptr<Transport>> {
      return Failure("no step reaches anything here");
    };
    const SweepTools tools{driver, settings, metrics_, log_, events, dial, asker_};
    const auto progress =
        cluster_watcher::Sweep(tools, {ns, SomeCommand(), {{DefaultProfile(), glance}}},
                               {[this](const std::string& where, const std::string& what,
                                       const Swept& swept) { told_[where + "/" + what] = swept; },
                                [](const SweepProgress&) {}});
    EXPECT_TRUE(progress) << (progress ? "" : progress.error().message);
    return progress ? *progress : SweepProgress{};
  }
  std::string Events() { return Read("/apis/events.k8s.io/v1/namespaces/lab/events").body; }
  const Swept& Told(const std::string& what = "lab/cluster spark") { return told_[what]; }
  void RecordOwner(const std::string& uid) {
    MarkRoot("recorded-owner",
             R"({\"kind\":\"deployment.apps\",\"namespace\":\"lab\",\"name\":\"bob\",\"uid\":\")" +
                 uid + R"(\"})");
  }
  void LoseDriver() {
    Delete(kDriver);
    kubernetes_.Settle();
  }
  bool IsDeleted() { return !Exists(kRoot) && !Exists(kWorker) && !Exists(kService); }
  void LoseMaster() {
    Annotate(kWorker, "owner", "deployment.apps/bob");
    Delete(kRoot);
    kubernetes_.Settle();
  }
  void MakeClaim(const std::string& name, const std::string& more = "") {
    kubernetes_.Apply(R"({"apiVersion":"v1","kind":"PersistentVolumeClaim",)" + Meta(name, more) +
                      R"(,"spec":{"accessModes":["ReadWriteOnce"]}})");
  }
  void MarkClaim(const std::string& name, Duration ago,
                 const std::string& cluster = "oshinko-cluster=old") {
    Annotate(kClaims + name, "root-uid", ObjectUid(kClaims + name));
    Annotate(kClaims + name, "collect-after", FormatTime(clock_.WallNow() - ago));
    Annotate(kClaims + name, "collect-of", cluster);
  }
  // What goes on for longer than this fails.
  void EndAfter(MonotonicTime::duration time) {
    const MonotonicTime end = clock_.Now() + time;
    kubernetes_.on_request = [this, end](const Request&, const User&) {
      if (clock_.Now() > end) throw std::runtime_error("it goes on for ever");
    };
  }

  int RequestsOf(const std::function<void()>& what) {
    int requests = 0;
    kubernetes_.on_request = [&](const Request&, const User&) { ++requests; };
    what();
    kubernetes_.on_request = nullptr;
    return requests;
  }

  const std::string kClaims = "/api/v1/namespaces/lab/persistentvolumeclaims/";
  std::string asker_;
  std::ostringstream log_text_;
  Log log_{LogLevel::kDebug, LogFormat::kText,
           std::make_shared<spdlog::sinks::ostream_sink_st>(log_text_)};
  std::stop_source stop_;
  std::map<std::string, Swept> told_;
};

TEST_F(SweepTest, AClusterWithoutAWatcherGoesAfterItsGracePeriod) {
  LoseDriver();
  const MonotonicTime began = clock_.Now();
  const SweepProgress progress = Sweep();
  EXPECT_EQ(progress.clusters, 1u);
  EXPECT_EQ(progress.deleted, 1u) << Told().detail;
  EXPECT_EQ(Told().why, "owner-absent");
  EXPECT_TRUE(IsDeleted());
  EXPECT_FALSE(MapExists("spark-config"));
  EXPECT_GE(clock_.Now() - began, std::chrono::minutes(5)) << "its owner was never seen";
  EXPECT_LT(clock_.Now() - began, std::chrono::minutes(6));
}

TEST_F(SweepTest, AnOwnerThatWasSeenNeedsTheShorterGracePeriod) {
  RecordOwner(ObjectUid(kDriver));
  LoseDriver();
  const MonotonicTime began = clock_.Now();
  EXPECT_EQ(Sweep().deleted, 1u) << Told().detail;
  EXPECT_GE(clock_.Now() - began, std::chrono::seconds(30));
  EXPECT_LT(clock_.Now() - began, std::chrono::minutes(1));
}

TEST_F(SweepTest, WhatIsUsedStaysAndCostsOnlyTheLists) {
  Sweep();  // learns which kinds are served
  const int of_one = RequestsOf([this] {
    EXPECT_EQ(Sweep().kept.at("active"), 1u);
    EXPECT_TRUE(told_.empty()) << "nobody needs to know";
  });
  for (const char* name : {"one", "two", "three"}) {
    const std::string labels = std::string(R"("oshinko-cluster":")") + name + R"(",)";
    MakeWorkload(name, labels + R"("oshinko-type":"master",)");
    Annotate("/apis/apps/v1/namespaces/lab/deployments/" + std::string(name), "owner",
             "deployment.apps/bob");
  }
  kubernetes_.Settle();
  EXPECT_EQ(RequestsOf([this] { EXPECT_EQ(Sweep().kept.at("active"), 4u); }), of_one);
}

TEST_F(SweepTest, ARunningWatcherIsLeftAlone) {
  PutWatcherIntoPod(R"({"running":{}})");
  LoseDriver();
  const SweepProgress progress = Sweep();
  EXPECT_EQ(progress.watched, 1u);
  EXPECT_TRUE(Exists(kRoot));
}

TEST_F(SweepTest, AWatcherThatDoesNotRunIsNone) {
  PutWatcherIntoPod(R"({"waiting":{"reason":"CrashLoopBackOff"}})");
  LoseDriver();
  EXPECT_EQ(Sweep().deleted, 1u) << Told().detail;
  EXPECT_TRUE(IsDeleted());
}

TEST_F(SweepTest, WhoeverOptedOutIsLeftAlone) {
  Patch(kRoot, R"({"spec":{"template":{"metadata":{"annotations":{
                       "cluster-watcher/inject":"false"}}}}})");
  kubernetes_.Settle();
  LoseDriver();
  Sweep();
  EXPECT_EQ(Told().what, Swept::What::kKept);
  EXPECT_NE(Told().detail.find("cluster-watcher/inject"), std::string::npos) << Told().detail;
  EXPECT_TRUE(Exists(kRoot));
}

// After a deletion was begun, by a watcher that is gone, it is called off; a step takes its time.
TEST_F(SweepTest, WhoeverOptsOutMeanwhileIsToo) {
  MarkDeleting("spark-m-gone/0123");
  LoseDriver();
  Before("PATCH", "deployments/spark-m", 1, [this] {
    Patch("/api/v1/namespaces/lab/pods/" + NameOfPod(),
          R"({"metadata":{"annotations":{"cluster-watcher/inject":"false"}}})");
  });
  Sweep();
  EXPECT_EQ(Told().what, Swept::What::kKept);
  EXPECT_EQ(Told().why, "held") << Told().detail;
  EXPECT_EQ(Mark("phase"), "");
  EXPECT_TRUE(Exists(kRoot) && Exists(kWorker));
}

TEST_F(SweepTest, AHoldBindsIt) {
  LoseDriver();
  Annotate("/api/v1/namespaces/lab", "hold-until", "2099-01-01T00:00:00Z");
  EXPECT_EQ(Sweep().kept.at("held"), 1u);
  EXPECT_TRUE(Exists(kRoot));
}

TEST_F(SweepTest, ADriverThatComesBackInTimeKeepsIt) {
  LoseDriver();
  Before("PATCH", "namespaces/lab/deployments/spark-m", 2, [this] { MakeDriver(); });
  EXPECT_EQ(Sweep().deleted, 0u);
  EXPECT_TRUE(Exists(kRoot) && Exists(kWorker));
  EXPECT_EQ(Mark("phase") + Mark("abandoned-since"), "");
}

TEST_F(SweepTest, ADryRunSaysWhatWouldGoAndWritesNothing) {
  LoseDriver();
  settings_.settings.dry_run = true;
  const auto version = kubernetes_.Admin("GET", kRoot).body;
  const MonotonicTime began = clock_.Now();
  const SweepProgress progress = Sweep();
  EXPECT_EQ(progress.deleted, 1u);
  EXPECT_EQ(Told().what, Swept::What::kWouldDelete);
  EXPECT_NE(Told().detail.find("deployment.apps/spark-w"), std::string::npos) << Told().detail;
  EXPECT_EQ(kubernetes_.Admin("GET", kRoot).body, version);
  EXPECT_LT(clock_.Now() - began, std::chrono::seconds(10)) << "nothing is waited for";
}

TEST_F(SweepTest, ADryRunNamesWhatWouldBeFinished) {
  MarkRoot("phase", "deleting");
  MarkRoot("condemned-by", "cli/abcdefghij");
  MarkRoot("reason", "owner-absent");
  MarkRoot("deleting-since", "2020-01-01T00:00:00Z");
  LoseDriver();
  settings_.settings.dry_run = true;
  EXPECT_EQ(Sweep().deleted, 1u);
  EXPECT_EQ(Told().why, "owner-absent");
  EXPECT_NE(Told().detail.find("was begun by cli/abcdefghij"), std::string::npos);
  EXPECT_TRUE(Exists(kRoot));
}

TEST_F(SweepTest, ADryRunOfTheClusterItselfIsKept) {
  Patch(kRoot, R"({"spec":{"replicas":0,"template":{"metadata":{"annotations":{
                       "cluster-watcher/dry-run":"true"}}}}})");
  kubernetes_.Settle();
  LoseDriver();
  Sweep();
  EXPECT_EQ(Told().what, Swept::What::kWouldDelete) << "the template of pods that aren't there";
  EXPECT_TRUE(Exists(kRoot));
}

TEST_F(SweepTest, AGracePeriodThatOutlastsItIsNamedAndNotWaitedFor) {
  settings_.settings.grace_period = std::chrono::hours(24);
  LoseDriver();
  const MonotonicTime began = clock_.Now();
  Sweep();
  EXPECT_EQ(Told().what, Swept::What::kKept);
  EXPECT_NE(Told().detail.find("outlasts a sweep"), std::string::npos) << Told().detail;
  EXPECT_LT(clock_.Now() - began, std::chrono::minutes(1));
  EXPECT_EQ(Mark("abandoned-since"), "") << "for others to count";
  EXPECT_TRUE(Exists(kRoot) && Exists(kWorker));
}

TEST_F(SweepTest, ClaimsDontWaitForClusters) {
  MakeClaim("old");
  MarkClaim("old", std::chrono::minutes(1));
  settings_.settings.volumes = Volumes::kCollect;
  LoseDriver();
  Before("DELETE", "deployments/spark-m", 1,
         [this] { EXPECT_FALSE(Exists(kClaims + "old")) << Told("lab/claim old").detail; });
  EXPECT_EQ(Sweep().deleted, 1u) << Told().detail;
}

TEST_F(SweepTest, AnHourIsWaitedAlsoBehindSlowClusters) {
  settings_.settings.grace_period = std::chrono::hours(1);
  LoseDriver();
  EXPECT_EQ(Sweep().deleted, 1u) << Told().detail;
}

TEST_F(SweepTest, ADryRunNamesWhatOutlastsIt) {
  settings_.settings.grace_period = std::chrono::hours(2);
  settings_.settings.dry_run = true;
  LoseDriver();
  EXPECT_EQ(Sweep().deleted, 0u);
  EXPECT_NE(Told().detail.find("outlasts a sweep"), std::string::npos) << Told().detail;
}

TEST_F(SweepTest, HowLongAllOthersWaitIsNotForItToSay) {
  settings_.settings.delete_deadline = std::chrono::hours(24);
  kubernetes_.Apply(R"({"apiVersion":"v1","kind":"ConfigMap",)" +
                    Meta("stuck", R"(,"labels":{"oshinko-cluster":"spark"})") + "}");
  Refuse("DELETE", "/configmaps/stuck", 500, 0, 0);
  LoseDriver();
  EndAfter(std::chrono::hours(1));
  EXPECT_EQ(Sweep().failed, 1u) << Told().detail;
}

TEST_F(SweepTest, AnOwnerThatItsWatcherSawElsewhereKeepsIt) {
  MarkRoot(
      "recorded-owner",
      R"({\"kind\":\"deployment.apps\",\"namespace\":\"drivers\",\"name\":\"bob\",\"uid\":\"1\"})");
  LoseDriver();
  Sweep();
  EXPECT_EQ(Told().what, Swept::What::kKept);
  EXPECT_NE(Told().detail.find("in namespace \"drivers\""), std::string::npos) << Told().detail;
  EXPECT_TRUE(Exists(kRoot));
}

TEST_F(SweepTest, AnOwnerThatItsWatcherSawAsAnotherKindKeepsIt) {
  MarkRoot("recorded-owner", R"({\"kind\":\"sparkapplication.sparkoperator.k8s.io\",)"
                             R"(\"namespace\":\"lab\",\"name\":\"bob\",\"uid\":\"1\"})");
  Annotate(kRoot, "owner", "bob");
  Patch(kDriver, R"({"spec":{"replicas":0}})");  // another that has the name is over
  kubernetes_.Settle();
  Sweep();
  EXPECT_EQ(Told().what, Swept::What::kKept);
  EXPECT_NE(Told().detail.find("cluster-watcher/owner-kind"), std::string::npos) << Told().detail;
  EXPECT_TRUE(Exists(kRoot));
}

// Its pods may bear holds, and aren't found by these labels.
TEST_F(SweepTest, ACustomResourceThatIsLabelledIsJudgedWithItsPods) {
  DefineRayClusters();
  kubernetes_.Apply(
      R"({"apiVersion":"ray.io/v1","kind":"RayCluster",)" +
      Meta("ray", R"(,"labels":{"oshinko-cluster":"ray","oshinko-type":"master"},"annotations":)"
                  R"({"cluster-watcher/owner":"deployment.apps/bob"})") +
      R"(,"spec":{}})");
  LoseDriver();
  Sweep();
  EXPECT_EQ(Told("lab/cluster ray").what, Swept::What::kKept);
  EXPECT_NE(Told("lab/cluster ray").detail.find("can't be seen"), std::string::npos)
      << Told("lab/cluster ray").detail;
  EXPECT_TRUE(Exists("/apis/ray.io/v1/namespaces/lab/rayclusters/ray"));
}

TEST_F(SweepTest, ADeletionOfWhichTheOwnerCanNotBeReadHasFailedPastItsDeadline) {
  Refuse("GET", "bob", 403);
  MarkDeleting("spark-m-gone/0123");
  clock_.elapsed += std::chrono::minutes(11);
  Sweep();
  EXPECT_EQ(Told().what, Swept::What::kFailed) << Told().detail;
  EXPECT_TRUE(Exists(kRoot));
}

TEST_F(SweepTest, WithoutAMasterAndAnOwnerItIsNamedAndKept) {
  Delete(kRoot);
  LoseDriver();
  Sweep();
  EXPECT_EQ(Told().what, Swept::What::kKept);
  EXPECT_NE(Told().detail.find("it has no master"), std::string::npos);
  EXPECT_TRUE(Exists(kWorker));
}

TEST_F(SweepTest, MoreThanTheLimitAtOnceAreASurge) {
  settings_.settings.surge_limit = 2;
  settings_.settings.surge_grace = std::chrono::minutes(10);
  for (const char* name : {"one", "two"}) {
    const std::string labels = std::string(R"("oshinko-cluster":")") + name + R"(",)";
    MakeWorkload(name, labels + R"("oshinko-type":"master",)");
    Annotate("/apis/apps/v1/namespaces/lab/deployments/" + std::string(name), "owner",
             "deployment.apps/bob");
  }
  kubernetes_.Settle();
  LoseDriver();
  const MonotonicTime began = clock_.Now();
  EXPECT_EQ(Sweep().deleted, 3u);
  EXPECT_GE(clock_.Now() - began, std::chrono::minutes(10));
  settings_.settings.surge_limit = 3;
  MakeRoot();
  MakeEphemeral("deployment.apps/bob");
  kubernetes_.Settle();
  const MonotonicTime again = clock_.Now();
  EXPECT_EQ(Sweep().deleted, 1u);
  EXPECT_LT(clock_.Now() - again, std::chrono::minutes(6));
}

TEST_F(SweepTest, TwoClustersShareTheWait) {
  MakeWorkload("one", R"("oshinko-cluster":"one","oshinko-type":"master",)");
  Annotate("/apis/apps/v1/namespaces/lab/deployments/one", "owner", "deployment.apps/bob");
  kubernetes_.Settle();
  LoseDriver();
  const MonotonicTime began = clock_.Now();
  EXPECT_EQ(Sweep().deleted, 2u);
  EXPECT_LT(clock_.Now() - began, std::chrono::minutes(6));
}

TEST_F(SweepTest, WhatAnotherDeletesIsLeftToThatOne) {
  LoseDriver();
  MarkDeleting("cli/another");
  Sweep();
  EXPECT_EQ(Told().detail, "already being deleted by cli/another");
  EXPECT_TRUE(Exists(kRoot));
}

// The one who began it is gone, and whether the owner is can't be told, or not written.
TEST_F(SweepTest, WhatCannotBeCarriedOnHoldsUpNothingElse) {
  MarkDeleting("spark-m-gone/0123");
  Refuse("GET", "bob", 403);
  EndAfter(std::chrono::minutes(5));
  Sweep();
  EXPECT_EQ(Told().why, "unknown") << Told().detail;
  EXPECT_EQ(Mark("condemned-by"), "spark-m-gone/0123") << "by whom can't judge";
  kubernetes_.GetFaults().Clear();
  LoseDriver();
  Refuse("PATCH", "deployments/spark-m", 409);
  EndAfter(std::chrono::minutes(5));
  EXPECT_EQ(Sweep().failed, 1u);
  EXPECT_NE(Told().detail.find("begun by spark-m-gone/0123 and can't be carried on"),
            std::string::npos)
      << Told().detail;
}

TEST_F(SweepTest, ItsLastEventNamesWhoseSweepItIs) {
  asker_ = "system:serviceaccount:ops:sweep";
  LoseDriver();
  EXPECT_EQ(Sweep().deleted, 1u) << Told().detail;
  const std::string events = Events();
  const std::size_t last = events.find("Cluster spark is deleted (owner-absent)");
  ASSERT_NE(last, std::string::npos) << events;
  EXPECT_NE(events.find(". Asked for by a sweep of system:serviceaccount:ops:sweep\"", last),
            std::string::npos)
      << events;
}

TEST_F(SweepTest, WhatHoldsTheRootWhenItIsGivenUpIsNamed) {
  LoseDriver();
  Patch(kRoot, R"({"metadata":{"finalizers":["example.com/held"]}})");
  kubernetes_.Apply(R"({"apiVersion":"v1","kind":"Pod",)" +
                    Meta("held", R"(,"finalizers":["example.com/pod"],"labels":{)"
                                 R"("oshinko-cluster":"spark"})") +
                    R"(,"spec":{"containers":[{"name":"m","image":"x"}]},)"
                    R"("status":{"phase":"Running"}})");
  EndAfter(std::chrono::hours(1));
  EXPECT_EQ(Sweep().failed, 1u);
  EXPECT_NE(Told().detail.find("deployment.apps/spark-m, held by the finalizer"), std::string::npos)
      << Told().detail;
  EXPECT_NE(Told().detail.find("pod/held, held by the finalizer example.com/pod"),
            std::string::npos)
      << Told().detail;
}

TEST_F(SweepTest, WhatWasDeletedButForSomethingHasFailed) {
  LoseDriver();
  MakeMap("forbidden");
  Refuse("DELETE", "configmaps/forbidden", 403);
  EXPECT_EQ(Sweep().failed, 1u);
  EXPECT_NE(Told().detail.find("configmap/forbidden: "), std::string::npos) << Told().detail;
  EXPECT_NE(Told().detail.find("HTTP 403"), std::string::npos) << "in the words of the refusal";
}

// It is the new one that is over: it wants no replicas.
TEST_F(SweepTest, AnOwnerThatWasMadeAgainIsJudgedAsItIs) {
  RecordOwner("before");
  Patch(kDriver, R"({"spec":{"replicas":0}})");
  kubernetes_.Settle();
  EXPECT_EQ(Sweep().deleted, 1u) << Told().why << " " << Told().detail;
}

TEST_F(SweepTest, WhatCannotBeDeletedHoldsUpNothingElseAndIsGoneOnWithLater) {
  MakeWorkload("one", R"("oshinko-cluster":"one","oshinko-type":"master",)");
  Annotate("/apis/apps/v1/namespaces/lab/deployments/one", "owner", "deployment.apps/bob");
  kubernetes_.Settle();
  LoseDriver();
  Refuse("DELETE", "deployments/spark-m", 403);
  EndAfter(std::chrono::hours(1));
  const SweepProgress progress = Sweep();
  EXPECT_EQ(progress.failed, 1u);
  EXPECT_EQ(progress.deleted, 1u);
  EXPECT_EQ(Told().what, Swept::What::kFailed);
  const std::string why =
      "not all of it could be deleted by the deadline; left: "
      "deployment.apps/spark-m: delete deployments.apps \"spark-m\"";
  EXPECT_TRUE(Told().detail.starts_with(why)) << Told().detail;
  EXPECT_NE(Events().find(R"("note":"Cluster spark: not all of it could be deleted)"),
            std::string::npos)
      << Events();
  EXPECT_FALSE(Exists(kWorker));
  EXPECT_EQ(Mark("phase"), "deleting");
  kubernetes_.GetFaults().Clear();
  clock_.elapsed += std::chrono::minutes(15);
  EXPECT_EQ(Sweep().deleted, 1u) << Told().detail;
  EXPECT_TRUE(IsDeleted());
}

TEST_F(SweepTest, ToldToStopItBeginsNothing) {
  LoseDriver();
  clock_.At(clock_.elapsed + std::chrono::minutes(1), [this] { stop_.request_stop(); });
  EXPECT_EQ(Sweep().deleted, 0u);
  EXPECT_TRUE(Exists(kRoot) && Exists(kWorker));
}

// A world with a sweep that is killed.
class KilledSweep : public SweepTest {
 public:
  // Kills the sweep before or after a write, whichever is the `n`th such moment, from 1. Whether it
  // got that far.
  bool KillAt(int n) {
    struct Killed {};
    kubernetes_.on_request = [n, after_write = false](const Request& request, const User&) mutable {
      const bool is_write = request.method != "GET";
      if ((is_write || after_write) && --n == 0) throw Killed();
      after_write = is_write;
    };
    bool was_killed = false;
    try {
      Sweep();
    } catch (const Killed&) {
      was_killed = true;
    }
    kubernetes_.on_request = nullptr;
    clock_.elapsed += std::chrono::minutes(15);
    return was_killed;
  }
  void SweepAgain() {
    for (int i = 0; i < 2 && !IsAllGone(); ++i) Sweep();
  }
  bool IsWhole() { return Exists(kWorker) && Exists(kService) && MapExists("spark-config"); }
  bool IsAllGone() { return IsDeleted() && !MapExists("spark-config"); }

  using SweepTest::LoseDriver;
  using SweepTest::LoseMaster;
  using SweepTest::MakeDriver;
  using SweepTest::Sweep;
  using SweepTest::Told;

 private:
  void TestBody() override {}
};

TEST(KilledSweepTest, TheNextOneFinishesWhatItHasBegun) {
  bool was_killed = true;
  for (int n = 1; was_killed; ++n) {
    KilledSweep world;
    world.LoseDriver();
    was_killed = world.KillAt(n);
    world.SweepAgain();
    EXPECT_TRUE(world.IsAllGone()) << "killed at moment " << n << ": " << world.Told().detail;
  }
}

TEST(KilledSweepTest, ADriverThatComesBackKeepsWhatIsWhole) {
  bool was_killed = true;
  for (int n = 1; was_killed; ++n) {
    KilledSweep world;
    world.LoseDriver();
    was_killed = world.KillAt(n);
    const bool was_whole = world.IsWhole();
    world.MakeDriver();
    world.Sweep();
    EXPECT_EQ(world.IsWhole(), was_whole) << "killed at moment " << n;
  }
}

// --- Claims -------------------------------------------------------------------------------------

TEST_F(SweepTest, AClaimGoesWhenItsTimeIsOver) {
  for (const char* name : {"due", "by-label", "later", "bare", "nobodys"}) MakeClaim(name);
  for (const char* name : {"due", "by-label", "nobodys"}) {
    MarkClaim(name, std::chrono::minutes(1));
  }
  MarkClaim("later", -std::chrono::minutes(1));
  for (const char* name : {"by-label", "nobodys"}) {
    Patch(kClaims + name, R"({"metadata":{"annotations":{"cluster-watcher/collect-of":null}}})");
  }
  LabelObject(kClaims + "by-label", R"("oshinko-cluster":"old")");
  // An empty value is no cluster.
  kubernetes_.Apply(R"({"apiVersion":"v1","kind":"ConfigMap",)" +
                    Meta("empty", R"(,"labels":{"oshinko-cluster":""})") + "}");
  const SweepProgress progress = Sweep();
  EXPECT_EQ(progress.claims, 2u) << Told("lab/claim due").detail;
  EXPECT_FALSE(Exists(kClaims + "due") || Exists(kClaims + "by-label"));
  EXPECT_TRUE(Exists(kClaims + "later") && Exists(kClaims + "bare"));
  EXPECT_TRUE(Exists(kClaims + "nobodys")) << "it is of no cluster";
}

TEST_F(SweepTest, AClaimStaysWhileAKeptRootOfItsClusterIsThere) {
  MakeClaim("due");
  MarkClaim("due", std::chrono::minutes(1));
  const std::string kept = R"(,"labels":{"oshinko-cluster":"old"},)"
                           R"("annotations":{"cluster-watcher/keep":"true"})";
  MakeMap("kept");
  MakeWorkload("old-m", R"("oshinko-cluster":"old",)");
  Annotate("/apis/apps/v1/namespaces/lab/deployments/old-m", "keep", "true");
  EXPECT_EQ(Sweep().claims, 0u);
  EXPECT_TRUE(Exists(kClaims + "due"));
}

class RotatedTokenSweepTest : private TokenFile, public SweepTest {
 protected:
  RotatedTokenSweepTest() : SweepTest(Server()) {}
  void Rotate() { TokenFile::Rotate(kubernetes_); }
};

// A pod that mounts it leaves its resourceVersion as it is. Who says 401 may take his time.
TEST_F(RotatedTokenSweepTest, AClaimsDeleteIsNotSentAgainOnOldEvidence) {
  MakeClaim("due");
  MarkClaim("due", std::chrono::minutes(1));
  Refuse("DELETE", "persistentvolumeclaims/due", 401, 0, 1);
  Before("DELETE", "persistentvolumeclaims/due", 1, [this] {
    clock_.elapsed += std::chrono::seconds(9);
    Rotate();
  });
  EXPECT_EQ(Sweep().claims, 0u);
  EXPECT_EQ(Told("lab/claim due").detail, "its evidence grew old");
  EXPECT_TRUE(Exists(kClaims + "due"));
  EXPECT_EQ(kubernetes_.Count("DELETE", "persistentvolumeclaims/due"), 1u);
}

TEST_F(SweepTest, ANamespaceThatIsTurnedOffIsLeftAlone) {
  LabelObject("/api/v1/namespaces/lab", R"("cluster-watcher/inject":"false")");
  MakeClaim("due");
  MarkClaim("due", std::chrono::minutes(1));
  LoseDriver();
  const SweepProgress progress = Sweep();
  EXPECT_EQ(progress.deleted + progress.claims, 0u);
  EXPECT_TRUE(Exists(kRoot) && Exists(kClaims + "due"));
}

TEST_F(SweepTest, AClaimInUseStays) {
  for (const char* name :
       {"of-pod", "of-cluster", "data-set-0", "kept", "held", "copied", "p-scratch", "no-time"}) {
    MakeClaim(name);
    MarkClaim(name, std::chrono::minutes(1),
              name == std::string("of-cluster") ? "oshinko-cluster=spark" : "oshinko-cluster=old");
  }
  kubernetes_.Apply(R"({"apiVersion":"v1","kind":"Pod",)" + Meta("p", "") +
                    R"(,"spec":{"containers":[{"name":"m","image":"x"}],"volumes":[{"name":"v",)"
                    R"("persistentVolumeClaim":{"claimName":"of-pod"}},{"name":"scratch",)"
                    R"("ephemeral":{}}]},"status":{"phase":"Succeeded"}})");
  kubernetes_.Apply(R"({"apiVersion":"apps/v1","kind":"StatefulSet",)" + Meta("set", "") +
                    R"(,"spec":{"replicas":0,"selector":{"matchLabels":{"app":"set"}},"template":)"
                    R"({"metadata":{"labels":{"app":"set"}},"spec":{"containers":[]}}}})");
  Annotate(kClaims + "kept", "keep", "true");
  Annotate(kClaims + "held", "hold-until", "2099-01-01T00:00:00Z");
  Annotate(kClaims + "copied", "root-uid", "another");
  Annotate(kClaims + "no-time", "collect-after", "tomorrow");
  EXPECT_EQ(Sweep().claims, 0u);
  EXPECT_EQ(Told("lab/claim of-pod").detail, "pod/p mounts it");
  EXPECT_EQ(Told("lab/claim p-scratch").detail, "pod/p mounts it");
  EXPECT_NE(Told("lab/claim of-cluster").detail.find("of its cluster spark"), std::string::npos);
  EXPECT_EQ(Told("lab/claim data-set-0").detail, "statefulset.apps/set would mount it");
  EXPECT_EQ(Told("lab/claim kept").detail, "it is annotated to be kept");
  EXPECT_NE(Told("lab/claim held").detail.find("held until"), std::string::npos);
  EXPECT_NE(Told("lab/claim no-time").detail.find("is no time"), std::string::npos);
  for (const char* name :
       {"of-pod", "of-cluster", "data-set-0", "kept", "held", "copied", "p-scratch", "no-time"}) {
    EXPECT_TRUE(Exists(kClaims + name)) << name;
  }
}

TEST_F(SweepTest, WhatCannotBeReadKeepsClaims) {
  MakeClaim("due");
  MarkClaim("due", std::chrono::minutes(1));
  Refuse("GET", "namespaces/lab/pods?limit", 500);
  EXPECT_EQ(Sweep().claims, 0u);
  EXPECT_TRUE(Exists(kClaims + "due"));
}

// --- Beside others ------------------------------------------------------------------------------

TEST_F(SweepTest, AnHourOfRetryAfterIsNotWaited) {
  LoseDriver();
  small_kubernetes::Fault fault;
  fault.method = "PATCH";
  fault.contains = "deployments/spark-m";
  fault.response = {429, R"({"kind":"Status","apiVersion":"v1","code":429})", "application/json",
                    36000};
  kubernetes_.GetFaults().Add(fault);
  const MonotonicTime began = clock_.Now();
  EXPECT_EQ(Sweep().deleted, 1u) << Told().detail;
  EXPECT_LT(clock_.Now() - began, std::chrono::minutes(15));
}

TEST_F(SweepTest, AClaimThatAnotherClusterHasTakenOverIsThatOnes) {
  MakeClaim("data", R"(,"labels":{"oshinko-cluster":"spark"})");
  MarkClaim("data", std::chrono::minutes(1), "old");
  EXPECT_EQ(Sweep().claims, 0u);
  EXPECT_TRUE(Exists(kClaims + "data")) << "it is labelled as of the cluster spark, which is used";
}

// It may be a master.
TEST_F(SweepTest, ACustomResourceThatCannotBeListedKeeps) {
  DefineRayClusters();
  LoseDriver();
  Refuse("GET", "/apis/ray.io/v1/namespaces/lab/rayclusters", 500);
  Sweep();
  EXPECT_FALSE(IsDeleted()) << Told().detail;
}

TEST_F(SweepTest, ToldToStopItTakesItsCondemnationOff) {
  LoseDriver();
  kubernetes_.on_request = [&](const Request& request, const User&) {
    if (request.method == "PATCH" && request.body.find("condemned") != std::string::npos &&
        request.target.find("dryRun") == std::string::npos) {
      stop_.request_stop();
    }
  };
  Sweep();
  EXPECT_TRUE(Exists(kRoot) && Exists(kWorker));
  EXPECT_EQ(Mark("phase"), "");
}

// One stuck cluster after the other.
TEST_F(SweepTest, StuckClustersDontTakeADeadlineEach) {
  for (const char* name : {"one", "two", "three"}) {
    const std::string labels = std::string(R"("oshinko-cluster":")") + name + R"(",)";
    MakeWorkload(name, labels + R"("oshinko-type":"master",)");
    Annotate("/apis/apps/v1/namespaces/lab/deployments/" + std::string(name), "owner",
             "deployment.apps/bob");
    const std::string map = std::string("stuck-") + name;
    kubernetes_.Apply(R"({"apiVersion":"v1","kind":"ConfigMap",)" +
                      Meta(map, std::string(R"(,"labels":{"oshinko-cluster":")") + name +
                                    R"("},"finalizers":["example.com/held"])") +
                      "}");
  }
  kubernetes_.Settle();
  LoseDriver();
  const MonotonicTime began = clock_.Now();
  Sweep();
  EXPECT_LT(clock_.Now() - began, std::chrono::minutes(20));
}

// Has settings that the injection hands to the sidecar by its environment.
struct SidecarTest : SweepTest {
  void GiveSidecar(const std::string& variables) {
    Patch(kRoot,
          R"({"spec":{"template":{"spec":{"initContainers":[{"name":"cluster-watcher","image":"w",)"
          R"("restartPolicy":"Always","env":[)" +
              variables + "]}]}}}}");
    for (int replicas : {0, 1}) {
      Patch(kRoot, R"({"spec":{"replicas":)" + std::to_string(replicas) + "}}");
      kubernetes_.Settle();
      clock_.WaitUntil(clock_.Now() + std::chrono::minutes(2), {});
      kubernetes_.Settle();
    }
    ASSERT_NE(Read("/api/v1/namespaces/lab/pods/" + NameOfPod()).body.find("CLUSTER_WATCHER"),
              std::string::npos);
  }
};
TEST_F(SidecarTest, ADryRunOfTheSidecarsIsNoneOfTheSweeps) {
  GiveSidecar(R"({"name":"CLUSTER_WATCHER_DRY_RUN","value":"true"})");
  LoseDriver();
  Sweep();
  EXPECT_TRUE(Exists(kRoot) && Exists(kWorker)) << Told().why;
}
TEST_F(SidecarTest, AnOwnerThatTheSidecarIsGivenKeepsTheCluster) {
  MakeWorkload("carol", "");
  GiveSidecar(R"({"name":"CLUSTER_WATCHER_OWNER","value":"deployment.apps/carol"})");
  LoseDriver();  // that the label names
  Sweep();
  EXPECT_TRUE(Exists(kRoot) && Exists(kWorker))
      << "a watcher: owner-mismatch; a sweep: " << Told().why;
}
TEST_F(SidecarTest, WhatItTakesFromAConfigMapAsAWholeKeepsTheCluster) {
  GiveSidecar(R"({"name":"CLUSTER_WATCHER_LOG_LEVEL","value":"info"}],)"
              R"("envFrom":[{"configMapRef":{"name":"watchers"}})");
  LoseDriver();
  Sweep();
  EXPECT_EQ(Told().what, Swept::What::kKept);
  EXPECT_NE(Told().detail.find("envFrom"), std::string::npos) << Told().detail;
  EXPECT_TRUE(Exists(kRoot));
}

// It must not be forgotten: nobody else would go on with it.
TEST_F(SidecarTest, ADeletionThatCannotBeJudgedForThatHasFailed) {
  GiveSidecar(R"({"name":"CLUSTER_WATCHER_LOG_LEVEL","value":"info"}],)"
              R"("envFrom":[{"configMapRef":{"name":"watchers"}})");
  LoseDriver();
  MarkRoot("phase", "deleting");
  Annotate(kRoot, "deleting-since", FormatTime(clock_.WallNow()));
  Sweep();
  EXPECT_EQ(Told().what, Swept::What::kKept) << "somebody may be at it";
  clock_.elapsed += std::chrono::minutes(11);
  Sweep();
  EXPECT_EQ(Told().what, Swept::What::kFailed);
  EXPECT_NE(Told().detail.find("envFrom"), std::string::npos) << Told().detail;
}

TEST_F(SidecarTest, AGracePeriodOfTheSidecarsHolds) {
  GiveSidecar(R"({"name":"CLUSTER_WATCHER_STARTUP_GRACE","value":"24h"})");
  LoseDriver();
  const MonotonicTime began = clock_.Now();
  Sweep();
  EXPECT_TRUE(Exists(kRoot) || clock_.Now() - began >= std::chrono::hours(24));
}

// Its pod was Pending when the sweep began.
TEST_F(SidecarTest, AWatcherThatStartsMeanwhileSeesToItsCluster) {
  GiveSidecar(R"({"name":"CLUSTER_WATCHER_STARTUP_GRACE","value":"24h"})");
  LoseDriver();
  clock_.At(clock_.elapsed + std::chrono::minutes(1), [this] {
    Patch("/api/v1/namespaces/lab/pods/" + NameOfPod() + "/status",
          R"({"status":{"initContainerStatuses":[{"name":"cluster-watcher","state":)"
          R"({"running":{}}}]}})");
  });
  Sweep();
  EXPECT_TRUE(Exists(kRoot)) << Told().why;
}

// Parked by a person, who has said that it is to be kept.
TEST_F(SweepTest, AMasterThatIsScaledTo0IsNoMissingOne) {
  LoseMaster();
  kubernetes_.Apply(
      R"({"apiVersion":"apps/v1","kind":"StatefulSet",)" +
      Meta(
          "spark-s",
          R"(,"labels":{"oshinko-cluster":"spark"},"annotations":{"cluster-watcher/keep":"true"})") +
      R"(,"spec":{"replicas":0,"selector":{"matchLabels":{"app":"s"}},"template":{"metadata":)"
      R"({"labels":{"app":"s","oshinko-cluster":"spark","oshinko-type":"master"}},"spec":)"
      R"({"containers":[]}}}})");
  kubernetes_.Settle();
  LoseDriver();
  Sweep();
  EXPECT_TRUE(Exists(kWorker) && Exists(kService)) << Told().why;
}

// Two at once: the second runs from first to last within the first's request n.
class TwoSweeps : public SweepTest {
 public:
  bool Run(int n, bool comes_back) {
    bool done = false;
    kubernetes_.on_request = [&, seen = 0](const Request&, const User&) mutable {
      if (done || ++seen != n) return;
      done = true;
      if (comes_back) MakeDriver();
      Sweep();
    };
    Sweep();
    kubernetes_.on_request = nullptr;
    return done;
  }
  bool IsWhole() { return Exists(kWorker) && Exists(kService) && MapExists("spark-config"); }
  bool IsAllGone() { return IsDeleted() && !MapExists("spark-config"); }
  using SweepTest::LoseDriver;
  using SweepTest::LoseMaster;
  using SweepTest::Sweep;
  using SweepTest::Told;

 private:
  void TestBody() override {}
};

TEST(TwoSweepsTest, TwoAtOnceAreAsGoodAsOne) {
  bool done = true;
  for (int n = 1; done; n += 17) {
    TwoSweeps world;
    world.LoseDriver();
    done = world.Run(n, false);
    if (!world.IsAllGone()) world.Sweep();
    EXPECT_TRUE(world.IsAllGone()) << "at request " << n << ": " << world.Told().detail;
  }
}

TEST(TwoSweepsTest, ADriverThatComesBackMeanwhile) {
  bool done = true;
  for (int n = 1; done; n += 17) {
    TwoSweeps world;
    world.LoseDriver();
    done = world.Run(n, true);
    EXPECT_TRUE(world.IsWhole() || world.IsAllGone())
        << "at request " << n << ": " << world.Told().detail;
  }
}

// One request fails for the moment.
class FailingSweep : public SweepTest {
 public:
  bool Fail(int n, bool with_effect, std::string& which) {
    LoseDriver();
    int count = 0;
    const small_kubernetes::Response error{500, R"({"kind":"Status","apiVersion":"v1","code":500})",
                                           "application/json", std::nullopt};
    kubernetes_.on_answer = [&](const Request& request, const User&,
                                small_kubernetes::Response& response) {
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
    Sweep();
    kubernetes_.on_answer = nullptr;
    return count >= n;
  }
  bool IsAllGone() { return IsDeleted() && !MapExists("spark-config"); }
  using SweepTest::Told;

 private:
  void TestBody() override {}
};
TEST(FailingSweepTest, NoneHoldsItUp) {
  for (const bool with_effect : {false, true}) {
    bool sent = true;
    for (int n = 1; sent; n += 17) {
      FailingSweep world;
      std::string which;
      sent = world.Fail(n, with_effect, which);
      EXPECT_TRUE(world.IsAllGone())
          << with_effect << " " << n << " " << which << ": " << world.Told().detail;
    }
  }
}

// As a deletion writes it (claims_test: "oshinko-cluster=bob").
// From the deletion that collects it on: the cluster is made again, used, and deleted by
// `preserve`.
TEST_F(SweepTest, AClaimThatIsUsedAgainIsNoLongerCollected) {
  MakeClaim("data", R"(,"labels":{"oshinko-cluster":"spark"})");
  settings_.settings.volumes = Volumes::kCollect;
  LoseDriver();
  ASSERT_EQ(Sweep().deleted, 1u) << Told().detail;
  ASSERT_NE(Read(kClaims + "data").body.find("collect-after"), std::string::npos);
  settings_.settings.volumes = Volumes::kPreserve;
  MakeRoot();
  LabelObject(kRoot, R"("oshinko-cluster":"spark","oshinko-type":"master")");
  MakeWorkload("spark-w", R"("oshinko-cluster":"spark","oshinko-type":"worker",)");
  LabelObject(kWorker, R"("oshinko-cluster":"spark","oshinko-type":"worker")");
  MakeService("spark", R"("oshinko-type":"master")");
  MakeDriver();
  MakeEphemeral("deployment.apps/bob");
  kubernetes_.Settle();
  EXPECT_EQ(Sweep().kept.at("active"), 1u);
  EXPECT_EQ(Read(kClaims + "data").body.find("collect-after"), std::string::npos) << "used again";
  clock_.elapsed += std::chrono::hours(24 * 30);
  EXPECT_EQ(Sweep().claims, 0u);
  LoseDriver();
  Sweep();
  ASSERT_FALSE(Exists(kRoot));
  EXPECT_TRUE(Exists(kClaims + "data"))
      << "this deletion preserves volumes: " << Told("lab/claim data").detail;
}

// It is marked as the deletion goes on.
TEST_F(SweepTest, AClaimOfAClusterThatIsBeingDeletedStaysMarked) {
  MakeClaim("data", R"(,"labels":{"oshinko-cluster":"spark"})");
  MarkClaim("data", -std::chrono::hours(24), "oshinko-cluster=spark");
  PutWatcherIntoPod(R"({"running":{}})");
  MarkRoot("root-uid", ObjectUid(kRoot));
  MarkRoot("phase", "deleting");
  MarkRoot("condemned-by", "spark-m-x/uid");
  MarkRoot("deleting-since", FormatTime(clock_.WallNow()));
  const SweepProgress p = Sweep();
  EXPECT_EQ(p.watched, 1u);
  EXPECT_NE(Read(kClaims + "data").body.find("collect-after"), std::string::npos)
      << Told("lab/claim data").detail;
}

// Its pods take longer to end than a sweep waits.
TEST_F(SweepTest, WhatItHasJustCollectedStaysMarked) {
  MakeClaim("data", R"(,"labels":{"oshinko-cluster":"spark"})");
  settings_.settings.volumes = Volumes::kCollect;
  Patch("/api/v1/namespaces/lab/pods/" + NameOfPod(),
        R"({"metadata":{"finalizers":["a.b/terminates-for-30s"]}})");
  LoseDriver();
  ASSERT_EQ(Sweep().failed, 1u) << "nothing is deleted that runs: " << Told().detail;
  EXPECT_FALSE(Exists(kRoot));
  EXPECT_NE(Read(kClaims + "data").body.find("collect-after"), std::string::npos)
      << Told("lab/claim data").detail << log_text_.str();
}

TEST_F(SweepTest, ASetOfAnotherNameTakesNoMarkOff) {
  MakeClaim("data-mydb-db-0");
  MarkClaim("data-mydb-db-0", -std::chrono::hours(24), "oshinko-cluster=gone");
  kubernetes_.Apply(
      R"({"apiVersion":"apps/v1","kind":"StatefulSet",)" + Meta("db", "") +
      R"(,"spec":{"replicas":0,"selector":{"matchLabels":{"app":"m"}},"template":{"metadata":)"
      R"({"labels":{"app":"m"}},"spec":)"
      R"({"containers":[]}}}})");
  Sweep();
  EXPECT_NE(Read(kClaims + "data-mydb-db-0").body.find("collect-after"), std::string::npos)
      << Told("lab/claim data-mydb-db-0").detail;
}

// No sweep has come by while the cluster was there.
TEST_F(SweepTest, ADeletionThatPreservesClaimsTakesThemFromCollection) {
  MakeClaim("data", R"(,"labels":{"oshinko-cluster":"spark"})");
  MarkClaim("data", -std::chrono::hours(1), "oshinko-cluster=spark");
  LoseDriver();
  kubernetes_.on_request = [&](const Request& request, const User&) {
    // The claims are looked at behind the clusters.
    if (request.method == "DELETE" && !Exists(kRoot)) ADD_FAILURE() << request.target;
  };
  ASSERT_EQ(Sweep().deleted, 1u) << Told().detail;
  EXPECT_EQ(Read(kClaims + "data").body.find("collect-after"), std::string::npos);
}

// Those of a set that goes first, which is settled while the cluster is whole.
TEST_F(SweepTest, ClaimsOfASetThatGoesFirstAreTakenFromCollectionToo) {
  Delete(kWorker);
  Delete(kService);
  Delete(kMaps + std::string("/spark-config"));
  kubernetes_.Apply(
      R"({"apiVersion":"apps/v1","kind":"StatefulSet",)" +
      Meta("spark-s", R"(,"labels":{"oshinko-cluster":"spark"})") +
      R"(,"spec":{"replicas":1,"selector":{"matchLabels":{"app":"spark-s"}},"template":)"
      R"({"metadata":{"labels":{"app":"spark-s"}},"spec":{"containers":[]}},)"
      R"("volumeClaimTemplates":[{"metadata":{"name":"data"},"spec":{}}]}})");
  kubernetes_.Settle();
  const std::string claim = kClaims + "data-spark-s-0";
  ASSERT_TRUE(Exists(claim));
  MarkClaim("data-spark-s-0", -std::chrono::hours(1), "oshinko-cluster=spark");
  LoseDriver();
  ASSERT_EQ(Sweep().deleted, 1u) << Told().detail;
  EXPECT_EQ(Read(claim).body.find("collect-after"), std::string::npos);
}

// A pod may mount it by the time that the machine wakes.
TEST_F(SweepTest, AClaimIsNotDeletedOnWhatWasReadBeforeASuspension) {
  MakeClaim("due");
  MarkClaim("due", std::chrono::minutes(1));
  kubernetes_.on_request = [this](const Request& request, const User&) {
    const bool is_last_read = request.target.find("/lab/statefulsets?limit") != std::string::npos;
    if (is_last_read) clock_.suspended += std::chrono::hours(1);
  };
  EXPECT_EQ(Sweep().claims, 0u);
  EXPECT_EQ(Told("lab/claim due").detail, "its evidence grew old");
  EXPECT_TRUE(Exists(kClaims + "due")) << "a pod may mount it by now";
}

}  // namespace
}  // namespace cluster_watcher

// The loop with --observe=watch: how soon it looks, how seldom else, and that it believes no event.
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>

#include <sstream>

#include "test/small_kubernetes/local_streams.h"
#include "test/unit/support/lab.h"
#include "watcher/loop/watch_loop.h"

namespace cluster_watcher {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr const char* kOwnerReads = "/deployments?fieldSelector=metadata.name%3Dbob";
constexpr const char* kOwnerGlances = "/deployments/bob?";

class OwnerWatchTest : public testing::Test, protected Lab {
 protected:
  OwnerWatchTest() {
    settings_.settings.pod = NameOfPod();
    settings_.settings.observe = Observe::kWatch;
    kubernetes_.SetPodsRun(true);
  }

  // Runs the loop until `end`.
  void Run(Duration end) {
    clock_.At(end, [this] { stop_.request_stop(); });
    SettingsInForce settings(settings_, [this](const TextMap&) { return settings_; });
    Observer observer(client_, discovery_, clock_, settings);
    Log log(LogLevel::kInfo, LogFormat::kText,
            std::make_shared<spdlog::sinks::ostream_sink_st>(log_text_));
    EventRecorder events(client_, clock_, log.logger(), settings_.settings.pod);
    Announcer announcer(events, clock_, log);
    LoopHealth health;
    const auto dial = [](const std::string&) -> Result<std::unique_ptr<Transport>> {
      return Failure("there are no steps");
    };
    const auto next_scrape = [](MonotonicTime) { return std::optional<MonotonicTime>(); };
    const Tools tools{
        client_, discovery_, clock_, settings, metrics_, log.logger(), [this](Duration) {
          longest_turn_ = std::max(longest_turn_, clock_.elapsed - turned_);
          turned_ = clock_.elapsed;
        }};
    const WatchAccess watches{streams_, tokens_, clock_, [](const RequestRecord&) {}};
    WatchLoop loop(tools, observer, announcer, health, dial, next_scrape, &watches);
    EXPECT_EQ(loop.Run(stop_.get_token()), 0);
    EXPECT_EQ(streams_.open(), 0u) << "watches are closed at the end";
  }
  // How often the owner was read so far; watches don't count.
  std::size_t Looks() {
    return kubernetes_.Count("GET", kOwnerReads) + kubernetes_.Count("GET", kOwnerGlances);
  }
  void At(Duration time, std::function<void()> happens) { clock_.At(time, std::move(happens)); }
  void Scale(int replicas) {
    Patch(kDriver, R"({"spec":{"replicas":)" + std::to_string(replicas) + "}}");
  }
  void ExpectSeenThoughTheCacheLags() {
    // Right after a sure look a glance would do.
    At(minutes(30), [this] { Annotate(kRoot, "keep", "false"); });
    At(minutes(30) + seconds(20), [this] {
      kubernetes_.SetStaleness(0, seconds(60));
      Delete(kDriver);
    });
    At(minutes(30) + seconds(21), [this] { EXPECT_TRUE(IsLogged("owner-absent")); });
    Run(minutes(31));
  }
  double Restarts(const std::string& reason) {
    for (const auto& family : metrics_.Collect()) {
      if (family.name != "cluster_watcher_watch_restarts_total") continue;
      for (const auto& metric : family.metric) {
        if (metric.label[0].value == reason) return metric.counter.value;
      }
    }
    return -1;
  }
  bool IsLogged(const std::string& text) const {
    return log_text_.str().find(text) != std::string::npos;
  }

  small_kubernetes::LocalStreams streams_{kubernetes_, clock_};
  std::stop_source stop_;
  std::ostringstream log_text_;
  Duration turned_{0};
  Duration longest_turn_{0};
};

TEST_F(OwnerWatchTest, WhileAllIsWellItHardlyEverLooks) {
  std::size_t before = 0, requests = 0;
  At(minutes(2), [&] {
    before = Looks();
    requests = kubernetes_.Count("");
  });
  Run(hours(4));
  // Each hour a sure look, and the glance after it.
  EXPECT_LE(Looks() - before, 4u * 2 + 2);
  EXPECT_GE(Looks() - before, 4u);
  EXPECT_LE(kubernetes_.Count("") - requests, 4u * 25) << "requests of any kind";
  EXPECT_LE(longest_turn_, seconds(11)) << "it shows that it is alive";
  EXPECT_GE(Restarts("closed"), 8) << "the server ends each within the hour";
  EXPECT_EQ(Restarts("error") + Restarts("stalled") + Restarts("expired"), 0);
  EXPECT_TRUE(Exists(kRoot));
}

TEST_F(OwnerWatchTest, ItLooksAsSoonAsTheDriverIsGoneAndGoesOnAsAPollingOne) {
  Duration seen{0};
  std::size_t before = 0;
  At(minutes(30), [&] {
    before = Looks();
    Delete(kDriver);
  });
  kubernetes_.on_request = [&](const small_kubernetes::Request& request, const auto&) {
    if (before > 0 && seen == Duration(0) &&
        request.target.find(kOwnerReads) != std::string::npos) {
      seen = clock_.elapsed;
    }
  };
  Run(minutes(35));
  EXPECT_LE(seen - minutes(30), Duration(10));
  EXPECT_FALSE(Exists(kRoot)) << log_text_.str();
}

TEST_F(OwnerWatchTest, ScaledToZeroTheDriverIsSeenAtOnceAndBackToo) {
  At(minutes(30), [this] { Scale(0); });
  At(minutes(30) + seconds(1), [this] { EXPECT_TRUE(IsLogged("scaled-to-zero")); });
  At(minutes(30) + seconds(20), [this] { Scale(1); });
  Run(minutes(50));
  EXPECT_TRUE(Exists(kRoot));
  EXPECT_LE(Looks(), 40u) << "it goes back to watching";
}

TEST_F(OwnerWatchTest, WhatIsWrittenOnTheMasterRootIsSeenAtOnce) {
  std::size_t before = 0;
  // A glance would do so soon after a sure look, but it doesn't read the root.
  At(minutes(30) - seconds(20), [this] { Annotate(kRoot, "keep", "false"); });
  At(minutes(30), [&] {
    before = SureLooks();
    Annotate(kRoot, "hold-until", "2030-01-01T00:00:00Z");
  });
  At(minutes(30) + seconds(1), [&] {
    EXPECT_GT(SureLooks(), before);
    EXPECT_TRUE(IsLogged("held")) << log_text_.str();
  });
  Run(minutes(31));
}

TEST_F(OwnerWatchTest, AnEventThatGotLostCostsTimeAndNoMore) {
  streams_.tamper = [](const std::string&) { return ""; };
  At(minutes(30), [this] { Delete(kDriver); });
  Run(hours(1) + minutes(15));
  EXPECT_FALSE(Exists(kRoot)) << log_text_.str();
}

TEST_F(OwnerWatchTest, LiesDeleteNothingAndMakeNoMoreLooksThanPolls) {
  const std::string lie =
      R"({"type":"DELETED","object":{"metadata":{"name":"bob","resourceVersion":"7"}}})"
      "\n"
      R"({"type":"MODIFIED","object":{"metadata":{"name":"bob","resourceVersion":"8",)"
      R"("generation":9},"spec":{"replicas":0}}})"
      "\n";
  streams_.tamper = [&](const std::string&) { return lie; };
  int version = 0;
  for (int i = 0; i < 6'000; ++i) {
    At(minutes(10) + i * Duration(100), [&] {
      Patch(kDriver, R"({"metadata":{"labels":{"x":")" + std::to_string(++version) + "\"}}}");
    });
  }
  Run(minutes(21));
  EXPECT_TRUE(Exists(kRoot)) << log_text_.str();
  EXPECT_FALSE(IsLogged("abandoned")) << log_text_.str();
  // Polls each 5 s, as many sure looks as fit, and as many looks that read it again.
  EXPECT_LE(Looks(), 600u / 5 * 2) << "the lies come ten times a second";
}

TEST_F(OwnerWatchTest, TheStatusOfADeploymentIsNoReasonToLook) {
  std::size_t before = 0;
  At(minutes(10), [&] { before = Looks(); });
  for (int i = 1; i < 600; ++i) {
    At(minutes(10) + i * seconds(1), [this, i] {
      Patch(std::string(kDriver) + "/status",
            R"({"status":{"observedGeneration":)" + std::to_string(i) + "}}");
    });
  }
  Run(minutes(21));
  EXPECT_EQ(Looks(), before);
}

TEST_F(OwnerWatchTest, WhereItMayNotWatchItPollsAndSaysSoOnce) {
  streams_.status = 403;
  Run(minutes(30));
  EXPECT_GE(Looks(), 300u);
  const std::string log = log_text_.str();
  const std::size_t said = log.find("deployment.apps/bob can't be watched, so the owner is polled");
  EXPECT_NE(said, std::string::npos) << log;
  EXPECT_EQ(log.find("deployment.apps/bob can't be watched", said + 1), std::string::npos) << log;
  EXPECT_GE(Restarts("error"), 10);
  EXPECT_LE(Restarts("error"), 60) << "it tries seldom";
}

TEST_F(OwnerWatchTest, GrantedLaterItWatches) {
  streams_.status = 403;
  At(minutes(30), [this] { streams_.status = 200; });
  std::size_t before = 0;
  At(minutes(37), [&] { before = Looks(); });
  Run(minutes(59));
  EXPECT_TRUE(IsLogged("the owner is watched now"));
  EXPECT_LE(Looks() - before, 4u);
}

TEST_F(OwnerWatchTest, AWatchThatStallsIsNoticedAndTheOwnerIsPolledMeanwhile) {
  At(minutes(10), [this] { streams_.stalled = true; });
  At(minutes(10) + seconds(1), [this] { Delete(kDriver); });
  At(minutes(10) + seconds(1) + minutes(3) + seconds(15),
     [this] { EXPECT_TRUE(IsLogged("owner-absent")) << log_text_.str(); });
  Run(minutes(16));
  EXPECT_GE(Restarts("stalled"), 1);
  EXPECT_FALSE(Exists(kRoot)) << log_text_.str();
}

// A proxy may pass on that a watch has begun, and hold back what it shows.
TEST_F(OwnerWatchTest, WhereNoWatchEverSaysAnythingTheOwnerIsPolled) {
  streams_.stalled = true;
  std::size_t before = 0;
  At(minutes(5), [&] { before = Looks(); });
  At(minutes(19), [&] { EXPECT_GE(Looks() - before, 14u * 60 / 6); });
  for (const int minute : {20, 21, 22, 23}) {
    At(minutes(minute), [this] {
      log_text_.str("");
      Scale(0);
    });
    At(minutes(minute) + seconds(7), [this] {
      EXPECT_TRUE(IsLogged("scaled-to-zero"));
      Scale(1);
    });
  }
  Run(minutes(24));
  EXPECT_GE(Restarts("stalled"), 4);
  EXPECT_LE(Restarts("stalled"), 14);
}

TEST_F(OwnerWatchTest, WhereAWatchHasStalledThoughItHadSpokenItsSuccessorIsDoubted) {
  At(minutes(10), [this] { streams_.stalled = true; });
  At(minutes(14), [this] { Delete(kDriver); });
  At(minutes(14) + seconds(7), [this] { EXPECT_TRUE(IsLogged("owner-absent")); });
  Run(minutes(15));
}

// The proxy ends what is idle, before that is noticed.
TEST_F(OwnerWatchTest, WhereEachWatchIsClosedWithoutAWordTheOwnerIsPolled) {
  streams_.stalled = true;
  streams_.ends_after = seconds(65);
  std::size_t before = 0;
  At(minutes(2), [&] { before = Looks(); });
  At(minutes(4), [&] { EXPECT_GE(Looks() - before, 2u * 60 / 6); });
  At(minutes(10), [this] { Delete(kDriver); });
  At(minutes(10) + seconds(7), [this] { EXPECT_TRUE(IsLogged("owner-absent")); });
  Run(minutes(11));
  EXPECT_GE(Restarts("closed"), 2);
}

TEST_F(OwnerWatchTest, AWatchThatSpeaksAgainIsDoubtedNoLonger) {
  At(minutes(5), [this] { streams_.stalled = true; });
  At(minutes(15), [this] { streams_.stalled = false; });
  std::size_t before = 0;
  At(minutes(30), [&] {
    before = Looks();
    streams_.BreakAll();
  });
  At(minutes(31), [&] { EXPECT_LE(Looks() - before, 4u); });
  Run(minutes(32));
  EXPECT_GE(Restarts("stalled"), 2);
  EXPECT_EQ(Restarts("error"), 2);
}

TEST_F(OwnerWatchTest, BrokenItGoesOnWhereItWasAndMissesNothing) {
  At(minutes(10), [this] {
    streams_.BreakAll();
    Delete(kDriver);
  });
  At(minutes(10) + seconds(9), [this] { EXPECT_TRUE(IsLogged("owner-absent")); });
  Run(minutes(12));
  EXPECT_EQ(Restarts("error"), 2);
}

TEST_F(OwnerWatchTest, ExpiredItBeginsAnewAndLooks) {
  At(minutes(10), [this] {
    streams_.BreakAll();
    for (int i = 0; i < 20'200; ++i) {
      Patch(std::string(kMaps) + "/spark-config", R"({"data":{"x":")" + std::to_string(i) + "\"}}");
    }
  });
  std::size_t before = 0;
  At(minutes(10) + seconds(1), [&] { before = SureLooks(); });
  Run(minutes(12));
  EXPECT_EQ(Restarts("expired"), 2);
  EXPECT_GT(SureLooks(), before) << "nobody knows what it has missed";
}

TEST_F(OwnerWatchTest, ACacheThatLagsBehindTheEventIsNotBelieved) {
  ExpectSeenThoughTheCacheLags();
}

// What an event says that is too long to be read can't tell how new a cache is.
TEST_F(OwnerWatchTest, NorIsACacheWhereTheEventIsTooLong) {
  Patch(kDriver, R"({"metadata":{"annotations":{"big":")" + std::string(70'000, 'x') + "\"}}}");
  ExpectSeenThoughTheCacheLags();
}

// The watch expires, and the API server that answers the glance knows less than the one that is
// asked where to begin again.
TEST_F(OwnerWatchTest, NorIsACacheBehindTheListWithWhichItBeginsAnew) {
  std::string before;
  kubernetes_.on_answer = [&](const small_kubernetes::Request& request, const auto&,
                              small_kubernetes::Response& answer) {
    const bool lags = !before.empty() && clock_.elapsed < minutes(11);
    if (!lags || request.target.find(kOwnerGlances) == std::string::npos) return;
    answer.status = 200;
    answer.body = before;
  };
  streams_.tamper = [](const std::string& line) -> std::string {
    const bool is_owner = line.find(R"("name":"bob")") != std::string::npos;
    if (!is_owner || line.find("BOOKMARK") != std::string::npos) return line;
    return R"({"type":"ERROR","object":{"kind":"Status","code":410,"message":"too old"}})"
           "\n";
  };
  At(minutes(10) - seconds(20), [this] { Annotate(kRoot, "keep", "false"); });
  At(minutes(10), [&] {
    before = Read(kDriver).body;
    Delete(kDriver);
  });
  At(minutes(10) + seconds(10), [&] { EXPECT_TRUE(IsLogged("owner-absent")); });
  Run(minutes(11));
}

// An API server may refuse all writes for hours and answer reads, as one whose disk is full.
TEST_F(OwnerWatchTest, WhatCannotBeWrittenCostsAsMuchAsWhatIsRefused) {
  for (const Observe observe : {Observe::kPoll, Observe::kWatch}) {
    SCOPED_TRACE(observe == Observe::kWatch ? "watch" : "poll");
    settings_.settings.observe = observe;
    std::size_t hour_of[2];
    for (const int status : {403, 500}) {
      stop_ = {};
      Patch(kRoot, R"({"metadata":{"annotations":null}})");
      kubernetes_.GetFaults().Clear();
      Refuse("PATCH", "/deployments/spark-m", status);
      const Duration start = clock_.elapsed;
      std::size_t before = 0;
      At(start + minutes(10), [&] { before = kubernetes_.Count(""); });
      Run(start + minutes(70));
      hour_of[status == 500] = kubernetes_.Count("") - before;
    }
    EXPECT_LE(hour_of[1], hour_of[0] * 5 / 4);
    kubernetes_.GetFaults().Clear();
  }
}

// Each time it is tried soon at first.
TEST_F(OwnerWatchTest, WhatIsToBeSettledIsLookedAtSoonAlsoTheSecondTime) {
  Patch(kRoot, R"({"metadata":{"annotations":null}})");
  Refuse("PATCH", "/deployments/spark-m", 500);
  At(minutes(2), [this] { kubernetes_.GetFaults().Clear(); });
  std::size_t before = 0;
  At(minutes(30), [&] {
    EXPECT_NE(Mark("recorded-owner"), "");
    before = SureLooks();
    Annotate(kRoot, "phase", "condemned");
    Annotate(kRoot, "condemned-by", "cli/x");
  });
  At(minutes(30) + seconds(30), [&] { EXPECT_GE(SureLooks() - before, 4u); });
  Run(minutes(31));
}

// A suspended CronJob runs on as long as a Job of it does, of which its watch says nothing.
TEST_F(OwnerWatchTest, AnOwnerThatOthersKeepActiveIsPolled) {
  settings_.settings.owner = *OwnerName::Parse("cronjob/nightly");
  const std::string path = "/apis/batch/v1/namespaces/lab/cronjobs/nightly";
  const std::string pods = R"("template":{"spec":{"restartPolicy":"Never","containers":[]}})";
  kubernetes_.Apply(R"({"apiVersion":"batch/v1","kind":"CronJob",)" + Meta("nightly") +
                    R"(,"spec":{"schedule":"0 0 1 1 *","suspend":false,"jobTemplate":{"spec":{)" +
                    pods + "}}}}");
  kubernetes_.Apply(R"({"apiVersion":"batch/v1","kind":"Job",)" +
                    Meta("now", R"(,"ownerReferences":[{"apiVersion":"batch/v1","kind":"CronJob",)"
                                R"("name":"nightly","controller":true,"uid":")" +
                                    ObjectUid(path) + "\"}]") +
                    R"(,"spec":{)" + pods + "}}");
  At(minutes(5), [&] { Patch(path, R"({"spec":{"suspend":true}})"); });
  At(minutes(20), [this] {
    EXPECT_FALSE(IsLogged("abandoned")) << log_text_.str();
    Delete("/apis/batch/v1/namespaces/lab/jobs/now");
  });
  At(minutes(21) + seconds(7), [this] { EXPECT_TRUE(IsLogged("abandoned")) << log_text_.str(); });
  Run(minutes(22));
  EXPECT_GE(streams_.opened.size(), 2u) << "it was watched";
}

TEST_F(OwnerWatchTest, OneThatOthersKeepActiveIsPolledAsSeldomAsIsAskedFor) {
  settings_.settings.poll_interval = hours(1);
  settings_.settings.owner = *OwnerName::Parse("cronjob/each");
  MakeCronJob("each");
  const std::string path = "/apis/batch/v1/namespaces/lab/cronjobs/each";
  Patch(path, R"({"spec":{"suspend":true}})");
  kubernetes_.Apply(R"({"apiVersion":"batch/v1","kind":"Job",)" +
                    Meta("now", R"(,"ownerReferences":[{"apiVersion":"batch/v1","kind":"CronJob",)"
                                R"("name":"each","controller":true,"uid":")" +
                                    ObjectUid(path) + "\"}]") +
                    R"(,"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[]}}}})");
  std::size_t looks = 0;
  At(minutes(2), [&] { looks = SureLooks(); });
  Run(minutes(40));
  EXPECT_EQ(SureLooks(), looks);
}

TEST_F(OwnerWatchTest, ItWatchesHoweverSeldomItWouldPoll) {
  for (const Duration interval :
       {Duration(minutes(5)), Duration(minutes(15)), Duration(hours(1))}) {
    settings_.settings.poll_interval = interval;
    const Duration start = clock_.elapsed;
    std::size_t before = 0;
    At(start + minutes(1), [&] { before = Looks(); });
    At(start + minutes(29), [&] { EXPECT_EQ(Looks(), before) << interval.count(); });
    At(start + minutes(30), [this] { Scale(0); });
    At(start + minutes(30) + seconds(1), [&] { EXPECT_TRUE(IsLogged("scaled-to-zero")); });
    At(start + minutes(30) + seconds(2), [this] { Scale(1); });
    At(start + minutes(33), [&] { before = Looks(); });
    At(start + minutes(40), [&] {
      EXPECT_EQ(Looks(), before) << interval.count();
      log_text_.str("");
      Scale(0);
    });
    At(start + minutes(40) + seconds(1), [&] {
      EXPECT_TRUE(IsLogged("scaled-to-zero"))
          << "after the mark was taken off " << interval.count();
    });
    At(start + minutes(40) + seconds(2), [this] { Scale(1); });
    Run(start + minutes(41));
    stop_ = {};
    log_text_.str("");
  }
}

// A watch begins with what a glance right after a sure look shows.
TEST_F(OwnerWatchTest, WhereThatGlanceFailsItLooksAgainWithinAMinute) {
  settings_.settings.poll_interval = hours(1);
  Refuse("GET", kOwnerGlances, 503, 0, 1);
  Refuse("GET", "metadata.name%3Dbob&resourceVersion=0", 503, 0, 1);  // asked for instead
  At(minutes(3), [this] { Delete(kDriver); });
  At(minutes(3) + seconds(1), [this] { EXPECT_TRUE(IsLogged("owner-absent")); });
  Run(minutes(4));
}

// The Jobs of a CronJob are recorded on the root with each sure look.
TEST_F(OwnerWatchTest, WhatItWritesItselfIsNoReasonToLook) {
  settings_.settings.owner = *OwnerName::Parse("cronjob/each");
  MakeCronJob("each");
  for (int i = 0; i < 180; ++i) {
    At(minutes(i) + seconds(1), [this, i] {
      Patch("/apis/batch/v1/namespaces/lab/cronjobs/each/status",
            R"({"status":{"active":[{"kind":"Job","name":"each-)" + std::to_string(i) + "\"}]}}");
    });
  }
  std::size_t looks = 0, patches = 0;
  At(minutes(5), [&] {
    looks = SureLooks();
    patches = kubernetes_.Count("PATCH", "spark-m");
  });
  At(minutes(170), [&] {
    EXPECT_LE(SureLooks() - looks, 165u / 9 + 1) << "one each ten minutes";
    EXPECT_GE(kubernetes_.Count("PATCH", "spark-m") - patches, 14u);
    Annotate(kRoot, "hold-until", "2030-01-01T00:00:00Z");
  });
  At(minutes(170) + seconds(1), [this] { EXPECT_TRUE(IsLogged("held")) << log_text_.str(); });
  Run(minutes(171));
}

TEST_F(OwnerWatchTest, WhatTheGuardRefusesIsSaidWithinAMinute) {
  RefuseByGuard();
  Run(seconds(70));
  EXPECT_TRUE(IsLogged("misconfigured")) << log_text_.str();
}

TEST_F(OwnerWatchTest, AReviewThatFailedIsAskedAgainWithinTheHour) {
  Refuse("POST", "selfsubjectaccessreviews", 500, 0, 1);
  Run(minutes(130));
  EXPECT_GT(kubernetes_.Count("POST", "selfsubjectaccessreviews"), 3u);
}

}  // namespace
}  // namespace cluster_watcher

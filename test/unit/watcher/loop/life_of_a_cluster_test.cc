// A cluster's life as Prometheus, the page, Events and the log show it. Each stage is compared with
// the files in test/unit/watcher/loop/life: the metrics that changed since the previous stage, the
// body of the page, all Events and the whole log. UPDATE_LIFE=1 rewrites the files; review the
// difference.
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <numeric>
#include <regex>
#include <set>
#include <sstream>

#include "metrics/http/exposition.h"
#include "probes/base/time_text.h"
#include "test/unit/support/lab.h"
#include "watcher/loop/watch_loop.h"
#include "watcher/reporting/status_page.h"

namespace cluster_watcher {
namespace {

using small_kubernetes::Request;
using small_kubernetes::User;
using std::chrono::minutes;
using std::chrono::seconds;

// Replaces what differs from run to run: UIDs, generated names and the time of the run.
std::string WithoutChance(std::string text) {
  std::map<std::string, std::string> names;
  const auto number = [&](const std::regex& what, const std::string& prefix) {
    std::string numbered;
    std::string rest = text;
    for (std::smatch match; std::regex_search(rest, match, what); rest = match.suffix()) {
      const auto name = prefix + std::to_string(names.size() + 1);
      numbered += match.prefix().str() + names.emplace(match.str(), name).first->second;
    }
    text = numbered + rest;
  };
  number(std::regex("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "UID-");
  number(std::regex("spark-m-[a-z0-9]+-[a-z0-9]+"), "POD-");
  return std::regex_replace(text, std::regex("\\{\"time\":\"[^\"]*\""), "{\"time\":\"NOW\"");
}

class LifeOfAClusterTest : public testing::Test, protected Lab {
 protected:
  LifeOfAClusterTest() {
    settings_.settings.grace_period = seconds(30);
    settings_.settings.pod = NameOfPod();
  }

  void Stage(Duration time, const std::string& name) {
    clock_.At(time, [this, name] { Look(name); });
  }
  // Compares the page, and all metrics at the first stage, then those that changed since the
  // previous one.
  void Look(const std::string& name) {
    const std::string now = Metrics();
    Compare(name + ".prom", shown_.empty() ? now : Changes(shown_, now));
    shown_ = now;
    const std::string page = PageFor(metrics_.Status(), clock_.WallNow());
    Compare(name + ".html", page.substr(page.find("<body>")));
  }
  std::string Metrics() {
    const prometheus::Collectable* const sources[] = {&metrics_};
    return Exposition(sources);
  }
  // One line for each new or changed series, and "gone: ..." for each that is gone.
  static std::string Changes(const std::string& before, const std::string& now) {
    const auto series_of = [](const std::string& text) {
      std::map<std::string, std::string> series;
      std::istringstream lines(text);
      for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with('#')) series[line.substr(0, line.rfind(' '))] = line;
      }
      return series;
    };
    const auto old = series_of(before);
    const auto current = series_of(now);
    std::string changes;
    for (const auto& [name, line] : current) {
      const auto known = old.find(name);
      if (known == old.end() || known->second != line) changes += line + "\n";
    }
    for (const auto& [name, line] : old) {
      if (!current.contains(name)) changes += "gone: " + name + "\n";
    }
    return changes;
  }

  // Runs until the loop ends, with this exit code, or until `end`.
  void Run(Duration end, int code = 0) {
    clock_.At(end, [this] { stop_.request_stop(); });
    SettingsInForce settings(settings_, [this](const TextMap&) { return settings_; });
    Observer observer(client_, discovery_, clock_, settings);
    Log log(LogLevel::kInfo, LogFormat::kJson,
            std::make_shared<spdlog::sinks::ostream_sink_st>(log_text_));
    EventRecorder events(client_, clock_, log.logger(), settings_.settings.pod);
    Announcer announcer(events, clock_, log);
    LoopHealth health;
    const auto dial = [](const std::string&) -> Result<std::unique_ptr<Transport>> {
      return Failure("there are no steps");
    };
    const Tools tools{client_,  discovery_,   clock_,         settings,
                      metrics_, log.logger(), [](Duration) {}};
    WatchLoop loop(tools, observer, announcer, health, dial, next_scrape_);
    EXPECT_EQ(loop.Run(stop_.get_token()), code);
  }

  // All Events in the order of their times: TIME TYPE REASON on KIND/NAME, NOTE.
  std::string Events() {
    const auto list =
        JsonDocument::Parse(Read("/apis/events.k8s.io/v1/namespaces/lab/events").body);
    std::multiset<std::string> all;
    for (const JsonValue event : list->root()["items"].Elements()) {
      const auto text = [](JsonValue value) { return std::string(value.AsString().value_or("?")); };
      const JsonValue about = event["regarding"];
      all.insert(text(event["eventTime"]).substr(11, 8) + " " + text(event["type"]) + " " +
                 text(event["reason"]) + " on " + text(about["kind"]) + "/" + text(about["name"]) +
                 "\n    " + text(event["note"]) + "\n");
    }
    return std::accumulate(all.begin(), all.end(), std::string());
  }

  void Compare(const std::string& name, const std::string& text) {
    const std::string path = std::string(TEST_DATA "/life/") + name;
    if (std::getenv("UPDATE_LIFE") != nullptr) {
      std::ofstream(path) << text;
      return;
    }
    std::ifstream file(path);
    std::ostringstream expected;
    expected << file.rdbuf();
    EXPECT_EQ(text, expected.str()) << path;
  }

  std::size_t Count(const std::string& text) {
    const std::string events = Events();
    std::size_t count = 0;
    for (std::size_t at = 0; (at = events.find(text, at)) != std::string::npos; ++at) ++count;
    return count;
  }
  std::string Metric(const std::string& series) {
    const std::string exposition = Metrics();
    const std::size_t at = exposition.find("\n" + series + " ") + series.size() + 2;
    return exposition.substr(at, exposition.find('\n', at) - at);
  }

  std::string RootUid() { return ObjectUid(kRoot); }
  // As many other clusters lost their drivers now.
  void MakeAbandoned(int count) {
    for (int i = 0; i < count; ++i) {
      const std::string name = "other-" + std::to_string(i);
      const std::string path = "/apis/apps/v1/namespaces/lab/deployments/" + name;
      MakeWorkload(name, "");
      Annotate(path, "root-uid", ObjectUid(path));
      Annotate(path, "abandoned-since", FormatTime(clock_.WallNow()));
    }
  }
  // Another watcher's pod: "other/UID".
  std::string MakeOther() {
    kubernetes_.Apply(
        R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"other","namespace":"lab"},)"
        R"("spec":{"nodeName":"elsewhere","containers":[{"name":"main","image":"x"}]}})");
    const auto pod = JsonDocument::Parse(Read("/api/v1/namespaces/lab/pods/other").body);
    return "other/" + std::string(*pod->root()["metadata"]["uid"].AsString());
  }

  std::string shown_;  // the metrics at the previous stage; empty: there was none
  std::stop_source stop_;
  std::ostringstream log_text_;
  LastScrape::Next next_scrape_ = [](MonotonicTime) { return std::nullopt; };
};

TEST_F(LifeOfAClusterTest, IsSeenInMetricsEventsAndTheLog) {
  MakeMap("held", R"(,"finalizers":["example.com/held"])");
  Look("1-starting");
  Stage(seconds(20), "2-watching");

  clock_.At(seconds(21), [this] { Refuse("GET", "", 503); });
  Stage(seconds(60), "3-blind");
  clock_.At(seconds(61), [this] { kubernetes_.GetFaults().Clear(); });

  clock_.At(seconds(100), [this] { Delete(kDriver); });
  Stage(seconds(111), "4-abandoned");
  clock_.At(seconds(115), [this] { MakeDriver(); });
  Stage(seconds(130), "5-spared");

  clock_.At(seconds(140), [this] {
    Annotate(kRoot, "hold-until", "2026-12-24T00:05:00Z");
    Delete(kDriver);
  });
  Stage(seconds(200), "6-held");

  // The hold ends at 300 s, the grace period 30 s later.
  Stage(seconds(320), "7-abandoned-again");
  kubernetes_.on_request = [this, seen = false](const Request& request, const User&) mutable {
    const bool last_look = request.method == "GET" && Mark("phase") == "condemned";
    if (last_look && !seen) Look("8-condemned");
    seen = seen || last_look;
  };
  Stage(seconds(350), "9-deleting");
  clock_.At(seconds(360),
            [this] { Patch(kMaps + std::string("/held"), R"({"metadata":{"finalizers":null}})"); });
  Stage(minutes(10), "10-done");
  Run(minutes(11));

  Compare("events.txt", WithoutChance(Events()));
  Compare("log.jsonl", WithoutChance(log_text_.str()));
}

TEST_F(LifeOfAClusterTest, InADryRunNothingIsDue) {
  settings_.settings.dry_run = true;
  shown_ = Metrics();
  clock_.At(seconds(20), [this] { Delete(kDriver); });
  Stage(seconds(120), "dry-run");
  Run(seconds(121));
  Compare("dry-run-events.txt", WithoutChance(Events()));
  EXPECT_TRUE(Exists(kRoot));
}

TEST_F(LifeOfAClusterTest, ASharedClusterHasNoOwner) {
  settings_.settings.owner.reset();
  shown_ = Metrics();
  Stage(seconds(120), "shared");
  Run(seconds(121));
  EXPECT_EQ(Events(), "");
}

TEST_F(LifeOfAClusterTest, SinceWhenItIsAbandonedIsMarkedUntilItIsKept) {
  clock_.At(seconds(60), [this] { Delete(kDriver); });
  clock_.At(seconds(70), [this] {
    const auto since = ParseTime(Mark("abandoned-since"));
    ASSERT_TRUE(since);
    EXPECT_GE(*since, clock_.WallNow() - seconds(10));
    EXPECT_LE(*since, clock_.WallNow());
    MakeDriver();
  });
  clock_.At(seconds(80), [this] { EXPECT_EQ(Mark("abandoned-since"), ""); });
  Run(seconds(81));
}

TEST_F(LifeOfAClusterTest, InASurgePeopleHaveTimeAndAreToldHowToUseIt) {
  shown_ = Metrics();
  clock_.At(seconds(20), [this] {
    MakeAbandoned(10);
    Delete(kDriver);
  });
  Stage(seconds(60), "surge");
  clock_.At(minutes(10) + seconds(15), [this] { EXPECT_TRUE(Exists(kRoot)); });
  Run(minutes(11));
  EXPECT_FALSE(Exists(kRoot));
  EXPECT_EQ(Metric("cluster_watcher_surge"), "0") << "it has been waited out";
  Compare("surge-events.txt", WithoutChance(Events()));
  Compare("surge-log.jsonl", WithoutChance(log_text_.str()));
}

TEST_F(LifeOfAClusterTest, TenClustersAreNoSurge) {
  clock_.At(seconds(20), [this] {
    MakeAbandoned(9);
    Delete(kDriver);
  });
  Run(seconds(70));
  EXPECT_FALSE(Exists(kRoot));
}

TEST_F(LifeOfAClusterTest, ADryRunCountsAndMarksNothing) {
  settings_.settings.dry_run = true;
  clock_.At(seconds(20), [this] {
    MakeAbandoned(10);
    Delete(kDriver);
  });
  clock_.At(minutes(5), [this] { EXPECT_EQ(Metric("cluster_watcher_surge"), "1"); });
  Run(minutes(9));
  EXPECT_EQ(Mark("abandoned-since"), "");
  EXPECT_EQ(Count("would be deleted now"), 0u) << Events();
}

// --- What goes wrong.

// The write of the mark moves the master root on.
TEST_F(LifeOfAClusterTest, OneVerdictSufficesWhereThatIsAskedFor) {
  settings_.settings.grace_period = seconds(0);
  settings_.settings.confirmations = 1;
  settings_.settings.poll_interval = minutes(1);
  clock_.At(seconds(20), [this] { Delete(kDriver); });
  Run(seconds(75));
  EXPECT_FALSE(Exists(kRoot)) << log_text_.str();
}

TEST_F(LifeOfAClusterTest, WhatCannotBeMarkedIsNotCondemned) {
  settings_.settings.grace_period = seconds(0);
  // Somebody writes the master root just before each time.
  kubernetes_.on_request = [this, writes = 0](const Request& request, const User&) mutable {
    if (request.body.find(R"(abandoned-since":")") == std::string::npos) return;
    Patch(kRoot, R"({"metadata":{"annotations":{"example.com/writes":")" +
                     std::to_string(++writes) + "\"}}}");
  };
  clock_.At(seconds(20), [this] { Delete(kDriver); });
  clock_.At(minutes(5), [this] {
    EXPECT_TRUE(Exists(kRoot));
    EXPECT_EQ(Count("ClusterCondemned"), 0u) << Events();
    EXPECT_EQ(Mark("phase"), "");
    EXPECT_NE(Metric("cluster_watcher_refusals_total{reason=\"conflict\"}"), "0");
    kubernetes_.on_request = {};
  });
  Run(minutes(6));
  EXPECT_FALSE(Exists(kRoot)) << log_text_.str();
}

// Whichever mark a policy refuses first.
TEST_F(LifeOfAClusterTest, WhatAPolicyForbidsToMarkIsHeldUntilItAllowsIt) {
  kubernetes_.brake = kubernetes_.freeze = true;
  clock_.At(seconds(10), [this] { Delete(kDriver); });
  clock_.At(minutes(3), [this] {
    EXPECT_NE(Metric("cluster_watcher_refusals_total{reason=\"hold\"}"), "0");
    EXPECT_EQ(Metric("cluster_watcher_verdict{reason=\"held\",verdict=\"keep\"}"), "1");
    EXPECT_TRUE(Exists(kRoot));
    kubernetes_.brake = kubernetes_.freeze = false;
  });
  Run(minutes(6));
  EXPECT_FALSE(Exists(kRoot));
}

TEST_F(LifeOfAClusterTest, SoIsItWhereOnlyThePhaseIsForbidden) {
  kubernetes_.on_request = [this](const Request& request, const User&) {
    kubernetes_.brake = request.body.find(R"(/phase":"condemned")") != std::string::npos;
  };
  clock_.At(seconds(10), [this] { Delete(kDriver); });
  Run(minutes(3));
  EXPECT_EQ(Metric("cluster_watcher_verdict{reason=\"held\",verdict=\"keep\"}"), "1");
  EXPECT_TRUE(Exists(kRoot));
}

TEST_F(LifeOfAClusterTest, AMarkThatIsLostIsWrittenAgain) {
  clock_.At(seconds(20), [this] { Delete(kDriver); });
  std::string before;
  clock_.At(seconds(31), [this, &before] {
    before = Mark("abandoned-since");
    Patch(kRoot, R"({"metadata":{"annotations":{"cluster-watcher/abandoned-since":null}}})");
  });
  clock_.At(seconds(40), [this, &before] { EXPECT_EQ(Mark("abandoned-since"), before); });
  clock_.At(seconds(41), [this] { Annotate(kRoot, "abandoned-since", "2026-12-24T18:00:00Z"); });
  clock_.At(seconds(50), [this, &before] { EXPECT_EQ(Mark("abandoned-since"), before); });
  Run(seconds(50));
}

// A mark is no confirmation.
TEST_F(LifeOfAClusterTest, AWatcherThatIsStartedAnewMarksAnew) {
  const std::string long_ago = "2026-12-23T00:00:00Z";
  Annotate(kRoot, "root-uid", RootUid());
  Annotate(kRoot, "abandoned-since", long_ago);
  settings_.settings.startup_grace = minutes(2);
  Delete(kDriver);
  clock_.At(seconds(10), [this, long_ago] { EXPECT_NE(Mark("abandoned-since"), long_ago); });
  clock_.At(seconds(110), [this] { EXPECT_TRUE(Exists(kRoot)); });
  Run(minutes(3));
  EXPECT_FALSE(Exists(kRoot));
}

TEST_F(LifeOfAClusterTest, WhoHasBeenBlindWarnsAgain) {
  clock_.At(seconds(10), [this] { Delete(kDriver); });
  clock_.At(seconds(20), [this] { Refuse("GET", "", 503); });
  clock_.At(std::chrono::hours(8), [this] { kubernetes_.GetFaults().Clear(); });
  Run(std::chrono::hours(8) + minutes(2));
  EXPECT_FALSE(Exists(kRoot));
  EXPECT_EQ(Count("ClusterAbandoned on Deployment/spark-m"), 2u) << Events();
  // It is asked each half minute while it is away.
  EXPECT_EQ(Count("\n08:00:0") + Count("\n08:00:1") + Count("\n08:00:2"), 2u) << Events();
}

TEST_F(LifeOfAClusterTest, AWarningIsWrittenLaterWhereItCouldNotBe) {
  clock_.At(seconds(10), [this] {
    Delete(kDriver);
    Refuse("POST", "/events", 503);
  });
  clock_.At(seconds(20), [this] { kubernetes_.GetFaults().Clear(); });
  Run(minutes(2));
  EXPECT_FALSE(Exists(kRoot));
  EXPECT_EQ(Count("ClusterAbandoned on Deployment/spark-m"), 1u) << Events();
}

TEST_F(LifeOfAClusterTest, ATimeThatIsEarlierThanWasToldIsTold) {
  settings_.settings.grace_period = minutes(10);
  settings_.settings.scaled_to_zero_grace_period = seconds(10);
  clock_.At(seconds(10), [this] { Delete(kDriver); });
  clock_.At(seconds(60), [this] {
    MakeDriver();
    Patch(kDriver, R"({"spec":{"replicas":0}})");
  });
  Run(minutes(5));
  EXPECT_FALSE(Exists(kRoot));
  EXPECT_EQ(Count("ClusterAbandoned on Deployment/spark-m"), 2u) << Events();
  EXPECT_EQ(Count("looks abandoned (scaled-to-zero)"), 3u) << Events();
}

TEST_F(LifeOfAClusterTest, ALastLookThatSeesNothingIsTold) {
  clock_.At(seconds(10), [this] { Delete(kDriver); });
  kubernetes_.on_request = [this, done = false](const Request& request, const User&) mutable {
    if (done || request.method != "POST" || Mark("phase") != "condemned") return;
    done = true;
    Refuse("GET", "", 503);
    clock_.At(clock_.elapsed + seconds(3), [this] { kubernetes_.GetFaults().Clear(); });
    MakeDriver();
  };
  Run(minutes(3));
  EXPECT_TRUE(Exists(kRoot));
  EXPECT_EQ(Count("ClusterCondemned on Deployment/spark-m"), 1u) << Events();
  EXPECT_EQ(Count("is spared (unknown)"), 2u) << Events();
  EXPECT_EQ(Metric("cluster_watcher_phase{phase=\"watching\"}"), "1");
  EXPECT_EQ(Metric("cluster_watcher_deletion_due_timestamp_seconds"), "0");
}

// The mark of a cluster in use is not left there until the next poll.
TEST_F(LifeOfAClusterTest, ACondemnationThatCouldNotBeTakenOffIsSeenToHoweverSeldomItPolls) {
  settings_.settings.grace_period = seconds(0);
  settings_.settings.confirmations = 1;
  settings_.settings.poll_interval = std::chrono::hours(2);
  std::string left, after = "not reached";
  kubernetes_.on_request = [&, done = false](const Request& request, const User&) mutable {
    if (done || request.method != "POST" || Mark("phase") != "condemned") return;
    done = true;
    MakeDriver();
    Refuse("PATCH", "spark-m", 503);
    clock_.At(clock_.elapsed + seconds(40), [&] {
      left = Mark("phase");
      kubernetes_.GetFaults().Clear();
    });
    clock_.At(clock_.elapsed + minutes(3), [&] { after = Mark("phase"); });
  };
  clock_.At(seconds(20), [this] { Delete(kDriver); });
  Run(std::chrono::hours(4));
  EXPECT_TRUE(Exists(kRoot));
  EXPECT_EQ(left, "condemned") << log_text_.str();
  EXPECT_EQ(after, "") << log_text_.str();
}

TEST_F(LifeOfAClusterTest, WhatCannotBeCondemnedDoesNotFloodEvents) {
  clock_.At(seconds(10), [this] {
    Delete(kDriver);
    Refuse("PATCH", "spark-m", 403);
  });
  Run(minutes(50));
  EXPECT_TRUE(Exists(kRoot));
  EXPECT_LE(Count("on Deployment/spark-m"), 4u) << Events();
  EXPECT_LE(kubernetes_.Count("PATCH", "spark-m"), 120u) << "each takes a grace period";
}

// Somebody writes the master root just before each condemnation.
TEST_F(LifeOfAClusterTest, WhatIsNotCondemnedIsConfirmedAnewAndToldOncePerHour) {
  int tries = 0;
  kubernetes_.on_request = [&](const Request& request, const User&) {
    if (request.body.find(R"(phase":"condemned)") == std::string::npos) return;
    Patch(kRoot, R"({"metadata":{"annotations":{"example.com/writes":")" + std::to_string(++tries) +
                     "\"}}}");
  };
  clock_.At(seconds(10), [this] { Delete(kDriver); });
  Run(minutes(50));
  EXPECT_TRUE(Exists(kRoot));
  EXPECT_GE(tries, 40);
  EXPECT_LE(tries, 100) << "each takes a grace period";
  EXPECT_LE(Count("on Deployment/spark-m"), 4u) << Events();
}

TEST_F(LifeOfAClusterTest, APodThatLosesItsLabelIsKeptAndSaidToBe) {
  clock_.At(seconds(10), [this] { Delete(kDriver); });
  clock_.At(seconds(25), [this] {
    Patch("/api/v1/namespaces/lab/pods/" + settings_.settings.pod,
          R"({"metadata":{"labels":{"oshinko-cluster":null}}})");
  });
  Run(minutes(3));
  EXPECT_TRUE(Exists(kRoot));
  EXPECT_EQ(Count("ClusterSpared on Deployment/spark-m"), 1u) << Events();
  EXPECT_EQ(Metric("cluster_watcher_confirmations"), "0");
}

TEST_F(LifeOfAClusterTest, AWatcherWhosePodIsTerminatingCondemnsNothing) {
  const std::string pod = "/api/v1/namespaces/lab/pods/" + settings_.settings.pod;
  Patch(pod, R"({"metadata":{"finalizers":["example.com/held"]}})");
  clock_.At(seconds(10), [this] { Delete(kDriver); });
  clock_.At(seconds(20), [this, pod] { Delete(pod); });
  Run(minutes(5));
  EXPECT_TRUE(Exists(kRoot));
  EXPECT_EQ(Count("ClusterCondemned"), 0u) << Events();
  EXPECT_EQ(Metric("cluster_watcher_verdict{reason=\"owner-absent\",verdict=\"abandoned\"}"), "1");
  EXPECT_EQ(Metric("cluster_watcher_deletion_due_timestamp_seconds"), "0");
}

TEST_F(LifeOfAClusterTest, NothingIsConcludedFromALookThatWasToldToStop) {
  MakeWorkload("alice", R"("uses-oshinko-cluster":"spark",)");
  clock_.At(seconds(10), [this] { Delete(kDriver); });
  kubernetes_.on_request = [this](const Request& request, const User&) {
    const bool is_search = request.target.find("uses-oshinko-cluster") != std::string::npos;
    if (is_search && clock_.elapsed >= seconds(60)) stop_.request_stop();
  };
  Run(minutes(5));
  EXPECT_NE(log_text_.str().find(R"("reason":"in-use")"), std::string::npos) << log_text_.str();
  EXPECT_EQ(log_text_.str().find(R"("reason":"unknown")"), std::string::npos) << log_text_.str();
}

TEST_F(LifeOfAClusterTest, MarksThatAreTakenOffAreToldOf) {
  Patch(kRoot, R"({"metadata":{"annotations":{"cluster-watcher/phase":"condemned",)"
               R"("cluster-watcher/condemned-by":"gone/1","cluster-watcher/root-uid":")" +
                   RootUid() + "\"}}}");
  Run(minutes(2));
  EXPECT_EQ(Mark("phase"), "");
  EXPECT_EQ(Count("ClusterSpared on Deployment/spark-m"), 1u) << Events() << log_text_.str();
  EXPECT_EQ(Metric("cluster_watcher_phase{phase=\"watching\"}"), "1");
}

TEST_F(LifeOfAClusterTest, AnotherOnesDeletionIsNotAnnounced) {
  const std::string other = MakeOther();
  Delete(kDriver);
  Patch(kRoot, R"({"metadata":{"annotations":{"cluster-watcher/phase":"deleting",)"
               R"("cluster-watcher/deleting-since":)"
               R"("2026-12-24T00:00:00Z","cluster-watcher/condemned-by":")" +
                   other + R"(","cluster-watcher/root-uid":")" + RootUid() + "\"}}}");
  Run(minutes(1));
  EXPECT_TRUE(Exists(kRoot));
  EXPECT_EQ(Metric("cluster_watcher_phase{phase=\"watching\"}"), "1");
  EXPECT_EQ(Metric("cluster_watcher_confirmations"), "0");
  EXPECT_EQ(Metric("cluster_watcher_deletion_due_timestamp_seconds"), "0");
  EXPECT_EQ(Events(), "");
}

// And taken back once that one's pod is gone.
TEST_F(LifeOfAClusterTest, ADeletionIsLeftToWhoTookItOver) {
  const std::string other = MakeOther();
  MakeMap("held", R"(,"finalizers":["example.com/held"])");
  clock_.At(seconds(10), [this] { Delete(kDriver); });
  clock_.At(seconds(60), [this, other] {
    EXPECT_EQ(Mark("phase"), "deleting");
    Annotate(kRoot, "condemned-by", other);
  });
  clock_.At(seconds(110), [this, other] {
    EXPECT_EQ(Mark("condemned-by"), other);
    Delete("/api/v1/namespaces/lab/pods/other?gracePeriodSeconds=0");
  });
  Run(minutes(3));
  EXPECT_NE(Mark("condemned-by"), other);
  EXPECT_NE(log_text_.str().find("taken over"), std::string::npos) << log_text_.str();
}

TEST_F(LifeOfAClusterTest, MarksAreSeenWithinAMinuteWhileTheDriverRuns) {
  clock_.At(seconds(10), [this] {
    EXPECT_EQ(Mark("root-uid"), RootUid());
    Annotate(kRoot, "condemned-by", "gone/1");
    Annotate(kRoot, "phase", "condemned");
  });
  Run(seconds(71));
  EXPECT_EQ(Mark("phase"), "");
}

// The pod of the watcher that condemned it ends: that is seen at the next poll.
TEST_F(LifeOfAClusterTest, WhileAnotherOnesMarksAreThereEachPollIsALook) {
  const std::string other = MakeOther();
  clock_.At(seconds(10), [this, other] {
    Annotate(kRoot, "condemned-by", other);
    Annotate(kRoot, "phase", "condemned");
  });
  clock_.At(seconds(75), [this] {
    EXPECT_EQ(Mark("phase"), "condemned");
    Delete("/api/v1/namespaces/lab/pods/other?gracePeriodSeconds=0");
  });
  Run(seconds(90));
  EXPECT_EQ(Mark("phase"), "");
}

TEST_F(LifeOfAClusterTest, MarksThatCannotBeWrittenInPassingAreWrittenSoon) {
  Refuse("PATCH", "spark-m", 503);
  clock_.At(seconds(20), [this] { kubernetes_.GetFaults().Clear(); });
  Run(seconds(40));
  EXPECT_NE(Mark("recorded-owner"), "");
}

TEST_F(LifeOfAClusterTest, MarksThatMayNotBeTakenOffMakeNoPollExpensive) {
  Annotate(kRoot, "phase", "condemned");
  Annotate(kRoot, "root-uid", "another");
  Refuse("PATCH", "spark-m", 403);
  Run(minutes(10));
  EXPECT_LE(kubernetes_.Count("PATCH", "spark-m"), 24u);
}

TEST_F(LifeOfAClusterTest, InADryRunEachAbandonmentIsRehearsed) {
  settings_.settings.dry_run = true;
  std::size_t first = 0;
  clock_.At(seconds(20), [this] { Delete(kDriver); });
  clock_.At(seconds(100), [this, &first] {
    MakeDriver();
    first = kubernetes_.Count("DELETE", "spark-config");
  });
  clock_.At(seconds(120), [this] { Delete(kDriver); });
  Run(seconds(220));
  EXPECT_EQ(first, 1u);
  EXPECT_EQ(kubernetes_.Count("DELETE", "spark-config"), 2u);
}

TEST_F(LifeOfAClusterTest, ADriverThatWantsMoreReplicasIsSeenAtTheNextPoll) {
  clock_.At(seconds(20), [this] { Patch(kDriver, R"({"spec":{"replicas":2}})"); });
  Run(seconds(27));
  EXPECT_EQ(Metric("cluster_watcher_verdict{reason=\"shared-by-replicas\",verdict=\"keep\"}"), "1");
}

TEST_F(LifeOfAClusterTest, ADriverThatIsBeingDeletedIsSeenAtTheNextPoll) {
  Patch(kDriver, R"({"metadata":{"finalizers":["example.com/held"]}})");
  clock_.At(seconds(20), [this] { Delete(kDriver); });
  Run(seconds(27));
  EXPECT_EQ(Metric("cluster_watcher_owner_state{state=\"deleting\"}"), "1");
}

TEST_F(LifeOfAClusterTest, AWatcherWhosePodIsGoneEnds) {
  const std::string pod = "/api/v1/namespaces/lab/pods/" + settings_.settings.pod;
  clock_.At(seconds(20), [this, pod] { Delete(pod + "?gracePeriodSeconds=0"); });
  Run(minutes(5));
  EXPECT_LT(clock_.elapsed, minutes(2));
  EXPECT_TRUE(Exists(kRoot));
}

TEST_F(LifeOfAClusterTest, APodThatWasNeverThereIsAMistake) {
  settings_.settings.pod = "nobody";
  Run(minutes(1), 2);
}

TEST_F(LifeOfAClusterTest, PollsWaitAsLongAsTheApiServerAsks) {
  small_kubernetes::Fault busy;
  busy.response = {429, R"({"kind":"Status","apiVersion":"v1","code":429})", "application/json",
                   40};
  busy.times = 0;
  kubernetes_.GetFaults().Add(busy);
  Run(minutes(2));
  EXPECT_EQ(Metric("cluster_watcher_polls_total{outcome=\"unknown\"}"), "3") << log_text_.str();
}

TEST_F(LifeOfAClusterTest, NoApiServerPutsPollsOffForLong) {
  small_kubernetes::Fault busy;
  busy.response = {429, R"({"kind":"Status","apiVersion":"v1","code":429})", "application/json",
                   3'600};
  busy.times = 0;
  kubernetes_.GetFaults().Add(busy);
  Run(minutes(5));
  EXPECT_GE(std::stoi(Metric("cluster_watcher_polls_total{outcome=\"unknown\"}")), 4);
}

TEST_F(LifeOfAClusterTest, WhereThePodWaitsForItsEndItEnds) {
  const std::string pod = "/api/v1/namespaces/lab/pods/" + settings_.settings.pod;
  Patch(pod, R"({"spec":{"initContainers":[{"name":"cluster-watcher","image":"x"}]}})");
  Delete(kDriver);
  Refuse("GET", "/pods/", 503);  // unknown: it goes on
  clock_.At(seconds(100), [this] { kubernetes_.GetFaults().Clear(); });
  Run(minutes(3));
  EXPECT_GE(clock_.elapsed, seconds(100));
  EXPECT_LT(clock_.elapsed, seconds(120));
  EXPECT_TRUE(Exists(kRoot));
  EXPECT_NE(log_text_.str().find("nothing watches over this cluster"), std::string::npos);
}

TEST_F(LifeOfAClusterTest, WhereItIsASidecarItGoesOn) {
  const std::string pod = "/api/v1/namespaces/lab/pods/" + settings_.settings.pod;
  Patch(pod, R"({"spec":{"initContainers":[{"name":"cluster-watcher","image":"x",)"
             R"("restartPolicy":"Always"}]}})");
  clock_.At(seconds(10), [this] { Delete(kDriver); });
  Run(minutes(3));
  EXPECT_FALSE(Exists(kRoot));
}

TEST_F(LifeOfAClusterTest, WhatIsTakenDownByHandIsLeftAsItIs) {
  next_scrape_ = [&](MonotonicTime) {
    ADD_FAILURE() << "nothing is shown that a scrape would miss";
    return std::nullopt;
  };
  Patch(kRoot, R"({"metadata":{"finalizers":["example.com/held"]}})");
  clock_.At(minutes(2), [this] {
    Delete(kDriver);
    Delete(kRoot);
    stop_.request_stop();
  });
  Run(minutes(3));
  EXPECT_EQ(kubernetes_.Count("DELETE"), 0u);
  EXPECT_TRUE(MapExists("spark-config"));
}

TEST_F(LifeOfAClusterTest, InADryRunMembersAreNoneAgainOnceTheDriverIsBack) {
  settings_.settings.dry_run = true;
  clock_.At(seconds(20), [this] { Delete(kDriver); });
  clock_.At(seconds(100), [this] { MakeDriver(); });
  Run(seconds(121));
  EXPECT_EQ(Metric("cluster_watcher_members{state=\"found\"}"), "0");
  EXPECT_EQ(Metric("cluster_watcher_members{state=\"remaining\"}"), "0");
}

// Those go with the root, and aren't listed once more.
TEST_F(LifeOfAClusterTest, NoMemberRemainsOnceTheClusterIsDeleted) {
  kubernetes_.Apply(R"({"apiVersion":"networking.k8s.io/v1","kind":"NetworkPolicy",)" +
                    Labelled("out") + R"(,"spec":{"podSelector":{}}})");
  clock_.At(seconds(20), [this] { Delete(kDriver); });
  Run(minutes(3));
  EXPECT_EQ(Metric("cluster_watcher_phase{phase=\"done\"}"), "1");
  EXPECT_NE(Metric("cluster_watcher_members{state=\"found\"}"), "0");
  EXPECT_EQ(Metric("cluster_watcher_members{state=\"remaining\"}"), "0");
}

// The pod is being deleted along with its cluster and has 30 s.
TEST_F(LifeOfAClusterTest, TheLastScrapeIsWaitedFor) {
  bool scraped = false;
  next_scrape_ = [&](MonotonicTime since) {
    return scraped ? std::nullopt : std::optional(since + seconds(15));
  };
  Patch("/api/v1/namespaces/lab/pods/" + settings_.settings.pod,
        R"({"spec":{"nodeName":"elsewhere"}})");
  clock_.At(seconds(10), [this] { Delete(kDriver); });
  clock_.At(seconds(62), [&] { scraped = true; });
  Run(seconds(50));
  EXPECT_FALSE(Exists(kRoot));
  EXPECT_EQ(clock_.elapsed, seconds(62)) << log_text_.str();
}

TEST_F(LifeOfAClusterTest, WhileAllIsWellAPollIsOneRequestAndEachMinuteHasThreeMore) {
  std::size_t requests = 0, whole = 0, roots = 0;
  const std::string root = "/deployments/spark-m?resourceVersion=0";
  clock_.At(minutes(2), [&] {
    requests = kubernetes_.Count("");
    whole = SureLooks();
    roots = kubernetes_.Count("GET", root);
  });
  // As an operator does.
  for (int i = 3; i < 62; ++i) {
    clock_.At(minutes(i), [this, i] {
      Patch(std::string(kRoot) + "/status",
            R"({"status":{"observedGeneration":)" + std::to_string(i) + "}}");
    });
  }
  Run(minutes(62));
  whole = SureLooks() - whole;
  EXPECT_LE(kubernetes_.Count("") - requests, 60u * 12 + 60 * 3 + 7 * 16 + 50)
      << "the last are permissions, which are asked for each hour";
  EXPECT_GE(whole, 5u) << "sure looks";
  EXPECT_LE(whole, 7u) << "sure looks";
  EXPECT_GE(kubernetes_.Count("GET", root) - roots, 50u);
}

TEST_F(LifeOfAClusterTest, WhileAllIsWellWhatStandsAroundTheOwnerIsSeenWithinAMinute) {
  const std::string pod = "/api/v1/namespaces/lab/pods/" + settings_.settings.pod;
  const std::string places[] = {kRoot, pod, "/api/v1/namespaces/lab"};
  Duration time = minutes(20) + seconds(5);
  const auto held = [this] {
    return Metric("cluster_watcher_verdict{reason=\"held\",verdict=\"keep\"}");
  };
  for (const std::string& place : places) {
    clock_.At(time, [=, this] {
      EXPECT_EQ(held(), "0") << place;
      Annotate(place, "hold-until", "2030-01-01T00:00:00Z");
    });
    clock_.At(time + seconds(70), [=, this] {
      EXPECT_EQ(held(), "1") << place;
      Annotate(place, "hold-until", "2020-01-01T00:00:00Z");
    });
    time += seconds(150);
  }
  Run(time);
}

TEST_F(LifeOfAClusterTest, WhileAllIsWellASecondMasterIsSeenWithinTenMinutes) {
  clock_.At(minutes(20), [this] {
    MakeWorkload("second", R"("oshinko-cluster":"spark","oshinko-type":"master",)");
  });
  Run(minutes(31));
  EXPECT_NE(log_text_.str().find("is a master of this cluster too"), std::string::npos)
      << log_text_.str();
}

// Whether something of it still runs once it is gone is asked by its selector of then.
TEST_F(LifeOfAClusterTest, WhileAllIsWellWhatCountsOnceTheOwnerIsGoneIsSeenAtTheNextPoll) {
  settings_.settings.owner = *OwnerName::Parse("replicationcontroller/rc");
  kubernetes_.Apply(
      R"({"apiVersion":"v1","kind":"ReplicationController","metadata":{"name":"rc",)"
      R"("namespace":"lab"},"spec":{"replicas":1,"selector":{"app":"one"},"template":)"
      R"({"metadata":{"labels":{"app":"one","also":"two"}},"spec":{"containers":)"
      R"([{"name":"main","image":"x"}]}}}})");
  const char* const changes[] = {
      R"({"spec":{"template":{"spec":{"terminationGracePeriodSeconds":77}}}})",
      R"({"spec":{"selector":{"also":"two"}}})",
  };
  Duration time = minutes(20);
  for (const char* change : changes) {
    clock_.At(time, [=, this] {
      const std::size_t before = SureLooks();
      Patch("/api/v1/namespaces/lab/replicationcontrollers/rc", change);
      clock_.At(clock_.elapsed + seconds(6),
                [=, this] { EXPECT_GT(SureLooks(), before) << change; });
    });
    time += minutes(2) + seconds(25);
  }
  Run(time);
}

// What it was is known only as long as somebody has seen it.
TEST_F(LifeOfAClusterTest, ADriverThatWasMadeAMemberAndIsDeletedKeepsTheCluster) {
  clock_.At(minutes(13),
            [this] { Patch(kDriver, R"({"metadata":{"labels":{"oshinko-cluster":"spark"}}})"); });
  clock_.At(minutes(13) + seconds(6), [this] {
    EXPECT_EQ(Metric("cluster_watcher_verdict{reason=\"misconfigured\",verdict=\"keep\"}"), "1");
  });
  clock_.At(minutes(16), [this] { Delete(kDriver); });
  Run(minutes(30));
  EXPECT_TRUE(Exists(kRoot)) << log_text_.str();
}

// A rollout to another driver begins, and waits; the old driver wants no replicas any more.
TEST_F(LifeOfAClusterTest, ANextDriverThatWasBackMeanwhileIsGoneOnlySinceThen) {
  const auto is = [this](const std::string& verdict, const std::string& reason) {
    return Metric("cluster_watcher_verdict{reason=\"" + reason + "\",verdict=\"" + verdict +
                  "\"}") == "1";
  };
  settings_.settings.scaled_to_zero_grace_period = std::chrono::hours(1);
  clock_.At(minutes(1), [this] { Patch(kDriver, R"({"spec":{"replicas":0}})"); });
  clock_.At(minutes(10), [this] {
    Patch(kRoot, R"({"spec":{"paused":true,"template":{"metadata":{"annotations":)"
                 R"({"cluster-watcher/owner":"deployment/alice"}}}}})");
  });
  clock_.At(minutes(12), [=] { EXPECT_TRUE(is("keep", "ambiguous")); });
  clock_.At(minutes(17), [=, this] {
    EXPECT_TRUE(is("abandoned", "scaled-to-zero"));
    MakeWorkload("alice", "");
  });
  clock_.At(minutes(18) + seconds(30),
            [this] { Delete("/apis/apps/v1/namespaces/lab/deployments/alice"); });
  clock_.At(minutes(18) + seconds(40), [this] { Delete(kDriver); });
  clock_.At(minutes(20) + seconds(30), [this] { EXPECT_TRUE(Exists(kRoot)) << log_text_.str(); });
  Run(minutes(26));
  EXPECT_FALSE(Exists(kRoot));
}

TEST_F(LifeOfAClusterTest, MarksThatSomebodyElseHasTakenOffMakeNoMoreLooks) {
  Annotate(kRoot, "phase", "condemned");
  Annotate(kRoot, "root-uid", "another");
  Refuse("PATCH", "spark-m", 403);
  clock_.At(minutes(10), [this] {
    kubernetes_.GetFaults().Clear();
    Patch(kRoot, R"({"metadata":{"annotations":{"cluster-watcher/phase":null,)"
                 R"("cluster-watcher/root-uid":null}}})");
  });
  std::size_t looks = 0;
  clock_.At(minutes(15), [&] { looks = SureLooks(); });
  Run(minutes(45));
  EXPECT_LE(SureLooks() - looks, 4u);
}

TEST_F(LifeOfAClusterTest, ACacheThatStandsStillHidesTheDriversEndForAMinute) {
  for (int s = 0; s < 900; ++s) {
    clock_.At(minutes(21) + seconds(s),
              [this, s] { kubernetes_.SetStaleness(0, seconds(60 + s)); });
  }
  clock_.At(minutes(22), [this] { Delete(kDriver); });
  clock_.At(minutes(24), [this] { EXPECT_FALSE(Exists(kRoot)) << log_text_.str(); });
  Run(minutes(25));
}

TEST_F(LifeOfAClusterTest, WhatTheGuardRefusesIsSaidWithinAMinute) {
  RefuseByGuard();
  Run(seconds(70));
  EXPECT_EQ(Metric("cluster_watcher_verdict{reason=\"misconfigured\",verdict=\"keep\"}"), "1")
      << log_text_.str();
}

TEST_F(LifeOfAClusterTest, ACronJobWhoseJobsComeAndGoCostsNoMoreThanOthers) {
  settings_.settings.owner = *OwnerName::Parse("cronjob/each");
  const std::string path = "/apis/batch/v1/namespaces/lab/cronjobs/each";
  MakeCronJob("each");
  std::size_t requests = 0, patches = 0;
  clock_.At(minutes(10), [&] {
    requests = kubernetes_.Count("");
    patches = kubernetes_.Count("PATCH", "spark-m");
  });
  const auto set_active = [=, this](const std::string& jobs) {
    Patch(path + "/status", R"({"status":{"active":)" + jobs + "}}");
  };
  for (int i = 0; i < 40; ++i) {
    // Each runs for a minute and a half.
    const auto job = [](int number) {
      return R"({"kind":"Job","name":"each-)" + std::to_string(number) + "\"}";
    };
    clock_.At(minutes(i) + seconds(1), [=] { set_active("[" + job(i - 1) + "," + job(i) + "]"); });
    clock_.At(minutes(i) + seconds(31), [=] { set_active("[" + job(i) + "]"); });
  }
  Run(minutes(40));
  EXPECT_LE(kubernetes_.Count("") - requests, 30u * 20);
  EXPECT_LE(kubernetes_.Count("PATCH", "spark-m") - patches, 5u);
}

TEST_F(LifeOfAClusterTest, ACallOffThatIsRefusedForGoodIsTriedOnceAMinute) {
  Annotate(kRoot, "root-uid", ObjectUid(kRoot));
  Annotate(kRoot, "phase", "condemned");
  Annotate(kRoot, "condemned-by", "cli/x");
  Refuse("PATCH", "spark-m", 403);
  std::size_t looks = 0, patches = 0;
  clock_.At(minutes(3), [&] {
    looks = SureLooks();
    patches = kubernetes_.Count("PATCH", "spark-m");
  });
  Run(minutes(13));
  EXPECT_LE(SureLooks() - looks, 11u);
  EXPECT_GE(SureLooks() - looks, 8u);
  EXPECT_LE(kubernetes_.Count("PATCH", "spark-m") - patches, 11u);
}

TEST_F(LifeOfAClusterTest, ACallOffThatTheGuardRefusesIsSaid) {
  Annotate(kRoot, "root-uid", ObjectUid(kRoot));
  Annotate(kRoot, "phase", "condemned");
  Annotate(kRoot, "condemned-by", "cli/x");
  RefuseByGuard();
  Run(minutes(4));
  EXPECT_EQ(Metric("cluster_watcher_verdict{reason=\"misconfigured\",verdict=\"keep\"}"), "1")
      << log_text_.str();
}

}  // namespace
}  // namespace cluster_watcher

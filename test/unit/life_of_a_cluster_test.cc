// A cluster's life as those see it who have only Prometheus, Events and the log: the whole of each,
// at every stage, is compared with the files in test/unit/life. UPDATE_LIFE=1 writes them anew, for
// who has changed what is shown and reads the difference.
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <numeric>
#include <regex>
#include <set>
#include <sstream>

#include "metrics/exposition.h"
#include "test/unit/lab.h"
#include "watcher/watch_loop.h"

namespace cluster_watcher {
namespace {

using small_kubernetes::Request;
using small_kubernetes::User;
using std::chrono::minutes;
using std::chrono::seconds;

// What is chance: UIDs, the names that controllers make up, and when the test was run.
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
  void Look(const std::string& name) {
    const prometheus::Collectable* const sources[] = {&metrics_};
    Compare(name + ".prom", Exposition(sources));
  }

  // To the end, or until `end`.
  void Run(Duration end) {
    clock_.At(end, [this] { stop_.request_stop(); });
    Survey survey(client_, clock_, settings_, [this](const TextMap&) { return settings_; });
    Log log(LogLevel::kInfo, LogFormat::kJson,
            std::make_shared<spdlog::sinks::ostream_sink_st>(log_text_));
    EventRecorder events(client_, clock_, log.logger(), settings_.settings.pod);
    Announcer announcer(events, clock_, log);
    LoopHealth health;
    const auto dial = [](const std::string&) -> Result<std::unique_ptr<Transport>> {
      return Failure("there are no steps");
    };
    const auto next_scrape = [](MonotonicTime) { return std::optional<MonotonicTime>(); };
    WatchLoop loop(
        survey, clock_, metrics_, announcer, log.logger(), health, dial, [] {}, next_scrape);
    EXPECT_EQ(loop.Run(stop_.get_token()), 0);
  }

  // All Events, in the order in which they were written: TYPE REASON on KIND/NAME, NOTE.
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
    const std::string path = std::string(LIFE) + "/" + name;
    if (std::getenv("UPDATE_LIFE") != nullptr) {
      std::ofstream(path) << text;
      return;
    }
    std::ifstream file(path);
    std::ostringstream expected;
    expected << file.rdbuf();
    EXPECT_EQ(text, expected.str()) << path;
  }

  std::stop_source stop_;
  std::ostringstream log_text_;
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
  clock_.At(seconds(360), [this] {
    kubernetes_.Admin("PATCH", kMaps + std::string("/held"), R"({"metadata":{"finalizers":null}})",
                      "application/merge-patch+json");
  });
  Stage(minutes(10), "10-done");
  Run(minutes(11));

  Compare("events.txt", WithoutChance(Events()));
  Compare("log.jsonl", WithoutChance(log_text_.str()));
}

TEST_F(LifeOfAClusterTest, InADryRunNothingIsDue) {
  settings_.settings.dry_run = true;
  clock_.At(seconds(20), [this] { Delete(kDriver); });
  Stage(seconds(120), "dry-run");
  Run(seconds(121));
  Compare("dry-run-events.txt", WithoutChance(Events()));
  EXPECT_TRUE(Exists(kRoot));
}

TEST_F(LifeOfAClusterTest, ASharedClusterHasNoOwner) {
  settings_.settings.owner.reset();
  Stage(seconds(120), "shared");
  Run(seconds(121));
  EXPECT_EQ(Events(), "");
}

}  // namespace
}  // namespace cluster_watcher

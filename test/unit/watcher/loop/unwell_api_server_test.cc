// A watcher whose API server is slow, or fails now and then, deletes its cluster all the same.
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>

#include <algorithm>
#include <random>
#include <sstream>

#include "test/unit/support/lab.h"
#include "watcher/loop/watch_loop.h"

namespace cluster_watcher {
namespace {

using std::chrono::seconds;

struct Illness {
  Duration each_takes{0};
  int fails_once_in = 0;                 // 0: never
  unsigned seed = 0;                     // of chance; 0: it fails strictly every so many requests
  Duration away_from{0}, away_until{0};  // of its time: connections are refused
  bool no_date = false;                  // a proxy takes it off
};

// Requests that are sent side by side take as long as one.
class UnwellTransport final : public Transport {
 public:
  // `refused`: when connections were.
  UnwellTransport(Transport& well, Clock& clock, const Illness& illness,
                  std::vector<MonotonicTime::duration>& refused)
      : well_(well), clock_(clock), illness_(illness), refused_(refused) {}

  std::vector<HttpResult> Perform(std::span<const HttpRequest> requests, std::size_t concurrency,
                                  std::stop_token stop) override {
    std::vector<HttpResult> results;
    std::vector<bool> are_sent;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      if (i % concurrency == 0) {
        for (std::size_t j = i; j < std::min(i + concurrency, requests.size()); ++j) {
          are_sent.push_back(requests[j].MaySend());
        }
        clock_.WaitUntil(clock_.Now() + illness_.each_takes, stop);
      }
      if (!are_sent[i]) {
        results.push_back(Unexpected{TransportError{TransportError::Kind::kNotSent, "not sent"}});
      } else if (IsAway()) {
        refused_.push_back(clock_.Now() - began_);
        results.push_back(
            Unexpected{TransportError{TransportError::Kind::kConnect, "connection refused"}});
      } else if (Fails()) {
        results.push_back(NextFailure());
      } else {
        HttpRequest sent = requests[i];
        sent.may_send = {};  // it was asked
        results.push_back(std::move(well_.Perform(std::span(&sent, 1), 1, stop).front()));
        if (illness_.no_date && results.back()) results.back()->date.reset();
      }
    }
    return results;
  }

 private:
  bool IsAway() {
    const auto now = clock_.Now() - began_;
    return illness_.away_from <= now && now < illness_.away_until;
  }
  bool Fails() {
    if (illness_.fails_once_in == 0) return false;
    const unsigned number = illness_.seed == 0 ? ++sent_ : static_cast<unsigned>(chance_());
    return number % static_cast<unsigned>(illness_.fails_once_in) == 0;
  }
  HttpResult NextFailure() {
    constexpr int kStatuses[] = {429, 500, 429, 503, 0};
    const int number = failures_++ % 5;
    if (kStatuses[number] == 0) {
      return Unexpected{TransportError{TransportError::Kind::kConnect, "reset"}};
    }
    HttpResponse response;
    response.status = kStatuses[number];
    response.content_type = "application/json";
    response.body = R"({"kind":"Status","apiVersion":"v1"})";
    if (response.status == 429) response.retry_after = seconds(number / 2);
    return response;
  }

  Transport& well_;
  Clock& clock_;
  const Illness illness_;
  const MonotonicTime began_ = clock_.Now();
  std::vector<MonotonicTime::duration>& refused_;
  std::minstd_rand chance_{illness_.seed};
  unsigned sent_ = 0;
  int failures_ = 0;
};

class UnwellApiServerTest : public testing::Test, protected Lab {
 protected:
  UnwellApiServerTest() { settings_.settings.pod = NameOfPod(); }

  // Once it is deleted it stays and terminates.
  void Hold(const std::string& path) {
    Patch(path, R"({"metadata":{"finalizers":["example.com/held"]}})");
  }
  // Returns what the watcher logged. The driver is deleted after 20 s.
  std::string Run(const Illness& illness, Duration end) {
    settings_.settings.grace_period = seconds(30);
    clock_.At(seconds(20), [this] { Delete(kDriver); });
    std::stop_source stop;
    clock_.At(end, [&] { stop.request_stop(); });
    UnwellTransport unwell(transport_, clock_, illness, refused_);
    KubeClient client(unwell, tokens_, [](const RequestRecord&) {});
    Discovery discovery(client);
    SettingsInForce settings(settings_, [this](const TextMap&) { return settings_; });
    Observer observer(client, discovery, clock_, settings);
    std::ostringstream log_text;
    Log log(LogLevel::kInfo, LogFormat::kText,
            std::make_shared<spdlog::sinks::ostream_sink_st>(log_text));
    EventRecorder events(client, clock_, log.logger(), settings_.settings.pod);
    Announcer announcer(events, clock_, log);
    LoopHealth health;
    const auto dial = [](const std::string&) -> Result<std::unique_ptr<Transport>> {
      return Failure("there are no steps");
    };
    const Tools tools{client, discovery, clock_, settings, metrics_, log.logger(), [](Duration) {}};
    WatchLoop loop(tools, observer, announcer, health, dial,
                   [](MonotonicTime) { return std::nullopt; });
    EXPECT_EQ(loop.Run(stop.get_token()), 0);
    EXPECT_LE(clock_.elapsed, end + seconds(5)) << "a deletion went on";
    return log_text.str();
  }
  void ExpectGone(const Illness& illness, Duration end) {
    const std::string log = Run(illness, end);
    EXPECT_FALSE(Exists(kRoot)) << log;
    EXPECT_FALSE(MapExists("spark-config")) << log;
  }

  std::vector<MonotonicTime::duration> refused_;
};

// Ten thousand that ask each poll interval, several times, would not let it come up again.
TEST_F(UnwellApiServerTest, ThatIsAwayIsAskedSeldomerAndNotInStep) {
  Illness illness;
  illness.away_from = seconds(10);
  illness.away_until = seconds(610);
  const std::string log = Run(illness, seconds(720));
  EXPECT_FALSE(Exists(kRoot)) << "it is deleted as soon as ever\n" << log;
  std::vector<MonotonicTime::duration> pauses;
  for (std::size_t i = 1; i < refused_.size(); ++i) {
    const auto pause = refused_[i] - refused_[i - 1];
    if (refused_[i] > seconds(70) && pause > seconds(1)) pauses.push_back(pause);
  }
  ASSERT_GE(pauses.size(), 17u);
  const auto [shortest, longest] = std::minmax_element(pauses.begin(), pauses.end());
  EXPECT_GE(*shortest, seconds(13));
  EXPECT_LE(*longest, seconds(31));
  EXPECT_GE(*longest - *shortest, seconds(5));
}

TEST_F(UnwellApiServerTest, ThatTakes400MillisecondsForEachAnswer) {
  ExpectGone({Duration(400)}, seconds(90));
}

TEST_F(UnwellApiServerTest, ThatTakes800MillisecondsForEachAnswer) {
  ExpectGone({Duration(800)}, seconds(120));
}

// Nothing is deleted before the root.
TEST_F(UnwellApiServerTest, ThatTakes800MillisecondsAndAMasterAlone) {
  Delete(kMaps + std::string("/spark-config"));
  const std::string log = Run({Duration(800)}, seconds(120));
  EXPECT_FALSE(Exists(kRoot)) << log;
}

TEST_F(UnwellApiServerTest, ThatTakes800MillisecondsAndOnlyWhatTheMasterMounts) {
  Delete(kMaps + std::string("/spark-config"));
  MakeMap("spark-conf");
  const std::string log = Run({Duration(800)}, seconds(120));
  EXPECT_FALSE(Exists(kRoot)) << log;
  EXPECT_FALSE(MapExists("spark-conf")) << log;
}

TEST_F(UnwellApiServerTest, ThatTakes800MillisecondsAndAMemberThatIsStuck) {
  Hold(kMaps + std::string("/spark-config"));
  Delete(kMaps + std::string("/spark-config"));
  settings_.settings.delete_deadline = seconds(60);
  const std::string log = Run({Duration(800)}, seconds(240));
  EXPECT_FALSE(Exists(kRoot)) << log;
}

// The rollout's driver is of any kind, so it takes several lists to see that it is gone as well.
TEST_F(UnwellApiServerTest, ThatTakes800MillisecondsAndARolloutToADriverThatIsGone) {
  Hold("/api/v1/namespaces/lab/pods/" + settings_.settings.pod);
  const std::string other = R"({"metadata":{"annotations":{"cluster-watcher/owner":"alice"}}})";
  Patch(kRoot, R"({"spec":{"template":)" + other + "}}");
  settings_.settings.startup_grace = seconds(60);
  ExpectGone({Duration(800)}, seconds(300));
}

// Nothing is begun, so the root's delete at the deadline needs fresh evidence.
TEST_F(UnwellApiServerTest, ThatTakes400MillisecondsAndAMemberThatMayNotBeDeleted) {
  Refuse("DELETE", "spark-config", 403);
  settings_.settings.delete_deadline = seconds(60);
  clock_.At(seconds(900), [this] { MakeDriver(); });  // so that this ends
  const std::string log = Run({Duration(400)}, seconds(1000));
  EXPECT_FALSE(Exists(kRoot)) << log.substr(0, 4'000);
}

TEST_F(UnwellApiServerTest, ThatTakes800MillisecondsAndManyWorkers) {
  kubernetes_.Apply(
      R"({"apiVersion":"apps/v1","kind":"Deployment",)" + Labelled("w") +
      R"(,"spec":{"replicas":1300,"selector":{"matchLabels":{"app":"w"}},"template":{"metadata":)"
      R"({"labels":{"app":"w","oshinko-cluster":"spark"}},"spec":{"containers":[{"name":"m",)"
      R"("image":"x"}]}}}})");
  const std::string log = Run({Duration(800)}, seconds(600));
  EXPECT_FALSE(Exists(kRoot)) << log.substr(0, 4'000);
}

// Strictly: nothing that is read again and again may fail in step with that.
TEST_F(UnwellApiServerTest, ThatFailsStrictlyEveryThirdRequest) {
  const std::string log = Run({Duration(20), 3}, seconds(300));
  EXPECT_FALSE(Exists(kRoot)) << log;
  EXPECT_FALSE(MapExists("spark-config")) << log;
}

class FailingApiServerTest : public UnwellApiServerTest,
                             public testing::WithParamInterface<unsigned> {};

TEST_P(FailingApiServerTest, ThatFailsEveryTenthRequest) {
  const std::string log = Run({Duration(20), 10, GetParam()}, seconds(120));
  EXPECT_FALSE(Exists(kRoot)) << log;
  EXPECT_FALSE(MapExists("spark-config")) << log;
}

TEST_P(FailingApiServerTest, ThatFailsEveryThirdRequest) {
  const std::string log = Run({Duration(20), 3, GetParam()}, seconds(300));
  EXPECT_FALSE(Exists(kRoot)) << log;
}

TEST_P(FailingApiServerTest, ThatFailsEveryThirdRequestAndTellsNoDate) {
  Illness illness{Duration(20), 3, GetParam()};
  illness.no_date = true;
  const std::string log = Run(illness, seconds(300));
  EXPECT_FALSE(Exists(kRoot)) << log;
}
TEST_P(FailingApiServerTest, ThatFailsEveryTenthRequestAndTellsNoDate) {
  Illness illness{Duration(20), 10, GetParam()};
  illness.no_date = true;
  const std::string log = Run(illness, seconds(120));
  EXPECT_FALSE(Exists(kRoot)) << log;
}

INSTANTIATE_TEST_SUITE_P(ByChance, FailingApiServerTest, testing::Range(1u, 6u));

}  // namespace
}  // namespace cluster_watcher

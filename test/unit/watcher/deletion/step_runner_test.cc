#include "watcher/deletion/step_runner.h"

#include "test/unit/support/fake_transport.h"
#include "test/unit/support/tools_lab.h"

namespace cluster_watcher {
namespace {

using std::chrono::seconds;
using Texts = std::vector<std::string>;

// Plays the steps' servers: each request takes its time and gets the next answer.
class Server {
 public:
  struct Exchange {
    Duration takes;
    HttpResult answer;
  };

  explicit Server(TestClock& clock) : clock_(clock) {}

  Dial Dialer() {
    return [this](const std::string& server) -> Result<std::unique_ptr<Transport>> {
      dialed.push_back(server);
      return std::unique_ptr<Transport>(std::make_unique<Line>(*this));
    };
  }

  std::vector<Exchange> answers;
  Texts dialed;
  std::vector<HttpRequest> requests;

 private:
  class Line final : public Transport {
   public:
    explicit Line(Server& server) : server_(server) {}
    std::vector<HttpResult> Perform(std::span<const HttpRequest> batch, std::size_t,
                                    std::stop_token) override {
      server_.requests.push_back(batch.front());
      Exchange next{Duration(1), Answer(200, "")};
      if (!server_.answers.empty()) {
        next = server_.answers.front();
        server_.answers.erase(server_.answers.begin());
      }
      const Duration timeout = batch.front().timeout;
      server_.clock_.elapsed += std::min(next.takes, timeout);
      if (next.takes > timeout) return {NoAnswer()};
      return {next.answer};
    }

   private:
    Server& server_;
  };

  TestClock& clock_;
};

class StepRunnerTest : public ToolsLab {
 protected:
  Texts Run(const std::vector<Step>& steps, Duration allowed = seconds(30)) {
    look_.root = ObjectNamed("deployments", "spark-m");
    return runner_.Run(steps, "before-delete", look_, allowed, done_, [this] {
      ++marked_;
      return is_ours_;
    });
  }
  static Step Named(const std::string& name, OnFailure on_failure = OnFailure::kContinue) {
    Step step;
    step.name = name;
    step.what = StepRequest{HttpMethod::kPost, "http://127.0.0.1:8080", "/" + name};
    step.on_failure = on_failure;
    return step;
  }
  Texts Targets() const {
    Texts targets;
    for (const HttpRequest& request : server_.requests) targets.push_back(request.target);
    return targets;
  }

  Snapshot look_;
  bool is_ours_ = true;
  Server server_{clock_};
  StepRunner runner_{server_.Dialer(), StepsAt::kMaster, MakeTools()};
  std::set<std::string> done_;
  int marked_ = 0;
};

TEST_F(StepRunnerTest, RunsOneAfterTheOtherAndMarksEach) {
  EXPECT_EQ(Run({Named("drain"), Named("tell")}), Texts{});
  EXPECT_EQ(Targets(), (Texts{"/drain", "/tell"}));
  EXPECT_EQ(done_, (std::set<std::string>{"before-delete/drain", "before-delete/tell"}));
  EXPECT_EQ(marked_, 2);
  EXPECT_EQ(server_.dialed.front(), "http://127.0.0.1:8080");
  EXPECT_EQ(server_.requests.front().bearer_token, "");
  EXPECT_EQ(longest_turn_, seconds(10));
  done_ = {"before-delete/drain", "after-delete/tell"};
  EXPECT_EQ(Run({Named("drain"), Named("tell")}), Texts{});
  EXPECT_EQ(Targets(), (Texts{"/drain", "/tell", "/tell"})) << "what is done is not run again";
}

TEST_F(StepRunnerTest, BeginsNoOtherWhereTheDeletionIsNoLongerOurs) {
  is_ours_ = false;
  Run({Named("drain"), Named("tell")});
  EXPECT_EQ(Targets(), Texts{"/drain"});
}

TEST_F(StepRunnerTest, APodIsDeletedOnceItsEndIsMarkedAndReplacedByARetry) {
  Step save = Named("save", OnFailure::kRetry);
  save.what = PodToRun{"books:1", {}, {}};
  const std::string pods = "/api/v1/namespaces/lab/pods";
  for (const auto& [time, phase] : {std::pair(seconds(2), "Failed"), {seconds(8), "Succeeded"}}) {
    clock_.At(time, [this, pods, phase = std::string(phase)] {
      const auto list =
          JsonDocument::Parse(Read(pods + "?labelSelector=cluster-watcher%2Fstep").body);
      const std::string name(
          list->root()["items"].At(0)["metadata"]["name"].AsString().value_or(""));
      Patch(pods + "/" + name + "/status", R"({"status":{"phase":")" + phase + "\"}}");
    });
  }
  EXPECT_EQ(Run({save}), Texts{});
  EXPECT_EQ(kubernetes_.Count("POST", "/pods"), 2u);
  EXPECT_EQ(kubernetes_.Count("DELETE", "/pods"), 2u);
  EXPECT_EQ(marked_, 1);
}

TEST_F(StepRunnerTest, GoesOnAfterAFailure) {
  server_.answers = {{Duration(1), Answer(500, "no")}, {Duration(1), Answer(302, "")}};
  EXPECT_EQ(Run({Named("a"), Named("b"), Named("c")}), (Texts{"a: HTTP 500", "b: HTTP 302"}));
  EXPECT_EQ(Targets(), (Texts{"/a", "/b", "/c"}));
  EXPECT_EQ(done_.size(), 3u);
}

TEST_F(StepRunnerTest, WhatOnlyTheMasterReachesIsTriedOnce) {
  server_.answers = {{Duration(1), NoAnswer(TransportError::Kind::kLocal)}};
  EXPECT_EQ(Run({Named("a", OnFailure::kRetry), Named("b")}),
            (Texts{"a: http://127.0.0.1:8080 is reached only from the master pod"}));
  EXPECT_EQ(Targets(), (Texts{"/a", "/b"}));
}

TEST_F(StepRunnerTest, TriesAgainUntilItSucceeds) {
  server_.answers = {{Duration(1), Answer(500, "")},
                     {Duration(1), NoAnswer(TransportError::Kind::kConnect)},
                     {Duration(1), Answer(204, "")}};
  EXPECT_EQ(Run({Named("a", OnFailure::kRetry), Named("b")}), Texts{});
  EXPECT_EQ(Targets(), (Texts{"/a", "/a", "/a", "/b"}));
  EXPECT_EQ(marked_, 2);
}

TEST_F(StepRunnerTest, TriesNoLongerThanTheDeadline) {
  for (int i = 0; i < 1000; ++i) server_.answers.push_back({Duration(1), Answer(503, "")});
  const Texts troubles = Run({Named("a", OnFailure::kRetry), Named("b")}, seconds(5));
  ASSERT_EQ(troubles.size(), 2u);
  EXPECT_EQ(troubles[0], "a: the time for steps is over; last: HTTP 503");
  EXPECT_EQ(troubles[1], "b: not run, the time for steps is over");
  EXPECT_EQ(clock_.elapsed, seconds(5));
  EXPECT_LT(server_.requests.size(), 20u);
  EXPECT_EQ(done_, std::set<std::string>{"before-delete/a"});
}

TEST_F(StepRunnerTest, CutsOffWhatHangs) {
  server_.answers = {{seconds(60), Answer(200, "")}, {seconds(60), Answer(200, "")}};
  Step slow = Named("b");
  slow.timeout = seconds(20);
  const Texts troubles = Run({Named("a"), slow}, seconds(15));
  EXPECT_EQ(troubles, (Texts{"a: no answer within 10s", "b: no answer within 5s"}));
  EXPECT_EQ(clock_.elapsed, seconds(15));
}

}  // namespace
}  // namespace cluster_watcher

#include "watcher/deletion/step_pod.h"

#include "test/unit/support/tools_lab.h"

namespace cluster_watcher {
namespace {

using std::chrono::seconds;
using PodOutcome = StepAttempt::Outcome;

constexpr const char* kPodsPath = "/api/v1/namespaces/lab/pods";
constexpr const char* kRunning = R"({"phase":"Running"})";
constexpr const char* kSucceeded = R"({"phase":"Succeeded"})";

class StepPodTest : public ToolsLab {
 protected:
  StepPodTest() { MakeTools(); }

  StepPod Make() { return {*tools_, root_, marks_, "before-delete/save"}; }
  StepAttempt Run(bool is_first = true, Duration timeout = seconds(30)) {
    return Make().Run(step_, timeout, is_first);
  }
  JsonDocument Pod() {
    const auto list = JsonDocument::Parse(
        Read(std::string(kPodsPath) + "?labelSelector=cluster-watcher%2Fstep").body);
    return *JsonDocument::Parse(list->root()["items"].At(0).ToText());
  }
  std::string Name() {
    return std::string(Pod().root()["metadata"]["name"].AsString().value_or(""));
  }
  std::string Uid() { return std::string(Pod().root()["metadata"]["uid"].AsString().value_or("")); }
  std::string Path() { return std::string(kPodsPath) + "/" + Name(); }
  void SetStatus(const std::string& status) {
    Patch(Path() + "/status", "{\"status\":" + status + "}");
  }
  void SetStatusAt(Duration time, const std::string& status) {
    clock_.At(time, [this, status] { SetStatus(status); });
  }
  std::size_t Created() const { return kubernetes_.Count("POST", "/pods"); }
  // That of another attempt at the same step.
  void MakeEarlier(const std::string& status) {
    SetStatusAt(seconds(1), kRunning);
    ASSERT_EQ(Run(true, seconds(2)).outcome, PodOutcome::kTimedOut);
    SetStatus(status);
  }

  const KubeObject root_ = ObjectNamed("deployments", "spark-m");
  Marks marks_;
  PodToRun step_{"books:1", {"save", "--all"}, {{"TO", "s3://books"}}};
};

TEST_F(StepPodTest, RunsUntilItSucceeds) {
  SetStatusAt(seconds(3), kRunning);
  SetStatusAt(seconds(9), kSucceeded);
  EXPECT_EQ(Run().outcome, PodOutcome::kSucceeded);
  EXPECT_GE(clock_.elapsed, seconds(9));
  EXPECT_LT(clock_.elapsed, seconds(11));
  const JsonDocument pod = Pod();
  const JsonValue spec = pod.root()["spec"];
  EXPECT_EQ(pod.root()["metadata"]["labels"].ToText(),
            R"({"cluster-watcher/step":"before-delete"})")
      << "by its labels it is nobody's, not even the cluster's";
  EXPECT_EQ(pod.root()["metadata"]["ownerReferences"].At(0)["uid"].AsString(), root_.meta.uid);
  EXPECT_EQ(spec["serviceAccountName"].AsString(), "cluster-watcher-steps");
  EXPECT_EQ(spec["automountServiceAccountToken"].AsBool(), false);
  EXPECT_EQ(spec["restartPolicy"].AsString(), "Never");
  EXPECT_EQ(spec["activeDeadlineSeconds"].AsInteger(), 30);
  const JsonValue container = spec["containers"].At(0);
  EXPECT_EQ(container["image"].AsString(), "books:1");
  EXPECT_EQ(container["command"].ToText(), R"(["save","--all"])");
  EXPECT_EQ(container["env"].ToText(), R"([{"name":"TO","value":"s3://books"}])");
}

TEST_F(StepPodTest, OneThatFailsIsToldWithTheEndOfItsLog) {
  SetStatusAt(seconds(3),
              R"({"phase":"Failed","containerStatuses":[{"name":"step","state":)"
              R"({"terminated":{"exitCode":3,"reason":"Error","message":"no room\n"}}}]})");
  const StepAttempt attempt = Run();
  EXPECT_EQ(attempt.outcome, PodOutcome::kFailed);
  EXPECT_EQ(attempt.why, "pod " + Name() + ": exit code 3, Error: no room");
  EXPECT_FALSE(attempt.is_final);
}

TEST_F(StepPodTest, OfALongLogTheEndIsTold) {
  SetStatusAt(seconds(3),
              R"({"phase":"Failed","containerStatuses":[{"name":"step","state":{"terminated":)"
              R"({"exitCode":1,"message":")" +
                  std::string(2000, 'x') + R"(the end"}}}]})");
  const StepAttempt attempt = Run();
  EXPECT_TRUE(attempt.why.ends_with("xthe end")) << attempt.why;
  EXPECT_LT(attempt.why.size(), 500u);
}

TEST_F(StepPodTest, OneThatIsEvictedHasFailedAndOneThatIsCutOffHasTimedOut) {
  SetStatusAt(seconds(3), R"({"phase":"Failed","reason":"Evicted","message":"low on memory"})");
  const StepAttempt evicted = Run();
  EXPECT_EQ(evicted.outcome, PodOutcome::kFailed);
  EXPECT_TRUE(evicted.why.ends_with(": Evicted: low on memory")) << evicted.why;
  SetStatus(R"({"phase":"Failed","reason":"DeadlineExceeded","message":"too long",)"
            R"("containerStatuses":[{"name":"step","state":{"terminated":{"exitCode":137,)"
            R"("message":"still saving"}}}]})");
  const StepAttempt late = Run();
  EXPECT_EQ(late.outcome, PodOutcome::kTimedOut);
  EXPECT_TRUE(late.why.ends_with("DeadlineExceeded: too long; exit code 137, still saving"))
      << late.why;
}

// A mesh's sidecar runs on, and its name sorts before.
TEST_F(StepPodTest, ItsOwnContainerCounts) {
  SetStatusAt(seconds(3),
              R"({"phase":"Running","containerStatuses":[{"name":"istio-proxy","state":)"
              R"({"running":{}}},{"name":"step","state":{"terminated":{"exitCode":0}}}]})");
  EXPECT_EQ(Run().outcome, PodOutcome::kSucceeded);
}

TEST_F(StepPodTest, WhatItWaitsForIsToldWhereItDoesNotEnd) {
  SetStatusAt(seconds(3),
              R"({"phase":"Pending","containerStatuses":[{"name":"step","state":{"waiting":)"
              R"({"reason":"ImagePullBackOff","message":"no such image"}}}]})");
  const StepAttempt attempt = Run(true, seconds(10));
  EXPECT_EQ(attempt.outcome, PodOutcome::kTimedOut);
  EXPECT_EQ(attempt.why,
            "pod " + Name() + ": not ended within 10s: ImagePullBackOff: no such image");
  EXPECT_EQ(clock_.elapsed, seconds(10));
  SetStatus(R"({"phase":"Pending","containerStatuses":null,"conditions":[{"type":"PodScheduled",)"
            R"("status":"False","reason":"Unschedulable","message":"no node"}]})");
  EXPECT_TRUE(Run(true, seconds(1)).why.ends_with(": Unschedulable: no node"));
}

TEST_F(StepPodTest, IsNotStartedTwiceByWhoResumes) {
  MakeEarlier(kRunning);
  SetStatusAt(clock_.elapsed + seconds(5), kSucceeded);
  EXPECT_EQ(Run(true).outcome, PodOutcome::kSucceeded);
  EXPECT_EQ(Run(true).outcome, PodOutcome::kSucceeded);
  EXPECT_EQ(Created(), 1u);
}

TEST_F(StepPodTest, OfAnEarlierAttemptIsReplaced) {
  MakeEarlier(kSucceeded);
  const std::string earlier = Uid();
  SetStatusAt(clock_.elapsed + seconds(5), kSucceeded);
  EXPECT_EQ(Run(false).outcome, PodOutcome::kSucceeded);
  EXPECT_EQ(Created(), 2u);
  EXPECT_NE(Uid(), earlier);
}

TEST_F(StepPodTest, OneThatIsDeletedMeanwhileHasFailed) {
  clock_.At(seconds(3), [this] { Delete(Path()); });
  const StepAttempt attempt = Run();
  EXPECT_EQ(attempt.outcome, PodOutcome::kFailed);
  EXPECT_TRUE(attempt.why.ends_with(": was deleted")) << attempt.why;
  EXPECT_FALSE(attempt.is_final) << "it may have been evicted";
  EXPECT_EQ(Created(), 1u);
}

TEST_F(StepPodTest, WhereItsRootIsGoneNoOtherIsMade) {
  clock_.At(seconds(3), [this] { Delete(kRoot); });
  const StepAttempt attempt = Run();
  EXPECT_TRUE(attempt.why.ends_with(": was deleted")) << attempt.why;
  EXPECT_TRUE(attempt.is_final);
}

// A program that exits with 0 when it is told to stop has not done its work.
TEST_F(StepPodTest, OneThatIsCutOffHasNotSucceeded) {
  SetStatusAt(seconds(3), R"({"phase":"Failed","reason":"DeadlineExceeded","containerStatuses":)"
                          R"([{"name":"step","state":{"terminated":{"exitCode":0}}}]})");
  EXPECT_EQ(Run().outcome, PodOutcome::kTimedOut);
}

TEST_F(StepPodTest, ThatOfAnotherDeletionIsAnother) {
  MakeEarlier(kSucceeded);
  const std::string earlier = Name();
  marks_.abandoned_since = WallTime(std::chrono::seconds(1'800'000'000));
  EXPECT_EQ(Run(true, seconds(2)).outcome, PodOutcome::kTimedOut);
  EXPECT_EQ(Created(), 2u);
  Make().End();
  EXPECT_TRUE(Exists(std::string(kPodsPath) + "/" + earlier));
  EXPECT_EQ(Name(), earlier) << "the other one was deleted";
}

TEST_F(StepPodTest, WithoutTheRightItFailsAtOnce) {
  Refuse("POST", "/pods", 403);
  const StepAttempt attempt = Run();
  EXPECT_EQ(attempt.outcome, PodOutcome::kFailed);
  EXPECT_NE(attempt.why.find("create pods"), std::string::npos) << attempt.why;
  EXPECT_EQ(clock_.elapsed, Duration(0));
}

// The answer to a create may be lost.
TEST_F(StepPodTest, WhatWasCreatedIsNotCreatedAgainThoughTheAnswerWasLost) {
  small_kubernetes::Fault lost;
  lost.method = "POST";
  lost.contains = "/pods";
  lost.action = small_kubernetes::Fault::Action::kPass;
  lost.delay_after = seconds(10);
  kubernetes_.GetFaults().Add(lost);
  SetStatusAt(seconds(9), kSucceeded);
  EXPECT_EQ(Run().outcome, PodOutcome::kSucceeded);
  EXPECT_EQ(Created(), 1u);
}

TEST_F(StepPodTest, WhatFailsForTheMomentIsAskedAgain) {
  Refuse("GET", "/pods/cluster-watcher-step", 500, 0, 2);
  Refuse("POST", "/pods", 503, 0, 1);
  SetStatusAt(seconds(9), kSucceeded);
  EXPECT_EQ(Run().outcome, PodOutcome::kSucceeded);
}

TEST_F(StepPodTest, AnothersOfThatNameIsLeftAlone) {
  SetStatusAt(seconds(1), kRunning);
  Run(true, seconds(2));
  const std::string path = Path();
  Patch(path, R"({"metadata":{"labels":{"cluster-watcher/step":null}}})");
  const StepAttempt attempt = Run(false);
  EXPECT_EQ(attempt.outcome, PodOutcome::kFailed);
  EXPECT_TRUE(attempt.is_final);
  Make().End();
  EXPECT_TRUE(Exists(path));
}

}  // namespace
}  // namespace cluster_watcher

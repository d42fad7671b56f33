#include "watcher/driver/await.h"

#include <gtest/gtest.h>

#include <stop_token>
#include <string>
#include <utility>

#include "test/unit/support/driver_lab.h"

namespace cluster_watcher {
namespace {

using std::chrono::seconds;

class AwaitTest : public DriverLab {
 protected:
  DriverOutcome AwaitBy(const std::string& app, Duration timeout = seconds(60)) {
    began_ = clock_.elapsed;
    return Await(tools_, cluster_, *OwnerName::Parse(app), timeout);
  }
  Duration Took() const { return clock_.elapsed - began_; }

  Duration began_{0};
};

TEST_F(AwaitTest, WhatIsReadyIsReadyAtOnce) {
  EXPECT_EQ(AwaitBy("deployment/bob").said, "cluster spark is ready, and shared");
  MakeEphemeral("deployment.apps/bob");
  EXPECT_EQ(AwaitBy("deployment/bob").said, "cluster spark is ready");
  EXPECT_EQ(Took(), seconds(0));
}

TEST_F(AwaitTest, AnothersIsSaidAtOnce) {
  MakeWorkload("alice", "");
  MakeEphemeral("deployment.apps/alice");
  MarkRoot("phase", "condemned");
  const DriverOutcome outcome = AwaitBy("deployment/bob");
  EXPECT_EQ(outcome.exit, DriverExit::kOthers);
  EXPECT_EQ(outcome.error,
            "cluster spark belongs to deployment.apps/alice, not deployment.apps/bob");
  EXPECT_EQ(Took(), seconds(0));
}

// Its watcher is about to delete it.
TEST_F(AwaitTest, AnothersIsWaitedForWhoseOwnerIsOver) {
  MakeEphemeral("deployment.apps/alice");
  EXPECT_EQ(AwaitBy("deployment/bob", seconds(10)).exit, DriverExit::kOthers);
  EXPECT_EQ(Took(), seconds(10));
  MakeWorkload("alice", "");
  Patch("/apis/apps/v1/namespaces/lab/deployments/alice", R"({"spec":{"replicas":0}})");
  kubernetes_.Settle();
  clock_.At(clock_.elapsed + seconds(5), [this] {
    for (const char* path : {kRoot, kWorker, kService}) Delete(path);
    kubernetes_.Settle();
  });
  EXPECT_EQ(AwaitBy("deployment/bob").exit, DriverExit::kNoCluster);
}

// A quota or an admission keeps it from having pods.
TEST_F(AwaitTest, WhosePodsAreRefusedAndWhyIsSaid) {
  Delete(kService);
  kubernetes_.on_answer = [](const small_kubernetes::Request& request,
                             const small_kubernetes::User&, small_kubernetes::Response& answer) {
    if (request.target.find("/replicasets?labelSelector") == std::string::npos) return;
    answer.body.replace(answer.body.find(R"("status":{)"), 10,
                        R"("status":{"conditions":[{"type":"ReplicaFailure","status":"True",)"
                        R"("message":"exceeded quota: small"}],)");
  };
  const std::string error = AwaitBy("deployment/bob", seconds(0)).error;
  EXPECT_TRUE(
      error.starts_with("cluster spark lacks a master service; pods of replicaset.apps/spark-"))
      << error;
  EXPECT_TRUE(error.ends_with(" are refused: exceeded quota: small")) << error;
}

TEST_F(AwaitTest, WhatIsCondemnedIsWaitedForAndThenRefused) {
  MarkRoot("phase", "condemned");
  const Duration timeout = seconds(20) + Duration(500);
  const DriverOutcome outcome = AwaitBy("deployment/bob", timeout);
  EXPECT_EQ(outcome.exit, DriverExit::kNotReady);
  EXPECT_EQ(outcome.error, "cluster spark is Condemned");
  EXPECT_EQ(Took(), timeout);
}

TEST_F(AwaitTest, WhatBecomesReadyIsReady) {
  Delete(kService);
  clock_.At(clock_.elapsed + seconds(5),
            [this] { MakeService("spark", R"("oshinko-type":"master")"); });
  EXPECT_EQ(AwaitBy("deployment/bob").exit, DriverExit::kDone);
  EXPECT_LE(Took(), seconds(6));
}

TEST_F(AwaitTest, WhatGoesIsSaidToBeGoneAtOnce) {
  MarkRoot("phase", "deleting");
  clock_.At(clock_.elapsed + seconds(5), [this] {
    for (const char* path : {kRoot, kWorker, kService}) Delete(path);
    kubernetes_.Settle();
  });
  const DriverOutcome outcome = AwaitBy("deployment/bob");
  EXPECT_EQ(outcome.exit, DriverExit::kNoCluster);
  EXPECT_EQ(outcome.error, "no cluster spark");
  EXPECT_LE(Took(), seconds(6));
}

TEST_F(AwaitTest, FailuresInPassingAreWaitedFor) {
  Refuse("GET", "/services", 503);
  clock_.At(clock_.elapsed + seconds(15), [this] { kubernetes_.GetFaults().Clear(); });
  EXPECT_EQ(AwaitBy("deployment/bob").exit, DriverExit::kDone);
  Refuse("GET", "/services", 503);
  EXPECT_EQ(AwaitBy("deployment/bob", seconds(10)).exit, DriverExit::kUnknown);
}

TEST_F(AwaitTest, WhatMayNotBeReadIsUnknownAtOnce) {
  Refuse("GET", "/services", 403);
  EXPECT_EQ(AwaitBy("deployment/bob").exit, DriverExit::kUnknown);
  EXPECT_EQ(Took(), seconds(0));
}

TEST_F(AwaitTest, AnOwnerThatMayNotBeReadIsSaidAtOnceWithTheRuleThatLacks) {
  small_kubernetes::Fault fault;
  fault.method = "GET";
  fault.contains = "/jobs";
  fault.times = 0;
  fault.response = {403,
                    R"({"kind":"Status","apiVersion":"v1","status":"Failure","code":403,)"
                    R"("reason":"Forbidden","message":"jobs.batch is forbidden: User \"u\" cannot )"
                    R"(list resource \"jobs\" in API group \"batch\" in the namespace \"lab\"",)"
                    R"("details":{"group":"batch","kind":"jobs"}})",
                    "application/json", std::nullopt};
  kubernetes_.GetFaults().Add(fault);
  const DriverOutcome outcome = AwaitBy("job/etl");
  EXPECT_EQ(outcome.exit, DriverExit::kUnknown);
  EXPECT_NE(outcome.error.find("needs rules: "), std::string::npos) << outcome.error;
  EXPECT_EQ(Took(), seconds(0));
}

TEST_F(AwaitTest, WhatIsMissingIsNamed) {
  Delete(kWorker);
  EXPECT_EQ(AwaitBy("deployment/bob", seconds(2)).error, "cluster spark lacks a worker");
  MakeWorkload("spark-m2", R"("oshinko-cluster":"spark","oshinko-type":"master",)");
  EXPECT_EQ(AwaitBy("deployment/bob", seconds(2)).error,
            "cluster spark has several masters: deployment.apps/spark-m; "
            "deployment.apps/spark-m2");
  for (const char* root : {"spark-m", "spark-m2"}) {
    Delete("/apis/apps/v1/namespaces/lab/deployments/" + std::string(root));
  }
  kubernetes_.Settle();
  EXPECT_EQ(AwaitBy("deployment/bob", seconds(2)).exit, DriverExit::kNotReady)
      << "its service is there still";
}

TEST_F(AwaitTest, AnOwnerThatIsGoneMayWaitForASharedCluster) {
  EXPECT_EQ(AwaitBy("deployment/carol").exit, DriverExit::kDone);
  Refuse("GET", "/deployments?fieldSelector", 403);
  Refuse("GET", "/deployments/carol", 403);
  EXPECT_EQ(AwaitBy("deployment/carol", seconds(2)).exit, DriverExit::kUnknown)
      << "whose it is isn't known";
}

TEST_F(AwaitTest, ToldToStopItWaitsNoLonger) {
  MarkRoot("phase", "condemned");
  std::stop_source source;
  const DriverTools tools{client_, discovery_, clock_, source.get_token()};
  began_ = clock_.elapsed;
  clock_.At(clock_.elapsed + seconds(5), [&] { source.request_stop(); });
  const auto outcome = Await(tools, cluster_, *OwnerName::Parse("bob"), seconds(60));
  EXPECT_NE(outcome.exit, DriverExit::kDone);
  EXPECT_EQ(Took(), seconds(5));
}

}  // namespace
}  // namespace cluster_watcher

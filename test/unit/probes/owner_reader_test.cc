#include "probes/owner_reader.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "test/unit/support/fake_transport.h"

namespace cluster_watcher {
namespace {

class OwnerReaderTest : public testing::Test {
 protected:
  OwnerReaderTest() {
    api_.transport.otherwise = [](const HttpRequest& request) -> HttpResult {
      return FakeApi::Discovered(request, {TypeOf("dc")}).value_or(NoSuchPath());
    };
  }

  Result<OwnerFields, ApiError> Read(const char* type, const std::string& fields,
                                     const std::string& metadata = "",
                                     Freshness freshness = Freshness::kConsistent) {
    const auto document =
        JsonDocument::Parse(ObjectText(TypeOf(type), "lab", "bob", "u-bob", metadata, fields));
    const KubeObject object{TypeOf(type), *ReadObjectMeta(document->root())};
    return OwnerReader(api_.client, api_.discovery).Read(object, document->root(), freshness, {});
  }

  // Returns what of bob runs; "unknown" if that can't be told.
  std::string Running(const char* type, const ClusterOfPods& but = {}) {
    const auto found =
        OwnerReader(api_.client, api_.discovery)
            .FindRunning({TypeOf(type), "lab", "bob", "u-bob", "", "", false}, but, {});
    return found ? *found : "unknown";
  }

  void ServeAll(const char* type, const std::vector<std::string>& items) {
    api_.transport.On(ApiRequest::List(TypeOf(type), "lab"), ListAnswer(TypeOf(type), items));
  }

  static std::string Job(const std::string& uid, const std::string& owner,
                         const std::string& status) {
    return ObjectText(TypeOf("job"), "lab", "job-" + uid, uid,
                      ControlledBy(TypeOf("cronjob"), "bob", owner), R"("spec":{},)" + status);
  }

  FakeApi api_;
};

constexpr char kSuspend[] = R"("spec":{"suspend":true})";
constexpr char kComplete[] = R"("status":{"conditions":[{"type":"Complete","status":"True"}]})";

TEST_F(OwnerReaderTest, ACronJobRunsUntilItsJobsHaveEnded) {
  ServeAll("job", {Job("u1", "u-bob", kComplete), Job("u2", "u-alice", R"("status":{})")});
  api_.transport.On(ApiRequest::ListUnendedPods("lab", "job-name"), ListAnswer(TypeOf("pod"), {}));
  EXPECT_EQ(Running("cronjob"), "");
  api_.transport.Forget();
  const std::string held = R"("spec":{"suspend":true},"status":{})";
  for (const std::string& job :
       {Job("u2", "u-bob", R"("status":{"active":1})"),
        ObjectText(TypeOf("job"), "lab", "job-u2", "u2",
                   ControlledBy(TypeOf("cronjob"), "bob", "u-bob"), held)}) {
    ServeAll("job", {Job("u1", "u-bob", kComplete), job});
    EXPECT_EQ(Running("cronjob"), "job.batch/job-u2") << "a suspended one hasn't ended either";
  }
  for (const HttpResult& answer : {HttpResult(Refused(403)), HttpResult(NoAnswer())}) {
    api_.transport.Forget();
    api_.transport.On(ApiRequest::List(TypeOf("job"), "lab"), answer);
    EXPECT_EQ(Running("cronjob"), "unknown");
  }
  api_.transport.Forget();
  EXPECT_TRUE(Read("cronjob", kSuspend)->suspended);
  EXPECT_TRUE(api_.transport.requests.empty()) << "what runs is another question";
}

// What says that the application has completed is one of its pods, or knows of one.
TEST_F(OwnerReaderTest, OfACompletedApplicationOnlyOtherPodsRun) {
  const auto pod = [](const char* name) {
    return ObjectText(TypeOf("pod"), "lab", name, name, ControlledBy(TypeOf("job"), "job-u2", "u2"),
                      R"("spec":{})");
  };
  ServeAll("job", {Job("u2", "u-bob", R"("status":{"active":1})")});
  struct Case {
    std::vector<std::string> pods;
    const char* caller;
    const char* uid;
    const char* runs;
  };
  const Case cases[] = {
      {{}, "", "", ""},
      {{pod("a")}, "", "", ""},
      {{pod("a"), pod("b")}, "", "", "pod/b"},
      {{pod("a")}, "a", "", ""},
      {{pod("a")}, "", "a", ""},
      {{pod("a")}, "a", "older", "pod/a"},
      {{pod("a")}, "b", "", "pod/a"},
  };
  for (const Case& one : cases) {
    api_.transport.Forget();
    ServeAll("job", {Job("u2", "u-bob", R"("status":{"active":1})")});
    api_.transport.On(ApiRequest::ListUnendedPods("lab", "job-name"),
                      ListAnswer(TypeOf("pod"), one.pods));
    ClusterOfPods but;
    but.has_completed = true;
    but.caller = one.caller;
    but.caller_uid = one.uid;
    EXPECT_EQ(Running("cronjob", but), one.runs) << one.pods.size() << one.caller << one.uid;
  }
}

// The pods of its RayCluster run on; those of the Job that submitted it don't.
TEST_F(OwnerReaderTest, OnceARayJobsJobHasEndedOnlyItsSubmitterRuns) {
  const auto pod = [](const char* kind, const char* uid) {
    return ObjectText(TypeOf("pod"), "lab", "p", "p", ControlledBy(TypeOf(kind), "x", uid),
                      R"("spec":{})");
  };
  const std::string of_bob = ControlledBy(TypeOf("rayjob"), "bob", "u-bob");
  for (const bool has_ended : {false, true}) {
    for (const char* kind : {"raycluster", "job"}) {
      api_.transport.Forget();
      api_.transport.otherwise = [](const HttpRequest& request) -> HttpResult {
        return FakeApi::Discovered(request, {TypeOf("raycluster"), TypeOf("rayjob")})
            .value_or(NoSuchPath());
      };
      api_.transport.On(ApiRequest::ListUnendedPods("lab"),
                        ListAnswer(TypeOf("pod"), {pod(kind, "u-x")}));
      api_.transport.On(
          ApiRequest::ListMetadata(TypeOf(kind), "lab"),
          ListAnswer(TypeOf(kind), {ObjectText(TypeOf(kind), "lab", "x", "u-x", of_bob, "")}));
      const auto running = OwnerReader(api_.client, api_.discovery)
                               .FindRunning({TypeOf("rayjob"), "lab", "bob", "u-bob", "",
                                             has_ended ? "RayCluster" : "", false},
                                            {}, {});
      ASSERT_TRUE(running) << running.error().message;
      EXPECT_EQ(!running->empty(), !has_ended || *kind == 'j') << kind;
    }
  }
}

// Without a status subresource each write of the status counts up the generation.
TEST_F(OwnerReaderTest, AStatusOfAnOlderGenerationCountsOnlyWithoutAStatusSubresource) {
  const ResourceType& jobs = TypeOf("rayjob");
  const ResourceType status{jobs.group, jobs.version, jobs.plural + "/status", jobs.kind};
  for (const bool has_status : {false, true}) {
    for (const char* generation : {R"("generation":2)", R"("generation":1)"}) {
      api_.transport.otherwise = [&](const HttpRequest& request) -> HttpResult {
        std::vector<ResourceType> served = {jobs};
        if (has_status) served.push_back(status);
        return FakeApi::Discovered(request, served).value_or(NoSuchPath());
      };
      EXPECT_TRUE(api_.discovery.Refresh({}));
      const auto fields = Read(
          "rayjob", R"("spec":{},"status":{"observedGeneration":1,"jobDeploymentStatus":"Failed"})",
          generation);
      ASSERT_TRUE(fields) << fields.error().message;
      const bool is_behind = generation == std::string(R"("generation":2)");
      EXPECT_EQ(fields->completed, !(has_status && is_behind)) << has_status << generation;
      EXPECT_EQ(fields->status_counts, fields->completed);
    }
  }
  api_.transport.otherwise = [](const HttpRequest&) -> HttpResult { return Refused(503); };
  EXPECT_FALSE(api_.discovery.Refresh({}));
  EXPECT_FALSE(
      Read("rayjob", R"("spec":{},"status":{"observedGeneration":1})", R"("generation":2)"));
}

// The API server cuts the name from which it generates another.
TEST_F(OwnerReaderTest, AJobOfALongNameIsTheOnesThatLeftIt) {
  const std::string name(63, 'b');
  ServeAll("job", {ObjectText(TypeOf("job"), "lab", name.substr(0, 58) + "12345", "u1", "",
                              R"("spec":{},"status":{})")});
  api_.transport.On(ApiRequest::ListUnendedPods("lab", "job-name"), ListAnswer(TypeOf("pod"), {}));
  for (const bool is_going : {true, false}) {
    const auto running =
        OwnerReader(api_.client, api_.discovery)
            .FindRunning({TypeOf("cronjob"), "lab", name, "u-bob", "", "", is_going}, {}, {});
    ASSERT_TRUE(running);
    EXPECT_EQ(!running->empty(), is_going);
  }
}

// A selector finds all pods of a workload alone.
TEST_F(OwnerReaderTest, PodsAreFoundByTheirControllersWhereASelectorMayMissSome) {
  const ApiRequest all = ApiRequest::ListUnendedPods("lab");
  const ApiRequest selected = ApiRequest::ListBySelector(TypeOf("pod"), "lab", "app=bob", false);
  const ResourceType gizmos{"example.com", "v1", "gizmos", "Gizmo"};
  struct Case {
    ResourceType type;
    const char* selector;
    bool by_controllers;
  };
  for (const Case& one :
       {Case{TypeOf("deployment"), "", true}, Case{TypeOf("deployment"), "app=bob", false},
        Case{gizmos, "app=bob", true}}) {
    api_.transport.Forget();
    const std::string pod = ObjectText(TypeOf("pod"), "lab", "p", "p",
                                       ControlledBy(one.type, "bob", "u-bob"), R"("spec":{})");
    api_.transport.On(all, ListAnswer(TypeOf("pod"), {pod}));
    api_.transport.On(selected, ListAnswer(TypeOf("pod"), {}));
    const auto running =
        OwnerReader(api_.client, api_.discovery)
            .FindRunning({one.type, "lab", "bob", "u-bob", one.selector, "", true}, {}, {});
    ASSERT_TRUE(running);
    EXPECT_EQ(*running, one.by_controllers ? "pod/p" : "") << one.type.kind << one.selector;
    EXPECT_EQ(api_.transport.WasAsked(all), one.by_controllers);
  }
}

// A DeploymentConfig and the ReplicationControllers of its rollouts.
class RolloutTest : public OwnerReaderTest {
 protected:
  struct Controller {
    int version;
    const char* phase;
  };

  void ServeConfig(int replicas, int latest, const std::vector<Controller>& controllers,
                   const char* uid = "u-dc", const std::string& more_of_spec = "") {
    api_.transport.Forget();
    const std::string fields = R"("spec":{"replicas":)" + std::to_string(replicas) + more_of_spec +
                               R"(},"status":{"latestVersion":)" + std::to_string(latest) + "}";
    api_.transport.On(
        ApiRequest::ListByName(TypeOf("dc"), "lab", "bobs", Freshness::kConsistent),
        ListAnswer(TypeOf("dc"), {ObjectText(TypeOf("dc"), "lab", "bobs", uid, "", fields)}));
    std::vector<std::string> items;
    for (const Controller& one : controllers) {
      const std::string name = "bobs-" + std::to_string(one.version);
      items.push_back(ObjectText(TypeOf("rc"), "lab", name, name, Metadata(one), R"("spec":{})"));
    }
    ServeAll("rc", items);
  }

  static std::string Metadata(const Controller& one) {
    return R"("annotations":{"openshift.io/deployment-config.latest-version":")" +
           std::to_string(one.version) + R"(","openshift.io/deployment.phase":")" + one.phase +
           R"("},)" + ControlledBy(TypeOf("dc"), "bobs", "u-dc");
  }

  // How many replicas a ReplicationController at 0 counts as: 1 if it may come back.
  std::int64_t Wanted(const Controller& one) {
    const auto fields = Read("rc", R"("spec":{"replicas":0})", Metadata(one));
    EXPECT_TRUE(fields) << (fields ? "" : fields.error().message);
    return fields ? fields->replicas : -1;
  }
};

TEST_F(RolloutTest, TheNewestComesUpUntilItsRolloutHasEnded) {
  for (const char* phase : {"New", "Pending", "Running"}) {
    ServeConfig(1, 2, {{1, "Complete"}, {2, phase}});
    EXPECT_EQ(Wanted({2, phase}), 1) << phase;
    ServeConfig(1, 2, {{1, "Complete"}, {2, phase}});
    EXPECT_EQ(Wanted({1, "Complete"}), 1) << "it comes back if " << phase << " fails";
  }
}

TEST_F(RolloutTest, OnceItsRolloutHasEndedTheLatestCompleteOneIsWanted) {
  ServeConfig(1, 2, {{1, "Complete"}, {2, "Complete"}});
  EXPECT_EQ(Wanted({1, "Complete"}), 0);
  EXPECT_EQ(Wanted({2, "Complete"}), 1) << "its DeploymentConfig wants it";
  ServeConfig(1, 3, {{1, "Complete"}, {2, "Complete"}, {3, "Failed"}});
  EXPECT_EQ(Wanted({1, "Complete"}), 0);
  EXPECT_EQ(Wanted({2, "Complete"}), 1);
  EXPECT_EQ(Wanted({3, "Failed"}), 0);
  ServeConfig(0, 1, {{1, "Complete"}});
  EXPECT_EQ(Wanted({1, "Complete"}), 0) << "it wants none";
  ServeConfig(1, 1, {{1, "Complete"}}, "u-another");
  EXPECT_EQ(Wanted({1, "Complete"}), 0) << "it is gone";
}

TEST_F(RolloutTest, TheOrderInWhichTheyAreListedDoesNotMatter) {
  ServeConfig(1, 2, {{2, "Complete"}, {1, "Complete"}});
  EXPECT_EQ(Wanted({2, "Complete"}), 1);
}

TEST_F(RolloutTest, AnotherConfigsControllersDoNotCount) {
  const auto config = ObjectText(TypeOf("dc"), "lab", "bobs", "u-dc", "",
                                 R"("spec":{"replicas":1},"status":{"latestVersion":2})");
  std::string others = Metadata({7, "Complete"});
  others.replace(others.find("u-dc"), 4, "u-other");
  api_.transport.On(ApiRequest::ListByName(TypeOf("dc"), "lab", "bobs", Freshness::kConsistent),
                    ListAnswer(TypeOf("dc"), {config}));
  ServeAll("rc", {ObjectText(TypeOf("rc"), "lab", "bobs-2", "r2", Metadata({2, "Complete"})),
                  ObjectText(TypeOf("rc"), "lab", "others-7", "r7", others)});
  EXPECT_EQ(Wanted({2, "Complete"}), 1);
}

// One that is paused, or a test, is scaled only by its rollouts.
TEST_F(RolloutTest, OnceARolloutOfAPausedConfigHasEndedNoneIsWanted) {
  for (const char* spec : {R"(,"paused":true)", R"(,"test":true)"}) {
    ServeConfig(1, 2, {{1, "Complete"}, {2, "Complete"}}, "u-dc", spec);
    EXPECT_EQ(Wanted({2, "Complete"}), 0) << spec;
    ServeConfig(1, 3, {{2, "Complete"}, {3, "Running"}}, "u-dc", spec);
    EXPECT_EQ(Wanted({2, "Complete"}), 1) << spec;
  }
}

TEST_F(RolloutTest, OneOfUnknownVersionMayBeWantedUnlessNoneIs) {
  for (const std::string version : {"1x", "-1", "0", ""}) {
    std::string metadata = Metadata({1, "Complete"});
    metadata.replace(metadata.find(":\"1\"") + 2, 1, version);
    for (const int replicas : {1, 0}) {
      ServeConfig(replicas, 2, {{1, "Complete"}, {2, "Complete"}});
      EXPECT_EQ(Read("rc", R"("spec":{"replicas":0})", metadata)->replicas, replicas) << version;
    }
  }
}

TEST_F(RolloutTest, WhatAnotherKindControlsIsWhatItSays) {
  const auto fields =
      Read("rc", R"("spec":{"replicas":0})", ControlledBy(TypeOf("deployment"), "bobs", "u-dc"));
  ASSERT_TRUE(fields);
  EXPECT_EQ(fields->replicas, 0);
}

TEST_F(RolloutTest, AConfigThatCantBeReadIsAnError) {
  api_.transport.otherwise = [](const HttpRequest& request) -> HttpResult {
    return request.target == "/apis" ? HttpResult(GroupList({})) : HttpResult(Refused(403));
  };
  EXPECT_FALSE(Read("rc", R"("spec":{"replicas":0})", Metadata({1, "Complete"})));
}

TEST_F(RolloutTest, AVersionThatIsNoneIsAnError) {
  api_.transport.On(
      ApiRequest::ListByName(TypeOf("dc"), "lab", "bobs", Freshness::kConsistent),
      ListAnswer(TypeOf("dc"),
                 {ObjectText(TypeOf("dc"), "lab", "bobs", "u-dc", "",
                             R"("spec":{"replicas":1},"status":{"latestVersion":"2"})")}));
  ServeAll("rc", {});
  EXPECT_FALSE(Read("rc", R"("spec":{"replicas":0})", Metadata({1, "Complete"})));
}

TEST_F(RolloutTest, AControllerOfItsOwnIsWhatItSays) {
  EXPECT_EQ(Read("rc", R"("spec":{"replicas":0})")->replicas, 0);
  EXPECT_EQ(Read("rc", R"("spec":{"replicas":2})", Metadata({1, "Complete"}))->replicas, 2);
  EXPECT_TRUE(api_.transport.requests.empty());
}

}  // namespace
}  // namespace cluster_watcher

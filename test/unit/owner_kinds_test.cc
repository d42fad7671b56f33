#include "probes/owner_kinds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "test/unit/fake_transport.h"

namespace cluster_watcher {
namespace {

using std::chrono::seconds;

Result<OwnerFields> Read(const char* type, const std::string& text) {
  const auto document = JsonDocument::Parse(text);
  EXPECT_TRUE(document) << text;
  return ReadOwnerFields(TypeOf(type), document->root());
}

const std::vector<const char*> kReplicated = {"deployment", "rc", "dc", "sts", "rs"};

TEST(OwnerKinds, AreThoseThatCanBeJudged) {
  for (const char* name : {"deployment", "rc", "dc", "sts", "rs", "job"}) {
    EXPECT_TRUE(CanJudge(TypeOf(name))) << name;
  }
  for (const char* name : {"pod", "cronjob", "daemonset", "service", "raycluster", "secret"}) {
    EXPECT_FALSE(CanJudge(TypeOf(name))) << name;
  }
  EXPECT_FALSE(CanJudge({"example.com", "v1", "deployments", "Deployment"}));
}

TEST(OwnerKinds, BareNamesAreLookedForInThisOrder) {
  std::vector<std::string> names;
  for (const ResourceType& type : BareNameTypes()) names.push_back(type.kind);
  EXPECT_EQ(names, (std::vector<std::string>{"ReplicationController", "Deployment",
                                             "DeploymentConfig", "StatefulSet", "Job"}));
}

TEST(OwnerKinds, WorkloadsAreAllThatRunPods) {
  std::vector<std::string> names;
  for (const ResourceType& type : WorkloadTypes()) names.push_back(type.kind);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"CronJob", "DaemonSet", "Deployment",
                                             "DeploymentConfig", "Job", "Pod", "ReplicaSet",
                                             "ReplicationController", "StatefulSet"}));
}

TEST(ReadOwnerFields, ReplicasAreTheDesiredOnes) {
  for (const char* type : kReplicated) {
    for (const std::int64_t count : {0, 1, 2, 2'147'483'647}) {
      const auto fields = Read(type, R"({"spec":{"replicas":)" + std::to_string(count) +
                                         R"(},"status":{"replicas":5,"readyReplicas":0}})");
      ASSERT_TRUE(fields) << type;
      EXPECT_EQ(fields->replicas, count) << type;
      EXPECT_FALSE(fields->suspended || fields->completed) << type;
    }
  }
}

TEST(ReadOwnerFields, ReplicasThatAreNoCountAreAnError) {
  for (const char* type : kReplicated) {
    for (const char* text :
         {"{}", R"({"spec":null})", R"({"spec":[]})", R"({"spec":{}})",
          R"({"spec":{"replicas":null}})", R"({"spec":{"replicas":"1"}})",
          R"({"spec":{"replicas":-1}})", R"({"spec":{"replicas":0.0}})",
          R"({"spec":{"replicas":false}})", R"({"spec":{"replicas":18446744073709551616}})",
          R"({"status":{"replicas":1}})"}) {
      EXPECT_FALSE(Read(type, text)) << type << text;
    }
  }
  EXPECT_FALSE(Read("job", "{}"));
  EXPECT_FALSE(Read("service", R"({"spec":{}})")) << "no kind of owner";
}

TEST(ReadOwnerFields, AJobsParallelismIsNotReplicas) {
  const auto job = Read("job", R"({"spec":{"parallelism":0,"completions":7,"replicas":5}})");
  ASSERT_TRUE(job);
  EXPECT_EQ(job->replicas, 1);
}

TEST(ReadOwnerFields, AJobIsSuspendedWhereNothingOfItRuns) {
  struct Case {
    const char* text;
    bool suspended;
  };
  const std::vector<Case> cases = {
      {R"({"spec":{}})", false},
      {R"({"spec":{"suspend":false},"status":{"active":0}})", false},
      {R"({"spec":{"suspend":"true"}})", false},
      {R"({"spec":{"suspend":true}})", true},
      {R"({"spec":{"suspend":true},"status":{}})", true},
      {R"({"spec":{"suspend":true},"status":{"active":0}})", true},
      {R"({"spec":{"suspend":true},"status":{"active":1}})", false},
      {R"({"spec":{"suspend":true},"status":{"active":"1"}})", false},
  };
  for (const Case& one : cases) {
    const auto job = Read("job", one.text);
    EXPECT_EQ(job && job->suspended, one.suspended) << one.text;
  }
  EXPECT_FALSE(Read("deployment", R"({"spec":{"replicas":1,"suspend":true}})")->suspended);
  EXPECT_FALSE(Read("cronjob", R"({"spec":{"suspend":true},"status":{"active":[{}]}})")->suspended);
  EXPECT_TRUE(Read("cronjob", R"({"spec":{"suspend":true},"status":{}})")->suspended);
}

TEST(ReadOwnerFields, OnlyATrueTerminalConditionCompletesAJob) {
  const auto with = [](const std::string& conditions) {
    return Read("job", R"({"spec":{},"status":{"conditions":)" + conditions + "}}");
  };
  struct Case {
    const char* conditions;
    bool completed;
  };
  const std::vector<Case> cases = {
      {"[]", false},
      {"null", false},
      {"{}", false},
      {R"([1,null,"Complete"])", false},
      {R"([{"type":"Complete","status":"True"}])", true},
      {R"([{"type":"Failed","status":"True"}])", true},
      {R"([{"type":"Suspended","status":"False"},{"type":"Complete","status":"True"}])", true},
      {R"([{"type":"Complete","status":"False"}])", false},
      {R"([{"type":"Failed","status":"Unknown"}])", false},
      {R"([{"type":"Complete","status":true}])", false},
      {R"([{"type":"Complete"}])", false},
      {R"([{"type":"complete","status":"True"}])", false},
      {R"([{"type":"FailureTarget","status":"True"}])", false},
      {R"([{"type":"SuccessCriteriaMet","status":"True"}])", false},
      {R"([{"type":"Suspended","status":"True"}])", false},
  };
  for (const Case& one : cases) EXPECT_EQ(with(one.conditions)->completed, one.completed);
  EXPECT_FALSE(Read("deployment", R"({"spec":{"replicas":1},"status":{"conditions":)"
                                  R"([{"type":"Complete","status":"True"}]}})")
                   ->completed);
}

TEST(ReadOwnerFields, TheTerminationGraceIsThatOfItsPods) {
  const auto with = [](const std::string& grace) {
    return Read("deployment", R"({"spec":{"replicas":1,"terminationGracePeriodSeconds":5,)"
                              R"("template":{"spec":{)" +
                                  grace + "}}}}")
        ->termination_grace;
  };
  const std::string field = R"("terminationGracePeriodSeconds":)";
  EXPECT_EQ(with(field + "90"), seconds(90));
  EXPECT_EQ(with(field + "0"), seconds(0));
  EXPECT_EQ(with(field + "-1"), std::nullopt);
  EXPECT_EQ(with(field + "\"90\""), std::nullopt);
  EXPECT_EQ(with(""), std::nullopt);
}

TEST(ReadOwnerFields, SelectorsAreWrittenAsTheApiTakesThem) {
  struct Case {
    const char* type;
    const char* selector;
    const char* expected;
  };
  const std::vector<Case> cases = {
      {"rc", R"({"app":"bob","tier":"x"})", "app=bob,tier=x"},
      {"dc", R"({"app":"bob"})", "app=bob"},
      {"rc", "null", ""},
      {"deployment", R"({"matchLabels":{"app":"bob","a/b":""}})", "app=bob,a/b="},
      {"sts", R"({"matchExpressions":[{"key":"a","operator":"In","values":["x","y"]}]})",
       "a in (x,y)"},
      {"job",
       R"({"matchLabels":{"app":"bob"},"matchExpressions":[)"
       R"({"key":"a","operator":"NotIn","values":["x"]},{"key":"b","operator":"Exists"},)"
       R"({"key":"c","operator":"DoesNotExist"}]})",
       "app=bob,a notin (x),b,!c"},
      {"deployment", "{}", ""},
  };
  for (const Case& one : cases) {
    const auto fields =
        Read(one.type, R"({"spec":{"replicas":1,"selector":)" + std::string(one.selector) + "}}");
    ASSERT_TRUE(fields);
    EXPECT_EQ(fields->pod_selector, one.expected) << one.selector;
  }
}

TEST(WantsToRun, IsTrueUntilThereIsNothingToRun) {
  struct Case {
    const char* type;
    const char* text;
    std::optional<bool> wants;  // nullopt: can't be told
  };
  const std::vector<Case> cases = {
      {"deployment", R"({"spec":{"replicas":1}})", true},
      {"deployment", R"({"spec":{"replicas":0}})", false},
      {"deployment", R"({"spec":{}})", std::nullopt},
      {"sts", R"({"spec":{"replicas":3}})", true},
      {"rc", R"({"spec":{"replicas":0}})", false},
      {"daemonset", R"({"spec":{}})", true},
      {"cronjob", R"({"spec":{}})", true},
      {"cronjob", R"({"spec":{"suspend":true}})", false},
      {"cronjob", R"({"spec":{"suspend":true},"status":{"active":[{"name":"j"}]}})", true},
      {"job", R"({"spec":{}})", true},
      {"job", R"({"spec":{},"status":{"conditions":[{"type":"Failed","status":"True"}]}})", false},
      {"job", R"({"spec":{"suspend":true}})", false},
      {"job", R"({"spec":{"suspend":true},"status":{"active":1}})", true},
      {"pod", R"({"spec":{}})", true},
      {"pod", R"({"spec":{},"status":{"phase":"Pending"}})", true},
      {"pod", R"({"spec":{},"status":{"phase":"Running"}})", true},
      {"pod", R"({"spec":{},"status":{"phase":"Unknown"}})", true},
      {"pod", R"({"spec":{},"status":{"phase":"Succeeded"}})", false},
      {"pod", R"({"spec":{},"status":{"phase":"Failed"}})", false},
      {"pod", "{}", std::nullopt},
      {"service", R"({"spec":{}})", std::nullopt},
  };
  for (const Case& one : cases) {
    const auto document = JsonDocument::Parse(one.text);
    const auto wants = WantsToRun(TypeOf(one.type), document->root());
    EXPECT_EQ(wants ? std::optional(*wants) : std::nullopt, one.wants) << one.type << one.text;
  }
}

}  // namespace
}  // namespace cluster_watcher

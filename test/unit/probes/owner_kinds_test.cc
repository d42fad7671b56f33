#include "probes/owner_kinds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "probes/owner_reader.h"
#include "test/unit/support/fake_transport.h"

namespace cluster_watcher {
namespace {

using std::chrono::seconds;

Result<OwnerFields> Read(const std::string& type, const std::string& text) {
  const auto document = JsonDocument::Parse(text);
  EXPECT_TRUE(document) << text;
  // Kinds that only discovery knows.
  if (type == "raycronjob") {
    return ReadOwnerFields({"ray.io", "v1", "raycronjobs", "RayCronJob"}, document->root());
  }
  if (type == "cronworkflow") {
    return ReadOwnerFields({"argoproj.io", "v1alpha1", "cronworkflows", "CronWorkflow"},
                           document->root());
  }
  return ReadOwnerFields(TypeOf(type), document->root());
}

const std::vector<const char*> kReplicated = {"deployment", "rc", "dc", "sts", "rs"};

ResourceType Custom(const char* kind) {
  return {"example.com", "v1", std::string(kind) + "s", kind};
}

TEST(OwnerKinds, AreWorkloadsAndCustomResources) {
  for (const char* name :
       {"deployment", "rc", "dc", "sts", "rs", "job", "cronjob", "pod", "daemonset", "raycluster",
        "rayjob", "sparkapplication", "scheduledsparkapplication", "workflow", "flinkdeployment",
        "daskcluster"}) {
    EXPECT_TRUE(CanJudge(TypeOf(name))) << name;
  }
  for (const char* name :
       {"service", "configmap", "secret", "namespace", "pvc", "ingress", "route"}) {
    EXPECT_FALSE(CanJudge(TypeOf(name))) << name;
  }
  EXPECT_TRUE(CanJudge(Custom("gizmo")));
  EXPECT_TRUE(CanJudge({"example.com", "v1", "deployments", "Deployment"}));
  EXPECT_FALSE(CanJudge({"", "v1", "nodes", "Node", false}));
}

TEST(OwnerKinds, OnlyPodsAndReplicaSetsStandForTheirController) {
  EXPECT_TRUE(StandsForItsController(TypeOf("pod")));
  EXPECT_TRUE(StandsForItsController(TypeOf("rs")));
  for (const char* name : {"deployment", "rc", "job", "sparkapplication"}) {
    EXPECT_FALSE(StandsForItsController(TypeOf(name))) << name;
  }
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

TEST(ReadOwnerFields, ASelectorThatIsNoneIsAnError) {
  for (const char* selector :
       {R"({"matchLabels":{"a":1}})", R"({"matchLabels":["a"]})",
        R"({"matchExpressions":[{"key":"a","operator":"Near","values":["b"]}]})",
        R"({"matchExpressions":[{"operator":"Exists"}]})",
        R"({"matchExpressions":[{"key":"a","operator":"In","values":[1]}]})"}) {
    EXPECT_FALSE(
        Read("deployment", R"({"spec":{"replicas":1,"selector":)" + std::string(selector) + "}}"))
        << selector;
  }
  EXPECT_FALSE(Read("rc", R"({"spec":{"replicas":1,"selector":{"a":null}}})"));
}

// What each kind means by suspended: what its fields say, and what must be asked besides.
TEST(ReadOwnerFields, SuspendedIsWhatTheKindMeansByIt) {
  struct Case {
    const char* type;
    const char* text;
    bool suspended;
    const char* unless_run;  // "": nothing
    bool unless_pod;
  };
  constexpr const char* kSuspend = R"({"spec":{"suspend":true}})";
  const std::vector<Case> cases = {
      {"cronjob", kSuspend, true, "jobs", false},
      {"cronjob", R"({"spec":{"suspend":false}})", false, "jobs", false},
      {"raycronjob", kSuspend, true, "rayjobs", false},
      {"cronworkflow", kSuspend, true, "workflows", false},
      {"scheduledsparkapplication", kSuspend, true, "sparkapplications", false},
      {"workflow", kSuspend, true, "", true},
      {"workflow", R"({"spec":{},"status":{"phase":"Running"}})", false, "", false},
      {"sparkapplication", kSuspend, false, "", true},
      {"sparkapplication",
       R"({"spec":{"suspend":true},"status":{"applicationState":{"state":"SUSPENDING"}}})", false,
       "", true},
      {"sparkapplication",
       R"({"spec":{"suspend":true},"status":{"applicationState":{"state":"SUSPENDED"}}})", true, "",
       true},
      {"sparkapplication",
       R"({"spec":{"suspend":false},"status":{"applicationState":{"state":"SUSPENDED"}}})", false,
       "", false},
      {"rayjob", kSuspend, false, "", false},
      {"rayjob", R"({"spec":{"suspend":true},"status":{"jobDeploymentStatus":"Suspending"}})",
       false, "", false},
      {"rayjob", R"({"spec":{"suspend":true},"status":{"jobDeploymentStatus":"Suspended"}})", true,
       "", false},
      {"raycluster", kSuspend, false, "", false},
      {"raycluster", R"({"spec":{"suspend":true},"status":{"state":"suspended"}})", true, "",
       false},
      {"raycluster",
       R"({"spec":{"suspend":true},"status":{"conditions":)"
       R"([{"type":"RayClusterSuspended","status":"True"}]}})",
       true, "", false},
      {"raycluster",
       R"({"spec":{"suspend":true},"status":{"conditions":)"
       R"([{"type":"RayClusterSuspending","status":"True"}]}})",
       false, "", false},
      {"raycluster", R"({"spec":{},"status":{"state":"suspended"}})", false, "", false},
      {"flinkdeployment", R"({"spec":{"suspend":true,"job":{"state":"running"}}})", false, "",
       false},
      {"flinkdeployment",
       R"({"spec":{"job":{"state":"suspended"}},"status":{"lifecycleState":"DEPLOYED"}})", false,
       "", false},
      {"flinkdeployment",
       R"({"spec":{"job":{"state":"suspended"}},"status":{"lifecycleState":"SUSPENDED"}})", true,
       "", false},
      {"daskcluster", kSuspend, false, "", false},
      {"pod", kSuspend, false, "", false},
  };
  for (const Case& one : cases) {
    const auto fields = Read(one.type, one.text);
    ASSERT_TRUE(fields) << one.type << one.text;
    EXPECT_EQ(fields->suspended, one.suspended) << one.type << one.text;
    EXPECT_EQ(fields->idle_unless_run ? fields->idle_unless_run->plural : "", one.unless_run)
        << one.type << one.text;
    EXPECT_EQ(fields->suspended_unless_pod, one.unless_pod) << one.type << one.text;
  }
}

TEST(ReadOwnerFields, CompletedIsWhatTheKindMeansByIt) {
  const auto spark = [](const char* policy, const char* state) {
    return std::string(R"({"spec":{"restartPolicy":{)") + policy +
           R"(}},"status":{"applicationState":{"state":")" + state + "\"}}}";
  };
  struct Case {
    const char* type;
    std::string text;
    bool completed;
  };
  std::vector<Case> cases = {
      {"sparkapplication", R"({"spec":{}})", false},
      {"rayjob", R"({"spec":{},"status":{"jobDeploymentStatus":"Complete"}})", true},
      {"rayjob", R"({"spec":{},"status":{"jobDeploymentStatus":"Failed"}})", true},
      {"rayjob", R"({"spec":{},"status":{"jobDeploymentStatus":"Retrying"}})", false},
      {"rayjob", R"({"spec":{},"status":{"jobDeploymentStatus":"ValidationFailed"}})", false},
      {"rayjob", R"({"spec":{},"status":{"jobStatus":"SUCCEEDED"}})", false},
      {"raycluster", R"({"spec":{},"status":{"state":"failed"}})", false},
      {"workflow", R"({"spec":{},"status":{"phase":"Succeeded"}})", true},
      {"workflow", R"({"spec":{},"status":{"phase":"Failed"}})", true},
      {"workflow", R"({"spec":{},"status":{"phase":"Error"}})", true},
      {"workflow", R"({"spec":{},"status":{"phase":"Running"}})", false},
      {"flinkdeployment", R"({"spec":{},"status":{"jobStatus":{"state":"FINISHED"}}})", false},
      {"pod", R"({"spec":{},"status":{"phase":"Succeeded"}})", true},
      {"pod", R"({"spec":{},"status":{"phase":"Failed"}})", true},
      {"pod", R"({"spec":{},"status":{"phase":"Running"}})", false},
      {"cronjob", R"({"spec":{},"status":{"lastSuccessfulTime":"2026-12-24T18:00:00Z"}})", false},
  };
  for (const char* state : {"", "SUBMITTED", "RUNNING", "SUBMISSION_FAILED", "FAILED_SUBMISSION",
                            "PENDING_RERUN", "INVALIDATING", "SUCCEEDING", "FAILING", "SUSPENDING",
                            "SUSPENDED", "RESUMING", "UNKNOWN"}) {
    cases.push_back({"sparkapplication", spark(R"("type":"Never")", state), false});
  }
  for (const char* state : {"COMPLETED", "FAILED"}) {
    cases.push_back({"sparkapplication", spark("", state), true});
    cases.push_back({"sparkapplication", spark(R"("type":"Never")", state), true});
    cases.push_back({"sparkapplication", spark(R"("type":"OnFailure")", state), true});
    cases.push_back({"sparkapplication", spark(R"("type":"Always")", state), false});
  }
  for (const Case& one : cases) {
    const auto fields = Read(one.type, one.text);
    ASSERT_TRUE(fields) << one.type << one.text;
    EXPECT_EQ(fields->completed, one.completed) << one.type << one.text;
  }
}

TEST(ReadOwnerFields, WorkersAreNoReplicas) {
  for (const char* type : {"daskcluster", "flinkdeployment", "raycluster", "rayjob"}) {
    const auto fields = Read(type, R"({"spec":{"replicas":0,"worker":{"replicas":0}}})");
    ASSERT_TRUE(fields) << type;
    EXPECT_EQ(fields->replicas, 1) << type;
    EXPECT_FALSE(fields->replicas_by_scale) << type;
  }
}

TEST(ReadOwnerFields, AnyCustomResourceHasAScaleAndMayBeSuspended) {
  const auto read = [](const char* text) {
    const auto document = JsonDocument::Parse(text);
    return ReadOwnerFields(Custom("gizmo"), document->root());
  };
  for (const char* text : {"{}", R"({"spec":{}})", R"({"spec":{"replicas":0}})",
                           R"({"spec":{"suspend":false}})", R"({"spec":{"suspended":"true"}})"}) {
    const auto fields = read(text);
    ASSERT_TRUE(fields) << text;
    EXPECT_TRUE(fields->replicas_by_scale) << text;
    EXPECT_EQ(fields->replicas, 1) << text;
    EXPECT_FALSE(fields->suspended || fields->completed) << text;
  }
  EXPECT_TRUE(read(R"({"spec":{"suspend":true}})")->suspended);
  EXPECT_TRUE(read(R"({"spec":{"suspended":true}})")->suspended);
  EXPECT_FALSE(read(R"({"spec":{"suspend":true},"status":{"active":[{"name":"x"}]}})")->suspended);
  EXPECT_FALSE(read(R"({"spec":{"suspend":true},"status":{"active":2}})")->suspended);
}

TEST(ReadOwnerFields, APausedDeploymentConfigRunsOn) {
  EXPECT_EQ(
      Read("dc", R"({"spec":{"replicas":0,"paused":true},"status":{"replicas":1}})")->replicas, 1);
  EXPECT_EQ(
      Read("dc", R"({"spec":{"replicas":0,"paused":true},"status":{"replicas":0}})")->replicas, 0);
  EXPECT_EQ(Read("dc", R"({"spec":{"replicas":0},"status":{"replicas":1}})")->replicas, 0);
  EXPECT_EQ(Read("deployment", R"({"spec":{"replicas":0,"paused":true},"status":{"replicas":1}})")
                ->replicas,
            0);
}

TEST(ReadOwnerFields, PodsAreFoundByWhatTheKindLabelsThemWith) {
  struct Case {
    const char* type;
    const char* fields;
    const char* expected;
  };
  const std::vector<Case> cases = {
      {"sparkapplication", "", "sparkoperator.k8s.io/app-name=pi"},
      {"raycluster", "", "ray.io/cluster=pi"},
      {"workflow", "", "workflows.argoproj.io/workflow=pi"},
      {"rayjob", "", ""},
      {"rayjob", R"(,"status":{"rayClusterName":"pi-x7k"})", "ray.io/cluster=pi-x7k"},
      {"cronjob", R"(,"status":{"active":[{"name":"pi-1"},{"name":"pi-2"},{"name":"("}]})",
       "job-name in (pi-1,pi-2)"},
      {"cronjob", "", ""},
      {"pod", "", ""},
  };
  for (const Case& one : cases) {
    const auto fields =
        Read(one.type, R"({"metadata":{"name":"pi"},"spec":{})" + std::string(one.fields) + "}");
    ASSERT_TRUE(fields) << one.type;
    EXPECT_EQ(fields->pod_selector, one.expected) << one.type << one.fields;
  }
  EXPECT_EQ(Read("rayjob", R"({"spec":{"clusterSelector":{"ray.io/cluster":"shared"}},)"
                           R"("status":{"rayClusterName":"shared"}})")
                ->pod_selector,
            "")
      << "a cluster that was not made for it";
  const std::string long_name(64, 'x');
  EXPECT_EQ(
      Read("workflow", R"({"metadata":{"name":")" + long_name + R"("},"spec":{}})")->pod_selector,
      "")
      << "no label holds it";
}

TEST(ReadOwnerFields, TheTerminationGraceOfEachKindsPods) {
  EXPECT_EQ(Read("pod", R"({"spec":{"terminationGracePeriodSeconds":7}})")->termination_grace,
            seconds(7));
  EXPECT_EQ(Read("cronjob", R"({"spec":{"jobTemplate":{"spec":{"template":{"spec":)"
                            R"({"terminationGracePeriodSeconds":8}}}}}})")
                ->termination_grace,
            seconds(8));
  EXPECT_EQ(Read("sparkapplication", R"({"spec":{"driver":{"terminationGracePeriodSeconds":9}}})")
                ->termination_grace,
            seconds(9));
}

TEST(WantsToRun, IsTrueUntilThereIsNothingToRun) {
  OwnerFields fields;
  EXPECT_TRUE(WantsToRun(fields));
  fields.replicas = 3;
  EXPECT_TRUE(WantsToRun(fields));
  fields.replicas = 0;
  EXPECT_FALSE(WantsToRun(fields));
  fields = OwnerFields();
  fields.suspended = true;
  EXPECT_FALSE(WantsToRun(fields));
  fields = OwnerFields();
  fields.completed = true;
  EXPECT_FALSE(WantsToRun(fields));
}

}  // namespace
}  // namespace cluster_watcher

#include "probes/owner_kinds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "probes/base/time_text.h"
#include "probes/owner_reader.h"
#include "test/unit/support/fake_transport.h"

namespace cluster_watcher {
namespace {

using std::chrono::seconds;

Result<OwnerFields> Read(const std::string& type, const std::string& text) {
  const auto document = JsonDocument::Parse(text);
  EXPECT_TRUE(document) << text;
  return ReadOwnerFields(TypeOf(type), document->root());
}

const std::vector<const char*> kReplicated = {"deployment", "rc", "dc", "sts", "rs"};

ResourceType Custom(const char* kind) {
  return {"example.com", "v1", std::string(kind) + "s", kind};
}

// A kind's row in the table.
struct Row {
  const char* kind;
  const char* runs;  // the kind of objects that it makes; "": none
  bool workload;
  bool bare_name;
  bool stands_for_controller;
};
const std::vector<Row>& Rows() {
  static const std::vector<Row> rows = {
      {"replicationcontroller", "", true, true, false},
      {"deployment", "", true, true, false},
      {"deploymentconfig", "", true, true, false},
      {"statefulset", "", true, true, false},
      {"job", "", true, true, false},
      {"replicaset", "", true, false, true},
      {"daemonset", "", true, false, false},
      {"cronjob", "job", true, false, false},
      {"pod", "", true, false, true},
      {"sparkapplication", "", false, false, false},
      {"scheduledsparkapplication", "sparkapplication", false, false, false},
      {"rayjob", "", false, false, false},
      {"raycluster", "", false, false, false},
      {"raycronjob", "rayjob", false, false, false},
      {"workflow", "", false, false, false},
      {"cronworkflow", "workflow", false, false, false},
      {"rollout", "", false, false, false},
      {"jobset", "", false, false, false},
      {"flinkdeployment", "", false, false, false},
      {"daskcluster", "", false, false, false},
      {"daskjob", "", false, false, false},
  };
  return rows;
}

TEST(OwnerKinds, EachRowIsFoundAndSaysWhatItIs) {
  std::vector<ResourceType> workloads, bare_names;
  for (const Row& row : Rows()) {
    const ResourceType type = TypeOf(row.kind);
    EXPECT_TRUE(CanJudge(type)) << row.kind;
    EXPECT_TRUE(HasOwnRow(type)) << row.kind << " counts as any custom resource";
    EXPECT_EQ(IsWorkload(type), row.workload) << row.kind;
    EXPECT_EQ(StandsForItsController(type), row.stands_for_controller) << row.kind;
    const ResourceType* runs = RunsOf(type);
    ASSERT_EQ(runs != nullptr, *row.runs != 0) << row.kind;
    EXPECT_TRUE(runs == nullptr || *runs == TypeOf(row.runs)) << row.kind;
    if (row.workload) workloads.push_back(type);
    if (row.bare_name) bare_names.push_back(type);
  }
  EXPECT_TRUE(std::ranges::is_permutation(WorkloadTypes(), workloads));
  EXPECT_EQ(OwnerTypes().size(), Rows().size());
  EXPECT_TRUE(std::ranges::equal(BareNameTypes(), bare_names)) << "they are looked for in order";
}

TEST(OwnerKinds, ARunOfAnyThatHasSomeRunsUntilItHasCompleted) {
  for (const Row& row : Rows()) {
    if (*row.runs == 0) continue;
    FakeApi api;
    const ResourceType& owners = TypeOf(row.kind);
    const ResourceType& runs = TypeOf(row.runs);
    api.transport.otherwise = [&](const HttpRequest& request) {
      return FakeApi::Discovered(request, {runs}).value_or(NoSuchPath());
    };
    // Some operators write ownerReferences that aren't a controller's.
    std::string of_bob = ControlledBy(owners, "bob", "u-bob");
    of_bob.replace(of_bob.find("true"), 4, "false");
    api.transport.On(ApiRequest::List(runs, "lab"),
                     ListAnswer(runs, {ObjectText(runs, "lab", "a", "a", of_bob, R"("spec":{})")}));
    api.transport.On(ApiRequest::List(runs, "lab"),
                     ListAnswer(runs, {ObjectText(runs, "lab", "a", "a", "", R"("spec":{})")}));
    for (const bool whole : {false, true}) {
      for (const char* selector : {"", "job-name"}) {
        api.transport.On(ApiRequest::ListUnendedPods("lab", selector, !whole),
                         ListAnswer(TypeOf("pod"), {}));
      }
    }
    OwnerReader reader(api.client, api.discovery);
    for (const bool idle : {false, true}) {
      const auto found = reader.FindRunning({owners, "lab", "bob", "u-bob", "", "", false}, {}, {});
      ASSERT_TRUE(found) << found.error().message;
      EXPECT_EQ(found->empty(), idle) << row.kind;
    }
  }
}

TEST(OwnerKinds, AreWorkloadsAndCustomResources) {
  for (const char* name :
       {"service", "configmap", "secret", "namespace", "pvc", "ingress", "route"}) {
    EXPECT_FALSE(CanJudge(TypeOf(name))) << name;
  }
  for (const ResourceType& custom :
       {Custom("gizmo"), ResourceType{"example.com", "v1", "deployments", "Deployment"}}) {
    EXPECT_TRUE(CanJudge(custom) && !HasOwnRow(custom)) << custom.QualifiedName();
    EXPECT_FALSE(IsWorkload(custom) || StandsForItsController(custom)) << custom.QualifiedName();
  }
  EXPECT_FALSE(CanJudge({"", "v1", "nodes", "Node", false}));
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
    for (const char* replicas : {"null", "\"1\"", "-1", "0.0", "false", "18446744073709551616"}) {
      EXPECT_FALSE(Read(type, R"({"spec":{"replicas":)" + std::string(replicas) + "}}"))
          << type << replicas;
    }
    for (const char* text : {"{}", R"({"spec":null})", R"({"spec":[]})", R"({"spec":{}})",
                             R"({"status":{"replicas":1}})"}) {
      EXPECT_FALSE(Read(type, text)) << type << text;
    }
  }
  EXPECT_FALSE(Read("job", "{}"));
  EXPECT_FALSE(Read("service", R"({"spec":{}})")) << "no kind of owner";
}

TEST(ReadOwnerFields, OnlyATrueTerminalConditionCompletesAJob) {
  const std::pair<const char*, bool> cases[] = {
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
  for (const auto& [conditions, completed] : cases) {
    const std::string status = R"("status":{"conditions":)" + std::string(conditions) + "}}";
    EXPECT_EQ(Read("job", R"({"spec":{},)" + status)->completed, completed) << conditions;
    EXPECT_FALSE(Read("deployment", R"({"spec":{"replicas":1},)" + status)->completed);
  }
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

TEST(ReadOwnerFields, SuspendedIsWhatTheKindMeansByIt) {
  struct Case {
    const char* type;
    const char* spec;
    const char* status;
    bool suspended;
  };
  constexpr const char* kSuspend = R"("suspend":true)";
  const std::vector<Case> cases = {
      {"job", "", "", false},
      {"job", R"("suspend":false)", R"("active":0)", false},
      {"job", R"("suspend":"true")", "", false},
      {"job", kSuspend, "", true},
      {"job", kSuspend, R"("active":1)", true},
      {"job", R"("suspend":true,"managedBy":"kueue.x-k8s.io/multikueue")", "", false},
      {"jobset", kSuspend, "", true},
      {"rollout", R"("replicas":1,"suspend":true)", "", false},
      {"daskjob", kSuspend, "", false},
      {"deployment", R"("replicas":1,"suspend":true)", "", false},
      {"cronjob", kSuspend, "", true},
      {"cronjob", R"("suspend":false)", "", false},
      {"raycronjob", kSuspend, "", true},
      {"cronworkflow", kSuspend, "", true},
      {"scheduledsparkapplication", kSuspend, "", true},
      {"workflow", kSuspend, "", true},
      {"workflow", "", R"("phase":"Running")", false},
      {"sparkapplication", kSuspend, "", false},
      {"sparkapplication", kSuspend, R"("applicationState":{"state":"SUSPENDING"})", false},
      {"sparkapplication", kSuspend, R"("applicationState":{"state":"SUSPENDED"})", true},
      {"sparkapplication", "", R"("applicationState":{"state":"SUSPENDED"})", false},
      {"rayjob", kSuspend, "", false},
      {"rayjob", kSuspend, R"("jobDeploymentStatus":"Suspending")", false},
      {"rayjob", kSuspend, R"("jobDeploymentStatus":"Suspended")", true},
      {"raycluster", kSuspend, "", false},
      {"raycluster", kSuspend, R"("state":"suspended")", true},
      {"raycluster", kSuspend, R"("conditions":[{"type":"RayClusterSuspended","status":"True"}])",
       true},
      {"raycluster", kSuspend, R"("conditions":[{"type":"RayClusterSuspending","status":"True"}])",
       false},
      {"raycluster", "", R"("state":"suspended")", false},
      {"flinkdeployment", R"("suspend":true,"job":{"state":"running"})", "", false},
      {"flinkdeployment", R"("job":{"state":"suspended"})", R"("lifecycleState":"DEPLOYED")",
       false},
      {"flinkdeployment", R"("job":{"state":"suspended"})", R"("lifecycleState":"SUSPENDED")",
       true},
      {"daskcluster", kSuspend, "", false},
      {"pod", kSuspend, "", false},
  };
  for (const Case& one : cases) {
    const std::string text =
        std::string(R"({"spec":{)") + one.spec + R"(},"status":{)" + one.status + "}}";
    const auto fields = Read(one.type, text);
    ASSERT_TRUE(fields) << one.type << text;
    EXPECT_EQ(fields->suspended, one.suspended) << one.type << text;
  }
  EXPECT_TRUE(Read("job", R"({"spec":{"suspend":true}})")->suspended) << "it has no status yet";
  EXPECT_FALSE(Read("job", R"({"metadata":{"labels":{"kueue.x-k8s.io/queue-name":"night"}},)"
                           R"("spec":{"suspend":true}})")
                   ->suspended)
      << "a queue holds it";
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
  std::vector<Case> cases = {{"sparkapplication", R"({"spec":{}})", false}};
  const auto add = [&](const char* type, const char* status, bool completed) {
    cases.push_back({type, R"({"spec":{},"status":{)" + std::string(status) + "}}", completed});
  };
  for (const char* state : {"Complete", "Failed", "Retrying", "ValidationFailed"}) {
    add("rayjob", (R"("jobDeploymentStatus":")" + std::string(state) + "\"").c_str(),
        *state == 'C' || *state == 'F');
  }
  for (const char* state : {"Successful", "Failed", "Running", "ClusterCreated", "JobCreated"}) {
    add("daskjob", (R"("jobStatus":")" + std::string(state) + "\"").c_str(),
        *state == 'S' || *state == 'F');
  }
  for (const char* type : {"Completed", "Failed", "Suspended"}) {
    add("jobset",
        (R"("conditions":[{"status":"True","type":")" + std::string(type) + "\"}]").c_str(),
        *type != 'S');
  }
  for (const char* phase : {"Succeeded", "Failed", "Error", "Running"}) {
    const std::string status = R"("phase":")" + std::string(phase) + "\"";
    add("workflow", status.c_str(), *phase != 'R');
    add("pod", status.c_str(), *phase == 'S' || *phase == 'F');
  }
  add("rayjob", R"("jobStatus":"SUCCEEDED")", false);
  for (const char* job : {"SUCCEEDED", "FAILED", "STOPPED", "RUNNING", ""}) {
    cases.push_back({"rayjob",
                     R"({"spec":{"clusterSelector":{"ray.io/cluster":"shared"}},"status":{)"
                     R"("jobDeploymentStatus":"Failed","jobStatus":")" +
                         std::string(job) + "\"}}",
                     *job != 0 && *job != 'R'});
  }
  add("raycluster", R"("state":"failed")", false);
  add("flinkdeployment", R"("jobStatus":{"state":"FINISHED"})", false);
  add("cronjob", R"("lastSuccessfulTime":"2026-12-24T18:00:00Z")", false);
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

TEST(ReadOwnerFields, NeitherWorkersNorParallelismAreReplicas) {
  for (const char* type : {"daskcluster", "flinkdeployment", "raycluster", "rayjob", "job"}) {
    const auto fields = Read(type, R"({"spec":{"replicas":0,"worker":{"replicas":0},)"
                                   R"("parallelism":0,"completions":7}})");
    ASSERT_TRUE(fields) << type;
    EXPECT_EQ(fields->replicas, 1) << type;
  }
}

TEST(ReadOwnerFields, OfAnyOtherCustomResourceOnlyItsExistenceCounts) {
  for (const char* text :
       {"{}", R"({"spec":{"replicas":0}})", R"({"spec":{"suspend":true}})",
        R"({"spec":{"suspended":true,"replicas":2},"status":{"phase":"Succeeded","active":0}})"}) {
    const auto document = JsonDocument::Parse(text);
    const auto fields = ReadOwnerFields(Custom("gizmo"), document->root());
    ASSERT_TRUE(fields) << text;
    EXPECT_EQ(fields->replicas, 1) << text;
    EXPECT_FALSE(fields->suspended || fields->completed) << text;
  }
}

TEST(ReadOwnerFields, ARolloutWantsOneReplicaUnlessItSaysOtherwise) {
  EXPECT_EQ(Read("rollout", R"({"spec":{"workloadRef":{"name":"bob"}}})")->replicas, 1);
  EXPECT_EQ(Read("rollout", R"({"spec":{"replicas":null}})")->replicas, 1);
  EXPECT_EQ(Read("rollout", R"({"spec":{"replicas":0,"workloadRef":{}}})")->replicas, 0);
  EXPECT_EQ(Read("rollout", R"({"spec":{"replicas":3,"selector":{"matchLabels":{"a":"b"}}}})")
                ->pod_selector,
            "a=b");
  EXPECT_FALSE(Read("rollout", R"({"spec":{"replicas":"1"}})"));
}

TEST(ReadOwnerFields, AStatusThatDoesntCountSuspendsAndCompletesNothing) {
  const std::pair<const char*, const char*> cases[] = {
      {"rayjob", R"({"spec":{},"status":{"jobDeploymentStatus":"Complete"}})"},
      {"rayjob", R"({"spec":{"suspend":true},"status":{"jobDeploymentStatus":"Suspended"}})"},
      {"raycluster", R"({"spec":{"suspend":true},"status":{"state":"suspended"}})"},
      {"pod", R"({"spec":{},"status":{"phase":"Failed"}})"},
  };
  for (const auto& [type, text] : cases) {
    const auto document = JsonDocument::Parse(text);
    for (const bool counts : {true, false}) {
      const auto fields = ReadOwnerFields(TypeOf(type), document->root(), counts);
      ASSERT_TRUE(fields) << text;
      EXPECT_EQ(fields->suspended || fields->completed, counts) << text;
    }
  }
  const auto document = JsonDocument::Parse(R"({"spec":{"suspend":true}})");
  EXPECT_TRUE(ReadOwnerFields(TypeOf("cronjob"), document->root(), false)->suspended)
      << "by its spec";
}

TEST(IsStatusBehind, WhereItsGenerationIsOlder) {
  const std::pair<const char*, bool> cases[] = {
      {R"({"metadata":{"generation":2},"status":{"observedGeneration":1}})", true},
      {R"({"metadata":{"generation":2},"status":{"observedGeneration":2}})", false},
      {R"({"metadata":{"generation":2},"status":{"observedGeneration":3}})", false},
      {R"({"metadata":{"generation":2},"status":{"observedGeneration":"2"}})", true},
      {R"({"metadata":{"generation":2},"status":{"observedGeneration":null}})", false},
      {R"({"metadata":{"generation":2},"status":{}})", false},
      {R"({"metadata":{},"status":{"observedGeneration":1}})", false},
  };
  for (const auto& [text, behind] : cases) {
    EXPECT_EQ(IsStatusBehind(JsonDocument::Parse(text)->root()), behind) << text;
  }
}

TEST(RunsSomething, OfASparkApplicationItIsTheDriversContainer) {
  const auto runs = [](const char* type, const std::string& labels, const std::string& status) {
    const auto pod = JsonDocument::Parse(ObjectText(TypeOf("pod"), "lab", "p", "p",
                                                    R"("labels":{)" + labels + "}",
                                                    R"("spec":{},"status":{)" + status + "}"));
    return RunsSomething(TypeOf(type), *ReadObjectMeta(pod->root()), pod->root());
  };
  const std::string proxy = R"({"name":"istio-proxy","state":{"running":{}}})";
  const auto with = [&](const std::string& driver) {
    return R"("phase":"Running","containerStatuses":[)" + proxy +
           R"(,{"name":"spark-kubernetes-driver","state":)" + driver + "}]";
  };
  for (const char* type : {"sparkapplication", "scheduledsparkapplication"}) {
    EXPECT_TRUE(runs(type, "", with(R"({"running":{}})"))) << type;
    EXPECT_FALSE(runs(type, "", with(R"({"terminated":{"exitCode":0}})"))) << "the proxy runs on";
    EXPECT_TRUE(runs(type, "", R"("phase":"Running","containerStatuses":[)" + proxy + "]"));
    EXPECT_FALSE(runs(type, R"("spark-role":"executor")", R"("phase":"Running")")) << type;
  }
  EXPECT_TRUE(runs("job", "", with(R"({"terminated":{"exitCode":0}})")));
  EXPECT_TRUE(runs("job", R"("spark-role":"executor")", ""));
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
      {"rayjob", R"(,"status":{"rayClusterName":"pi-x7k","jobStatus":"RUNNING"})",
       "ray.io/cluster=pi-x7k"},
      {"rayjob", R"(,"status":{"rayClusterName":"pi-x7k","jobStatus":"FAILED"})", ""},
      {"jobset", "", "jobset.sigs.k8s.io/jobset-name=pi"},
      {"daskcluster", "", "dask.org/cluster-name=pi"},
      {"daskjob", "", "dask.org/cluster-name=pi"},
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
  const auto of_jobs = [](const std::string& graces) {
    std::string jobs;
    for (const char grace : graces) {
      jobs += (jobs.empty() ? "" : ",") +
              (R"({"template":{"spec":{"template":{"spec":{"terminationGracePeriodSeconds":)" +
               std::string(1, grace)) +
              "}}}}}";
    }
    return Read("jobset", R"({"spec":{"replicatedJobs":[)" + jobs + "]}}")->termination_grace;
  };
  EXPECT_EQ(of_jobs("385"), seconds(8)) << "the longest";
  EXPECT_EQ(of_jobs(""), std::nullopt);
}

TEST(ReadOwnerFields, APodHasUntilItsDeletionTimestamp) {
  const auto with = [](const char* type, const std::string& deletion, const std::string& phase) {
    return Read(type, R"({"metadata":{"deletionTimestamp":)" + deletion +
                          R"(},"spec":{},"status":{"phase":")" + phase + R"("}})");
  };
  const std::string time = R"("2026-12-24T18:00:00Z")";
  EXPECT_EQ(with("pod", time, "Running")->terminates_by, ParseTime("2026-12-24T18:00:00Z"));
  EXPECT_FALSE(with("pod", time, "Failed")->terminates_by) << "it has ended";
  EXPECT_FALSE(with("pod", "null", "Running")->terminates_by);
  EXPECT_FALSE(with("job", time, "")->terminates_by) << "when it was deleted";
  EXPECT_FALSE(with("pod", R"("soon")", "Running")) << "no time";
}

TEST(WantsToRun, IsTrueUntilItIsScaledToZeroOrHasCompleted) {
  const auto wants = [](std::int64_t replicas, bool suspended, bool completed) {
    OwnerFields fields;
    fields.replicas = replicas;
    fields.suspended = suspended;
    fields.completed = completed;
    return WantsToRun(fields);
  };
  EXPECT_TRUE(WantsToRun(OwnerFields()) && wants(3, false, false));
  EXPECT_TRUE(wants(1, true, false)) << "it may be resumed";
  EXPECT_FALSE(wants(0, false, false) || wants(1, false, true));
}

}  // namespace
}  // namespace cluster_watcher

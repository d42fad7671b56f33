#include "watcher/admission/injection.h"

#include <gtest/gtest.h>

#include "watcher/admission/pod_templates.h"

namespace cluster_watcher {
namespace {

using Outcome = Injection::Outcome;

InjectionSettings ShippedSettings() {
  InjectionSettings settings;
  settings.image = "cluster-watcher:0.1.0";
  return settings;
}

Injection InjectText(const std::string& pod,
                     const InjectionSettings& settings = ShippedSettings()) {
  const auto document = JsonDocument::Parse(pod);
  EXPECT_TRUE(document) << pod;
  return Inject(document->root(), settings);
}

// A master pod; `annotations` and `spec` are the content of those fields, without the braces.
std::string Master(const std::string& annotations = "", const std::string& spec = "") {
  return R"({"metadata":{"labels":{"oshinko-type":"master"},"annotations":{)" + annotations +
         R"(}},"spec":{)" + spec + (spec.empty() ? "" : ",") +
         R"("containers":[{"name":"master","image":"spark"}]}})";
}

// The value added at `path`, or "" if there is none.
std::string Added(const Injection& injection, const std::string& path) {
  for (const PatchOperation& operation : injection.patch) {
    if (operation.path == path) return operation.value;
  }
  return "";
}

std::string Sidecar(const Injection& injection) {
  return Added(injection, "/spec/initContainers/0");
}

bool Holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Inject, PatchesAPodThatHasNothing) {
  const auto injection = InjectText(
      R"({"metadata":{"labels":{"oshinko-type":"master"}},"spec":{"containers":[{"name":"m"}]}})");
  ASSERT_EQ(injection.outcome, Outcome::kInjected);
  EXPECT_TRUE(injection.warnings.empty());
  std::vector<std::string> paths;
  for (const PatchOperation& operation : injection.patch) paths.push_back(operation.path);
  EXPECT_EQ(paths, (std::vector<std::string>{
                       "/metadata/annotations", "/metadata/annotations/cluster-watcher~1status",
                       "/metadata/labels/cluster-watcher~1injected", "/spec/initContainers",
                       "/spec/initContainers/0", "/spec/volumes", "/spec/volumes/-"}));
  EXPECT_EQ(Added(injection, "/metadata/annotations"), "{}");
  EXPECT_EQ(Added(injection, "/metadata/labels/cluster-watcher~1injected"), "\"true\"");
  EXPECT_EQ(
      Sidecar(injection),
      R"({"name":"cluster-watcher","image":"cluster-watcher:0.1.0","imagePullPolicy":"IfNotPresent",)"
      R"("restartPolicy":"Always","env":[)"
      R"({"name":"POD_NAME","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}},)"
      R"({"name":"POD_NAMESPACE","valueFrom":{"fieldRef":{"fieldPath":"metadata.namespace"}}},)"
      R"({"name":"CLUSTER_WATCHER_LISTEN","value":":9090"}],)"
      R"("ports":[{"name":"watcher-metrics","containerPort":9090,"protocol":"TCP"}],)"
      R"("livenessProbe":{"httpGet":{"path":"/healthz","port":9090},"periodSeconds":20,)"
      R"("timeoutSeconds":5,"failureThreshold":3},)"
      R"("resources":{"requests":{"cpu":"10m","memory":"32Mi"},)"
      R"("limits":{"cpu":"500m","memory":"64Mi"}},)"
      R"("securityContext":{"allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"]},)"
      R"("readOnlyRootFilesystem":true,"runAsNonRoot":true,)"
      R"("seccompProfile":{"type":"RuntimeDefault"}},)"
      R"("terminationMessagePolicy":"FallbackToLogsOnError",)"
      R"("volumeMounts":[{"name":"cluster-watcher-token",)"
      R"("mountPath":"/var/run/secrets/kubernetes.io/serviceaccount","readOnly":true}]})");
  EXPECT_EQ(
      Added(injection, "/spec/volumes/-"),
      R"({"name":"cluster-watcher-token","projected":{"sources":[)"
      R"({"serviceAccountToken":{"expirationSeconds":3600,"path":"token"}},)"
      R"({"configMap":{"name":"kube-root-ca.crt","items":[{"key":"ca.crt","path":"ca.crt"}]}},)"
      R"({"downwardAPI":{"items":[{"path":"namespace",)"
      R"("fieldRef":{"fieldPath":"metadata.namespace"}}]}}]}})");
  const auto status =
      JsonDocument::Parse(Added(injection, "/metadata/annotations/cluster-watcher~1status"));
  ASSERT_TRUE(status);
  EXPECT_EQ(status->root().AsString(),
            R"({"initContainers":["cluster-watcher"],"volumes":["cluster-watcher-token"],)"
            R"("image":"cluster-watcher:0.1.0","port":9090})");
}

TEST(Inject, AddsToWhatIsThere) {
  const auto injection = InjectText(
      Master(R"("a":"b")", R"("initContainers":[{"name":"x"}],"volumes":[{"name":"v"}])"));
  ASSERT_EQ(injection.outcome, Outcome::kInjected);
  EXPECT_EQ(injection.patch.size(), 4u);
  EXPECT_EQ(Added(injection, "/metadata/annotations"), "");
  EXPECT_EQ(Added(injection, "/spec/initContainers"), "");
  EXPECT_EQ(Added(injection, "/spec/volumes"), "");
}

TEST(Inject, LabelsAPodWithoutLabels) {
  const auto injection = InjectText(
      R"({"metadata":{"annotations":{"cluster-watcher/inject":"true"}},"spec":{"containers":[{"name":"m"}]}})");
  ASSERT_EQ(injection.outcome, Outcome::kInjected);
  EXPECT_EQ(Added(injection, "/metadata/labels"), "{}");
}

TEST(Inject, LeavesOutTheSeccompProfileWhereItIsToldTo) {
  InjectionSettings settings = ShippedSettings();
  settings.seccomp_profile = false;
  EXPECT_FALSE(Holds(Sidecar(InjectText(Master(), settings)), "seccomp"));
}

TEST(Inject, AddsThePullSecretsThatThePodLacks) {
  const auto secrets = [](const std::string& spec, std::vector<std::string> names) {
    InjectionSettings settings = ShippedSettings();
    settings.image_pull_secrets = std::move(names);
    std::string added;
    for (const auto& [path, value] : InjectText(Master("", spec), settings).patch) {
      if (path.starts_with("/spec/imagePullSecrets")) added += path.substr(22) + value;
    }
    return added;
  };
  EXPECT_EQ(secrets("", {}), "");
  EXPECT_EQ(secrets("", {"a", "b"}), R"([]/-{"name":"a"}/-{"name":"b"})");
  EXPECT_EQ(secrets(R"("imagePullSecrets":[{"name":"a"}])", {"a", "b"}), R"(/-{"name":"b"})");
  EXPECT_EQ(secrets(R"("imagePullSecrets":[{"name":"a"}])", {"a"}), "");
}

TEST(Inject, AsksTheAnnotationAndThenTheLabel) {
  const char* master = R"("oshinko-type":"master")";
  const std::pair<std::string, Outcome> cases[] = {
      {R"("labels":{},"annotations":{})", Outcome::kNotAsked},
      {R"("labels":{"oshinko-type":"worker"})", Outcome::kNotAsked},
      {R"("annotations":{"cluster-watcher/inject":"true"})", Outcome::kInjected},
      {R"("labels":{@})", Outcome::kInjected},
      {R"("labels":{@},"annotations":{"cluster-watcher/inject":"false"})", Outcome::kNotAsked},
      {R"("labels":{@},"annotations":{"cluster-watcher/inject":"no"})", Outcome::kNotAsked},
      {R"("labels":{@},"annotations":{"cluster-watcher/inject":""})", Outcome::kNotAsked},
      // A mirror pod.
      {R"("labels":{@},"annotations":{"kubernetes.io/config.mirror":"x"})", Outcome::kNotAsked},
      // An annotation may have been copied from another pod.
      {R"("labels":{@},"annotations":{"cluster-watcher/status":"{}"})", Outcome::kInjected},
  };
  for (auto [metadata, outcome] : cases) {
    if (const auto at = metadata.find('@'); at != metadata.npos) metadata.replace(at, 1, master);
    const auto injection =
        InjectText(R"({"metadata":{)" + metadata + R"(},"spec":{"containers":[{"name":"m"}]}})");
    EXPECT_EQ(injection.outcome, outcome) << metadata;
    EXPECT_TRUE(injection.warnings.empty()) << metadata;
  }
}

TEST(Inject, LeavesAloneWhatItCanNotPatch) {
  std::string all_ports;
  for (int port = 9090; port < 9100; ++port) {
    all_ports +=
        (all_ports.empty() ? "" : ",") + ("{\"containerPort\":" + std::to_string(port)) + "}";
  }
  const struct {
    std::string pod;
    const char* why;
  } kCases[] = {
      {Master("", R"("initContainers":[{"name":"cluster-watcher"}])"), "container called"},
      {Master("", R"("os":{"name":"windows"})"), "Windows"},
      {Master("", R"("nodeSelector":{"kubernetes.io/os":"windows"})"), "Windows"},
      {Master("", R"("initContainers":[{"name":"x","ports":[)" + all_ports + "]}]"),
       "9090 to 9099"},
      {Master("", R"("initContainers":"x")"), "no list"},
      {Master("", R"("volumes":{})"), "no list"},
      {R"({"metadata":{"labels":{"oshinko-type":"master"}},"spec":{"containers":[]}})",
       "no containers"},
      {R"({"metadata":{"labels":{"oshinko-type":"master"}}})", "no containers"},
  };
  for (const auto& [pod, why] : kCases) {
    const auto injection = InjectText(pod);
    EXPECT_EQ(injection.outcome, Outcome::kLeftAlone) << pod;
    EXPECT_TRUE(injection.patch.empty());
    ASSERT_EQ(injection.warnings.size(), 1u) << pod;
    EXPECT_TRUE(Holds(injection.warnings[0], why)) << injection.warnings[0];
  }
}

TEST(Inject, IsIdempotentByTheContainer) {
  const auto again = InjectText(Master(R"("cluster-watcher/status":"{}")",
                                       R"("initContainers":[{"name":"cluster-watcher"}])"));
  EXPECT_EQ(again.outcome, Outcome::kAlready);
  EXPECT_TRUE(again.patch.empty() && again.warnings.empty());
}

TEST(Inject, FitsTheSidecarToThePod) {
  struct Case {
    const char* what;
    const char* spec;
    std::vector<const char*> has;
    std::vector<const char*> lacks = {};
  };
  const Case cases[] = {
      {"a port that is free",
       R"("initContainers":[{"name":"x","ports":[{"containerPort":9090},{"containerPort":9091}]}])",
       {R"("value":":9092")", R"("containerPort":9092)", R"("path":"/healthz","port":9092)"}},
      {"no port of the node", R"("hostNetwork":true)", {}, {"containerPort", "livenessProbe"}},
      {"its share of a pod's own resources",
       R"("resources":{"requests":{"cpu":"100m"},"limits":{"cpu":"200m","memory":"1Gi"}})",
       {R"("requests":{"cpu":"0","memory":"0"})", R"("limits":{"cpu":"200m","memory":"64Mi"})"}},
      {"no more than a pod's own, however that is written",
       R"("resources":{"limits":{"cpu":0.4,"memory":"60e6"}})",
       {R"("limits":{"cpu":"0.4","memory":"60e6"})"}},
      {"of no resources", R"("resources":{})", {"resources"}},
      {"a user where the pod says root",
       R"("securityContext":{"runAsUser":0})",
       {R"("runAsUser":65532)"}},
      {"no other user", R"("securityContext":{"runAsUser":1000})", {}, {"runAsUser"}},
  };
  for (const Case& one : cases) {
    const auto injection = InjectText(Master("", one.spec));
    EXPECT_EQ(injection.outcome, Outcome::kInjected) << one.what;
    for (const char* part : one.has) EXPECT_TRUE(Holds(Sidecar(injection), part)) << one.what;
    for (const char* part : one.lacks) EXPECT_FALSE(Holds(Sidecar(injection), part)) << one.what;
  }
}

TEST(Inject, TakesAVolumeThatIsLeftOfAnEarlierOne) {
  const auto injection = InjectText(Master("", R"("volumes":[{"name":"cluster-watcher-token"}])"));
  EXPECT_EQ(injection.outcome, Outcome::kInjected);
  EXPECT_EQ(Added(injection, "/spec/volumes/-"), "");
}

// As when its webhook is invoked again after that of another injector.
TEST(Inject, LeavesAPortThatAnotherContainerHasBeenGivenSince) {
  const std::string injected =
      R"("initContainers":[{"name":"y"},{"name":"cluster-watcher","env":[{"name":"POD_NAME"},)"
      R"({"name":"CLUSTER_WATCHER_LISTEN","value":":9090"}],)"
      R"("ports":[{"name":"watcher-metrics","containerPort":9090}],)"
      R"("livenessProbe":{"httpGet":{"path":"/healthz","port":9090}}}])";
  const std::string theirs = R"({"name":"x","ports":[{"containerPort":9090}]})";
  const auto pod = [&](const std::string& containers) {
    return R"({"metadata":{"labels":{"oshinko-type":"master"},"annotations":{)"
           R"("cluster-watcher/status":"{}","prometheus.io/port":"9090"}},"spec":{"containers":[)" +
           containers + "]," + injected + "}}";
  };
  EXPECT_TRUE(InjectText(pod(R"({"name":"m","ports":[{"containerPort":9091}]})")).patch.empty());
  const auto moved = InjectText(pod(theirs));
  const std::string at = "/spec/initContainers/1";
  EXPECT_EQ(Added(moved, at + "/env/1/value"), "\":9091\"");
  EXPECT_EQ(Added(moved, at + "/ports/0/containerPort"), "9091");
  EXPECT_EQ(Added(moved, at + "/livenessProbe/httpGet/port"), "9091");
  EXPECT_EQ(Added(moved, "/metadata/annotations/prometheus.io~1port"), "\"9091\"");
  EXPECT_TRUE(Holds(Added(moved, "/metadata/annotations/cluster-watcher~1status"), "9091"));
}

TEST(Inject, WritesDefaultsAndScrapeAnnotationsWhereThereAreNone) {
  InjectionSettings settings = ShippedSettings();
  settings.scrape = true;
  settings.defaults = {{"dry-run", "true"}, {"poll-interval", "10s"}};
  const auto injection = InjectText(Master(R"("cluster-watcher/poll-interval":"1s")"), settings);
  const std::string at = "/metadata/annotations/";
  EXPECT_EQ(Added(injection, at + "cluster-watcher~1dry-run"), "\"true\"");
  EXPECT_EQ(Added(injection, at + "cluster-watcher~1poll-interval"), "");
  EXPECT_EQ(Added(injection, at + "prometheus.io~1scrape"), "\"true\"");
  EXPECT_EQ(Added(injection, at + "prometheus.io~1port"), "\"9090\"");
  const auto own = InjectText(Master(R"("prometheus.io/scrape":"false")"), settings);
  EXPECT_EQ(Added(own, at + "prometheus.io~1scrape"), "");
  EXPECT_EQ(Added(own, at + "prometheus.io~1port"), "");
}

TEST(Inject, WarnsOfAShortGracePeriod) {
  for (const auto& [grace, text] : {std::pair{"0", "is not told"}, std::pair{"4", "may get 2 s"}}) {
    const auto injection =
        InjectText(Master("", std::string(R"("terminationGracePeriodSeconds":)") + grace));
    EXPECT_EQ(injection.outcome, Outcome::kInjected);
    ASSERT_EQ(injection.warnings.size(), 1u);
    EXPECT_TRUE(Holds(injection.warnings[0], text)) << injection.warnings[0];
  }
  EXPECT_TRUE(InjectText(Master("", R"("terminationGracePeriodSeconds":5)")).warnings.empty());
}

TEST(Inject, TakesWhateverIsNoPod) {
  for (const char* text : {"{}", "[]", "null", "1", R"({"metadata":1,"spec":2})",
                           R"({"metadata":{"labels":["oshinko-type"]}})"}) {
    EXPECT_EQ(InjectText(text).outcome, Outcome::kNotAsked) << text;
  }
}

TEST(PatchText, IsAJsonPatch) {
  EXPECT_EQ(PatchText({}), "[]");
  EXPECT_EQ(PatchText({{"/a", "{}"}, {"/a/b\"", "1"}}),
            R"([{"op":"add","path":"/a","value":{}},{"op":"add","path":"/a/b\"","value":1}])");
}

std::vector<std::string> ProblemsOf(const JsonDocument& pod) {
  AnnotationProblems problems(BuiltInProfiles());
  problems.Add(pod.root());
  return problems.Lines();
}

TEST(AnnotationProblems, NamesEach) {
  const auto document = JsonDocument::Parse(
      Master(R"("cluster-watcher/poll-interval":"5x","cluster-watcher/colour":"red",)"
             R"("cluster-watcher/hold-until":"tomorrow","cluster-watcher/delete-order":"first",)"
             R"("cluster-watcher/before-delete":"[","cluster-watcher/inject":"yes")"));
  ASSERT_TRUE(document);
  const auto problems = ProblemsOf(*document);
  EXPECT_EQ(problems.size(), 6u);
  for (const char* key :
       {"poll-interval", "colour", "hold-until", "delete-order", "before-delete", "inject"}) {
    EXPECT_TRUE(std::any_of(problems.begin(), problems.end(), [&](const std::string& problem) {
      return Holds(problem, std::string("cluster-watcher/") + key);
    })) << key;
  }
  const auto fine = JsonDocument::Parse(
      Master(R"("cluster-watcher/poll-interval":"5s","cluster-watcher/inject":"true",)"
             R"("cluster-watcher/hold-until":"2026-12-24T18:00:00Z","other":"x")"));
  EXPECT_TRUE(ProblemsOf(*fine).empty());
}

TEST(AnnotationProblems, RefusesAValueThatIsTooLongBeforeItIsParsed) {
  const std::string long_value(4097, '1');
  for (const char* key : {"poll-interval", "resources", "completed-when", "owner", "hold-until",
                          "delete-order", "confirmations"}) {
    const auto document = JsonDocument::Parse(
        Master("\"cluster-watcher/" + std::string(key) + "\":\"" + long_value + "\""));
    EXPECT_EQ(ProblemsOf(*document),
              std::vector<std::string>{"annotation cluster-watcher/" + std::string(key) +
                                       ": its value has 4097 bytes, and at most 4096 are read: "
                                       "shorten it, or take it off"});
  }
}

// Annotations `first` to `last` that nobody knows.
std::string UnknownOnes(int first, int last) {
  std::string text;
  for (int i = first; i <= last; ++i) {
    text += (text.empty() ? "\"" : ",\"") + std::string("cluster-watcher/x") +
            std::to_string(1'000'000 + i) + "\":\"\"";
  }
  return text;
}

TEST(AnnotationProblems, NamesEightOfAHundredThousandThatNobodyKnows) {
  const auto document = JsonDocument::Parse(Master(UnknownOnes(1, 100'000)));
  const auto lines = ProblemsOf(*document);
  ASSERT_EQ(lines.size(), 9u);
  EXPECT_EQ(lines[0],
            "annotation \"cluster-watcher/x1000001\" is unknown: correct it, or take it off");
  EXPECT_EQ(lines[8], "annotations that are unknown: 99992 more: correct them, or take them off");
}

TEST(AnnotationProblems, OnlyThoseThatAreNewCountAfterAnUpdate) {
  const auto since = [](const std::string& before, const std::string& now) {
    const auto old_pod = JsonDocument::Parse(Master(before));
    const auto new_pod = JsonDocument::Parse(Master(now));
    AnnotationProblems old_problems(BuiltInProfiles()), new_problems(BuiltInProfiles());
    old_problems.Add(old_pod->root());
    new_problems.Add(new_pod->root());
    return new_problems.Since(old_problems);
  };
  EXPECT_EQ(since(UnknownOnes(1, 3), UnknownOnes(2, 4)).size(), 1u);
  EXPECT_EQ(since(UnknownOnes(1, 3), UnknownOnes(1, 20)).size(), 6u) << "five, and twelve more";
  // Taking one of many off is no mistake, although another is named in its stead.
  EXPECT_TRUE(since(UnknownOnes(1, 20), UnknownOnes(2, 20)).empty());
  EXPECT_EQ(
      since(UnknownOnes(1, 20), UnknownOnes(1, 20) + R"(,"cluster-watcher/owner":"/")").size(), 1u);
}

TEST(PodTemplatesOf, FindsThemWhereTheyAre) {
  const auto paths = [](const std::string& text) {
    const auto document = JsonDocument::Parse(text);
    std::string found;
    for (const PodTemplate& one : PodTemplatesOf(document->root())) {
      EXPECT_TRUE(one.pod.IsObject());
      found += "[" + one.path + "]";
    }
    return found;
  };
  const auto of = [](const char* version, const char* kind, const char* spec) {
    return R"({"apiVersion":")" + std::string(version) + R"(","kind":")" + kind + R"(","spec":)" +
           spec + "}";
  };
  const char* spec = R"({"template":{}})";
  EXPECT_EQ(paths(of("v1", "Pod", "{}")), "[]");
  EXPECT_EQ(paths(of("apps/v1", "Deployment", spec)), "[/spec/template]");
  EXPECT_EQ(paths(of("batch/v1", "CronJob", R"({"jobTemplate":{"spec":{"template":{}}}})")),
            "[/spec/jobTemplate/spec/template]");
  EXPECT_EQ(
      paths(of("ray.io/v1", "RayCluster",
               R"({"headGroupSpec":{"template":{}},"workerGroupSpecs":[{},{"template":{}}]})")),
      "[/spec/headGroupSpec/template][/spec/workerGroupSpecs/1/template]");
  EXPECT_EQ(paths(of("v1", "Service", spec)), "");
  EXPECT_EQ(paths(of("example.com/v1", "Deployment", spec)), "");
  EXPECT_EQ(paths(of("apps/v1", "Deployment", R"({"template":"x"})")), "");
}

}  // namespace
}  // namespace cluster_watcher

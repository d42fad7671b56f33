#include "watcher/installation/checks.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "test/unit/support/installation_lab.h"

namespace cluster_watcher {
namespace {

using State = Finding::State;

class ChecksTest : public InstallationLab {
 protected:
  std::map<std::string, Finding> Look(const std::string& ns = "lab") {
    Discovery discovery(client_);
    const DriverTools tools{client_, discovery, clock_, {}};
    const Subject subject = ReadSubject(tools, ns);
    std::map<std::string, Finding> findings;
    for (const Check& check : Checks()) {
      if (!check.about_namespace || !subject.IsAbsent()) {
        findings[check.name] = check.look(subject);
      }
    }
    return findings;
  }
  // Expects that all is well but for what is named, "error image".
  void ExpectOnly(const std::set<std::string>& wrong) {
    static const std::map<State, std::string> names = {
        {State::kOk, "ok"}, {State::kWarning, "warning"}, {State::kError, "error"}};
    std::set<std::string> found;
    for (const auto& [name, finding] : Look()) {
      if (finding.state == State::kOk) {
        EXPECT_EQ(finding.remedy, "");
        continue;
      }
      EXPECT_NE(finding.remedy, "") << name << ": " << finding.text;
      found.insert(names.at(finding.state) + " " + name);
    }
    EXPECT_EQ(found, wrong);
  }
  void ExpectFinding(const std::string& name, State state, const std::string& text,
                     const std::string& remedy = "") {
    const Finding finding = Look()[name];
    EXPECT_EQ(finding.state, state) << name << ": " << finding.text;
    EXPECT_NE(finding.text.find(text), std::string::npos) << name << ": " << finding.text;
    EXPECT_NE(finding.remedy.find(remedy), std::string::npos) << name << ": " << finding.remedy;
  }
  void MakePod(const std::string& name, const std::string& metadata, const std::string& spec = "",
               const std::string& status = "{}") {
    kubernetes_.Apply(R"({"apiVersion":"v1","kind":"Pod",)" + Meta(name, metadata) +
                      R"(,"spec":{)" + spec +
                      R"("containers":[{"name":"main","image":"x"}]},"status":)" + status + "}");
  }
  void MakeWatchedPod(const std::string& name, const std::string& state) {
    MakePod(
        name, kMaster,
        R"("initContainers":[{"name":"cluster-watcher","image":"w","restartPolicy":"Always"}],)",
        R"({"initContainerStatuses":[{"name":"cluster-watcher","state":)" + state + "}]}");
  }
  static constexpr const char* kMaster =
      R"(,"labels":{"oshinko-type":"master","oshinko-cluster":"bob"})";
};

TEST_F(ChecksTest, AServerWithoutItNamesEachRemedy) {
  InstallRole();
  ExpectOnly({"error injection", "warning guard", "error namespace", "error account",
              "error new-masters"});
  ExpectFinding("injection", State::kError, "neither", "kubectl apply -k manifests/policy");
  ExpectFinding("namespace", State::kError, "isn't labelled", "cluster-watcher enable lab");
  ExpectFinding("account", State::kError, "no account", "cluster-watcher enable lab");
}

TEST_F(ChecksTest, WhereItIsInstalledAllIsWell) {
  Install();
  ExpectOnly({});
  ExpectFinding("version", State::kOk, "v1.36.3 can inject by policy");
  ExpectFinding("new-masters", State::kOk, "it:1, port 9090");
  ExpectFinding("account", State::kOk, "cluster-watcher-master");
  ExpectFinding("image", State::kOk, "not tried");
  ExpectFinding("monitoring", State::kOk, "not looked at");
}

TEST_F(ChecksTest, ChangeNothing) {
  Install();
  const std::size_t before = kubernetes_.Count("POST") - kubernetes_.Count("POST", "reviews");
  Look();
  EXPECT_EQ(kubernetes_.Count("POST") - kubernetes_.Count("POST", "reviews") - before,
            kubernetes_.Count("POST", "?dryRun=All"));
  EXPECT_EQ(kubernetes_.Count("PATCH") + kubernetes_.Count("PUT") + kubernetes_.Count("DELETE"),
            0u);
}

TEST_F(ChecksTest, ANamespaceThatIsMissingIsNamedAndNoMoreSaidOfIt) {
  Install();
  const auto findings = Look("nowhere");
  EXPECT_EQ(findings.at("namespace").state, State::kError);
  EXPECT_EQ(findings.at("namespace").remedy, "kubectl create namespace nowhere");
  for (const char* name : {"account", "new-masters", "image", "masters", "brake"}) {
    EXPECT_FALSE(findings.contains(name)) << name;
  }
}

TEST_F(ChecksTest, LabelsTurnItOff) {
  Install();
  trials_before_it_injects_ = 1'000'000;
  Label("enabled", "null");
  ExpectOnly({"error namespace", "error new-masters"});
  Label("enabled", R"("yes")");
  ExpectOnly({"error namespace", "error new-masters"});
  Label("enabled", R"("true")");
  Label("inject", R"("false")");
  ExpectOnly({"warning namespace", "error new-masters"});
}

TEST_F(ChecksTest, ANamespaceNeedsNoLabelWhereItIsOnEverywhere) {
  Install();
  Label("enabled", "null");
  ExpectOnly({});
  ExpectFinding("namespace", State::kOk, "all the same");
}

TEST_F(ChecksTest, ABrakeIsNamed) {
  Install();
  Label("brake", R"("")");
  ExpectOnly({"warning brake"});
  ExpectFinding("brake", State::kWarning, "in namespace lab",
                "kubectl label namespace lab cluster-watcher/brake-");
  Label("brake", R"("false")");
  ExpectOnly({});
  Admission("ValidatingAdmissionPolicyBinding", "cluster-watcher-brake-everywhere");
  ExpectFinding("brake", State::kWarning, "in all", "kubectl delete -k manifests/brake");
}

TEST_F(ChecksTest, APolicyThatIsNotBoundDoesNothing) {
  Install();
  DeleteAdmission("MutatingAdmissionPolicyBinding", "cluster-watcher");
  ExpectFinding("injection", State::kError, "isn't bound", "kubectl apply -k manifests/policy");
}

TEST_F(ChecksTest, TheWebhookInjectsWhereItsServiceHasAPod) {
  const auto configure = [this](const std::string& client) {
    Make("/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/cluster-watcher",
         R"({"apiVersion":"admissionregistration.k8s.io/v1","kind":)"
         R"("MutatingWebhookConfiguration","metadata":{"name":"cluster-watcher"},)"
         R"("webhooks":[{"clientConfig":{)" +
             client + "}}]}");
  };
  const std::string service = R"("service":{"name":"hook","namespace":"lab"})";
  configure(service);
  ExpectFinding("injection", State::kError, "no caBundle", "certificate");
  configure(service + R"(,"caBundle":"QQ==")");
  ExpectFinding("injection", State::kError, "no pod answers", "kubectl -n lab get pods");
  const auto answer = [this](const char* ready) {
    Make("/apis/discovery.k8s.io/v1/namespaces/lab/endpointslices/hook-1",
         R"({"apiVersion":"discovery.k8s.io/v1","kind":"EndpointSlice",)" +
             Meta("hook-1", R"(,"labels":{"kubernetes.io/service-name":"hook"})") +
             R"(,"endpoints":[{"conditions":{"ready":)" + ready + "}}]}");
  };
  answer("false");
  ExpectFinding("injection", State::kError, "no pod answers");
  answer("true");
  ExpectFinding("injection", State::kOk, "the webhook injects");
  configure(R"("url":"https://example.com")");
  ExpectFinding("injection", State::kOk, "the webhook injects");
}

TEST_F(ChecksTest, EachPartOfTheGuardIsMissed) {
  Install();
  DeleteAdmission("ValidatingAdmissionPolicy", "cluster-watcher-brake");
  DeleteAdmission("ValidatingAdmissionPolicyBinding", "cluster-watcher-guard");
  ExpectFinding("guard", State::kWarning,
                "policy cluster-watcher-brake; binding cluster-watcher-guard");
  Install();
  Admission("ValidatingAdmissionPolicyBinding", "cluster-watcher-guard",
            R"({"validationActions":["Audit","Warn"]})");
  ExpectFinding("guard", State::kWarning, "refuse nothing, and only tell: cluster-watcher-guard",
                "guard-audit");
}

TEST_F(ChecksTest, OldVersionsCanDoLess) {
  const auto say = [this](const char* minor) {
    small_kubernetes::Fault fault;
    fault.method = "GET";
    fault.contains = "/version";
    fault.times = 1;
    fault.response = {200,
                      std::string(R"({"major":"1","gitVersion":"v1.x","minor":")") + minor + "\"}",
                      "application/json", std::nullopt};
    kubernetes_.GetFaults().Add(fault);
  };
  say("36+");
  ExpectFinding("version", State::kOk, "by policy");
  say("28");
  ExpectFinding("version", State::kError, "no sidecars", "1.29");
  const std::string group = "admissionregistration.k8s.io";
  Serve(group, "MutatingAdmissionPolicy", false, "v1beta1");
  Serve(group, "MutatingAdmissionPolicy", false, "v1", true);
  say("29");
  ExpectFinding("version", State::kOk, "by the webhook");
  ExpectFinding("injection", State::kError, "neither", "kubectl apply -k manifests/webhook");
  Label("brake", R"("")");
  Serve(group, "ValidatingAdmissionPolicy", false, "v1", true);
  for (const char* lock : {"guard", "brake"}) {
    ExpectFinding(lock, State::kWarning, std::string(lock) + " can't be", "1.30");
  }
}

TEST_F(ChecksTest, WhoMayDoWhatAWatcherMay) {
  Install();
  MakeAccount("default");
  Bind("ClusterRole", "cluster-watcher", "default", "another");
  ExpectFinding("account", State::kWarning, "account default", "RoleBinding of default");
  Delete("/apis/rbac.authorization.k8s.io/v1/namespaces/lab/rolebindings/cluster-watcher");
  ExpectFinding("account", State::kError, "account default", "cluster-watcher enable lab");
  Delete("/apis/rbac.authorization.k8s.io/v1/namespaces/lab/rolebindings/another");
  MakeRole("Role", "all", "*", "*", R"("*")");
  Bind("Role", "all", "cluster-watcher-master", "all");
  ExpectFinding("account", State::kError, "no account");
}

TEST_F(ChecksTest, WhatSharesAWatchersAccountIsGuardedUnlessExempted) {
  Install();
  const auto guarded = [this] { return CheckGuardedAccounts(ReadSubject(tools_, "lab")); };
  EXPECT_EQ(guarded().state, State::kOk);
  MakeAccount("ci");
  MakeRole("Role", "all", "*", "*", R"("*")");
  Bind("Role", "all", "ci", "all");
  EXPECT_EQ(guarded().state, State::kOk) << "may do everything";
  MakeAccount("shared");
  MakeRole("Role", "makes", "apps", "deployments", R"("create")");
  Bind("Role", "makes", "shared", "makes");
  EXPECT_EQ(guarded().state, State::kOk) << "is no watcher's";
  Bind("ClusterRole", "cluster-watcher", "shared", "watches");
  EXPECT_EQ(guarded().state, State::kWarning);
  EXPECT_NE(guarded().text.find("refuses them: shared"), std::string::npos);
  MakeRole("Role", "unguarded", "cluster-watcher", "guard", R"("exempt")");
  Bind("Role", "unguarded", "shared", "unguarded");
  EXPECT_EQ(guarded().state, State::kOk);
  LetCallerBe("nobody");
  EXPECT_EQ(guarded().state, State::kWarning);
  EXPECT_NE(guarded().remedy.find(R"(["serviceaccounts"])"), std::string::npos);
}

TEST_F(ChecksTest, WhoMayNotAskReadsRoleBindings) {
  Install();
  Refuse("POST", "localsubjectaccessreviews", 403);
  ExpectFinding("account", State::kOk, "cluster-watcher-master");
  Delete("/apis/rbac.authorization.k8s.io/v1/namespaces/lab/rolebindings/cluster-watcher");
  ExpectFinding("account", State::kWarning, "not known");
}

TEST_F(ChecksTest, WhatRefusesANewMasterIsTold) {
  Install();
  Refuse("POST", "/pods?dryRun=All", 403, 0, 1);
  ExpectFinding("new-masters", State::kError, "because of its sidecar", "cpuRequest");
  Refuse("POST", "/pods?dryRun=All", 422, 0, 2);
  ExpectFinding("new-masters", State::kWarning, "and without", "--dry-run=server");
  Refuse("POST", "/pods?dryRun=All", 500, 0, 1);
  const Finding finding = Look()["new-masters"];
  EXPECT_EQ(finding.state, State::kWarning);
  EXPECT_NE(finding.text.find("not known"), std::string::npos);
}

TEST_F(ChecksTest, MastersAreNamedThatHaveNoWatcher) {
  Install();
  MakePod("old", kMaster);
  MakePod("ray-head", R"(,"labels":{"ray.io/cluster":"r","ray.io/node-type":"head"})");
  MakePod(
      "off",
      R"(,"labels":{"oshinko-type":"master"},"annotations":{"cluster-watcher/inject":"false"})");
  MakePod("asks", R"(,"annotations":{"cluster-watcher/inject":"true"})");
  MakePod("worker", R"(,"labels":{"oshinko-type":"worker"})");
  MakePod("ended", kMaster, "", R"({"phase":"Failed"})");
  ExpectOnly({"warning masters"});
  ExpectFinding("masters", State::kWarning, ": asks; old; ray-head", "docs/injection.md");
}

TEST_F(ChecksTest, ASidecarThatCanNotStartIsTold) {
  Install();
  MakeWatchedPod("starts", R"({"waiting":{"reason":"PodInitializing"}})");
  ExpectFinding("image", State::kOk, "not tried");
  MakeWatchedPod("runs", R"({"running":{}})");
  ExpectFinding("image", State::kOk, "watchers run: 1");
  MakeWatchedPod("stuck", R"({"waiting":{"reason":"ErrImagePull","message":"no such host"}})");
  ExpectOnly({"error image"});
  ExpectFinding("image", State::kError, "pod stuck can't start: ErrImagePull: no such host",
                "push the image");
}

TEST_F(ChecksTest, WithoutAnAnswerNothingMoreIsAsked) {
  Install();
  Refuse("GET", "/namespaces/lab", 500);
  const Subject subject = ReadSubject(tools_, "lab");
  EXPECT_FALSE(subject.IsAnswered());
  EXPECT_EQ(kubernetes_.Count("POST"), 0u);
}

TEST_F(ChecksTest, WithoutRightsNothingIsWellAndNothingIsAbsent) {
  Install();
  LetCallerBe("nobody");
  const std::map<std::string, std::string> lacks = {
      {"injection", R"(["mutatingadmissionpolicies"], verbs: ["get"])"},
      {"guard", R"(["validatingadmissionpolicies"], verbs: ["list"])"},
      {"namespace", R"(["namespaces"], verbs: ["get"])"},
      {"brake", R"(["validatingadmissionpolicybindings"], verbs: ["list"])"},
      {"account", R"(["serviceaccounts"], verbs: ["list"])"},
      {"new-masters", R"(["pods"], verbs: ["create"])"},
      {"image", R"(["pods"], verbs: ["list"])"},
      {"masters", R"(["pods"], verbs: ["list"])"}};
  for (const auto& [name, finding] : Look()) {
    const auto rule = lacks.find(name);
    EXPECT_EQ(finding.state, rule == lacks.end() ? State::kOk : State::kWarning) << name;
    if (rule == lacks.end()) continue;
    EXPECT_NE(finding.remedy.find(rule->second), std::string::npos)
        << name << ": " << finding.text << "; " << finding.remedy;
  }
}

class MonitoringTest : public ChecksTest {
 protected:
  MonitoringTest() {
    DefineKind("monitoring.coreos.com", "PodMonitor", "podmonitors", "podmonitor");
    DefineKind("monitoring.coreos.com", "PrometheusRule", "prometheusrules", "prometheusrule");
    DefineKind("monitoring.coreos.com", "Prometheus", "prometheuses", "prometheus");
    Install();
  }
  void Ship(const std::string& kind) {
    kubernetes_.Apply(R"({"apiVersion":"monitoring.coreos.com/v1","kind":")" + kind + "\"," +
                      Meta("cluster-watcher", R"(,"labels":{"app.kubernetes.io/component":)"
                                              R"("monitoring","app.kubernetes.io/name":)"
                                              R"("cluster-watcher"})") +
                      R"(,"spec":{}})");
  }
  // In the namespace `ns`, with such selectors.
  void MakePrometheus(const std::string& spec, const std::string& ns = "lab") {
    Make("/apis/monitoring.coreos.com/v1/namespaces/" + ns + "/prometheuses/p",
         R"({"apiVersion":"monitoring.coreos.com/v1","kind":"Prometheus","metadata":{"name":"p",)"
         R"("namespace":")" +
             ns + R"("},"spec":{)" + spec + "}}");
  }
};

TEST_F(MonitoringTest, WhatIsShippedIsMissed) {
  ExpectFinding("monitoring", State::kWarning, "podmonitors.monitoring.coreos.com",
                "manifests/chart/objects/monitoring");
  Ship("PodMonitor");
  ExpectFinding("monitoring", State::kWarning, "no Prometheus selects podmonitor");
  MakePrometheus(R"("podMonitorSelector":{})");
  ExpectFinding("monitoring", State::kWarning, "prometheusrules.monitoring.coreos.com");
  Ship("PrometheusRule");
  ExpectFinding("monitoring", State::kWarning, "no Prometheus selects prometheusrule",
                "ruleSelector");
  MakePrometheus(R"("podMonitorSelector":{},"ruleSelector":{})");
  ExpectFinding("monitoring", State::kOk, "a Prometheus selects");
}

TEST_F(MonitoringTest, SelectorsAreThoseOfTheOperator) {
  Ship("PodMonitor");
  Ship("PrometheusRule");
  const std::string ours = R"("app.kubernetes.io/name")";
  const std::pair<std::string, bool> selectors[] = {
      {"{}", true},
      {"null", false},
      {R"({"matchLabels":{)" + ours + R"(:"cluster-watcher"}})", true},
      {R"({"matchLabels":{"release":"prometheus"}})", false},
      {R"({"matchExpressions":[{"key":)" + ours + R"(,"operator":"Exists"}]})", true},
      {R"({"matchExpressions":[{"key":)" + ours + R"(,"operator":"DoesNotExist"}]})", false},
      {R"({"matchExpressions":[{"key":)" + ours +
           R"(,"operator":"In","values":["a","cluster-watcher"]}]})",
       true},
      {R"({"matchExpressions":[{"key":)" + ours +
           R"(,"operator":"NotIn","values":["cluster-watcher"]}]})",
       false},
      {R"({"matchExpressions":[{"key":"x","operator":"NotIn","values":["y"]}]})", true},
      {R"({"matchExpressions":[{"key":"x","operator":"In","values":["y"]}]})", false},
      {R"({"matchExpressions":[{"key":"x","operator":"Sometimes"}]})", false},
  };
  for (const auto& [selector, takes] : selectors) {
    MakePrometheus(R"("ruleSelector":{},"podMonitorSelector":)" + selector);
    EXPECT_EQ(Look()["monitoring"].state, takes ? State::kOk : State::kWarning) << selector;
  }
}

TEST_F(MonitoringTest, WithoutASelectorOfNamespacesAPrometheusTakesThoseOfItsOwn) {
  Ship("PodMonitor");
  Ship("PrometheusRule");
  const std::string all = R"("ruleSelector":{},"podMonitorSelector":{})";
  MakePrometheus(all, "default");
  ExpectFinding("monitoring", State::kWarning, "no Prometheus selects");
  const auto selecting = [&](const std::string& labels) {
    return all + R"(,"ruleNamespaceSelector":{},"podMonitorNamespaceSelector":{"matchLabels":{)" +
           labels + "}}";
  };
  MakePrometheus(selecting(R"("cluster-watcher/enabled":"true")"), "default");
  ExpectFinding("monitoring", State::kOk, "a Prometheus selects");
  MakePrometheus(selecting(R"("x":"y")"), "default");
  ExpectFinding("monitoring", State::kWarning, "no Prometheus selects");
}

TEST_F(MonitoringTest, WithoutRightsItIsNotKnown) {
  LetCallerBe("nobody");
  ExpectFinding("monitoring", State::kWarning, "not known", R"(["prometheuses"])");
}

}  // namespace
}  // namespace cluster_watcher

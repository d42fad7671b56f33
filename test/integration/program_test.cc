// The program as its users meet it: `check`, the ways `watch` ends, flags, kubeconfigs and the
// metrics port.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <map>
#include <set>

#include "test/integration/fixture.h"

namespace cluster_watcher::integration {
namespace {

class Check : public IntegrationTest {
 protected:
  // Runs `check` to its end.
  Watcher& CheckOf(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"check", "--kubeconfig=" + kubeconfig(), "-n", ns_});
    Watcher& check = Run(arguments);
    EXPECT_TRUE(check.WaitForExit());
    return check;
  }
  void Expect(Watcher& check, int code, const std::string& observation, const std::string& verdict,
              const std::string& reason) {
    SCOPED_TRACE(check.Output() + check.Log());
    EXPECT_EQ(check.WaitForExit(), code);
    const auto report = JsonDocument::Parse(check.Output());
    ASSERT_TRUE(report) << report.error().message;
    const JsonValue root = report->root();
    std::set<std::string> keys;
    for (const auto& [key, value] : root.Members()) keys.emplace(key);
    for (const char* key : {"namespace", "cluster", "owner", "ownerUID", "observation", "replicas",
                            "verdict", "reason", "rules", "settings"}) {
      EXPECT_TRUE(keys.contains(key)) << key;
    }
    EXPECT_EQ(root["namespace"].AsString(), ns_);
    EXPECT_EQ(root["cluster"].AsString(), kCluster);
    EXPECT_EQ(root["observation"].AsString(), observation);
    EXPECT_EQ(root["verdict"].AsString(), verdict);
    EXPECT_EQ(root["reason"].AsString(), reason);
    int matched = 0;
    for (const JsonValue rule : root["rules"].Elements()) {
      EXPECT_TRUE(rule["number"].AsInteger() && rule["detail"].AsString());
      if (rule["matched"].AsBool() == true) ++matched;
    }
    EXPECT_EQ(matched, 1);
    for (const JsonValue setting : root["settings"].Elements()) {
      EXPECT_TRUE(setting["name"].AsString() && setting["value"].AsString() &&
                  setting["source"].AsString());
    }
  }
};

// Only updates of this namespace's Deployments go there.
TEST_F(Check, NamesAWebhookThatCanNotBeCalled) {
  if (!kubernetes->GetOptions().real) GTEST_SKIP() << "the small Kubernetes calls no webhooks";
  MakeCluster();
  MasterPod();
  const std::string path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
  const std::string name = "refuse-" + ns_;
  api().Expect(HttpMethod::kPost, path,
               R"({"metadata": {"name": ")" + name + R"("}, "webhooks": [{
      "name": "refuse.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"],
      "clientConfig": {"url": "https://127.0.0.1:1/"}, "namespaceSelector": {"matchLabels":
      {"kubernetes.io/metadata.name": ")" +
                   ns_ + R"("}}, "rules": [{"apiGroups": ["apps"],
      "apiVersions": ["v1"], "resources": ["deployments"], "operations": ["UPDATE"]}]}]})");
  const auto check = [&] { return CheckOf({kCluster, "--owner=deployment/ghost"}).Output(); };
  const std::string named =
      "\nRefused By:     admission webhook refuse.example.com, which can't be";
  EXPECT_TRUE(Eventually([&] { return check().find(named) != std::string::npos; })) << check();
  api().Expect(HttpMethod::kDelete, path + "/" + name);
  EXPECT_TRUE(Eventually([&] { return check().find("Refused By") == std::string::npos; }));
}

TEST_F(Check, SaysWhatIsTrueOfACluster) {
  MakeCluster();
  MakeDriver();
  MasterPod();
  const auto check = [&](const std::string& owner) -> Watcher& {
    return CheckOf({kCluster, "--owner=" + owner, "-o", "json"});
  };
  Watcher& active = check("deployment/bob");
  Expect(active, 0, "active", "keep", "active");
  const auto report = JsonDocument::Parse(active.Output());
  ASSERT_TRUE(report);
  EXPECT_EQ(report->root()["owner"].AsString(), "deployment.apps/bob");
  EXPECT_EQ(report->root()["ownerUID"].AsString(), api().Uid("deployments", ns_, "bob"));
  EXPECT_EQ(report->root()["replicas"].AsInteger(), 1);
  std::map<std::string, std::string> sources;
  for (const JsonValue setting : report->root()["settings"].Elements()) {
    sources[std::string(setting["name"].AsString().value_or(""))] =
        setting["source"].AsString().value_or("");
  }
  EXPECT_EQ(sources["owner"], "flag");
  EXPECT_EQ(sources["poll-interval"], "default");
  Expect(check("deployment/ghost"), 3, "absent", "abandoned", "owner-absent");
  Expect(check("ghost"), 3, "absent", "abandoned", "owner-absent");
  MakeDriver("bob", "jobs");
  Expect(check("bob"), 4, "unknown", "keep", "unknown");
  Expect(CheckOf({kCluster, "-o", "json"}), 0, "none", "keep", "shared");
  MakeDriver("alice");
  api().Scale("deployments", ns_, "alice", 0);
  ASSERT_TRUE(Eventually([&] { return api().Names("pods", ns_, "app=alice").empty(); }));
  Expect(check("deployment/alice"), 3, "scaled-to-zero", "abandoned", "scaled-to-zero");
  api().Scale("deployments", ns_, "alice", 3);
  Expect(check("deployment/alice"), 0, "active", "keep", "shared-by-replicas");
  api().Annotate("deployments", ns_, kMaster, "cluster-watcher/hold-until", "2199-01-01T00:00:00Z");
  Expect(check("deployment/ghost"), 0, "absent", "keep", "held");
  EXPECT_TRUE(IsWhole());
  EXPECT_EQ(Mark("root-uid"), "") << "check writes nothing";
}

TEST_F(Check, TakesAPodToo) {
  MakeCluster({.pod_annotations = {{"cluster-watcher/owner", "deployment/bob"}}});
  Expect(CheckOf({"--pod=" + MasterPod(), "--output=json"}), 3, "absent", "abandoned",
         "owner-absent");
}

TEST_F(Check, IsForPeopleUnlessJsonIsAsked) {
  MakeCluster();
  MasterPod();
  Watcher& check = CheckOf({kCluster, "--owner=deployment/bob"});
  EXPECT_EQ(check.WaitForExit(), 3);
  for (const char* text : {"abandoned", "owner-absent", "deployment.apps/bob", "poll-interval"}) {
    EXPECT_NE(check.Output().find(text), std::string::npos) << check.Output();
  }
}

TEST_F(Check, EndsWithTheEventsOfTheMaster) {
  MakeCluster();
  MasterPod();
  MakeAccount(WatcherRoleOf({kAccount}));
  api().Create("events", ns_,
               R"({"metadata": {"name": "told"}, "type": "Warning",
      "eventTime": "2026-01-01T00:00:00.000000Z", "reason": "ClusterCondemned", "action": "x",
      "reportingController": "cluster-watcher", "reportingInstance": "x", "note": "it is\\nover",
      "regarding": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "spark-m",
      "namespace": ")" +
                   ns_ + R"(", "uid": ")" + api().Uid("deployments", ns_, kMaster) + "\"}}");
  const auto events = [&](std::vector<std::string> arguments) {
    Watcher& check = CheckOf(std::move(arguments));
    EXPECT_EQ(check.WaitForExit(), 0) << check.Log();
    const std::string text = check.Output();
    return text.substr(std::min(text.find("\nEvents:"), text.size()));
  };
  const std::string all = events({kCluster});
  EXPECT_TRUE(all.starts_with("\nEvents:\n  Type ")) << all;
  EXPECT_NE(all.find("  it is\\nover\n"), std::string::npos) << all;
  EXPECT_EQ(events({kCluster, "-o", "yaml"}), "");
  const std::string file =
      WriteKubeconfig(File("few"), server().Admin(), "token: " + api().Token(ns_, kAccount));
  const std::string none = events({kCluster, "--kubeconfig=" + file});
  EXPECT_TRUE(none.starts_with("\nEvents:         <unknown>: list events in ")) << none;
  EXPECT_EQ(std::count(none.begin(), none.end(), '\n'), 2) << none;
}

TEST_F(Check, NamesWhatIsMissing) {
  Watcher& no_cluster = CheckOf({"nothing"});
  EXPECT_EQ(no_cluster.WaitForExit(), 1);
  EXPECT_NE(no_cluster.Log().find("nothing"), std::string::npos);
  EXPECT_EQ(CheckOf({}).WaitForExit(), 2);
  Watcher& no_pod = CheckOf({"--pod=nobody"});
  EXPECT_EQ(no_pod.WaitForExit(), 2);
  EXPECT_NE(no_pod.Log().find("nobody"), std::string::npos);
}

TEST_F(Check, IsUnknownWhereNobodyAnswers) {
  ApiServer nobody;
  nobody.url = "http://127.0.0.1:1";
  WriteKubeconfig(kubeconfig(), nobody, "token: x");
  EXPECT_EQ(CheckOf({kCluster, "--owner=deployment/bob"}).WaitForExit(), 4);
}

class Ending : public IntegrationTest {};

TEST_F(Ending, ItsOwnPodNeverWas) {
  MakeCluster();
  Watcher& watcher = WatchOver("deployment/bob", {"--pod=nobody"});
  EXPECT_EQ(watcher.WaitForExit(), 2);
  EXPECT_GE(watcher.LinesWith("nobody"), 1u);
}

TEST_F(Ending, ItsOwnPodDoesNotStartBeforeItEnds) {
  // As it is stored where the API server doesn't know sidecars.
  MakeCluster({.pod_spec = R"("initContainers": [{"name": "cluster-watcher", "image": "x"}], )"});
  MasterPod();
  Watcher& watcher = WatchOver("deployment/ghost", {"--grace-period=0s", "--startup-grace=0s"});
  EXPECT_EQ(watcher.WaitForExit(), 0);
  EXPECT_EQ(watcher.LinesWith("Kubernetes before 1.29"), 1u) << watcher.Log();
  EXPECT_TRUE(IsWhole());
}

TEST_F(Ending, ItDoesNotWhereItIsASidecar) {
  MakeCluster({.pod_spec = R"("initContainers": [{"name": "cluster-watcher", "image": "x", )"
                           R"("restartPolicy": "Always"}], )"});
  MakeDriver();
  Watcher& watcher = WatchOver("deployment/bob");
  EXPECT_TRUE(Keeps(watcher, "keep: active"));
  EXPECT_TRUE(StopsWell(watcher));
}

struct Wrong {
  std::vector<std::string> flags;
  std::vector<std::string> environment;
  std::vector<std::string> named;  // on stderr
};

class WrongUsage : public IntegrationTest {
 protected:
  void ExpectExit2(const Wrong& wrong) {
    SCOPED_TRACE(testing::PrintToString(wrong.flags) + testing::PrintToString(wrong.environment));
    std::vector<std::string> flags = {"--kubeconfig=" + kubeconfig(), "--namespace=" + ns_,
                                      "--pod=p", "--listen=127.0.0.1:0"};
    flags.insert(flags.end(), wrong.flags.begin(), wrong.flags.end());
    Watcher& watcher = Run(flags, wrong.environment);
    EXPECT_EQ(watcher.WaitForExit(), 2);
    for (const std::string& name : wrong.named) {
      EXPECT_NE(watcher.Log().find(name), std::string::npos) << name << " in " << watcher.Log();
    }
    EXPECT_EQ(watcher.Output(), "");
  }
};

TEST_F(WrongUsage, OfFlagsIsNamedAllAtOnce) {
  const std::string missing = File("missing");
  const std::string broken = File("broken");
  WriteWhole(broken, "{]");
  for (const Wrong& wrong : {
           Wrong{{"--poll-interval=1ms"}, {}, {"--poll-interval", "1ms", "100ms"}},
           Wrong{{"--confirmations=0", "--owner=a/b/c", "--volumes=some"},
                 {},
                 {"--confirmations", "--owner", "--volumes", "some"}},
           Wrong{{"--observe=x"}, {}, {"--observe", "poll", "watch"}},
           Wrong{{"--grace-period=tomorrow"}, {}, {"--grace-period", "tomorrow"}},
           Wrong{{"--delete-deadline=25h"}, {}, {"--delete-deadline", "25h"}},
           Wrong{{"--dry-run=maybe"}, {}, {"--dry-run", "maybe"}},
           Wrong{{"--listen=here"}, {}, {"--listen", "here"}},
           Wrong{{"--namespace=No Name"}, {}, {"--namespace", "No Name"}},
           Wrong{{"--cluster="}, {}, {"--cluster"}},
           Wrong{{"--log-level=loud"}, {}, {"--log-level", "loud"}},
           Wrong{{"--resources=deployments,"}, {}, {"--resources"}},
           Wrong{{"--no-such-flag"}, {}, {"--no-such-flag"}},
           Wrong{{"--poll-intervall=5s"}, {}, {"--poll-intervall", "--poll-interval"}},
           Wrong{{"wach"}, {}, {"wach", "watch"}},
           Wrong{{}, {"CLUSTER_WATCHER_CONFIRMATIONS=many"}, {"CLUSTER_WATCHER_CONFIRMATIONS"}},
           Wrong{{"--confirmations=101"},
                 {"CLUSTER_WATCHER_CONCURRENCY=0"},
                 {"--confirmations", "CLUSTER_WATCHER_CONCURRENCY"}},
           Wrong{{"--kubeconfig=" + missing}, {}, {missing}},
           Wrong{{"--kubeconfig=" + broken, "--confirmations=0"}, {}, {broken, "--confirmations"}},
           Wrong{{"--context=nowhere"}, {}, {"nowhere", "test"}},
       }) {
    ExpectExit2(wrong);
  }
}

TEST_F(WrongUsage, OfKubeconfigsNamesTheFile) {
  ApiServer server = kubernetes->GetServer().Admin();
  server.url = "https://127.0.0.1:1";
  server.ca_pem = "not a certificate";
  const std::string bad_ca = WriteKubeconfig(File("bad-ca"), server, "token: x");
  ExpectExit2({{"--kubeconfig=" + bad_ca}, {}, {bad_ca}});
  server.url = "ftp://127.0.0.1";
  server.ca_pem = "";
  const std::string bad_url = WriteKubeconfig(File("bad-url"), server, "token: x");
  ExpectExit2({{"--kubeconfig=" + bad_url}, {}, {bad_url, "ftp://127.0.0.1"}});
  server.url = "https://127.0.0.1:1";
  const std::string plugin = WriteKubeconfig(File("plugin"), server, "exec: {command: login}");
  ExpectExit2({{"--kubeconfig=" + plugin}, {}, {plugin, "exec.apiVersion"}});
  WriteWhole(bad_url + ".ca.crt", "");
}

TEST_F(WrongUsage, WithoutAPodOrAnApiServerIsSaid) {
  Watcher& no_pod = Run({"--kubeconfig=" + kubeconfig(), "--namespace=" + ns_});
  EXPECT_EQ(no_pod.WaitForExit(), 2);
  EXPECT_NE(no_pod.Log().find("POD_NAME"), std::string::npos);
  Watcher& nowhere = Run({"--namespace=" + ns_, "--pod=p"}, {"HOME=/nonexistent"});
  EXPECT_EQ(nowhere.WaitForExit(), 2);
  EXPECT_NE(nowhere.Log().find("kubeconfig"), std::string::npos) << nowhere.Log();
}

class MetricsPort : public IntegrationTest {};

TEST_F(MetricsPort, InUseIsSaidAndTheWatchGoesOn) {
  const int taken = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(bind(taken, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(taken, 1), 0);
  getsockname(taken, reinterpret_cast<sockaddr*>(&address), &size);
  const std::string port = std::to_string(ntohs(address.sin_port));
  MakeCluster();
  Watcher& watcher = WatchOver("deployment/bob", {"--listen=127.0.0.1:" + port});
  EXPECT_TRUE(IsGone());
  // How often depends on how long this takes; metrics_port_test.cc counts.
  EXPECT_GE(watcher.LinesWith("no metrics"), 1u);
  EXPECT_GE(watcher.LinesWith(port), 1u);
  EXPECT_TRUE(StopsWell(watcher));
  close(taken);
}

}  // namespace
}  // namespace cluster_watcher::integration

// Missing permissions are logged once, with the rule to add, and shown; they change nothing else.
#include <signal.h>

#include <algorithm>

#include "test/integration/fixture.h"
#include "test/integration/proxy.h"

namespace cluster_watcher::integration {
namespace {

constexpr char kReview[] = "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
constexpr char kMissing[] = "cluster_watcher_permission_missing";

// A Role's rules as in manifests/role. Foreign kinds are abbreviated, because other tests may have
// them served. `services` are the verbs on Services.
std::string Rules(const std::string& services) {
  return R"({"rules": [
      {"apiGroups": ["apps"], "resources": ["deployments", "replicasets", "statefulsets"],
       "verbs": ["get", "list", "patch", "delete"]},
      {"apiGroups": [""], "resources": ["replicationcontrollers", "pods"],
       "verbs": ["get", "list", "patch", "delete"]},
      {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["get", "list", "patch", "delete"]},
      {"apiGroups": ["apps"], "resources": ["daemonsets"], "verbs": ["get", "list", "delete"]},
      {"apiGroups": ["batch"], "resources": ["cronjobs"], "verbs": ["get", "list", "delete"]},
      {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list", "patch", "delete"]},
      {"apiGroups": [""], "resources": ["services"], "verbs": )" +
         services + R"(},
      {"apiGroups": ["networking.k8s.io"], "resources": ["ingresses", "networkpolicies"],
       "verbs": ["list", "delete"]},
      {"apiGroups": ["autoscaling"], "resources": ["horizontalpodautoscalers"],
       "verbs": ["list", "delete"]},
      {"apiGroups": ["policy"], "resources": ["poddisruptionbudgets"],
       "verbs": ["list", "delete"]},
      {"apiGroups": [""], "resources": ["persistentvolumeclaims"], "verbs": ["list", "patch"]},
      {"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create"]},
      {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get"]},
      {"apiGroups": ["apps.openshift.io", "route.openshift.io", "ray.io", "kubernetes.dask.org",
                     "flink.apache.org"],
       "resources": ["*"], "verbs": ["get", "list", "delete"]}]})";
}
constexpr char kAll[] = R"(["list", "delete"])";
constexpr char kNone[] = R"(["watch"])";

class Permissions : public IntegrationTest {
 protected:
  void SetUp() override {
    IntegrationTest::SetUp();
    MakeAccount(Rules(kAll).insert(1, R"("metadata": {"name": "watcher"}, )"));
    UseAccount(server().Admin());
    MakeCluster();
    MakeDriver();
  }

  // Makes kubeconfig() that of the account, at this server.
  void UseAccount(const ApiServer& at) {
    WriteKubeconfig(kubeconfig(), at, "token: \"" + api().Token(ns_, kAccount) + "\"");
  }

  // Waits for the API server, which takes some seconds to apply it.
  void Allow(const std::string& services) {
    api().Patch("roles", ns_, kAccount, Rules(services));
    ASSERT_TRUE(Eventually([&] {
      Api as_account(AsAccount());
      const auto listed = as_account.Do(HttpMethod::kGet, PathOf("services", ns_));
      return listed && (listed->status == 200) == (services == kAll);
    }));
  }
  ApiServer AsAccount() {
    ApiServer server_for_it = server().Admin();
    server_for_it.token = api().Token(ns_, kAccount);
    return server_for_it;
  }

  // Starts a watcher and waits until it has asked for its permissions.
  Watcher& WatchAndAsk(std::vector<std::string> flags = {}) {
    flags.push_back("--log-level=debug");
    Watcher& watcher = WatchOver("deployment/bob", flags);
    EXPECT_TRUE(Shows(watcher, "keep: active"));
    EXPECT_TRUE(Eventually([&] { return watcher.LinesWith("permissions") > 0; }));
    return watcher;
  }
};

TEST_F(Permissions, ThatAreAllGrantedAreNotSpokenOf) {
  Watcher& watcher = WatchAndAsk();
  EXPECT_EQ(watcher.Metric(kMissing), 0);
  EXPECT_EQ(watcher.LinesWith("debug permissions: all "), 1u);
  EXPECT_EQ(watcher.LinesWith("permissions"), 1u);
  EXPECT_EQ(watcher.LinesWith("warning"), 0u);
  ASSERT_TRUE(Keeps(watcher, "keep: active"));
  EXPECT_EQ(watcher.LinesWith("permissions"), 1u);
  api().Delete("deployments", ns_, "bob");
  EXPECT_TRUE(Finishes(watcher));
  EXPECT_EQ(watcher.LinesWith("permissions"), 1u);
  EXPECT_FALSE(Told("ClusterDeleted").empty());
}

TEST_F(Permissions, ThatAreMissingAreSaidOnceAndShownAndItGoesOn) {
  Allow(kNone);
  Watcher& watcher = WatchAndAsk();
  EXPECT_EQ(watcher.Metric(kMissing), 2);
  EXPECT_EQ(watcher.Metric(std::string(kMissing) + R"({resource="services",verb="list"})"), 1);
  EXPECT_EQ(watcher.Metric(std::string(kMissing) + R"({resource="services",verb="delete"})"), 1);
  const std::string line = "warning permissions are missing: a Role in namespace " + ns_ +
                           R"( needs rules: [{apiGroups: [""], resources: ["services"], )" +
                           R"(verbs: ["list", "delete"]}])";
  EXPECT_EQ(watcher.LinesWith(line), 1u);
  EXPECT_EQ(watcher.Health("/readyz"), 200);
  ASSERT_TRUE(Keeps(watcher, "keep: active"));
  EXPECT_EQ(watcher.LinesWith("permissions"), 1u);

  api().Delete("deployments", ns_, "bob");
  ASSERT_TRUE(Reaches(watcher, "done"));
  EXPECT_TRUE(Eventually([&] {
    return Members() == std::vector<std::string>{"services/spark", "services/spark-ui"};
  })) << testing::PrintToString(Members());
  EXPECT_EQ(watcher.LinesWith("permissions"), 1u);
}

TEST_F(Permissions, ThatAreGrantedLaterAreShownNoLonger) {
  Allow(kNone);
  Watcher& before = WatchAndAsk();
  EXPECT_EQ(before.Metric(kMissing), 2);
  ASSERT_TRUE(StopsWell(before));
  Allow(kAll);
  Watcher& after = WatchAndAsk();
  EXPECT_EQ(after.Metric(kMissing), 0);
  EXPECT_EQ(after.LinesWith("warning"), 0u);
  api().Delete("deployments", ns_, "bob");
  EXPECT_TRUE(Finishes(after));
}

TEST_F(Permissions, ThatADryRunLacksAreShownToo) {
  Allow(kNone);
  Watcher& watcher = WatchAndAsk({"--dry-run"});
  EXPECT_EQ(watcher.Metric(kMissing), 2);
  EXPECT_TRUE(IsWhole());
}

// If the RoleBinding is missing, the log lists everything that it would have granted.
TEST_F(Permissions, ThatAreAllMissingAreNamed) {
  api().Delete("rolebindings", ns_, kAccount);
  ASSERT_TRUE(Eventually([&] {
    Api as_account(AsAccount());
    const auto listed = as_account.Do(HttpMethod::kGet, PathOf("pods", ns_));
    return listed && listed->status == 403;
  }));
  Watcher& watcher = WatchOver("deployment/bob");
  EXPECT_TRUE(Keeps(watcher, "keep: unknown"));
  EXPECT_EQ(watcher.Metric(std::string(kMissing) + R"({resource="pods",verb="get"})"), 1);
  EXPECT_EQ(watcher.Metric(std::string(kMissing) + R"({resource="namespaces",verb="get"})"), 1);
  EXPECT_GT(watcher.Metric(kMissing), 30);
  EXPECT_EQ(watcher.LinesWith("permissions are missing"), 1u);
  EXPECT_EQ(watcher.LinesWith(R"({apiGroups: ["apps"], resources: ["deployments", )"), 1u);
  api().Create("rolebindings", ns_, RoleBindingOf({kAccount}, kAccount, kAccount));
  EXPECT_TRUE(Shows(watcher, "keep: active"));
}

// A server that refuses the permission check itself, or breaks it.
TEST_F(Permissions, ThatCanNotBeAskedForChangeNothing) {
  const auto review = [](const std::string& status) {
    return Lie::Answer(201, R"({"kind": "SelfSubjectAccessReview", "apiVersion":
                                "authorization.k8s.io/v1", "metadata": {}, "status": )" +
                                status + "}");
  };
  const auto failure = [](int code, const std::string& reason) {
    return Lie::Answer(code, R"({"kind": "Status", "apiVersion": "v1", "status": "Failure",
                                 "message": "no", "reason": ")" +
                                 reason + R"(", "code": )" + std::to_string(code) + "}");
  };
  const std::vector<Lie> lies = {failure(403, "Forbidden"),
                                 failure(404, "NotFound"),
                                 Lie::Answer(404, "404 page not found\n", "text/plain"),
                                 failure(500, "InternalError"),
                                 failure(503, "ServiceUnavailable"),
                                 Lie::Answer(200, "<html>log in</html>", "text/html"),
                                 review(R"({"allowed": "false"})"),
                                 review("{}"),
                                 {"", true}};
  for (const Lie& lie : lies) {
    SCOPED_TRACE(lie.bytes);
    Proxy proxy(server().Admin());
    proxy.LieAbout(kReview, lie);
    UseAccount(proxy.Address());
    Watcher& watcher = WatchAndAsk();
    EXPECT_EQ(watcher.LinesWith("debug permissions: "), 1u);
    EXPECT_LE(proxy.LiesTold(), 6);  // three requests, each sent again after a cut connection
    EXPECT_EQ(watcher.Metric(kMissing), 0);
    EXPECT_EQ(watcher.LinesWith("warning"), 0u);
    ASSERT_TRUE(Keeps(watcher, "keep: active", 3));
    EXPECT_EQ(watcher.LinesWith("permissions"), 1u) << "it is asked again at each poll";
    const bool last = &lie == &lies.back();
    if (last) {
      api().Delete("deployments", ns_, "bob");
      EXPECT_TRUE(Finishes(watcher));
    }
    EXPECT_EQ(watcher.Stop(SIGTERM), 0);
  }
}

}  // namespace
}  // namespace cluster_watcher::integration

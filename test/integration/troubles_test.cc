// An API server that refuses, is down or hangs, and tokens that are no longer valid: nothing is
// known then, nothing is lost, and the watcher goes on afterwards.
#include <signal.h>
#include <sys/stat.h>

#include "test/integration/fixture.h"

namespace cluster_watcher::integration {
namespace {

class Troubles : public IntegrationTest {
 protected:
  void TearDown() override {
    if (away_) ComeBack();
    IntegrationTest::TearDown();
  }

  void GoAway() {
    server().StopApi();
    away_ = true;
  }
  void ComeBack() {
    server().StartApi();
    away_ = false;
  }

  // Makes kubeconfig() that of an account with a Role, whose token is in a file.
  void UseAccount() {
    MakeAccount(WatcherRoleOf({kAccount}));
    token_ = api().Token(ns_, kAccount);
    WriteWhole(TokenFile(), token_);
    WriteKubeconfig(kubeconfig(), server().Admin(), "tokenFile: \"" + TokenFile() + "\"");
  }
  void Bind() { api().Create("rolebindings", ns_, RoleBindingOf({kAccount}, kAccount, kAccount)); }
  std::string TokenFile() const { return File("token"); }

  std::string token_;

 private:
  bool away_ = false;
};

TEST_F(Troubles, PermissionsThatAreTakenAwayAndGivenBack) {
  UseAccount();
  MakeCluster();
  MakeDriver();
  Watcher& watcher = WatchOver("deployment/bob");
  ASSERT_TRUE(Shows(watcher, "keep: active"));
  api().Delete("rolebindings", ns_, kAccount);
  ASSERT_TRUE(Shows(watcher, "keep: unknown"));
  api().Delete("deployments", ns_, "bob");
  const double forbidden = watcher.Metric("rest_client_requests_total{code=\"403\"}");
  EXPECT_TRUE(Keeps(watcher, "keep: unknown"));
  EXPECT_GT(watcher.Metric("rest_client_requests_total{code=\"403\"}"), forbidden);
  EXPECT_EQ(watcher.LinesWith("keep: unknown"), 1u);
  EXPECT_EQ(watcher.Health("/healthz"), 200);
  Bind();
  EXPECT_TRUE(Finishes(watcher));
}

TEST_F(Troubles, ATokenThatIsBadAndIsReplacedInItsFile) {
  UseAccount();
  WriteWhole(TokenFile(), "stale");
  MakeCluster();
  MakeDriver();
  Watcher& watcher = WatchOver("deployment/bob");
  EXPECT_TRUE(Keeps(watcher, "keep: unknown", 5));
  EXPECT_EQ(watcher.LinesWith("keep: unknown"), 1u);
  EXPECT_EQ(watcher.Health("/readyz"), 503);
  WriteWhole(TokenFile(), token_ + "\n");
  ASSERT_TRUE(Shows(watcher, "keep: active"));
  EXPECT_EQ(watcher.Health("/readyz"), 200);
  EXPECT_EQ(watcher.Log().find(token_), std::string::npos) << "the token is in the log";
}

TEST_F(Troubles, ATokenThatIsRevokedAndIsReplacedInItsFile) {
  UseAccount();
  MakeCluster();
  MakeDriver();
  Watcher& watcher = WatchOver("deployment/bob");
  ASSERT_TRUE(Shows(watcher, "keep: active"));
  server().Revoke(token_, ns_, kAccount);
  ASSERT_TRUE(Shows(watcher, "keep: unknown"));
  EXPECT_GE(watcher.Metric("rest_client_requests_total{code=\"401\"}"), 1);
  WriteWhole(TokenFile(), api().Token(ns_, kAccount));
  ASSERT_TRUE(Shows(watcher, "keep: active"));
  EXPECT_GE(watcher.Metric("rest_client_request_retries_total"), 1);
  api().Delete("deployments", ns_, "bob");
  EXPECT_TRUE(Finishes(watcher));
}

TEST_F(Troubles, ATokenThatIsRevokedAndAPluginGivesAnother) {
  UseAccount();
  MakeCluster();
  MakeDriver();
  const std::string plugin = File("plugin");
  WriteWhole(plugin, "#!/bin/sh\nuntil test -s '" + TokenFile() +
                         "'; do sleep 0.1; done\necho '{\"kind\": \"ExecCredential\", "
                         "\"apiVersion\": \"client.authentication.k8s.io/v1\", \"status\": "
                         "{\"token\": \"'$(cat '" +
                         TokenFile() + "')'\"}}'\n");
  ASSERT_EQ(chmod(plugin.c_str(), 0700), 0);
  WriteKubeconfig(kubeconfig(), server().Admin(),
                  "exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, "
                  "command: \"" +
                      plugin + "\"}");
  Watcher& watcher = WatchOver("deployment/bob");
  ASSERT_TRUE(Shows(watcher, "keep: active"));
  // The plugin, run because of the first 401, waits until there is another token.
  WriteWhole(TokenFile(), "");
  server().Revoke(token_, ns_, kAccount);
  WriteWhole(TokenFile(), api().Token(ns_, kAccount));
  ASSERT_TRUE(Eventually([&] { return watcher.Metric("rest_client_request_retries_total") >= 1; }));
  ASSERT_TRUE(Shows(watcher, "keep: active"));
  EXPECT_EQ(watcher.Log().find(token_), std::string::npos) << "the token is in the log";
  api().Delete("deployments", ns_, "bob");
  EXPECT_TRUE(Finishes(watcher));
}

TEST_F(Troubles, AnApiServerThatIsAwayAndBack) {
  MakeCluster();
  MakeDriver();
  Watcher& watcher = WatchOver("deployment/bob");
  ASSERT_TRUE(Shows(watcher, "keep: active"));
  GoAway();
  ASSERT_TRUE(Shows(watcher, "keep: unknown"));
  const double polls = watcher.Polls("unknown");
  ASSERT_TRUE(Eventually([&] { return watcher.Polls("unknown") >= polls + 5; }));
  EXPECT_EQ(watcher.LinesWith("keep: unknown"), 1u);
  EXPECT_EQ(watcher.Health("/healthz"), 200);
  EXPECT_EQ(watcher.Phase(), "watching");
  ComeBack();
  ASSERT_TRUE(Keeps(watcher, "keep: active"));
  api().Delete("deployments", ns_, "bob");
  EXPECT_TRUE(Finishes(watcher));
}

TEST_F(Troubles, AnApiServerThatIsAwayAtTheStart) {
  MakeCluster();
  MakeDriver();
  const std::string pod = MasterPod();
  GoAway();
  Watcher& watcher =
      Run({"--kubeconfig=" + kubeconfig(), "--namespace=" + ns_, "--pod=" + pod,
           "--owner=deployment/bob", "--listen=127.0.0.1:0", "--poll-interval=100ms"});
  ASSERT_TRUE(Eventually([&] { return watcher.Polls("unknown") >= 5; }));
  EXPECT_EQ(watcher.Health("/readyz"), 503);
  EXPECT_EQ(watcher.Health("/healthz"), 200);
  ComeBack();
  EXPECT_TRUE(Shows(watcher, "keep: active"));
  EXPECT_EQ(watcher.Health("/readyz"), 200);
}

TEST_F(Troubles, AnApiServerThatHangs) {
  MakeCluster();
  Watcher& watcher = WatchOver("deployment/bob", {"--startup-grace=1h"});
  ASSERT_TRUE(Shows(watcher, "abandoned: owner-absent"));
  server().PauseApi();
  EXPECT_TRUE(Shows(watcher, "keep: unknown"));
  EXPECT_EQ(watcher.Metric("cluster_watcher_confirmations"), 0);
  EXPECT_EQ(watcher.Health("/healthz"), 200);
  server().ResumeApi();
  ASSERT_TRUE(Keeps(watcher, "abandoned: owner-absent"));

  server().PauseApi();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));  // it is waiting for an answer now
  EXPECT_EQ(watcher.Stop(SIGTERM), 0);
  server().ResumeApi();
  EXPECT_TRUE(IsWhole());
}

TEST_F(Troubles, AnApiServerOfAnotherName) {
  MakeCluster();
  ApiServer untrusted = server().Admin();
  if (untrusted.ca_pem.empty()) GTEST_SKIP() << "the small Kubernetes has no TLS";
  untrusted.ca_pem.clear();  // falls back to the system's certificates
  WriteKubeconfig(kubeconfig(), untrusted, "token: \"" + untrusted.token + "\"");
  Watcher& watcher = WatchOver("deployment/bob", {"--startup-grace=0s", "--grace-period=0s"});
  EXPECT_TRUE(Keeps(watcher, "keep: unknown", 5));
  EXPECT_EQ(watcher.LinesWith("keep: unknown"), 1u);
  EXPECT_EQ(watcher.Log().find(untrusted.token), std::string::npos) << "the token is in the log";
}

}  // namespace
}  // namespace cluster_watcher::integration

#include "watcher/command/session.h"

#include <gtest/gtest.h>

#include <map>

#include "test/unit/support/temporary_directory.h"

namespace cluster_watcher {
namespace {

class SessionTest : public testing::Test {
 protected:
  SessionTest() {
    environment_["KUBECONFIG"] = directory_.Write(
        "config",
        "apiVersion: v1\nkind: Config\ncurrent-context: lab\n"
        "clusters: [{name: lab, cluster: {server: http://127.0.0.1:1}}]\n"
        "contexts: [{name: lab, context: {cluster: lab, user: me, namespace: of-context}}]\n"
        "users: [{name: me, user: {token: t}}]\n");
  }
  Session Make(Command command, const TextMap& flags, const std::string& cluster = "") {
    Invocation invocation;
    invocation.command = command;
    invocation.flags = flags;
    invocation.cluster = cluster;
    if (!cluster.empty()) invocation.flags["cluster"] = cluster;
    return MakeSession(invocation, [this](const std::string& name) {
      const auto value = environment_.find(name);
      return value == environment_.end() ? std::nullopt : std::optional(value->second);
    });
  }

  TemporaryDirectory directory_;
  std::map<std::string, std::string> environment_;
};

TEST_F(SessionTest, WatchNeedsAPodAndCheckAPodOrACluster) {
  EXPECT_EQ(Make(Command::kWatch, {}).errors.size(), 1u) << "the namespace is the context's";
  EXPECT_EQ(Make(Command::kCheck, {}).errors.size(), 1u);
  EXPECT_TRUE(Make(Command::kCheck, {}, "bob").errors.empty());
  environment_["POD_NAME"] = "bob-m-1";
  EXPECT_TRUE(Make(Command::kWatch, {}).errors.empty());
  EXPECT_TRUE(Make(Command::kCheck, {}).errors.empty());
}

TEST_F(SessionTest, VolumesWithoutClaimsAreAnErrorOfWhatDeletes) {
  const TextMap flags = {{"volumes", "delete"}, {"resources", "services"}};
  EXPECT_EQ(Make(Command::kDelete, flags, "bob").errors.size(), 1u);
  EXPECT_EQ(Make(Command::kSweep, flags).errors.size(), 1u);
  environment_["POD_NAME"] = "bob-m-1";
  EXPECT_TRUE(Make(Command::kWatch, flags).errors.empty()) << "its verdict says so";
}

// The sidecars of all masters have them: these must start.
TEST_F(SessionTest, AWrongRowOfProfilesIsAnErrorOfWhatPeopleCall) {
  environment_["POD_NAME"] = "bob-m-1";
  environment_["CLUSTER_WATCHER_PROFILES"] = R"([{"name": "mine", "mastr": {}}])";
  for (const Command command :
       {Command::kCheck, Command::kList, Command::kHold, Command::kUnhold, Command::kAwait,
        Command::kCreate, Command::kClaim, Command::kRelease, Command::kRun, Command::kDelete,
        Command::kSweep, Command::kDoctor}) {
    const Session session = Make(command, {}, "bob");
    ASSERT_EQ(session.errors.size(), 1u) << static_cast<int>(command);
    EXPECT_NE(session.errors.front().find("row 1 (mine): mastr: there is no such field"),
              std::string::npos)
        << session.errors.front();
  }
  EXPECT_EQ(Make(Command::kCheck, {}).errors.size(), 1u);
  EXPECT_TRUE(Make(Command::kWatch, {}).errors.empty()) << "its verdict says so";
  EXPECT_TRUE(Make(Command::kWatch, {{"profile", "mine"}}).errors.empty()) << "nobody knows it";
}

TEST_F(SessionTest, AClusterThatIsNamedCountsMoreThanThePod) {
  environment_["POD_NAME"] = "bob-m-1";
  const Session session = Make(Command::kCheck, {}, "alice");
  EXPECT_EQ(session.settings.settings.pod, "");
  EXPECT_EQ(session.settings.settings.cluster, "alice");
}

// A sweep in a sidecar's environment would judge all clusters by that one's driver.
TEST_F(SessionTest, TheOwnerInTheEnvironmentIsThatOfNoOtherCluster) {
  environment_["POD_NAME"] = "bob-m-1";
  environment_["CLUSTER_WATCHER_OWNER"] = "deployment/bob";
  const auto owner_for = [&](Command command, const std::string& cluster = "") {
    const Session session = Make(command, {}, cluster);
    EXPECT_EQ(session.with_annotations({}).settings.owner.has_value(),
              session.settings.settings.owner.has_value());
    return session.settings.settings.owner.has_value();
  };
  EXPECT_TRUE(owner_for(Command::kWatch));
  EXPECT_TRUE(owner_for(Command::kCheck));
  EXPECT_FALSE(owner_for(Command::kCheck, "alice"));
  EXPECT_FALSE(owner_for(Command::kSweep));
  EXPECT_FALSE(owner_for(Command::kDelete, "alice"));
}

// Whatever the kubeconfig says by then.
TEST_F(SessionTest, WhatWasFoundBeforeIsAskedAgain) {
  const Session before = Make(Command::kDelete, {}, "bob");
  environment_["KUBECONFIG"] = "/nowhere";
  Invocation invocation;
  invocation.command = Command::kDelete;
  invocation.cluster = "alice";
  const Session after = MakeSession(
      invocation, [](const std::string&) { return std::nullopt; }, &before.server);
  EXPECT_TRUE(after.errors.empty());
  EXPECT_EQ(after.server.url, before.server.url);
  EXPECT_EQ(after.settings.settings.ns, "of-context");
}

TEST_F(SessionTest, NamespaceAndPodStayWhenAnnotationsAreTaken) {
  environment_["POD_NAME"] = "bob-m-1";
  const Session session = Make(Command::kWatch, {});
  const Settings settings =
      session.with_annotations({{"cluster-watcher/poll-interval", "7s"}}).settings;
  EXPECT_EQ(settings.ns, "of-context");
  EXPECT_EQ(settings.pod, "bob-m-1");
  EXPECT_EQ(settings.poll_interval, std::chrono::seconds(7));
}

// kubectl does the same: the pod's may be of another API server.
TEST_F(SessionTest, TheNamespaceOfAContextThatIsNamedCountsMoreThanThePods) {
  environment_["POD_NAMESPACE"] = "of-pod";
  const auto namespace_for = [this](Command command, const TextMap& flags,
                                    const std::string& cluster = "") {
    const Session session = Make(command, flags, cluster);
    EXPECT_EQ(session.with_annotations({}).settings.ns, session.settings.settings.ns);
    return session.settings.settings.ns;
  };
  EXPECT_EQ(namespace_for(Command::kDelete, {}, "bob"), "of-context");
  EXPECT_EQ(namespace_for(Command::kSweep, {}), "of-context");
  EXPECT_EQ(namespace_for(Command::kCheck, {}, "bob"), "of-context");
  EXPECT_EQ(namespace_for(Command::kDelete, {{"namespace", "given"}}, "bob"), "given");
  const std::string file = environment_["KUBECONFIG"];
  environment_["KUBECONFIG"] = "";
  EXPECT_EQ(namespace_for(Command::kDelete, {{"kubeconfig", file}}, "bob"), "of-context");
  environment_["CLUSTER_WATCHER_NAMESPACE"] = "also-given";
  EXPECT_EQ(namespace_for(Command::kDelete, {{"kubeconfig", file}}, "bob"), "also-given");
}

TEST_F(SessionTest, ThePodsNamespaceCountsForItAndWhereNoContextIsNamedOrGivesOne) {
  environment_["POD_NAME"] = "bob-m-1";
  environment_["POD_NAMESPACE"] = "of-pod";
  EXPECT_EQ(Make(Command::kWatch, {}).settings.settings.ns, "of-pod");
  EXPECT_EQ(Make(Command::kCheck, {}).settings.settings.ns, "of-pod");
  environment_["KUBECONFIG"] = directory_.Write(
      "other",
      "current-context: lab\nclusters: [{name: lab, cluster: {server: http://127.0.0.1:1}}]\n"
      "contexts: [{name: lab, context: {cluster: lab}}]\n");
  EXPECT_EQ(Make(Command::kDelete, {}, "bob").settings.settings.ns, "of-pod");
}

TEST_F(SessionTest, AllErrorsAreNamedAtOnce) {
  environment_["KUBECONFIG"] = "/nowhere/config";
  const Session session = Make(Command::kWatch, {{"poll-interval", "soon"}});
  EXPECT_EQ(session.errors.size(), 4u) << "the interval, the kubeconfig, the pod, the namespace";
}

}  // namespace
}  // namespace cluster_watcher

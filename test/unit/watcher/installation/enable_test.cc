#include "watcher/installation/enable.h"

#include <gtest/gtest.h>

#include <string>

#include "test/unit/support/installation_lab.h"

namespace cluster_watcher {
namespace {

constexpr const char* kAccounts = "/api/v1/namespaces/lab/serviceaccounts/";
constexpr const char* kBindings = "/apis/rbac.authorization.k8s.io/v1/namespaces/lab/rolebindings/";

class EnableTest : public InstallationLab {
 protected:
  EnableTest() { trials_before_it_injects_ = 0; }

  DriverOutcome Run(const std::string& account = "cluster-watcher-master",
                    const std::string& ns = "lab") {
    return Enable(tools_, {ns, account});
  }
  std::string Said(const std::string& account = "cluster-watcher-master") {
    const DriverOutcome outcome = Run(account);
    EXPECT_EQ(outcome.exit, DriverExit::kDone) << outcome.error;
    EXPECT_EQ(outcome.warnings, std::vector<std::string>());
    return outcome.said;
  }
  void ExpectRefused(const DriverOutcome& outcome, const std::string& error) {
    EXPECT_EQ(outcome.exit, DriverExit::kFailed);
    EXPECT_NE(outcome.error.find(error), std::string::npos) << outcome.error;
    EXPECT_EQ(kubernetes_.Count("POST") + kubernetes_.Count("PATCH"), 0u) << "nothing is written";
  }
  bool IsEnabled() {
    return Read("/api/v1/namespaces/lab").body.find(R"("cluster-watcher/enabled":"true")") !=
           std::string::npos;
  }
};

TEST_F(EnableTest, MakesWhatIsMissingAndSaysSo) {
  InstallRole();
  EXPECT_EQ(Said(),
            "namespace lab is enabled: serviceaccount cluster-watcher-master made, rolebinding "
            "cluster-watcher made, label cluster-watcher/enabled=true made; masters name it: "
            "serviceAccountName: cluster-watcher-master");
  EXPECT_TRUE(Exists(std::string(kAccounts) + "cluster-watcher-master"));
  EXPECT_TRUE(IsEnabled());
  const std::string binding = Read(std::string(kBindings) + "cluster-watcher").body;
  EXPECT_NE(binding.find(R"("kind":"ClusterRole")"), std::string::npos) << binding;
  const std::size_t patches = kubernetes_.Count("PATCH");
  const std::string again = Said();
  EXPECT_EQ(again.find(" made"), std::string::npos) << again;
  EXPECT_NE(again.find("rolebinding cluster-watcher was there"), std::string::npos) << again;
  EXPECT_EQ(kubernetes_.Count("PATCH"), patches);
  Label("enabled", R"("no")");
  Said();
  EXPECT_TRUE(IsEnabled());
}

TEST_F(EnableTest, AnotherAccountHasABindingOfItsOwn) {
  InstallRole();
  Said();
  EXPECT_NE(Said("mine").find("rolebinding cluster-watcher-mine made"), std::string::npos);
  EXPECT_TRUE(Exists(std::string(kBindings) + "cluster-watcher-mine"));
  EXPECT_TRUE(Exists(std::string(kAccounts) + "mine"));
}

TEST_F(EnableTest, WritesNothingWhereSomethingDoesNotFit) {
  ExpectRefused(Run("cluster-watcher-master", "nowhere"),
                "there is no namespace nowhere: kubectl create namespace nowhere");
  ExpectRefused(Run(), "there is no ClusterRole cluster-watcher: install it first");
  InstallRole();
  Bind("Role", "cluster-watcher", "cluster-watcher-master");
  Bind("ClusterRole", "cluster-watcher", "another", "cluster-watcher-cluster-watcher-master");
  ExpectRefused(Run(),
                "rolebinding cluster-watcher-cluster-watcher-master in namespace lab binds "
                "something else");
  Bind("ClusterRole", "cluster-watcher", "cluster-watcher-master");
  LetCallerBe("nobody");
  ExpectRefused(Run(), R"(resources: ["namespaces"], verbs: ["get"])");
}

TEST_F(EnableTest, TakesAnotherNameWhereItsBindingsIsTaken) {
  InstallRole();
  Bind("ClusterRole", "cluster-watcher", "another");
  EXPECT_NE(Said().find("rolebinding cluster-watcher-cluster-watcher-master made"),
            std::string::npos);
  EXPECT_NE(Said().find("rolebinding cluster-watcher-cluster-watcher-master was there"),
            std::string::npos);
}

TEST_F(EnableTest, SaysWhatWasMadeBeforeARefusal) {
  InstallRole();
  Refuse("POST", "/rolebindings", 403, 0, 1);
  const DriverOutcome outcome = Run();
  EXPECT_EQ(outcome.exit, DriverExit::kFailed);
  EXPECT_NE(outcome.error.find("; before: serviceaccount cluster-watcher-master made"),
            std::string::npos)
      << outcome.error;
  EXPECT_FALSE(IsEnabled());
  EXPECT_NE(Said().find("serviceaccount cluster-watcher-master was there, rolebinding "
                        "cluster-watcher made"),
            std::string::npos);
}

TEST_F(EnableTest, WaitsForTheApiServerToLearnOfTheLabel) {
  InstallRole();
  trials_before_it_injects_ = 3;
  Said();
}

TEST_F(EnableTest, WarnsOfWhatRefusesMastersAndOfWhomTheGuardBinds) {
  InstallRole();
  MakeAccount("ci");
  MakeRole("Role", "makes", "apps", "deployments", R"("create")");
  Bind("Role", "makes", "ci", "makes");
  Bind("ClusterRole", "cluster-watcher", "ci", "watches");
  Refuse("POST", "/pods?dryRun=All", 403, 0, 1);
  const DriverOutcome outcome = Run();
  EXPECT_EQ(outcome.exit, DriverExit::kDone);
  ASSERT_EQ(outcome.warnings.size(), 2u);
  EXPECT_NE(outcome.warnings[0].find("refused because of its sidecar"), std::string::npos);
  EXPECT_NE(outcome.warnings[1].find("refuses them: ci: give"), std::string::npos)
      << outcome.warnings[1];
}

TEST_F(EnableTest, WarnsWhereNothingInjects) {
  InstallRole();
  trials_before_it_injects_ = 1'000'000;
  const DriverOutcome outcome = Run();
  EXPECT_EQ(outcome.exit, DriverExit::kDone);
  ASSERT_EQ(outcome.warnings.size(), 1u);
  EXPECT_NE(outcome.warnings[0].find("gets no sidecar"), std::string::npos);
}

}  // namespace
}  // namespace cluster_watcher

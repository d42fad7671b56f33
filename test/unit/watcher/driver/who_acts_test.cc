#include "watcher/driver/who_acts.h"

#include <gtest/gtest.h>

#include <map>

#include "test/unit/support/driver_lab.h"

namespace cluster_watcher {
namespace {

class WhoActsTest : public DriverLab {
 protected:
  Actor Acts(std::map<std::string, std::string> environment) {
    return WhoActs(tools_, "lab", [&](const std::string& name) -> std::optional<std::string> {
      const auto found = environment.find(name);
      if (found == environment.end()) return std::nullopt;
      return found->second;
    });
  }
};

TEST_F(WhoActsTest, APodIsThatPodAndNoLaterOneOfItsName) {
  const std::string pod = NameOfPod();
  const Actor actor = Acts({{"POD_NAME", pod}, {"POD_NAMESPACE", "lab"}});
  EXPECT_EQ(actor.id.pod, pod);
  EXPECT_EQ(actor.id.uid, ObjectUid("/api/v1/namespaces/lab/pods/" + pod));
  EXPECT_EQ(actor.pod_uid, actor.id.uid);
  EXPECT_EQ(Acts({{"POD_NAME", pod}}).id.pod, pod)
      << "the namespace is the cluster's unless it is said";
}

// Others would look for it in the cluster's namespace, and find that it is gone.
TEST_F(WhoActsTest, APodElsewhereIsACommandToOthers) {
  const std::string path = "/api/v1/namespaces/other/pods/driver-1";
  kubernetes_.Apply(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"other"}})");
  kubernetes_.Apply(
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"driver-1","namespace":"other"},
                        "spec":{"containers":[{"name":"main","image":"x"}]}})");
  const Actor actor = Acts({{"POD_NAME", "driver-1"}, {"POD_NAMESPACE", "other"}});
  EXPECT_EQ(actor.id.pod, "cli");
  EXPECT_EQ(actor.pod_uid, ObjectUid(path)) << "its own steps are told from those of others";
}

TEST_F(WhoActsTest, APodThatCannotBeReadIsACommandAndIsSaid) {
  EXPECT_TRUE(Acts({}).warning.empty());
  const Actor missing = Acts({{"POD_NAME", "none"}});
  EXPECT_EQ(missing.id.pod, "cli");
  EXPECT_NE(missing.warning.find("POD_NAME is none"), std::string::npos) << missing.warning;
  const std::string pod = NameOfPod();
  Refuse("GET", "/pods/", 403);
  const Actor refused = Acts({{"POD_NAME", pod}});
  EXPECT_EQ(refused.id.pod, "cli");
  EXPECT_TRUE(refused.pod_uid.empty());
  EXPECT_FALSE(refused.warning.empty());
}

TEST_F(WhoActsTest, WhoAsksIsTheUserThatTheApiServerKnows) {
  EXPECT_EQ(WhoAsks(tools_), "admin");
  EXPECT_EQ(kubernetes_.Count("POST", "selfsubjectreviews"), 1u);
}

TEST_F(WhoActsTest, WhereThatIsNotToldItSaysSo) {
  DriverTools named = tools_;
  named.user = "alice";
  const std::string unknown = "somebody who may not ask who they are";
  for (const int status : {403, 404, 500}) {
    Refuse("POST", "selfsubjectreviews", status);
    const auto began = clock_.elapsed;
    EXPECT_EQ(WhoAsks(tools_), unknown) << status;
    EXPECT_EQ(WhoAsks(named), unknown + ", by their kubeconfig \"alice\"");
    EXPECT_LE(clock_.elapsed - began, std::chrono::seconds(20)) << status;
    kubernetes_.GetFaults().Clear();
  }
  kubernetes_.on_answer = [](const small_kubernetes::Request&, const small_kubernetes::User&,
                             small_kubernetes::Response& response) {
    response.body = R"({"status":{"userInfo":{"username":7}}})";
  };
  EXPECT_EQ(WhoAsks(tools_), unknown);
}

TEST_F(WhoActsTest, NoTwoCommandsAreOne) {
  EXPECT_NE(SomeCommand().uid, SomeCommand().uid);
  EXPECT_FALSE(SomeCommand().IsPod());
}

}  // namespace
}  // namespace cluster_watcher

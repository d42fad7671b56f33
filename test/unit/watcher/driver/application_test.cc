#include "watcher/driver/application.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "test/unit/support/driver_lab.h"

namespace cluster_watcher {
namespace {

using small_kubernetes::Request;
using small_kubernetes::User;

class ApplicationTest : public DriverLab {
 protected:
  // Controllers would delete the pods that they have not made.
  ApplicationTest() { kubernetes_.settle_after_writes = false; }

  Application Find(const std::string& app) {
    return FindApplication(client_, discovery_, *OwnerName::Parse(app), "lab", tools_.Reads());
  }
  // "deployment.apps/bob", "absent: WHY", "unknown: WHY"
  std::string Found(const std::string& app) {
    const Application found = Find(app);
    if (found.owner) return found.owner->Describe();
    return (found.is_absent ? "absent: " : "unknown: ") + found.detail;
  }
  // Makes an object below another one, and returns its UID.
  std::string Make(const std::string& api_version, const std::string& kind,
                   const std::string& plural, const std::string& name,
                   const std::string& controller = "", const std::string& spec = "") {
    kubernetes_.Apply(R"({"apiVersion":")" + api_version + R"(","kind":")" + kind + "\"," +
                      Meta(name, controller) + spec + "}");
    const bool is_core = api_version == "v1";
    return ObjectUid((is_core ? "/api/" : "/apis/") + api_version + "/namespaces/lab/" + plural +
                     "/" + name);
  }
  static std::string Below(const std::string& api_version, const std::string& kind,
                           const std::string& name, const std::string& uid) {
    return R"(,"ownerReferences":[{"apiVersion":")" + api_version + R"(","kind":")" + kind +
           R"(","name":")" + name + R"(","uid":")" + uid + R"(","controller":true}])";
  }
  void MakePod(const std::string& name, const std::string& controller = "") {
    Make("v1", "Pod", "pods", name, controller,
         R"(,"spec":{"containers":[{"name":"main","image":"x"}]})");
  }
  std::string MakeController(const std::string& name, const std::string& controller = "") {
    return Make("v1", "ReplicationController", "replicationcontrollers", name, controller,
                R"(,"spec":{"replicas":0,"selector":{"x":"y"},"template":{"metadata":{"labels":)"
                R"({"x":"y"}},"spec":{"containers":[{"name":"main","image":"x"}]}}})");
  }
  std::string MakeSet(const std::string& name, const std::string& controller = "") {
    return Make("apps/v1", "ReplicaSet", "replicasets", name, controller,
                R"(,"spec":{"replicas":0,"selector":{"matchLabels":{"x":"y"}},"template":)"
                R"({"metadata":{"labels":{"x":"y"}},"spec":{"containers":[]}}})");
  }
};

TEST_F(ApplicationTest, APodMeansWhatControlsIt) {
  const std::string uid = ObjectUid(kDriver);
  const std::string set = MakeSet("set", Below("apps/v1", "Deployment", "bob", uid));
  MakePod("of-set", Below("apps/v1", "ReplicaSet", "set", set));
  EXPECT_EQ(Found("pod/of-set"), "deployment.apps/bob");
  MakePod("alone");
  EXPECT_EQ(Found("pod/alone"), "pod/alone");
  const std::string job = Make("batch/v1", "Job", "jobs", "job", "",
                               R"(,"spec":{"template":{"spec":{"restartPolicy":"Never",)"
                               R"("containers":[{"name":"main","image":"x"}]}}})");
  MakePod("of-job", Below("batch/v1", "Job", "job", job));
  EXPECT_EQ(Found("pod/of-job"), "job.batch/job");
}

TEST_F(ApplicationTest, AReplicationControllerMeansOnlyItsDeploymentConfig) {
  DefineDeploymentConfigs();
  const std::string config =
      Make("apps.openshift.io/v1", "DeploymentConfig", "deploymentconfigs", "carol");
  const std::string one =
      MakeController("carol-1", Below("apps.openshift.io/v1", "DeploymentConfig", "carol", config));
  MakePod("of-carol", Below("v1", "ReplicationController", "carol-1", one));
  EXPECT_EQ(Found("pod/of-carol"), "deploymentconfig.apps.openshift.io/carol");
  const std::string below =
      MakeController("below", Below("apps/v1", "Deployment", "bob", ObjectUid(kDriver)));
  MakePod("of-below", Below("v1", "ReplicationController", "below", below));
  EXPECT_EQ(Found("pod/of-below"), "replicationcontroller/below");
}

TEST_F(ApplicationTest, AReplicaSetMeansOnlyItsDeployment) {
  DefineRayClusters();
  const std::string ray = Make("ray.io/v1", "RayCluster", "rayclusters", "ray");
  const std::string set = MakeSet("set", Below("ray.io/v1", "RayCluster", "ray", ray));
  MakePod("of-set", Below("apps/v1", "ReplicaSet", "set", set));
  EXPECT_EQ(Found("pod/of-set"), "replicaset.apps/set");
}

TEST_F(ApplicationTest, AControllerThatIsGoneIsUnknown) {
  MakePod("of-none", Below("apps/v1", "ReplicaSet", "none", "1"));
  EXPECT_TRUE(Found("pod/of-none").starts_with("unknown: ")) << Found("pod/of-none");
  MakePod("of-other", Below("apps/v1", "Deployment", "bob", "another"));
  for (const char* app : {"pod/of-other", "of-other"}) {
    EXPECT_EQ(Found(app), "unknown: pod/of-other is controlled by Deployment bob, which is gone");
  }
  MakePod("of-thing", Below("example.com/v1", "Thing", "one", "1"));
  EXPECT_EQ(Found("pod/of-thing"),
            "unknown: pod/of-thing is controlled by Thing one, whose kind is not served");
}

TEST_F(ApplicationTest, WhatRunsNothingIsNobodysRoot) {
  MakePod("of-map", Below("v1", "ConfigMap", "spark-config",
                          ObjectUid("/api/v1/namespaces/lab/configmaps/spark-config")));
  EXPECT_EQ(Found("pod/of-map"), "pod/of-map");
}

TEST_F(ApplicationTest, ABareNameIsAPodsLast) {
  MakePod("bob");
  EXPECT_EQ(Found("bob"), "deployment.apps/bob");
  MakePod("carol");
  EXPECT_EQ(Found("carol"), "pod/carol");
  EXPECT_TRUE(Found("deployment/carol").starts_with("absent: ")) << "it is taken literally";
}

TEST_F(ApplicationTest, WhatIsNowhereIsAbsent) {
  EXPECT_EQ(Found("pod/none"), "absent: there is no pod none in namespace lab");
  const std::string found = Found("none");
  EXPECT_TRUE(found.starts_with("absent: ")) << found;
  EXPECT_EQ(found.find("there is no pod"), std::string::npos) << "all kinds are named: " << found;
}

TEST_F(ApplicationTest, WhatCanNotBeReadIsUnknown) {
  MakePod("carol");
  Refuse("GET", "/statefulsets", 403);
  EXPECT_TRUE(Found("carol").starts_with("unknown: ")) << "a pod is asked for last";
  kubernetes_.GetFaults().Clear();
  Refuse("GET", "/pods", 403);
  EXPECT_TRUE(Found("carol").starts_with("unknown: "));
  EXPECT_TRUE(Found("pod/carol").starts_with("unknown: "));
}

// From a cache it may be as it was before it claimed, or was replaced.
TEST_F(ApplicationTest, ReadsConsistently) {
  std::vector<std::string> cached;
  kubernetes_.on_request = [&](const Request& request, const User&) {
    if (request.target.find("resourceVersion=0") != std::string::npos) {
      cached.emplace_back(request.target);
    }
  };
  MakePod("carol");
  for (const char* app : {"bob", "deployment/bob", "carol", "pod/carol"}) Find(app);
  EXPECT_TRUE(cached.empty()) << cached.front();
}

}  // namespace
}  // namespace cluster_watcher

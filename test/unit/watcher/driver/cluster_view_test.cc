#include "watcher/driver/cluster_view.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "probes/base/names.h"
#include "test/unit/support/driver_lab.h"

namespace cluster_watcher {
namespace {

class ClusterViewTest : public DriverLab {
 protected:
  std::string Status() {
    const ClusterView view = View();
    return std::string(ToString(view.status)) + (view.lacks.empty() ? "" : ": ") +
           Joined(view.lacks);
  }
};

// What of a cluster is counted, and what isn't.
class ClusterPartsTest : public ClusterViewTest {
 protected:
  // Controllers would delete or adopt what is made here.
  ClusterPartsTest() { kubernetes_.settle_after_writes = false; }

  void Make(const std::string& api_version, const std::string& kind, const std::string& name,
            const std::string& type, const std::string& metadata = "",
            const std::string& more = R"(,"spec":{"containers":[{"name":"main","image":"x"}]})") {
    kubernetes_.Apply(R"({"apiVersion":")" + api_version + R"(","kind":")" + kind + "\"," +
                      Meta(name, R"(,"labels":{"oshinko-cluster":"spark","oshinko-type":")" + type +
                                     "\"}" + metadata) +
                      more + "}");
  }
  void MakePod(const std::string& name, const std::string& type, const std::string& metadata = "",
               const std::string& phase = "Running") {
    Make("v1", "Pod", name, type, metadata);
    Patch("/api/v1/namespaces/lab/pods/" + name + "/status",
          R"({"status":{"phase":")" + phase + "\"}}");
  }
  // Deletes what a finalizer holds.
  void DeleteSlowly(const std::string& path) {
    Patch(path, R"({"metadata":{"finalizers":["example.com/held"]}})");
    Delete(path);
  }
  void DeleteAll(const std::vector<std::string>& paths) {
    for (const std::string& path : paths) Delete(path);
    kubernetes_.Settle();
  }
  void MakeRoute(const std::string& type) {
    DefineKind("route.openshift.io", "Route", "routes", "route");
    Make("route.openshift.io/v1", "Route", "spark", type, "", R"(,"spec":{"host":"spark.lab"})");
  }
};

TEST_F(ClusterViewTest, ACompleteClusterRuns) {
  const ClusterView view = View();
  EXPECT_TRUE(view.exists);
  EXPECT_EQ(view.status, ClusterStatus::kRunning) << Joined(view.lacks);
  ASSERT_TRUE(view.root);
  EXPECT_EQ(view.root->Describe(), "deployment.apps/spark-m");
  EXPECT_EQ(view.workers, 1);
  EXPECT_EQ(view.master, "spark://spark:7077");
  EXPECT_EQ(view.web_ui, "");
}

TEST_F(ClusterViewTest, EachPartMustBeThereAndNotGo) {
  Delete(kService);
  EXPECT_EQ(Status(), "Incomplete: a master service");
  Delete(kWorker);
  kubernetes_.Settle();
  EXPECT_EQ(Status(), "Incomplete: a worker; a master service");
  Delete(kRoot);
  kubernetes_.Settle();
  EXPECT_EQ(Status(), "Incomplete: a master; a worker; a master service");
  EXPECT_TRUE(View().exists == false) << "ConfigMaps are no cluster";
}

TEST_F(ClusterViewTest, WorkersMayBeScaledToZeroOrBarePods) {
  Patch(kWorker, R"({"spec":{"replicas":0}})");
  kubernetes_.Settle();
  EXPECT_EQ(Status(), "Running");
  EXPECT_EQ(View().workers, 0);
  Delete(kWorker);
  kubernetes_.Settle();
  EXPECT_EQ(Status(), "Incomplete: a worker");
  kubernetes_.Apply(R"({"apiVersion":"v1","kind":"Pod",)" +
                    Meta("w1", R"(,"labels":{"oshinko-cluster":"spark","oshinko-type":"worker"})") +
                    R"(,"spec":{"containers":[{"name":"main","image":"x"}]}})");
  EXPECT_EQ(Status(), "Running");
  EXPECT_EQ(View().workers, 1);
}

// They are so without pods, which a quota may refuse.
TEST_F(ClusterViewTest, MastersAndWorkersAreLabelledInTheirTemplates) {
  for (const char* path : {kRoot, kWorker}) {
    Patch(path, R"({"spec":{"replicas":0},"metadata":{"labels":{"oshinko-type":null}}})");
  }
  kubernetes_.Settle();
  EXPECT_EQ(Status(), "Running");
}

TEST_F(ClusterViewTest, WhatIsKeptOutlivesTheCluster) {
  for (const char* path : {kRoot, kWorker}) Delete(path);
  kubernetes_.Settle();
  EXPECT_TRUE(View().exists);
  Annotate(kService, "keep", "true");
  EXPECT_FALSE(View().exists);
}

// The master's pods alone are labelled.
TEST_F(ClusterViewTest, TheRootIsFoundByItsPods) {
  LabelObject(kRoot, R"("oshinko-type":null)");
  EXPECT_EQ(Status(), "Running");
}

TEST_F(ClusterViewTest, AMasterServiceIsAlsoOneThatSelectsTheMaster) {
  Delete(kService);
  MakeService("other", R"("x":"y")", R"("app":"spark-w")");
  EXPECT_EQ(Status(), "Incomplete: a master service");
  MakeService("web", R"("oshinko-type":"webui")");
  EXPECT_EQ(Status(), "Incomplete: a master service");
  EXPECT_EQ(View().web_ui, "http://web:7077");
  MakeService("mine", R"("x":"y")");
  EXPECT_EQ(Status(), "Running");
  EXPECT_EQ(View().master, "spark://mine:7077");
}

TEST_F(ClusterViewTest, ARootOfAFrameworkStandsForItsWorkers) {
  DefineRayClusters();
  Delete(kRoot);
  Delete(kWorker);
  kubernetes_.Settle();
  kubernetes_.Apply(
      R"({"apiVersion":"ray.io/v1","kind":"RayCluster",)" +
      Meta("ray", R"(,"labels":{"oshinko-cluster":"spark","oshinko-type":"master"})") + "}");
  EXPECT_EQ(Status(), "Running");
}

TEST_F(ClusterViewTest, SeveralMastersAreNone) {
  MakeWorkload("spark-m2", R"("oshinko-cluster":"spark","oshinko-type":"master",)");
  kubernetes_.Settle();
  const ClusterView view = View();
  EXPECT_FALSE(view.root);
  EXPECT_EQ(view.rivals.size(), 2u);
  EXPECT_EQ(view.status, ClusterStatus::kIncomplete);
}

TEST_F(ClusterViewTest, MarksSayHowFarItsDeletionIs) {
  MarkRoot("phase", "condemned");
  EXPECT_EQ(Status(), "Condemned");
  MarkRoot("phase", "deleting");
  EXPECT_EQ(Status(), "Deleting");
  Annotate(kRoot, "root-uid", "another");
  EXPECT_EQ(Status(), "Running") << "marks of another object";
  Patch(kRoot, R"({"metadata":{"finalizers":["example.com/held"]}})");
  Delete(kRoot);
  EXPECT_EQ(Status(), "Deleting");
}

TEST_F(ClusterViewTest, WhatCannotBeReadIsAnError) {
  for (const char* path : {"/services", kRoot}) {
    Refuse("GET", path, 403);
    EXPECT_FALSE(ReadClusterView(client_, discovery_, cluster_, tools_.Reads())) << path;
    kubernetes_.GetFaults().Clear();
  }
}

TEST_F(ClusterPartsTest, WhatIsGoingIsNotThere) {
  Patch(kWorker, R"({"spec":{"replicas":0}})");
  kubernetes_.Settle();
  DeleteSlowly(kWorker);
  EXPECT_EQ(Status(), "Incomplete: a worker");
  DeleteSlowly(kService);
  EXPECT_EQ(Status(), "Incomplete: a worker; a master service") << "nor by its selector";
}

TEST_F(ClusterPartsTest, ReplicasOfWorkersAreCounted) {
  Patch(kWorker, R"({"spec":{"replicas":3}})");
  EXPECT_EQ(View().workers, 3);
}

TEST_F(ClusterPartsTest, WorkersRunPodsAndHaveNotEnded) {
  DeleteAll({kWorker});
  MakeService("worker", R"("oshinko-type":"worker")", R"("app":"spark-w")");
  MakePod("w1", "worker", "", "Succeeded");
  EXPECT_EQ(Status(), "Incomplete: a worker");
}

TEST_F(ClusterPartsTest, ARouteIsShownAndIsNoMaster) {
  MakeRoute("master");
  EXPECT_EQ(Status(), "Running");
  EXPECT_EQ(View().route, "spark.lab");
  DeleteSlowly("/apis/route.openshift.io/v1/namespaces/lab/routes/spark");
  EXPECT_EQ(View().route, "");
}

TEST_F(ClusterPartsTest, RoutesAndCustomKindsNeedNotBeReadableWhereTheRootIsAWorkload) {
  MakeRoute("webui");
  Refuse("GET", "/routes", 403);
  EXPECT_EQ(Status(), "Running");
  EXPECT_EQ(View().route, "");
  kubernetes_.GetFaults().Clear();
  Refuse("GET", "/routes", 500);
  EXPECT_EQ(Status(), "Running");
  DeleteAll({kRoot});
  EXPECT_FALSE(ReadClusterView(client_, discovery_, cluster_, {}))
      << "the root may be one of these";
}

// It was evicted while its watcher deleted the cluster, which goes on.
TEST_F(ClusterPartsTest, ABarePodThatIsMarkedIsTheRootWhateverEndedIt) {
  DeleteAll({kRoot});
  MakePod("m", "master", "", "Failed");
  const std::string pod = "/api/v1/namespaces/lab/pods/m";
  EXPECT_FALSE(View().root);
  Annotate(pod, "root-uid", ObjectUid(pod));
  Annotate(pod, "phase", "deleting");
  ASSERT_TRUE(View().root);
  EXPECT_EQ(View().root->Describe(), "pod/m");
  MakePod("m2", "master");
  EXPECT_EQ(View().root->Describe(), "pod/m2");
}

TEST_F(ClusterPartsTest, AMasterPodThatIsGoingOrHasEndedIsNone) {
  DeleteAll({kRoot});
  MakePod("m1", "master", "", "Failed");
  EXPECT_EQ(Status(), "Incomplete: a master");
  MakePod("m2", "master");
  EXPECT_EQ(View().root->Describe(), "pod/m2");
  DeleteSlowly("/api/v1/namespaces/lab/pods/m2");
  EXPECT_EQ(Status(), "Incomplete: a master");
}

TEST_F(ClusterPartsTest, AMasterRootThatIsGoingIsTheRootStill) {
  DefineRayClusters();
  DeleteAll({kRoot});
  Make("ray.io/v1", "RayCluster", "ray", "master", "", "");
  DeleteSlowly("/apis/ray.io/v1/namespaces/lab/rayclusters/ray");
  EXPECT_EQ(Status(), "Deleting");
}

TEST_F(ClusterPartsTest, APodThatIsToBeInjectedIsAMaster) {
  DeleteAll({kRoot});
  MakePod("m", "other", R"(,"annotations":{"cluster-watcher/inject":"true"})");
  ASSERT_TRUE(View().root);
  EXPECT_EQ(View().root->Describe(), "pod/m");
}

TEST_F(ClusterPartsTest, AMasterBelowAControllerThatIsGoneIsNone) {
  DeleteAll({kRoot});
  const std::string below =
      R"(,"ownerReferences":[{"apiVersion":"apps/v1","kind":"Deployment","name":"bob",)"
      R"("uid":"another","controller":true}])";
  Make("apps/v1", "ReplicaSet", "m-1", "master", below,
       R"(,"spec":{"selector":{"matchLabels":{"x":"y"}},"template":{"metadata":{"labels":)"
       R"({"x":"y"}},"spec":{"containers":[]}}})");
  EXPECT_EQ(Status(), "Incomplete: a master");
  Refuse("GET", "/deployments/bob", 403);
  EXPECT_FALSE(ReadClusterView(client_, discovery_, cluster_, {})) << "that isn't known";
}

// Whatever a server makes of selectors.
TEST_F(ClusterPartsTest, ObjectsOfOtherClustersDoNotCount) {
  kubernetes_.on_answer = [](const small_kubernetes::Request& request,
                             const small_kubernetes::User&, small_kubernetes::Response& response) {
    const std::string own = R"("oshinko-cluster":"spark")";
    const std::size_t at = response.body.find(own);
    if (request.target.find("/services") == std::string::npos || at == std::string::npos) return;
    response.body.replace(at, own.size(), R"("oshinko-cluster":"spark2")");
  };
  EXPECT_EQ(Status(), "Incomplete: a master service");
}

TEST_F(ClusterPartsTest, AServiceThatSelectsNothingIsNobodys) {
  DeleteAll({kService});
  MakeService("empty", R"("x":"y")", "");
  EXPECT_EQ(Status(), "Incomplete: a master service");
}

// The first master pod that gives one, then the template; no other pod.
TEST_F(ClusterPartsTest, TheGivenOwnerIsThatOfTheMasters) {
  const auto with_owner = [](const std::string& owner) {
    return R"(,"annotations":{"cluster-watcher/owner":")" + owner + "\"}";
  };
  Patch(kRoot, R"({"spec":{"template":{"metadata":{"annotations":)"
               R"({"cluster-watcher/owner":"deployment/next"}}}}})");
  MakePod("a-worker", "worker", with_owner("deployment/worker"));
  EXPECT_EQ(View().given_owner, "deployment/next");
  MakePod("z-master", "master", with_owner("deployment/pod"));
  EXPECT_EQ(View().given_owner, "deployment/pod");
}

TEST_F(ClusterPartsTest, ARootThatGoesWhileItIsLookedAtIsNone) {
  bool is_replaced = false;
  kubernetes_.on_request = [&](const small_kubernetes::Request& request,
                               const small_kubernetes::User&) {
    if (request.target != kRoot || request.method != "GET" || !Exists(kRoot)) return;
    Delete(kRoot);
    if (is_replaced) MakeRoot();
  };
  EXPECT_EQ(Status(), "Incomplete: a master");
  MakeRoot();
  is_replaced = true;
  EXPECT_EQ(Status(), "Incomplete: a master");
}

}  // namespace
}  // namespace cluster_watcher

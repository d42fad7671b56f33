#include "watcher/driver/cluster_view.h"

#include <gtest/gtest.h>

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
  kubernetes_.Admin("PATCH", kWorker, R"({"spec":{"replicas":0}})", "application/merge-patch+json");
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
  kubernetes_.Admin("PATCH", kRoot, R"({"metadata":{"finalizers":["example.com/held"]}})",
                    "application/merge-patch+json");
  Delete(kRoot);
  EXPECT_EQ(Status(), "Deleting");
}

TEST_F(ClusterViewTest, ACreationWithoutAUidCountsOnlyWhereItIsIncomplete) {
  Annotate(kRoot, "phase", "creating");
  EXPECT_EQ(Status(), "Running");
  Delete(kService);
  EXPECT_EQ(Status(), "Creating: a master service");
  Annotate(kRoot, "root-uid", "another");
  EXPECT_EQ(Status(), "Incomplete: a master service");
  MakeService("spark", R"("oshinko-type":"master")");
  MarkRoot("phase", "creating");
  EXPECT_EQ(Status(), "Creating");
}

TEST_F(ClusterViewTest, WhatCannotBeReadIsAnError) {
  Refuse("GET", "/services", 403);
  EXPECT_FALSE(ReadClusterView(client_, discovery_, cluster_, tools_.Reads()));
}

}  // namespace
}  // namespace cluster_watcher

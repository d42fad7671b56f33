// Troubles that a deletion may meet: members that can't be deleted, lists in pages, a namespace
// that is being deleted, and master roots other than Deployments.
#include <signal.h>

#include "test/integration/failure_case.h"

namespace cluster_watcher::integration {
namespace {

using DeletionTroubles = FailureCase;

TEST_F(DeletionTroubles, WhatTheAccountMayNotDeleteIsLeftAtTheDeadlineAndNamed) {
  UseAccount(R"([
      {"apiGroups": ["", "apps", "batch", "networking.k8s.io", "autoscaling", "policy"],
       "resources": ["*"], "verbs": ["get", "list"]},
      {"apiGroups": ["apps.openshift.io", "route.openshift.io", "ray.io", "kubernetes.dask.org",
                     "flink.apache.org"],
       "resources": ["*"], "verbs": ["get", "list"]},
      {"apiGroups": ["apps"], "resources": ["*"], "verbs": ["patch", "delete"]},
      {"apiGroups": [""], "resources": ["pods", "configmaps"], "verbs": ["patch", "delete"]},
      {"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create"]}])");
  MakeCluster();
  Watcher& watcher = WatchOver("deployment/bob", {"--delete-deadline=3s"});
  ASSERT_TRUE(Reaches(watcher, "deleting"));
  ASSERT_TRUE(Eventually([&] {
    return !api().Exists("deployments", ns_, "spark-w") &&
           !api().Exists("configmaps", ns_, "spark-config");
  }));
  ASSERT_TRUE(Reaches(watcher, "done"));
  EXPECT_TRUE(Eventually([&] {
    return Members() == std::vector<std::string>{"services/spark", "services/spark-ui"};
  })) << testing::PrintToString(Members());
  EXPECT_GE(
      watcher.Metric("cluster_watcher_deletes_total{resource=\"services\",result=\"forbidden\"}"),
      2);
  EXPECT_EQ(watcher.Metric("cluster_watcher_members{state=\"remaining\"}"), 2) << "an alert";
  const auto notes = Told("ClusterDeleted");
  ASSERT_EQ(notes.size(), 1u);
  for (const char* left : {"service/spark:", "service/spark-ui:"}) {
    EXPECT_NE(notes.front().find(left), std::string::npos) << notes.front();
  }
}

TEST_F(DeletionTroubles, AListIsReadToItsEnd) {
  MakeCluster();
  for (int i = 0; i < 30; ++i) MakeMember("member-" + std::to_string(i));
  Proxy& proxy = BehindProxy();
  proxy.CutPages(4);
  Watcher& watcher = WatchOver("deployment/bob");
  EXPECT_TRUE(Finishes(watcher));
  EXPECT_EQ(watcher.Metric("cluster_watcher_members{state=\"found\"}"), 34);
  EXPECT_GE(proxy.PassedOnWith("&continue=").size(), 7u);
}

TEST_F(DeletionTroubles, InANamespaceThatIsGoingItEndsWithTheMasterRoot) {
  const std::string home = ns_;
  ns_ = MakeNamespace("ending");
  MakeCluster();
  MakeMember("held", true);
  Watcher& watcher = WatchOver("deployment/bob");
  ASSERT_TRUE(Reaches(watcher, "deleting"));
  // A delete was accepted: from here on it is ours to finish.
  ASSERT_TRUE(Eventually([&] {
    return !api().Exists("configmaps", ns_, "spark-config") ||
           !api().Exists("deployments", ns_, "spark-w");
  }));
  ASSERT_TRUE(DeleteNamespace(ns_, kMaster));
  api().ReleaseFinalizers("configmaps", ns_, "held");
  EXPECT_EQ(watcher.WaitForExit(), 0) << "its own pod is gone";
  EXPECT_TRUE(IsGone());
  ns_ = home;
}

class OtherRoots : public IntegrationTest {
 protected:
  static constexpr char kPodSpec[] = R"({"terminationGracePeriodSeconds": 0,
      "containers": [{"name": "main", "image": "example.invalid/none"}]})";

  Metadata Master() {
    Metadata master = Labelled(kMaster, "master");
    master.labels["app"] = kMaster;
    return master;
  }
  // Sees the driver, deletes it and expects the cluster to go.
  void ExpectToGoWithItsDriver(const std::string& plural) {
    MakeMembers();
    MakeDriver();
    Watcher& watcher = WatchOver("deployment/bob");
    ASSERT_TRUE(Shows(watcher, "keep: active"));
    EXPECT_TRUE(Eventually([&] {
      return api().Annotation(plural, ns_, kMaster, "cluster-watcher/recorded-owner").has_value();
    }));
    api().Delete("deployments", ns_, "bob");
    EXPECT_TRUE(Reaches(watcher, "done"));
    EXPECT_TRUE(Eventually([&] { return !api().Exists(plural, ns_, kMaster); }));
    // The garbage collector takes up to half a minute to notice a new kind.
    EXPECT_TRUE(Eventually([&] { return Members().empty(); }));
  }
};

TEST_F(OtherRoots, APodThatNobodyControls) {
  api().Create("pods", ns_,
               R"({"metadata": )" + Master().Json() + R"(, "spec": )" + kPodSpec + "}");
  ExpectToGoWithItsDriver("pods");
}

TEST_F(OtherRoots, AStatefulSet) {
  api().Create("statefulsets", ns_, StatefulSetOf({Master(), 1, Labelled("", "master").labels}));
  ExpectToGoWithItsDriver("statefulsets");
}

TEST_F(OtherRoots, ACustomResourceThatIsOfTheCluster) {
  InstallKind("widgets.example.com");
  const std::string uid = api().Create("widgets", ns_, CustomOf(Labelled(kMaster)));
  Metadata master = Master();
  master.owner_references = R"([{"apiVersion": "example.com/v1", "kind": "Widget",
      "name": "spark-m", "controller": true, "uid": ")" +
                            uid + "\"}]";
  api().Create("deployments", ns_, DeploymentOf({master, 1, Labelled("", "master").labels}));
  ExpectToGoWithItsDriver("widgets");
}

}  // namespace
}  // namespace cluster_watcher::integration

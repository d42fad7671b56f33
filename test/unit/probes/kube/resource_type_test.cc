#include "probes/kube/resource_type.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "test/unit/support/words.h"

namespace cluster_watcher {
namespace {

TEST(ResourceType, BuiltInsAreFoundByEveryName) {
  // Each kind with its names: plural, singular, short.
  const std::pair<const char*, std::vector<const char*>> cases[] = {
      {"v1",
       {"Pod pods pod po", "Service services service svc", "ConfigMap configmaps configmap cm",
        "Secret secrets secret", "ServiceAccount serviceaccounts serviceaccount sa",
        "Namespace namespaces namespace ns", "Event events event ev",
        "PersistentVolumeClaim persistentvolumeclaims persistentvolumeclaim pvc",
        "ReplicationController replicationcontrollers replicationcontroller rc"}},
      {"apps/v1",
       {"Deployment deployments deployment deploy", "ReplicaSet replicasets replicaset rs",
        "StatefulSet statefulsets statefulset sts", "DaemonSet daemonsets daemonset ds"}},
      {"batch/v1", {"Job jobs job", "CronJob cronjobs cronjob cj"}},
      {"networking.k8s.io/v1",
       {"Ingress ingresses ingress ing", "NetworkPolicy networkpolicies networkpolicy netpol"}},
      {"autoscaling/v2",
       {"HorizontalPodAutoscaler horizontalpodautoscalers horizontalpodautoscaler hpa"}},
      {"policy/v1", {"PodDisruptionBudget poddisruptionbudgets poddisruptionbudget pdb"}},
      {"apps.openshift.io/v1", {"DeploymentConfig deploymentconfigs deploymentconfig dc"}},
      {"route.openshift.io/v1", {"Route routes route"}},
      {"ray.io/v1",
       {"RayCluster rayclusters raycluster", "RayJob rayjobs rayjob",
        "RayCronJob raycronjobs raycronjob"}},
      {"sparkoperator.k8s.io/v1beta2",
       {"SparkApplication sparkapplications sparkapplication sparkapp",
        "ScheduledSparkApplication scheduledsparkapplications scheduledsparkapplication "
        "scheduledsparkapp"}},
      {"argoproj.io/v1alpha1",
       {"Workflow workflows workflow wf", "CronWorkflow cronworkflows cronworkflow cwf",
        "Rollout rollouts rollout ro"}},
      {"jobset.x-k8s.io/v1alpha2", {"JobSet jobsets jobset"}},
      {"kubernetes.dask.org/v1",
       {"DaskCluster daskclusters daskcluster dsk", "DaskJob daskjobs daskjob djb"}},
      {"flink.apache.org/v1beta1", {"FlinkDeployment flinkdeployments flinkdeployment flinkdep"}},
  };
  std::set<const ResourceType*> found;
  for (const auto& [api_version, kinds] : cases) {
    for (const char* kind : kinds) {
      const std::vector<std::string> names = Words(kind);
      const ResourceType* type = FindBuiltInByKind(api_version, names[0]);
      ASSERT_NE(type, nullptr) << kind;
      found.insert(type);
      EXPECT_EQ(type->ApiVersion(), api_version);
      EXPECT_EQ(type->kind, names[0]);
      EXPECT_EQ(type->plural, names[1]);
      EXPECT_EQ(type->namespaced, names[0] != "Namespace");
      for (const std::string& name : names) {
        EXPECT_EQ(FindBuiltInByName(name, ""), type) << name;
        EXPECT_EQ(FindBuiltInByName(name, type->group), type) << name;
        if (type->group.empty()) continue;
        EXPECT_EQ(FindBuiltInByName(name + "." + type->group, ""), type) << name;
        EXPECT_EQ(FindBuiltInByName(name + "." + type->version + "." + type->group, ""), type);
      }
    }
  }
  EXPECT_EQ(BuiltInResourceTypes().size(), found.size());
}

TEST(ResourceType, NamesAreTakenInAnyCase) {
  const ResourceType* deployment = FindBuiltInByKind("apps/v1", "Deployment");
  for (const char* name : {"DEPLOY", "Deployments", "deployment.APPS", "deployment.v1.apps"}) {
    EXPECT_EQ(FindBuiltInByName(name, ""), deployment) << name;
  }
  EXPECT_EQ(FindBuiltInByName("deploy", "Apps"), deployment);
  EXPECT_EQ(FindBuiltInByName("deploy.apps", "apps"), deployment);
}

TEST(ResourceType, AGroupThatIsGivenMustMatch) {
  EXPECT_EQ(FindBuiltInByName("ingresses.extensions", ""), nullptr);
  EXPECT_EQ(FindBuiltInByName("ingresses", "extensions"), nullptr);
  EXPECT_EQ(FindBuiltInByName("ingresses.networking.k8s.io", "extensions"), nullptr);
  EXPECT_EQ(FindBuiltInByName("deployments", "app"), nullptr);
  EXPECT_EQ(FindBuiltInByName("pods", "apps"), nullptr);
  EXPECT_EQ(FindBuiltInByName("events.events.k8s.io", ""), nullptr);
}

TEST(ResourceType, WhatIsNotBuiltInIsNotFound) {
  for (const char* name : {"", ".", "gizmos", "deploymen", "deploymentss", " pods"}) {
    EXPECT_EQ(FindBuiltInByName(name, ""), nullptr) << name;
    EXPECT_EQ(FindBuiltInByName(name, "apps"), nullptr) << name;
  }
  EXPECT_EQ(FindBuiltInByKind("apps/v1", "deployment"), nullptr);
  EXPECT_EQ(FindBuiltInByKind("apps/v1beta1", "Deployment"), nullptr);
  EXPECT_EQ(FindBuiltInByKind("v1", "Deployment"), nullptr);
  EXPECT_EQ(FindBuiltInByKind("", ""), nullptr);
}

TEST(ResourceType, IsWrittenAsPeopleDo) {
  const ResourceType& deployment = *FindBuiltInByName("deploy", "");
  EXPECT_EQ(deployment.QualifiedName(), "deployments.apps");
  EXPECT_EQ(deployment.SingularName(), "deployment.apps");
  const ResourceType& pod = *FindBuiltInByName("po", "");
  EXPECT_EQ(pod.ApiVersion(), "v1");
  EXPECT_EQ(pod.QualifiedName(), "pods");
  EXPECT_EQ(pod.SingularName(), "pod");
}

TEST(ResourceType, HasPaths) {
  const ResourceType& deployment = *FindBuiltInByName("deploy", "");
  EXPECT_EQ(deployment.CollectionPath("lab"), "/apis/apps/v1/namespaces/lab/deployments");
  EXPECT_EQ(deployment.CollectionPath(""), "/apis/apps/v1/deployments");
  EXPECT_EQ(deployment.ObjectPath("lab", "bob"), "/apis/apps/v1/namespaces/lab/deployments/bob");
  const ResourceType& pod = *FindBuiltInByName("po", "");
  EXPECT_EQ(pod.ObjectPath("lab", "bob"), "/api/v1/namespaces/lab/pods/bob");
  const ResourceType& ns = *FindBuiltInByName("ns", "");
  EXPECT_EQ(ns.CollectionPath("lab"), "/api/v1/namespaces");
  EXPECT_EQ(ns.ObjectPath("lab", "lab"), "/api/v1/namespaces/lab");
  EXPECT_EQ(pod.ObjectPath("a/b", "c?d"), "/api/v1/namespaces/a%2Fb/pods/c%3Fd");
}

TEST(PercentEncode, EscapesAllButTheUnreserved) {
  const std::string unreserved =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
  EXPECT_EQ(PercentEncode(unreserved), unreserved);
  EXPECT_EQ(PercentEncode(""), "");
  EXPECT_EQ(PercentEncode("a b/c?d=e&f%+,"), "a%20b%2Fc%3Fd%3De%26f%25%2B%2C");
  EXPECT_EQ(PercentEncode("\xc3\xbc\xff"), "%C3%BC%FF");
  EXPECT_EQ(PercentEncode(std::string_view("\0", 1)), "%00");
}

}  // namespace
}  // namespace cluster_watcher

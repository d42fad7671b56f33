#include "probes/kube/resource_type.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace cluster_watcher {
namespace {

TEST(ResourceType, BuiltInsAreFoundByEveryName) {
  struct Case {
    std::string api_version;
    std::string kind;
    std::vector<std::string> names;  // plural, singular, short
  };
  const std::vector<Case> cases = {
      {"v1", "Pod", {"pods", "pod", "po"}},
      {"v1", "Service", {"services", "service", "svc"}},
      {"v1", "ConfigMap", {"configmaps", "configmap", "cm"}},
      {"v1", "Secret", {"secrets", "secret"}},
      {"v1", "ServiceAccount", {"serviceaccounts", "serviceaccount", "sa"}},
      {"v1", "Namespace", {"namespaces", "namespace", "ns"}},
      {"v1", "PersistentVolumeClaim", {"persistentvolumeclaims", "persistentvolumeclaim", "pvc"}},
      {"v1", "ReplicationController", {"replicationcontrollers", "replicationcontroller", "rc"}},
      {"v1", "Event", {"events", "event", "ev"}},
      {"apps/v1", "Deployment", {"deployments", "deployment", "deploy"}},
      {"apps/v1", "ReplicaSet", {"replicasets", "replicaset", "rs"}},
      {"apps/v1", "StatefulSet", {"statefulsets", "statefulset", "sts"}},
      {"apps/v1", "DaemonSet", {"daemonsets", "daemonset", "ds"}},
      {"batch/v1", "Job", {"jobs", "job"}},
      {"batch/v1", "CronJob", {"cronjobs", "cronjob", "cj"}},
      {"networking.k8s.io/v1", "Ingress", {"ingresses", "ingress", "ing"}},
      {"networking.k8s.io/v1", "NetworkPolicy", {"networkpolicies", "networkpolicy", "netpol"}},
      {"autoscaling/v2",
       "HorizontalPodAutoscaler",
       {"horizontalpodautoscalers", "horizontalpodautoscaler", "hpa"}},
      {"policy/v1", "PodDisruptionBudget", {"poddisruptionbudgets", "poddisruptionbudget", "pdb"}},
      {"apps.openshift.io/v1", "DeploymentConfig", {"deploymentconfigs", "deploymentconfig", "dc"}},
      {"route.openshift.io/v1", "Route", {"routes", "route"}},
      {"ray.io/v1", "RayCluster", {"rayclusters", "raycluster"}},
      {"ray.io/v1", "RayJob", {"rayjobs", "rayjob"}},
      {"sparkoperator.k8s.io/v1beta2",
       "SparkApplication",
       {"sparkapplications", "sparkapplication", "sparkapp"}},
      {"sparkoperator.k8s.io/v1beta2",
       "ScheduledSparkApplication",
       {"scheduledsparkapplications", "scheduledsparkapplication", "scheduledsparkapp"}},
      {"argoproj.io/v1alpha1", "Workflow", {"workflows", "workflow", "wf"}},
      {"kubernetes.dask.org/v1", "DaskCluster", {"daskclusters", "daskcluster", "dsk"}},
      {"flink.apache.org/v1beta1",
       "FlinkDeployment",
       {"flinkdeployments", "flinkdeployment", "flinkdep"}},
  };
  EXPECT_EQ(BuiltInResourceTypes().size(), cases.size());
  for (const Case& one : cases) {
    const ResourceType* type = FindBuiltInByKind(one.api_version, one.kind);
    ASSERT_NE(type, nullptr) << one.kind;
    EXPECT_EQ(type->ApiVersion(), one.api_version);
    EXPECT_EQ(type->plural, one.names.front());
    EXPECT_EQ(type->namespaced, one.kind != "Namespace");
    EXPECT_EQ(FindBuiltInByName(one.kind, ""), type);
    for (const std::string& name : one.names) {
      EXPECT_EQ(FindBuiltInByName(name, ""), type) << name;
      EXPECT_EQ(FindBuiltInByName(name, type->group), type) << name;
      if (type->group.empty()) continue;
      EXPECT_EQ(FindBuiltInByName(name + "." + type->group, ""), type) << name;
      EXPECT_EQ(FindBuiltInByName(name + "." + type->version + "." + type->group, ""), type);
    }
  }
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

TEST(ResourceType, BuiltInNamesAreUnique) {
  std::set<std::string> names;
  for (const ResourceType& type : BuiltInResourceTypes()) {
    EXPECT_TRUE(names.insert(type.plural).second) << type.plural;
    EXPECT_EQ(FindBuiltInByKind(type.ApiVersion(), type.kind), &type);
  }
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

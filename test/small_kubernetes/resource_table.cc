#include "test/small_kubernetes/resource_table.h"

#include <cassert>
#include <utility>

namespace cluster_watcher::small_kubernetes {
namespace {

constexpr unsigned kCluster = 1, kStatus = 2, kScale = 4, kGeneration = 8, kOrphans = 16,
                   kReturns = 32, kCreateOnly = 64;
constexpr unsigned kWorkload = kStatus | kGeneration;

struct Row {
  const char* group;
  const char* version;
  const char* plural;
  const char* kind;
  const char* short_name;
  unsigned flags;
};

constexpr Row kBuiltIn[] = {
    {"", "v1", "namespaces", "Namespace", "ns", kCluster | kStatus | kReturns},
    {"", "v1", "nodes", "Node", "no", kCluster | kStatus},
    {"", "v1", "pods", "Pod", "po", kStatus | kGeneration | kReturns},
    {"", "v1", "services", "Service", "svc", kStatus | kReturns},
    {"", "v1", "endpoints", "Endpoints", "ep", 0},
    {"", "v1", "configmaps", "ConfigMap", "cm", 0},
    {"", "v1", "secrets", "Secret", "", 0},
    {"", "v1", "serviceaccounts", "ServiceAccount", "sa", kReturns},
    {"", "v1", "events", "Event", "ev", 0},
    {"", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", "pvc", kStatus | kReturns},
    {"", "v1", "replicationcontrollers", "ReplicationController", "rc",
     kWorkload | kScale | kOrphans},
    {"apps", "v1", "deployments", "Deployment", "deploy", kWorkload | kScale},
    {"apps", "v1", "replicasets", "ReplicaSet", "rs", kWorkload | kScale},
    {"apps", "v1", "statefulsets", "StatefulSet", "sts", kWorkload | kScale},
    {"apps", "v1", "daemonsets", "DaemonSet", "ds", kWorkload},
    {"batch", "v1", "jobs", "Job", "", kWorkload | kOrphans},
    {"batch", "v1", "cronjobs", "CronJob", "cj", kWorkload},
    {"networking.k8s.io", "v1", "ingresses", "Ingress", "ing", kWorkload},
    {"networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy", "netpol", kGeneration},
    {"autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler", "hpa", kStatus},
    {"policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", "pdb", kWorkload},
    {"events.k8s.io", "v1", "events", "Event", "ev", 0},
    {"rbac.authorization.k8s.io", "v1", "roles", "Role", "", 0},
    {"rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding", "", 0},
    {"rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", "", kCluster},
    {"rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding", "", kCluster},
    {"authorization.k8s.io", "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", "",
     kCluster | kCreateOnly},
};

Resource FromRow(const Row& row) {
  Resource resource;
  resource.group = row.group;
  resource.version = row.version;
  resource.plural = row.plural;
  resource.kind = row.kind;
  resource.short_name = row.short_name;
  resource.namespaced = (row.flags & kCluster) == 0;
  resource.has_status = (row.flags & kStatus) != 0;
  resource.has_scale = (row.flags & kScale) != 0;
  resource.has_generation = (row.flags & kGeneration) != 0;
  resource.orphans_by_default = (row.flags & kOrphans) != 0;
  resource.returns_deleted = (row.flags & kReturns) != 0;
  resource.create_only = (row.flags & kCreateOnly) != 0;
  return resource;
}

std::string Qualified(const std::string& name, const std::string& group) {
  return group.empty() ? name : name + "." + group;
}

}  // namespace

std::string Resource::ApiVersion() const { return group.empty() ? version : group + "/" + version; }
std::string Resource::QualifiedName() const { return Qualified(plural, group); }
std::string Resource::QualifiedKind() const { return Qualified(kind, group); }

ResourceTable::ResourceTable() {
  for (const Row& row : kBuiltIn) Add(FromRow(row));
  // Both APIs of Events show the same objects.
  Find("events.k8s.io", "events")->storage = Of("", "events").index;
}

const Resource& ResourceTable::Add(Resource resource) {
  for (Resource& present : resources_) {
    if (present.group != resource.group || present.plural != resource.plural) continue;
    resource.index = present.index;
    resource.storage = present.storage;
    return present = std::move(resource);
  }
  resource.index = resource.storage = resources_.size();
  return resources_.emplace_back(std::move(resource));
}

Resource* ResourceTable::Find(std::string_view group, std::string_view plural) {
  for (Resource& resource : resources_) {
    if (resource.plural == plural && resource.group == group && !resource.removed) return &resource;
  }
  return nullptr;
}

const Resource* ResourceTable::Find(std::string_view group, std::string_view version,
                                    std::string_view plural) const {
  for (const Resource& resource : resources_) {
    if (resource.plural == plural && resource.group == group && resource.version == version &&
        !resource.removed) {
      return &resource;
    }
  }
  return nullptr;
}

const Resource* ResourceTable::FindKind(std::string_view api_version, std::string_view kind) const {
  for (const Resource& resource : resources_) {
    if (resource.kind == kind && resource.ApiVersion() == api_version && !resource.removed) {
      return &resource;
    }
  }
  return nullptr;
}

const Resource& ResourceTable::Of(std::string_view group, std::string_view plural) const {
  for (const Resource& resource : resources_) {
    if (resource.plural == plural && resource.group == group) return resource;
  }
  assert(false);
  return resources_.front();
}

bool ResourceTable::ServesGroup(std::string_view group) const {
  for (const Resource& resource : resources_) {
    if (resource.group == group && !resource.removed) return true;
  }
  return false;
}

bool ResourceTable::ServesVersion(std::string_view group, std::string_view version) const {
  for (const Resource& resource : resources_) {
    if (resource.group == group && resource.version == version && !resource.removed) return true;
  }
  return false;
}

}  // namespace cluster_watcher::small_kubernetes

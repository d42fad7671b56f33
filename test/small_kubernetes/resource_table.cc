#include "test/small_kubernetes/resource_table.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <tuple>
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
  const char* short_names;
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
    {"authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview", "",
     kCluster | kCreateOnly},
    {"authorization.k8s.io", "v1", "localsubjectaccessreviews", "LocalSubjectAccessReview", "",
     kCreateOnly},
    {"authentication.k8s.io", "v1", "selfsubjectreviews", "SelfSubjectReview", "",
     kCluster | kCreateOnly},
    {"apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition",
     "crd,crds", kCluster | kStatus | kGeneration},
};

// Whether kubectl's "all" includes the kind.
bool IsInAll(const Row& row) {
  const std::string_view group = row.group, plural = row.plural;
  return group == "apps" || group == "batch" || group == "autoscaling" || plural == "pods" ||
         plural == "services" || plural == "replicationcontrollers";
}

Resource FromRow(const Row& row) {
  Resource resource;
  resource.group = row.group;
  resource.version = row.version;
  resource.plural = row.plural;
  resource.kind = row.kind;
  for (std::string_view names = row.short_names; !names.empty();) {
    const std::string_view name = names.substr(0, names.find(','));
    resource.short_names.emplace_back(name);
    names.remove_prefix(std::min(names.size(), name.size() + 1));
  }
  if (IsInAll(row)) resource.categories = {"all"};
  if (resource.group == "apiextensions.k8s.io") resource.categories = {"api-extensions"};
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

// Orders v2, v1, v1beta2, v1beta1, v1alpha1, then others by name.
std::tuple<int, int, int, std::string_view> Rank(std::string_view version) {
  const auto take_number = [](std::string_view& text) {
    int number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return error == std::errc() ? number : 0;
  };
  constexpr std::tuple<int, int, int> kOther{3, 0, 0};
  std::string_view rest = version;
  if (rest.substr(0, 1) != "v") return std::tuple_cat(kOther, std::tuple(version));
  rest.remove_prefix(1);
  const int major = take_number(rest);
  int stage = 0;
  for (std::string_view name : {"", "beta", "alpha"}) {
    std::string_view tail = rest;
    const bool fits = rest.substr(0, name.size()) == name;
    if (fits) tail.remove_prefix(name.size());
    const int minor = fits && stage > 0 ? take_number(tail) : 0;
    if (major > 0 && fits && tail.empty() && (stage == 0 || minor > 0)) {
      return {stage, -major, -minor, version};
    }
    ++stage;
  }
  return std::tuple_cat(kOther, std::tuple(version));
}

}  // namespace

const Value* FindAt(const Value& value, const std::vector<std::string>& keys) {
  const Value* found = keys.empty() ? nullptr : &value;
  for (const std::string& key : keys) {
    if (found != nullptr) found = Find(*found, key);
  }
  return found;
}

std::string JsonPath(const std::vector<std::string>& keys) {
  std::string path;
  for (const std::string& key : keys) path += "." + key;
  return path;
}

std::string Resource::ApiVersion() const { return group.empty() ? version : group + "/" + version; }
std::string Resource::QualifiedName() const { return Qualified(plural, group); }
std::string Resource::QualifiedKind() const { return Qualified(kind, group); }
std::string Resource::ListKind() const { return list_kind.empty() ? kind + "List" : list_kind; }

std::string Resource::Singular() const {
  if (!singular.empty()) return singular;
  std::string lower = kind;
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

ResourceTable::ResourceTable() {
  for (const Row& row : kBuiltIn) Add(FromRow(row));
  // Both APIs of Events show the same objects.
  Versions("events.k8s.io", "events").front()->storage = Of("", "events").index;
}

const Resource& ResourceTable::Add(Resource resource) {
  resource.index = resource.storage = resources_.size();
  for (Resource* present : Versions(resource.group, resource.plural)) {
    resource.storage = present->storage;
    if (present->version != resource.version) continue;
    resource.index = present->index;
    return *present = std::move(resource);
  }
  return resources_.emplace_back(std::move(resource));
}

std::vector<Resource*> ResourceTable::Versions(std::string_view group, std::string_view plural) {
  std::vector<Resource*> versions;
  for (Resource& resource : resources_) {
    if (resource.plural == plural && resource.group == group) versions.push_back(&resource);
  }
  return versions;
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

bool ResourceTable::HasBuiltIn(std::string_view group) const {
  return std::any_of(resources_.begin(), resources_.end(), [&](const Resource& resource) {
    return !resource.custom && resource.group == group;
  });
}

std::vector<std::string> ResourceTable::VersionsOf(std::string_view group) const {
  std::vector<std::string> versions;
  for (const Resource& resource : resources_) {
    if (resource.group == group && !resource.removed) versions.push_back(resource.version);
  }
  std::sort(versions.begin(), versions.end(),
            [](const std::string& a, const std::string& b) { return Rank(a) < Rank(b); });
  versions.erase(std::unique(versions.begin(), versions.end()), versions.end());
  return versions;
}

bool ResourceTable::ServesVersion(std::string_view group, std::string_view version) const {
  for (const Resource& resource : resources_) {
    if (resource.group == group && resource.version == version && !resource.removed) return true;
  }
  return false;
}

}  // namespace cluster_watcher::small_kubernetes

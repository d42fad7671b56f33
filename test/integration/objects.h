// The objects that the tests make, as JSON.
#pragma once

#include <map>
#include <string>

namespace cluster_watcher::integration {

using TextMap = std::map<std::string, std::string>;

// `text` as a JSON string; `map` as a JSON object of strings.
std::string Json(const std::string& text);
std::string Json(const TextMap& map);

struct Metadata {
  std::string name;
  TextMap labels = {};
  TextMap annotations = {};
  bool held = false;                  // by a finalizer that nobody but the test takes off
  std::string owner_references = "";  // the array's JSON

  std::string Json() const;
};

// What runs pods of one name: their label `app` is the object's name, `pod` adds to it.
struct Workload {
  Metadata metadata;
  int replicas = 1;
  TextMap pod_labels = {};
  TextMap pod_annotations = {};
  std::string pod_spec = "";  // more fields: "\"volumes\": [], "
};

std::string DeploymentOf(const Workload& workload);  // a ReplicaSet looks the same
std::string ReplicationControllerOf(const Workload& workload);
std::string StatefulSetOf(const Workload& workload);
// That would take the claims it makes along, data-NAME-0 and so on.
std::string StatefulSetWithClaimsOf(const Workload& workload);
std::string JobOf(const Workload& workload);
// By the plural: deployments, replicasets, replicationcontrollers, statefulsets, jobs.
std::string WorkloadOf(const std::string& plural, const Workload& workload);

std::string ConfigMapOf(const Metadata& metadata);
std::string ServiceOf(const Metadata& metadata, const std::string& app);
std::string ClaimOf(const Metadata& metadata);
// Of any kind that has a spec, which is the JSON of it all.
std::string CustomOf(const Metadata& metadata, const std::string& spec = "{}");
// ServiceAccounts and others that are nothing but a name.
std::string NamedOf(const Metadata& metadata);
// What a watcher may do in its namespace.
std::string WatcherRoleOf(const Metadata& metadata);
std::string RoleBindingOf(const Metadata& metadata, const std::string& role,
                          const std::string& account);

}  // namespace cluster_watcher::integration

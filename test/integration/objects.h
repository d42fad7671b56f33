// JSON of the objects that the tests make.
#pragma once

#include <map>
#include <string>

namespace cluster_watcher::integration {

// A manifest file for `create` and `run`: a cluster whose master says nothing of a watcher.
inline constexpr char kSmallCluster[] = R"(
apiVersion: v1
kind: Service
metadata: {name: $(CLUSTER), labels: {oshinko-type: master}}
spec: {selector: {app: $(CLUSTER)-m}, ports: [{port: 7077}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: $(CLUSTER)-w, labels: {oshinko-type: worker}}
spec:
  selector: {matchLabels: {app: $(CLUSTER)-w}}
  template:
    metadata: {labels: {app: $(CLUSTER)-w, oshinko-type: worker}}
    spec: {containers: [{name: main, image: spark}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: $(CLUSTER)-m}
spec:
  selector: {matchLabels: {app: $(CLUSTER)-m}}
  template:
    metadata: {labels: {app: $(CLUSTER)-m, oshinko-type: master}}
    spec: {containers: [{name: main, image: spark}]}
)";

using TextMap = std::map<std::string, std::string>;

// `text` as a JSON string, `map` as a JSON object of strings.
std::string Json(const std::string& text);
std::string Json(const TextMap& map);

struct Metadata {
  std::string name;
  TextMap labels = {};
  TextMap annotations = {};
  bool held = false;                  // by a finalizer that only the test removes
  std::string owner_references = "";  // the JSON array

  std::string Json() const;
};

// A controller of pods. Their label `app` is its name; `pod` adds further labels.
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
// It would take its claims along: data-NAME-0 and so on.
std::string StatefulSetWithClaimsOf(const Workload& workload);
std::string JobOf(const Workload& workload);
// By the plural: deployments, replicasets, replicationcontrollers, statefulsets, jobs.
std::string WorkloadOf(const std::string& plural, const Workload& workload);

std::string ConfigMapOf(const Metadata& metadata);
std::string ServiceOf(const Metadata& metadata, const std::string& app);
std::string ClaimOf(const Metadata& metadata);
// Any kind with a spec; `spec` is all of its JSON.
std::string CustomOf(const Metadata& metadata, const std::string& spec = "{}");
// ServiceAccounts and other kinds that need only a name.
std::string NamedOf(const Metadata& metadata);
// What a watcher may do in its namespace.
std::string WatcherRoleOf(const Metadata& metadata);
std::string RoleBindingOf(const Metadata& metadata, const std::string& role,
                          const std::string& account);

}  // namespace cluster_watcher::integration

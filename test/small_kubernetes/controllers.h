// The controllers, which make the stored objects match their specs.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <unordered_map>
#include <vector>

#include "test/small_kubernetes/resource_table.h"
#include "test/small_kubernetes/store.h"

namespace cluster_watcher::small_kubernetes {

// Implements Deployments, ReplicaSets, ReplicationControllers, StatefulSets, Jobs, the Endpoints of
// Services, claims in deletion, namespaces with their default ServiceAccount and ConfigMap, and the
// garbage collector. Pods are neither scheduled nor run unless `pods_run` is set.
class Controllers {
 public:
  Controllers(Store& store, const ResourceTable& resources);

  // Runs the controllers until nothing changes. Cheap if nothing relevant has changed since the
  // last call.
  void Settle();

  // New pods get a node and are Running and Ready at once; a deleted one stops at once.
  bool pods_run = false;

 private:
  bool Changed(std::initializer_list<const Resource*> resources, std::uint64_t& seen) const;
  // Whether `owner`, or any `resource` it controls or could adopt, has changed since the last call.
  bool NeedsWork(const Object& owner, const Resource& resource);
  void RunOnce();

  void Namespaces();
  void EmptyNamespace(const ObjectPtr& ns);
  void Deployments();
  void Deployment(const ObjectPtr& deployment);
  ObjectPtr NewReplicaSet(const ObjectPtr& deployment);
  // `deployment` is null for a ReplicaSet that isn't the current one.
  void SyncReplicaSet(const ObjectPtr& set, const Object* deployment, std::int64_t wanted);
  // Handles ReplicaSets and ReplicationControllers.
  void ReplicaControllers(const Resource& resource);
  void Replicas(const ObjectPtr& owner);
  void StatefulSets();
  // Lets go of the claims of this pod of the set, or takes them back, as its policy says.
  void FitClaims(const ObjectPtr& set, const std::string& pod, bool retains);
  void StatefulSet(const ObjectPtr& set);
  void Jobs();
  void Job(const ObjectPtr& job);
  void Endpoints();
  void Claims();
  void Pods();

  std::vector<ObjectPtr> Controlled(const Resource& resource, const Object& owner);
  void CreatePod(const Object& owner, Value metadata);
  void SetStatus(const ObjectPtr& object, Value status);

  Store& store_;
  const ResourceTable& resources_;
  const Resource& namespaces_;
  const Resource& pods_;
  const Resource& services_;
  const Resource& endpoints_;
  const Resource& config_maps_;
  const Resource& service_accounts_;
  const Resource& claims_;
  const Resource& replication_controllers_;
  const Resource& deployments_;
  const Resource& replica_sets_;
  const Resource& stateful_sets_;
  const Resource& jobs_;
  // The versions that each controller has seen.
  struct Seen {
    std::uint64_t namespaces = 0, deployments = 0, replica_sets = 0, replication_controllers = 0,
                  stateful_sets = 0, jobs = 0, endpoints = 0, claims = 0, pods = 0, garbage = 1;
    bool terminating = false;  // some namespace is
  } seen_;
  std::unordered_map<std::string, std::uint64_t> seen_owners_;  // by UID
  // Up to which version an owner, at its own, has looked at what nobody controls.
  struct Examined {
    std::uint64_t owner = 0;
    std::uint64_t up_to = 0;
  };
  std::unordered_map<std::string, Examined> examined_;  // by UID
};

}  // namespace cluster_watcher::small_kubernetes

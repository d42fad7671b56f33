// What an owner wants, where its own fields don't say it all: its scale subresource, its runs, its
// pods, the controller that rolls it out. A failed request is an error, and so is a listed object
// that can't be read: leaving it out could make the owner look idle.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "probes/field_path.h"
#include "probes/kube/discovery.h"
#include "probes/kube/kube_client.h"
#include "probes/owner_kinds.h"

namespace cluster_watcher {

using Label = std::pair<std::string, std::string>;  // key and value

// The pods that are none of the owner's, or don't count: the cluster's own, and who has ended by
// its own word.
struct ClusterOfPods {
  Label label = {};             // empty: there is no such cluster
  std::string root_uid = {};    // of its master root; empty: it isn't known
  std::string caller_uid = {};  // of the pod that we are, which is about to end; may be empty
  std::string caller = {};      // its name, where its UID isn't known; empty: there is none
  bool all_have_ended = false;  // somebody said so for all pods
  // Until when that counts, by whoever said so: a run, a pod or a container that was started later
  // runs.
  std::optional<WallTime> ended_by = {};

  // Whether that was said of it. `json` is that of `pod`, with its status.
  bool HasEnded(const ObjectMeta& pod, JsonValue json) const;
  bool HasRunEnded(const ObjectMeta& run) const;
  // Whether it carries the cluster's label.
  bool IsLabelled(const ObjectMeta& meta) const { return meta.Label(label.first) == label.second; }
};

// An object that pods and runs belong to; it need not exist any more.
struct OwnerOfPods {
  ResourceType type;
  std::string ns;
  std::string name;
  std::string uid;           // empty: it was never seen
  std::string pod_selector;  // empty: none is known
  // It is deleted or being deleted, so its runs may have lost their ownerReference to it.
  bool is_going = false;
};

// What a DeploymentConfig's rollouts have come to.
struct Rollouts {
  bool scales_up = false;  // it wants replicas, so a ReplicationController may be scaled up again
  bool always = false;     // not only during a rollout
  std::int64_t latest = 0;
  bool latest_has_ended = false;
  std::int64_t complete = 0;  // the latest that completed; 0: none has
};
using RolloutsByUid = std::map<std::string, Rollouts>;  // by the DeploymentConfig's UID

class OwnerReader {
 public:
  OwnerReader(KubeClient& client, Discovery& discovery) : client_(client), discovery_(discovery) {}

  // Reads `item`, the JSON of `object`. Only a consistent read checks for what keeps a suspended
  // owner from being idle: a cached read that isn't active is followed by a consistent one.
  // Pods of the cluster `but` aren't the owner's. `known` saves requests for the next one that the
  // same DeploymentConfig controls.
  Result<OwnerFields, ApiError> Read(const KubeObject& object, JsonValue item, Freshness freshness,
                                     const Patience& patience, const ClusterOfPods& but = {},
                                     RolloutsByUid* known = nullptr);

  // Returns the name of something of `owner` that runs, "pod/bob-1"; empty if nothing does. That is
  // an unfinished run of it, or a pod that is neither terminating nor finished, found by the
  // selector or by its controllers up to the owner's UID. A pod that the selector finds isn't the
  // owner's if it carries the label of the cluster `but` and the master root controls it, or
  // another root that carries the label, or none. Reads page by page up to the first one.
  Result<std::string, ApiError> FindRunning(const OwnerOfPods& owner, const ClusterOfPods& but,
                                            const Patience& patience);

 private:
  Result<Done, ApiError> ReadScale(const KubeObject& object, Freshness freshness,
                                   OwnerFields& fields, const Patience& patience);
  // Shows what is listed until `is_it` returns true or fails; returns whether it was true.
  using IsIt = std::function<Result<bool, ApiError>(const ObjectMeta& meta, JsonValue item)>;
  Result<bool, ApiError> AnyObject(const ApiRequest& list, const IsIt& is_it,
                                   const Patience& patience);
  Result<std::string, ApiError> FindItself(const OwnerOfPods& owner, const ClusterOfPods& but,
                                           const Patience& patience);
  Result<std::string, ApiError> FindPod(const OwnerOfPods& owner, const ClusterOfPods& but,
                                        const Patience& patience);
  Result<std::string, ApiError> FindRun(const OwnerOfPods& owner, const ClusterOfPods& but,
                                        const Patience& patience);
  // By UID: whether the run is the owner's and is terminating.
  using Runs = std::map<std::string, bool>;
  // `runs`: all there are in the owner's namespace.
  Result<std::string, ApiError> FindPodOfRuns(const OwnerOfPods& owner, const Runs& runs,
                                              const ClusterOfPods& but, const Patience& patience);
  Result<std::string, ApiError> FindPodByControllers(const OwnerOfPods& owner,
                                                     const ClusterOfPods& but,
                                                     const Patience& patience);
  class Climb;
  // Goes on from the pods that `climb` has begun with; returns as FindRunning does.
  Result<std::string, ApiError> GoUp(Climb& climb, const std::string& ns, const Patience& patience);
  Result<bool, ApiError> MayComeBack(const KubeObject& object, RolloutsByUid* known,
                                     const Patience& patience);
  Result<Rollouts, ApiError> ReadRollouts(const KubeObject& object,
                                          const OwnerReference& controller,
                                          const Patience& patience);

  KubeClient& client_;
  Discovery& discovery_;
};

// Whether the owner has desired replicas and is neither suspended nor completed.
bool WantsToRun(const OwnerFields& fields);

}  // namespace cluster_watcher

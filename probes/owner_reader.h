// Reads what an owner wants, where its own fields don't say it all, and what of it runs. A failed
// request is an error, and so is a listed object that can't be read: leaving it out could make the
// owner look idle.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "probes/cluster_id.h"
#include "probes/field_path.h"
#include "probes/kube/discovery.h"
#include "probes/kube/kube_client.h"
#include "probes/owner_kinds.h"

namespace cluster_watcher {

// The pods that are none of the owner's, or don't count: the cluster's own, and the caller.
struct ClusterOfPods {
  std::optional<ClusterId> id = {};  // nullopt: there is no such cluster
  std::string root_uid = {};         // of its master root; empty: it isn't known
  std::string caller_uid = {};       // of the pod that we are, which is about to end; may be empty
  std::string caller = {};           // its name, where its UID isn't known; empty: there is none
  // The driver has said that it has completed: only pods count, none of its unfinished runs, and
  // where there is no caller, the pod that said so doesn't either, whichever it was.
  bool has_completed = false;

  bool HasCaller() const { return !caller_uid.empty() || !caller.empty(); }
  bool IsCaller(const ObjectMeta& pod) const {
    return caller_uid.empty() ? pod.name == caller : pod.uid == caller_uid;
  }
  // Whether it is labelled as the cluster's.
  bool Owns(const ObjectMeta& meta) const { return id && meta.ns() == id->ns && id->Owns(meta); }
};

// An object that pods and runs belong to; it need not exist any more.
struct OwnerOfPods {
  ResourceType type;
  std::string ns;
  std::string name;
  std::string uid;             // empty: it was never seen
  std::string pod_selector;    // empty: none is known
  std::string pods_not_below;  // as in OwnerFields
  // It is deleted or being deleted, so its runs may have lost their ownerReference to it.
  bool is_going = false;
};

// The outcome of a DeploymentConfig's rollouts.
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

  // Reads `item`, the JSON of `object`. What a rollout scales up again counts as wanted, but only a
  // consistent read asks that. `known` saves requests for the next one that the same
  // DeploymentConfig controls.
  Result<OwnerFields, ApiError> Read(const KubeObject& object, JsonValue item, Freshness freshness,
                                     const Patience& patience, RolloutsByUid* known = nullptr);

  // Returns the name of something of `owner` that runs, "pod/bob-1"; empty if nothing does. That is
  // an unfinished run of it, or a pod in which something of its kind runs, found by the selector or
  // by its controllers up to the owner's UID, at any depth. A pod that the selector finds isn't the
  // owner's if it is labelled as the cluster's, `but`, and the master root controls it, or another
  // root that is so labelled, or none. Reads page by page up to the first one.
  Result<std::string, ApiError> FindRunning(const OwnerOfPods& owner, const ClusterOfPods& but,
                                            const Patience& patience);

  // Returns what wants to run and may have controlled the pod of this name, which is gone,
  // "deployment.apps/bob": the pod is named after it. Empty: there is nothing, but for what is of
  // the cluster `but`.
  Result<std::string, ApiError> FindMaker(const std::string& ns, const std::string& pod,
                                          const ClusterOfPods& but, const Patience& patience);

 private:
  Result<bool, ApiError> DoesStatusCount(const KubeObject& object, JsonValue item,
                                         const Patience& patience);
  // Shows what is listed until `is_it` returns true or fails; returns whether it was true.
  using IsIt = std::function<Result<bool, ApiError>(const ObjectMeta& meta, JsonValue item)>;
  Result<bool, ApiError> AnyObject(const ApiRequest& list, const IsIt& is_it,
                                   const Patience& patience);
  Result<std::string, ApiError> FindFirst(const OwnerOfPods& owner, const ClusterOfPods& but,
                                          const Patience& patience);
  Result<std::string, ApiError> FindPod(const OwnerOfPods& owner, const ClusterOfPods& but,
                                        const Patience& patience);
  Result<std::string, ApiError> FindRun(const OwnerOfPods& owner, const ClusterOfPods& but,
                                        const Patience& patience);
  // By UID: whether the run is the owner's.
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

// Whether it has desired replicas and hasn't completed. It may be suspended: that ends again.
bool WantsToRun(const OwnerFields& fields);

}  // namespace cluster_watcher

// What an owner wants, where its own fields don't say it all: its scale subresource, its runs, its
// pods, the controller that rolls it out. A failed request is an error, and so is a listed object
// that can't be read: leaving it out could make the owner look idle.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "probes/field_path.h"
#include "probes/kube/discovery.h"
#include "probes/kube/kube_client.h"
#include "probes/owner_kinds.h"

namespace cluster_watcher {

using Label = std::pair<std::string, std::string>;  // key and value

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

class OwnerReader {
 public:
  OwnerReader(KubeClient& client, Discovery& discovery) : client_(client), discovery_(discovery) {}

  // Reads `item`, the JSON of `object`. Only a consistent read checks for what keeps a suspended
  // owner from being idle: a cached read that isn't active is followed by a consistent one.
  // Pods with the label `but` aren't the owner's.
  Result<OwnerFields, ApiError> Read(const KubeObject& object, JsonValue item, Freshness freshness,
                                     const Patience& patience, const Label& but = {});

  // Returns the name of something of `owner` that runs, "pod/bob-1"; empty if nothing does. That is
  // an unfinished run of it, or a pod that is neither terminating nor finished, found by the
  // selector or by its controllers up to the owner's UID. Reads page by page up to the first one.
  Result<std::string, ApiError> FindRunning(const OwnerOfPods& owner, const Label& but,
                                            const Patience& patience);

 private:
  Result<Done, ApiError> ReadScale(const KubeObject& object, Freshness freshness,
                                   OwnerFields& fields, const Patience& patience);
  // Shows what is listed until `is_it` returns true or fails; returns whether it was true.
  using IsIt = std::function<Result<bool, ApiError>(const ObjectMeta& meta, JsonValue item)>;
  Result<bool, ApiError> AnyObject(const ApiRequest& list, const IsIt& is_it,
                                   const Patience& patience);
  Result<std::string, ApiError> FindPod(const OwnerOfPods& owner, const Label& but,
                                        const Patience& patience);
  Result<std::string, ApiError> FindRun(const OwnerOfPods& owner, const Patience& patience);
  Result<std::string, ApiError> FindPodByControllers(const OwnerOfPods& owner, const Label& but,
                                                     const Patience& patience);
  Result<bool, ApiError> MayComeBack(const KubeObject& object, const Patience& patience);

  KubeClient& client_;
  Discovery& discovery_;
};

// Whether the owner has desired replicas and is neither suspended nor completed.
bool WantsToRun(const OwnerFields& fields);

}  // namespace cluster_watcher

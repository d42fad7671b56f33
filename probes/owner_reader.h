// What an owner wants, where its own fields don't say it all: its scale subresource, its runs, its
// pods, the controller that rolls it out. A failed request is an error; listed objects whose
// metadata is malformed are skipped.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "probes/field_path.h"
#include "probes/kube/discovery.h"
#include "probes/kube/kube_client.h"
#include "probes/owner_kinds.h"

namespace cluster_watcher {

class OwnerReader {
 public:
  OwnerReader(KubeClient& client, Discovery& discovery) : client_(client), discovery_(discovery) {}

  // Reads `item`, the JSON of `object`. Only a consistent read checks for what keeps a suspended
  // owner from being idle: a cached read that isn't active is followed by a consistent one.
  Result<OwnerFields, ApiError> Read(const KubeObject& object, JsonValue item, Freshness freshness,
                                     const Patience& patience);

  // Counts the pods that `selector` matches (empty: none) and that aren't terminating or finished,
  // except those with the label `but`.
  Result<std::size_t, ApiError> CountRunningPods(const std::string& ns, const std::string& selector,
                                                 const std::pair<std::string, std::string>& but,
                                                 const Patience& patience);
  // Counts the unfinished runs that an object of `type` has left behind or is about to: `orphaning`
  // is its UID if it is being deleted and will orphan them, else empty.
  Result<std::size_t, ApiError> CountLeftRuns(const ResourceType& type, const std::string& ns,
                                              const std::string& name, const std::string& orphaning,
                                              const Patience& patience);

 private:
  Result<Done, ApiError> ReadScale(const KubeObject& object, Freshness freshness,
                                   OwnerFields& fields, const Patience& patience);
  // Counts the unfinished objects of `runs` in `ns` that are `wanted`.
  Result<std::size_t, ApiError> CountUnfinished(
      const ResourceType& runs, const std::string& ns,
      const std::function<bool(const ObjectMeta&)>& wanted, const Patience& patience);
  Result<bool, ApiError> HasRun(const KubeObject& object, const ResourceType& runs,
                                const Patience& patience);
  Result<bool, ApiError> MayComeBack(const KubeObject& object, const Patience& patience);

  KubeClient& client_;
  Discovery& discovery_;
};

// Whether the owner has desired replicas and is neither suspended nor completed.
bool WantsToRun(const OwnerFields& fields);

}  // namespace cluster_watcher

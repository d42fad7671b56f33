// What an owner wants, where its own fields don't tell it all: its scale subresource, its runs, its
// pods, the controller that rolls it out. Whatever can't be read is an error.
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

  // Reads `item`, the object that `object` is about. What keeps a suspended owner from being idle
  // is looked at only where `freshness` is sure: a glance that isn't active is followed by a sure
  // look.
  Result<OwnerFields, ApiError> Read(const KubeObject& object, JsonValue item, Freshness freshness,
                                     const Patience& patience);

  // The pods that `selector` (empty: none) finds and that aren't terminating or finished. Those
  // with the label `but` aren't counted.
  Result<std::size_t, ApiError> CountRunningPods(const std::string& ns, const std::string& selector,
                                                 const std::pair<std::string, std::string>& but,
                                                 const Patience& patience);
  // What an object of `type` that made runs has left unfinished and to nobody, or will: `orphaning`
  // is its UID while it is there, else empty.
  Result<std::size_t, ApiError> CountLeftRuns(const ResourceType& type, const std::string& ns,
                                              const std::string& name, const std::string& orphaning,
                                              const Patience& patience);

 private:
  Result<Done, ApiError> ReadScale(const KubeObject& object, Freshness freshness,
                                   OwnerFields& fields, const Patience& patience);
  // How many unfinished objects of `runs` in `ns` are `wanted`.
  Result<std::size_t, ApiError> CountUnfinished(
      const ResourceType& runs, const std::string& ns,
      const std::function<bool(const ObjectMeta&)>& wanted, const Patience& patience);
  Result<bool, ApiError> HasRun(const KubeObject& object, const ResourceType& runs,
                                const Patience& patience);
  Result<bool, ApiError> MayComeBack(const KubeObject& object, const Patience& patience);

  KubeClient& client_;
  Discovery& discovery_;
};

// Whether it has desired replicas, and is neither suspended nor completed.
bool WantsToRun(const OwnerFields& fields);

}  // namespace cluster_watcher

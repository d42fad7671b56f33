// Finds out the state of the owner. It is absent only on positive evidence; anything less than
// certain is unknown.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "probes/kube/discovery.h"
#include "probes/kube/kube_client.h"
#include "probes/owner_kind_search.h"
#include "probes/owner_reader.h"
#include "probes/owner_sight.h"

namespace cluster_watcher {

class OwnerProbe {
 public:
  OwnerProbe(KubeClient& client, Discovery& discovery)
      : client_(client), discovery_(discovery), reader_(client, discovery), kinds_(discovery) {}

  // A glance at a recorded owner takes one request, and further ones if kinds must be discovered or
  // the owner is absent; a sure look takes some more if it isn't active.
  OwnerSight Look(const OwnerQuery& query, Freshness freshness, const Patience& patience);

  // Returns the name of something that runs of the owner that `sight` has found, also if it is
  // active, "pod/bob-1"; empty if nothing does. Pods of `query.cluster` don't count.
  Result<std::string, ApiError> FindRunning(const OwnerQuery& query, const OwnerSight& sight,
                                            const Patience& patience);

 private:
  void NoteOthers(std::vector<ResourceType> types, const ResourceType& recorded,
                  const OwnerQuery& query, OwnerSight& sight, const Patience& patience);
  OwnerSight LookAsGiven(const OwnerQuery& query, const OwnerSight& recorded,
                         const Patience& patience);
  OwnerSight LookAs(const std::vector<ResourceType>& types, const OwnerQuery& query,
                    Freshness freshness, const Patience& patience);
  // Costs the API server two thirds of a list. Returns nullopt where only a list says more: the
  // object isn't there, or isn't served to this account.
  std::optional<OwnerSight> GlanceAtObject(const ResourceType& type, const OwnerQuery& query,
                                           const Patience& patience);
  // Returns nullopt if there is no such object, and adds the evidence to `absence`.
  Result<std::optional<OwnerSight>, ApiError> ReadByName(const ResourceType& type,
                                                         const OwnerQuery& query, ApiResult listed,
                                                         Freshness freshness,
                                                         std::vector<Evidence>& absence,
                                                         const Patience& patience);
  // Reads what `answer` shows with `item`, which is the evidence.
  OwnerSight SightOf(const ResourceType& type, const OwnerQuery& query, const ApiAnswer& answer,
                     JsonValue item, Freshness freshness, const Patience& patience);
  OwnerSight Found(const ResourceType& type, const OwnerQuery& query, JsonValue item,
                   Freshness freshness, const Patience& patience);
  OwnerSight FollowController(const KubeObject& object, const OwnerQuery& query,
                              Freshness freshness, const Patience& patience);
  // Looks for what still runs of the owner that `sight` shows, or that one of these kinds was.
  void NoteRunning(const std::vector<ResourceType>& types, const OwnerQuery& query,
                   OwnerSight& sight, const Patience& patience);
  void ConfirmAbsence(const std::vector<ResourceType>& types, const OwnerQuery& query,
                      OwnerSight& sight, const Patience& patience);

  KubeClient& client_;
  Discovery& discovery_;
  OwnerReader reader_;
  OwnerKindSearch kinds_;
  int lists_at_once_ = 0;  // how many more glances ask for a list without trying the object
};

}  // namespace cluster_watcher

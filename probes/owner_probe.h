// The owner's observation: what one poll established about it. Absent takes positive evidence;
// whatever is less than certain is unknown.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "probes/discovery.h"
#include "probes/kube_client.h"
#include "probes/owner_kinds.h"
#include "probes/owner_name.h"

namespace cluster_watcher {

enum class Observation {
  kActive,
  kScaledToZero,
  kAbsent,
  kReplaced,
  kDeleting,
  kCompleted,
  kUnknown,
};
const char* ToString(Observation observation);  // "scaled-to-zero", as in metric labels

// The owner as it was last seen. What is recorded of it in the cluster survives a restart.
struct RecordedOwner {
  ResourceType type;
  std::string ns;
  std::string name;
  std::string uid;
  std::optional<std::chrono::seconds> termination_grace;
  std::string pod_selector;

  bool operator==(const RecordedOwner&) const = default;
};

struct OwnerQuery {
  OwnerName name;
  std::string only_kind;  // the one kind that a bare name is looked for as; empty: all of them
  std::string ns;
  std::string home_ns;                    // the watcher's own, which exists
  std::optional<RecordedOwner> recorded;  // of this very name and namespace
};

struct OwnerSight {
  Observation observation = Observation::kUnknown;
  std::string detail;  // for people: the evidence, or why it is unknown

  // The kind can't be the owner's, which no later poll mends: not served, or not one that can be
  // judged. Empty: it can.
  std::string kind_problem;

  // Of the object that was found; nullopt: none was.
  std::optional<KubeObject> object;
  OwnerFields fields;

  // Of an absent owner that was seen before: the pods that match its selector and aren't
  // terminating or finished.
  std::size_t running_pods = 0;
};

class OwnerProbe {
 public:
  OwnerProbe(KubeClient& client, Discovery& discovery) : client_(client), discovery_(discovery) {}

  // One request for a glance at a recorded owner; more where kinds have to be found, or where the
  // owner is absent.
  OwnerSight Look(const OwnerQuery& query, Freshness freshness, std::stop_token stop);

 private:
  // The kinds to look for it as; empty, with `sight` saying why, where there are none.
  std::vector<ResourceType> Candidates(const OwnerQuery& query, OwnerSight& sight,
                                       std::stop_token stop);
  OwnerSight LookAs(const std::vector<ResourceType>& types, const OwnerQuery& query,
                    Freshness freshness, std::stop_token stop);
  Result<std::optional<OwnerSight>, ApiError> ReadByName(const ResourceType& type,
                                                         const OwnerQuery& query, ApiResult listed,
                                                         std::stop_token stop);
  void ConfirmAbsence(const OwnerQuery& query, OwnerSight& sight, std::stop_token stop);
  void CountRunningPods(const RecordedOwner& recorded, OwnerSight& sight, std::stop_token stop);

  KubeClient& client_;
  Discovery& discovery_;
};

}  // namespace cluster_watcher

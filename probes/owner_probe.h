// The owner's observation: what one poll established about it. Absent takes positive evidence;
// whatever is less than certain is unknown.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "probes/field_path.h"
#include "probes/kube/discovery.h"
#include "probes/kube/kube_client.h"
#include "probes/owner_name.h"
#include "probes/owner_reader.h"

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
  std::string kind;  // "deployment.apps", as ResourceType::SingularName
  std::string ns;
  std::string name;
  std::string uid;
  std::optional<std::chrono::seconds> termination_grace;
  std::string pod_selector;
  std::string given;  // how it was given, "pod/bob-1", where that stands for it; else empty

  std::string ToText() const { return kind + "/" + name; }
  // Whether it was recorded for an owner that is given so.
  bool IsFor(const OwnerName& owner, const std::string& owner_ns) const;
  bool operator==(const RecordedOwner&) const = default;
};

struct OwnerQuery {
  OwnerName name;
  std::string only_kind;  // the one kind that a bare name is looked for as; empty: all of them
  std::string ns;
  std::string home_ns;                          // the watcher's own, which exists
  std::optional<RecordedOwner> recorded;        // what this very name and namespace stood for
  std::optional<CompletedWhen> completed_when;  // for custom resources
  // The label of the cluster's own pods, which are none of the owner's; may be empty.
  std::pair<std::string, std::string> cluster_label = {};
};

// An answer that an observation rests on.
struct Evidence {
  std::string kind;              // "Deployment", "DeploymentList", "Status"
  std::string finding;           // "found", "without items", "NotFound"
  std::string resource_version;  // of the object or the list; empty where the answer has none
  std::optional<WallTime> server_time;  // when it was given, by the API server's clock
};

struct OwnerSight {
  Observation observation = Observation::kUnknown;
  std::string detail;  // for people: what was seen, or why it is unknown
  std::vector<Evidence> evidence;

  // What no later poll mends: a kind that isn't served, is ambiguous or runs nothing, or
  // `completed_when` doesn't fit it. Empty: nothing.
  std::string setting_problem;

  // What was found, the owner itself: for a Pod or ReplicaSet what controls it. nullopt: nothing.
  std::optional<KubeObject> object;
  OwnerFields fields;

  // What was given is a Pod or a ReplicaSet, and the owner what controls it.
  bool followed_controller = false;
  bool is_of_recorded_kind = true;  // false: what was recorded is of another kind, and not counted

  // Of an absent owner that was seen before, and of one whose deletion orphans its pods: those that
  // match its selector and aren't terminating or finished; and its unfinished runs.
  std::size_t still_running = 0;
};

class OwnerProbe {
 public:
  OwnerProbe(KubeClient& client, Discovery& discovery)
      : client_(client), discovery_(discovery), reader_(client, discovery) {}

  // One request for a glance at a recorded owner, and one more for a scale subresource; more where
  // kinds have to be found, or where the owner is absent.
  OwnerSight Look(const OwnerQuery& query, Freshness freshness, const Patience& patience);

 private:
  // The kinds to look for it as; empty, with `sight` saying why, where there are none.
  std::vector<ResourceType> Candidates(const OwnerQuery& query, OwnerSight& sight,
                                       const Patience& patience);
  std::optional<ResourceType> NamedKind(const KindName& kind, const OwnerQuery& query,
                                        OwnerSight& sight, const Patience& patience);
  // What a kind's name without a group was found to mean, by this process or before it; nullptr:
  // nothing is known of it.
  Result<const ResourceType*, ApiError> KnownKind(const std::string& kind, const OwnerQuery& query,
                                                  const Patience& patience);
  OwnerSight LookAs(const std::vector<ResourceType>& types, const OwnerQuery& query,
                    Freshness freshness, const Patience& patience);
  // nullopt: there is none, on the evidence that is added.
  Result<std::optional<OwnerSight>, ApiError> ReadByName(const ResourceType& type,
                                                         const OwnerQuery& query, ApiResult listed,
                                                         Freshness freshness,
                                                         std::vector<Evidence>& absence,
                                                         const Patience& patience);
  OwnerSight Found(const ResourceType& type, const OwnerQuery& query, JsonValue item,
                   Freshness freshness, const Patience& patience);
  OwnerSight FollowController(const KubeObject& object, const OwnerQuery& query,
                              Freshness freshness, const Patience& patience);
  // What of an owner of this kind runs on, although it is gone or orphans it: pods that `selector`
  // finds, and its runs. `orphaning`: the UID of the owner that still is there.
  void CountRunning(const ResourceType& type, const OwnerQuery& query, const std::string& selector,
                    const std::string& orphaning, OwnerSight& sight, const Patience& patience);
  void ConfirmAbsence(const std::vector<ResourceType>& types, const OwnerQuery& query,
                      OwnerSight& sight, const Patience& patience);

  KubeClient& client_;
  Discovery& discovery_;
  OwnerReader reader_;
  struct Refusal {
    std::string why;
    int looks;  // for so many more it is believed
  };
  std::map<std::string, Refusal> refused_;     // names that meant nothing, or too much
  std::map<std::string, ResourceType> named_;  // kinds that were found by a name without a group
};

}  // namespace cluster_watcher

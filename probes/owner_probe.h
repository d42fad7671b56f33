// Finds out the state of the owner. It is absent only on positive evidence; anything less than
// certain is unknown.
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
// Whether an owner is over by it, as long as nothing of it runs.
bool IsOver(Observation observation);

// The owner as it was last seen. It is also written to the cluster, so that it survives a restart.
struct RecordedOwner {
  std::string kind;  // "deployment.apps", as ResourceType::SingularName
  std::string ns;
  std::string name;
  std::string uid;
  std::optional<std::chrono::seconds> termination_grace;
  std::string pod_selector;
  std::string given;  // "pod/bob-1", if the setting names an object that it controls; else empty
  // It was a member of the cluster or its master root, which is no driver's loss.
  bool is_member = false;

  std::string ToText() const { return kind + "/" + name; }
  // Whether this was recorded for an owner setting of `owner` in `owner_ns`.
  bool IsFor(const OwnerName& owner, const std::string& owner_ns) const;
  bool operator==(const RecordedOwner&) const = default;
};

struct OwnerQuery {
  OwnerName name;
  std::string only_kind;  // the kind that a bare name means; empty: any of BareNameTypes()
  std::string ns;
  std::string home_ns;                          // the watcher's own, so it is known to exist
  std::optional<RecordedOwner> recorded;        // what this name and namespace stood for before
  std::optional<CompletedWhen> completed_when;  // for custom resources
  ClusterOfPods cluster = {};                   // its own pods don't count as the owner's
};

// An answer of the API server that an observation rests on.
struct Evidence {
  std::string kind;                     // "Deployment", "DeploymentList", "Status"
  std::string finding;                  // "found", "without items", "NotFound"
  std::string resource_version;         // of the object or the list; empty if the answer has none
  std::optional<WallTime> server_time;  // of the answer, by the API server's clock
};

struct OwnerSight {
  Observation observation = Observation::kUnknown;
  std::string detail;                  // for people: what was seen, or why it is unknown
  std::optional<ApiError> error = {};  // why it is unknown, if a request for it failed
  std::vector<Evidence> evidence;

  // A mistake that polling again doesn't cure: the kind isn't served, is ambiguous or runs no
  // driver, or `completed_when` doesn't fit the owner. Empty if there is none.
  std::string setting_problem;

  // The owner that was found: for a Pod or ReplicaSet, its controller if it has one. nullopt if
  // none was found.
  std::optional<KubeObject> object;
  OwnerFields fields;

  // The setting names a Pod or a ReplicaSet, and the owner is its controller.
  bool followed_controller = false;
  bool is_of_recorded_kind = true;  // false: OwnerQuery::recorded is of another kind, and ignored

  // The pod or run that a sure look found still running of an owner that is over: absent, being
  // deleted, scaled to zero, suspended or completed. "pod/bob-1", "job.batch/bob-7". Empty:
  // nothing, or it wasn't looked for.
  std::string still_running;
};

class OwnerProbe {
 public:
  OwnerProbe(KubeClient& client, Discovery& discovery)
      : client_(client), discovery_(discovery), reader_(client, discovery) {}

  // A glance at a recorded owner takes one request, and further ones if kinds must be discovered or
  // the owner is absent; a sure look takes some more if it isn't active.
  OwnerSight Look(const OwnerQuery& query, Freshness freshness, const Patience& patience);

  // Returns the name of something that runs of the owner that `sight` has found, also if it is
  // active, "pod/bob-1"; empty if nothing does. Pods of `query.cluster` don't count.
  Result<std::string, ApiError> FindRunning(const OwnerQuery& query, const OwnerSight& sight,
                                            const Patience& patience);

 private:
  // Returns the kinds that the owner may be of. If there are none, `sight` says why.
  std::vector<ResourceType> Candidates(const OwnerQuery& query, OwnerSight& sight,
                                       const Patience& patience);
  std::optional<ResourceType> NamedKind(const KindName& kind, const OwnerQuery& query,
                                        OwnerSight& sight, const Patience& patience);
  // Returns what a kind's name without a group meant so far, to this process or by the recorded
  // owner; nullptr if that isn't known.
  Result<const ResourceType*, ApiError> RecallKind(const std::string& kind, const OwnerQuery& query,
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
  int lists_at_once_ = 0;  // how many more glances ask for a list without trying the object
  struct FailedSearch {
    std::string why;
    int looks;  // how many more of them rely on it
  };
  std::map<std::string, FailedSearch> failed_;  // by kind name: unknown, ambiguous, or no driver
  std::map<std::string, ResourceType> named_;   // by kind name without a group
};

}  // namespace cluster_watcher

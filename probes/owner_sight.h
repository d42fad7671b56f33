// The state of an owner as it was read, and what that rests on.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "probes/field_path.h"
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
  std::string container = {};  // of a Pod: it has completed once this has; empty: as a whole
  ClusterOfPods cluster = {};  // its own pods don't count as the owner's
  bool is_behind = false;      // what is looked for controls what was named
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

// The sight says nothing about the owner: `why`, for people.
void SetUnknown(OwnerSight& sight, std::string why);
void SetUnknown(OwnerSight& sight, ApiError error);

}  // namespace cluster_watcher

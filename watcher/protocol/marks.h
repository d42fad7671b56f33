// The marks: annotations on the master root in which the protocol's state survives a crash. They
// count only while `root-uid` beside them is the object's own UID, since annotations travel:
// controllers copy them, rollbacks and exported manifests bring old ones back.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "probes/base/clock.h"
#include "probes/kube/object_meta.h"
#include "probes/owner_probe.h"

namespace cluster_watcher {

// Annotation keys; those in the first block are marks.
namespace annotation {
inline constexpr char kRootUid[] = "cluster-watcher/root-uid";
inline constexpr char kPhase[] = "cluster-watcher/phase";
inline constexpr char kReason[] = "cluster-watcher/reason";
inline constexpr char kCondemnedBy[] = "cluster-watcher/condemned-by";
inline constexpr char kDeletingSince[] = "cluster-watcher/deleting-since";
inline constexpr char kDeletesBegun[] = "cluster-watcher/deletes-begun";
inline constexpr char kStepsDone[] = "cluster-watcher/steps-done";
inline constexpr char kOwnerKind[] = "cluster-watcher/owner-kind";
inline constexpr char kOwnerName[] = "cluster-watcher/owner-name";
inline constexpr char kOwnerUid[] = "cluster-watcher/owner-uid";
inline constexpr char kOwnerGrace[] = "cluster-watcher/owner-grace";
inline constexpr char kOwnerSelector[] = "cluster-watcher/owner-selector";
inline constexpr char kOwnerGiven[] = "cluster-watcher/owner-given";
inline constexpr char kAppStatus[] = "cluster-watcher/app-status";

inline constexpr char kOwner[] = "cluster-watcher/owner";
inline constexpr char kHoldUntil[] = "cluster-watcher/hold-until";
inline constexpr char kKeep[] = "cluster-watcher/keep";
inline constexpr char kStatus[] = "cluster-watcher/status";
inline constexpr char kBeforeDelete[] = "cluster-watcher/before-delete";
inline constexpr char kAfterDelete[] = "cluster-watcher/after-delete";
inline constexpr char kDeleteOrder[] = "cluster-watcher/delete-order";
inline constexpr char kCollectAfter[] = "cluster-watcher/collect-after";
inline constexpr char kCollectOf[] = "cluster-watcher/collect-of";
inline constexpr char kInject[] = "cluster-watcher/inject";

inline constexpr char kPrefix[] = "cluster-watcher/";
// Whether it is one of these.
bool IsKnown(std::string_view key);
}  // namespace annotation

enum class Phase { kWatching, kCondemned, kDeleting, kDone };
const char* ToString(Phase phase);  // "watching"

struct Marks {
  Phase phase = Phase::kWatching;  // as written: watching where there is no phase
  std::string reason;
  std::string condemned_by;  // "POD/UID"
  std::optional<WallTime> deleting_since;
  bool deletes_begun = false;
  std::set<std::string> steps_done;  // "before-delete/drain"
  std::optional<RecordedOwner> owner;
  std::optional<std::string> app_status;
};

// The marks that count on `root`; none of another object's.
Marks ReadMarks(const ObjectMeta& root);

// Whether `root` carries marks that aren't its own.
bool HasForeignMarks(const ObjectMeta& root);

// Annotations to set, and with nullopt to take off.
using AnnotationChanges = std::map<std::string, std::optional<std::string>>;

AnnotationChanges OwnerMarks(const RecordedOwner& owner);
AnnotationChanges WithoutProtocolMarks();  // phase, reason, condemned-by and what follows them

// The mark of the steps that needn't be run again.
std::string StepsMark(const std::set<std::string>& done);

// A claim that is left to `sweep`: not before `after`, and only while no root carries the label of
// `cluster` ("oshinko-cluster=bob"). Counts only beside the claim's own UID, as every mark.
AnnotationChanges CollectMarks(WallTime after, const std::string& cluster);
// Whether it is left at least until then.
bool IsCollected(const ObjectMeta& claim, WallTime after);

// A JSON merge patch of `root`'s annotations that holds only for the resourceVersion in `root`.
// Marks that aren't its own are taken off, its UID is written beside what is set.
std::string MarksPatch(const ObjectMeta& root, AnnotationChanges changes);

// RFC 3339 in UTC, to the second: "2026-12-24T18:00:00Z".
std::string FormatTime(WallTime time);
// RFC 3339 with any zone and fraction; nullopt: it isn't.
std::optional<WallTime> ParseTime(std::string_view text);

}  // namespace cluster_watcher

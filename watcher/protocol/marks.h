// The marks: annotations on the master root in which the state of the protocol survives a crash.
// They count only while `root-uid` beside them is the object's own UID, because annotations travel:
// controllers copy them, rollbacks and exported manifests bring old ones back.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "probes/base/clock.h"
#include "probes/cluster_probe.h"
#include "probes/kube/object_meta.h"
#include "probes/owner_probe.h"
#include "watcher/protocol/annotations.h"

namespace cluster_watcher {

enum class Phase { kWatching, kCondemned, kDeleting, kDone };
const char* ToString(Phase phase);  // "watching"

// The one who condemned a cluster: the pod that a watcher runs in, or a command ("cli/RANDOM").
struct WatcherId {
  std::string pod;
  std::string uid;

  static WatcherId Parse(std::string_view text);  // "POD/UID"; a text without a slash has no UID
  std::string ToText() const;                     // "POD/UID"
  bool IsPod() const { return !pod.empty() && !uid.empty() && pod != "cli"; }
  bool operator==(const WatcherId&) const = default;
};

struct Marks {
  Phase phase = Phase::kWatching;  // as written: watching where there is no phase
  std::string reason;
  WatcherId condemned_by;
  std::optional<WallTime> deleting_since;
  std::set<std::string> steps_done;  // "before-delete/drain"
  std::optional<WallTime> abandoned_since;
  std::optional<RecordedOwner> owner;
};

// The marks that count on `root`; none of another object's.
Marks ReadMarks(const ObjectMeta& root);

// Whether `root` carries marks that count for nobody: another object's.
bool HasVoidMarks(const ObjectMeta& root);

// Whether an annotation is a mark on a master root.
bool IsMark(std::string_view key);

// Annotations to set, or with nullopt to take off.
using AnnotationChanges = std::map<std::string, std::optional<std::string>>;

// The mark `recorded-owner`: {"kind":"deployment.apps","namespace":"lab","name":"bob","uid":"…",
// "grace":"30s","selector":"app=bob","given":"pod/bob-1"}; the last three only where they are
// known.
AnnotationChanges OwnerMarks(const RecordedOwner& owner);
AnnotationChanges WithoutProtocolMarks();  // takes off the phase, the reason, who condemned it etc.

// The value of the mark `steps-done`: a JSON list.
std::string StepsMark(const std::set<std::string>& done);

// Marks a claim for `sweep`, which leaves it until `after`, and as long as a root of `cluster` is
// there. They count only beside the claim's own UID, as every mark.
AnnotationChanges CollectMarks(WallTime after, const ClusterId& cluster);
// The cluster that a claim is so marked for: "oshinko-cluster=bob"; "" if that isn't said.
std::string CollectedOf(const ObjectMeta& claim);
// Takes them off.
AnnotationChanges WithoutCollectMarks();
// Whether the claim is left to a sweep, whenever that is.
bool IsMarkedForCollection(const ObjectMeta& claim);
// Whether the claim is left at least until `after`.
bool IsCollected(const ObjectMeta& claim, WallTime after);

// A JSON merge patch of `root`'s annotations that holds only for the resourceVersion in `root`. It
// takes off void marks, and writes the UID beside what it sets.
std::string MarksPatch(const ObjectMeta& root, AnnotationChanges changes);
// `root` as that patch leaves it, if nobody adds anything.
ObjectMeta WithMarks(ObjectMeta root, AnnotationChanges changes);

}  // namespace cluster_watcher

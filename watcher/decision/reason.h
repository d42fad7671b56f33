// The reasons of verdicts, and all that depends on a reason alone: one table, in reason.cc.
#pragma once

#include <string>

namespace cluster_watcher {

enum class Reason {
  // keep
  kMisconfigured,
  kShared,
  kOwnerMismatch,
  kHeld,
  kUnknown,
  kAmbiguous,
  kDriverRunning,
  kOwnerAdopted,
  kSharedByReplicas,
  kActive,
  kInUse,
  // abandoned
  kOwnerAbsent,
  kOwnerDeleting,
  kScaledToZero,
  kCompleted,
  kAsked,  // no rule gives it: a person asked for the deletion, whatever the rules say
};

// Why a deletion that was due is held back, in the words of cluster_watcher_refusals_total.
enum class Refusal {
  kHold,
  kConflict,
  kOwnerBack,
  kUnknown,
  kInUse,
  kAmbiguous,
  kDriverRunning,
  kUidChanged,
};

const char* ToString(Reason reason);    // "owner-absent"
const char* ToString(Refusal refusal);  // "owner-back"

bool IsAbandoned(Reason reason);
// Whether the verdict is likely to last, and needn't be made again at each poll.
bool IsLasting(Reason reason);
// Whether it leaves no doubt about who the owner is and whose the root.
bool IsSureOfOwner(Reason reason);
// Whether the cluster is as it should be, so that nobody needs to know.
bool IsAsItShouldBe(Reason reason);
// Counts a due deletion as refused so if this verdict comes instead; an abandoned one, about
// another owner, as owner-back.
Refusal RefusalOf(Reason reason);
// Says what would change the verdict, for people.
const char* RemedyFor(Reason reason);

}  // namespace cluster_watcher

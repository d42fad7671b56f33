// Why a deletion that was due is held back, in the words of cluster_watcher_refusals_total.
#pragma once

#include "watcher/decision/rules.h"

namespace cluster_watcher {

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
const char* ToString(Refusal refusal);  // "owner-back"

// The refusal that a keeping verdict is. One that abandons is another owner's.
Refusal RefusalOf(Reason reason);

}  // namespace cluster_watcher

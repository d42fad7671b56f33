#include "watcher/decision/refusal.h"

namespace cluster_watcher {

const char* ToString(Refusal refusal) {
  switch (refusal) {
    case Refusal::kHold:
      return "hold";
    case Refusal::kConflict:
      return "conflict";
    case Refusal::kOwnerBack:
      return "owner-back";
    case Refusal::kUnknown:
      return "unknown";
    case Refusal::kInUse:
      return "in-use";
    case Refusal::kAmbiguous:
      return "ambiguous";
    case Refusal::kDriverRunning:
      return "driver-running";
    case Refusal::kUidChanged:
      return "uid-changed";
  }
  return "unknown";
}

Refusal RefusalOf(Reason reason) {
  switch (reason) {
    case Reason::kHeld:
      return Refusal::kHold;
    case Reason::kInUse:
      return Refusal::kInUse;
    case Reason::kAmbiguous:
      return Refusal::kAmbiguous;
    case Reason::kDriverRunning:
      return Refusal::kDriverRunning;
    case Reason::kUnknown:
    case Reason::kMisconfigured:
    case Reason::kShared:
    case Reason::kOwnerMismatch:
      return Refusal::kUnknown;
    case Reason::kOwnerAdopted:
    case Reason::kSharedByReplicas:
    case Reason::kActive:
    case Reason::kOwnerAbsent:
    case Reason::kOwnerDeleting:
    case Reason::kScaledToZero:
    case Reason::kCompleted:
    case Reason::kAsked:
      return Refusal::kOwnerBack;
  }
  return Refusal::kUnknown;
}

}  // namespace cluster_watcher

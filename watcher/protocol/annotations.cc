#include "watcher/protocol/annotations.h"

#include <algorithm>
#include <iterator>

namespace cluster_watcher {

bool annotation::IsKnown(std::string_view key) {
  static constexpr const char* kAll[] = {
      kRootUid,      kPhase,         kReason,        kCondemnedBy,    kDeletingSince, kDeletesBegun,
      kFirstDeletes, kStepsDone,     kRecordedOwner, kOwnerKind,      kOwnerName,     kOwnerUid,
      kOwnerGrace,   kOwnerSelector, kOwnerGiven,    kAbandonedSince, kAppStatus,     kOwner,
      kHoldUntil,    kKeep,          kStatus,        kBeforeDelete,   kAfterDelete,   kDeleteOrder,
      kCollectAfter, kCollectOf,     kInject};
  return std::any_of(std::begin(kAll), std::end(kAll),
                     [key](const char* known) { return key == known; });
}

}  // namespace cluster_watcher

#include "watcher/protocol/annotations.h"

namespace cluster_watcher {

std::span<const char* const> annotation::All() {
  static constexpr const char* kAll[] = {kRootUid,
                                         kPhase,
                                         kReason,
                                         kCondemnedBy,
                                         kDeletingSince,
                                         kStepsDone,
                                         kRecordedOwner,
                                         kAbandonedSince,
                                         kOwner,
                                         kHoldUntil,
                                         kHoldReason,
                                         kKeep,
                                         kStatus,
                                         kBeforeDelete,
                                         kAfterDelete,
                                         kDeleteOrder,
                                         kCollectAfter,
                                         kCollectOf,
                                         kInject,
                                         kSidecarCpuRequest,
                                         kSidecarCpuLimit,
                                         kSidecarMemoryRequest,
                                         kSidecarMemoryLimit};
  return kAll;
}

std::optional<std::string> annotation::TooLong(std::string_view value, std::size_t most) {
  if (value.size() <= most) return std::nullopt;
  return "its value has " + std::to_string(value.size()) + " bytes, and at most " +
         std::to_string(most) + " are read: shorten it, or take it off";
}

}  // namespace cluster_watcher

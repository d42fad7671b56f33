// The annotations that cluster-watcher reads and writes, settings aside (settings/settings.h).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace cluster_watcher {

// Those in the first block are marks on the master root (marks.h).
namespace annotation {
inline constexpr char kRootUid[] = "cluster-watcher/root-uid";
inline constexpr char kPhase[] = "cluster-watcher/phase";
inline constexpr char kReason[] = "cluster-watcher/reason";
inline constexpr char kCondemnedBy[] = "cluster-watcher/condemned-by";
inline constexpr char kDeletingSince[] = "cluster-watcher/deleting-since";
inline constexpr char kStepsDone[] = "cluster-watcher/steps-done";
inline constexpr char kAbandonedSince[] = "cluster-watcher/abandoned-since";
inline constexpr char kRecordedOwner[] = "cluster-watcher/recorded-owner";

inline constexpr char kOwner[] = "cluster-watcher/owner";
inline constexpr char kHoldUntil[] = "cluster-watcher/hold-until";
inline constexpr char kHoldReason[] = "cluster-watcher/hold-reason";
inline constexpr char kKeep[] = "cluster-watcher/keep";
inline constexpr char kStatus[] = "cluster-watcher/status";
inline constexpr char kBeforeDelete[] = "cluster-watcher/before-delete";
inline constexpr char kAfterDelete[] = "cluster-watcher/after-delete";
inline constexpr char kDeleteOrder[] = "cluster-watcher/delete-order";
inline constexpr char kCollectAfter[] = "cluster-watcher/collect-after";
inline constexpr char kCollectOf[] = "cluster-watcher/collect-of";
inline constexpr char kInject[] = "cluster-watcher/inject";
inline constexpr char kSidecarCpuRequest[] = "cluster-watcher/sidecar-cpu-request";
inline constexpr char kSidecarCpuLimit[] = "cluster-watcher/sidecar-cpu-limit";
inline constexpr char kSidecarMemoryRequest[] = "cluster-watcher/sidecar-memory-request";
inline constexpr char kSidecarMemoryLimit[] = "cluster-watcher/sidecar-memory-limit";

inline constexpr char kPrefix[] = "cluster-watcher/";
// All of them.
std::span<const char* const> All();

// How many bytes of a value that people write are parsed. Marks, which watchers write, may be
// larger.
inline constexpr std::size_t kLongestValue = 4096;
inline constexpr std::size_t kLongestSteps = std::size_t{64} << 10;
// Says that the value is too long to be parsed; nullopt if it isn't.
std::optional<std::string> TooLong(std::string_view value, std::size_t most = kLongestValue);
}  // namespace annotation

}  // namespace cluster_watcher

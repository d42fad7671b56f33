// Oshinko's labels, and those of ours that stand on clusters and drivers of all frameworks.
#pragma once

namespace cluster_watcher {

inline constexpr char kDefaultClusterLabel[] = "oshinko-cluster";
inline constexpr char kTypeLabel[] = "oshinko-type";
inline constexpr char kMasterType[] = "master";
inline constexpr char kWorkerType[] = "worker";
inline constexpr char kEphemeralLabel[] = "ephemeral";
inline constexpr char kUsesClusterLabel[] = "uses-oshinko-cluster";

}  // namespace cluster_watcher

// The value that a watcher's page for people shows: what its metrics say, and the words for it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cluster_watcher {

// The words for what a poll came to, which no metric has.
struct VerdictWords {
  std::string ns;         // the cluster's
  std::string why;        // empty: there was no poll yet
  std::string remedy;     // what would change the verdict
  std::string hold;       // the command that keeps the cluster; empty: no deletion is due
  int confirmations = 0;  // as many as a deletion takes
};

struct WatcherStatus {
  using WallTime = std::chrono::system_clock::time_point;

  // Set by SetCluster; empty until they are known.
  std::string cluster;
  std::string owner;
  std::string owner_namespace;
  VerdictWords words;
  std::vector<std::string> missing_permissions;  // "list deployments"

  std::string verdict;
  std::string reason;
  std::string phase;
  int confirmations = 0;
  std::optional<WallTime> last_look;  // that was definite
  std::optional<WallTime> abandoned_since;
  std::optional<WallTime> deletion_due;
  std::optional<WallTime> deletion_deadline;
  std::chrono::duration<double> deletion_took{0};
  std::int64_t members_found = 0;
  std::int64_t members_remaining = 0;
  bool dry_run = false;
};

}  // namespace cluster_watcher

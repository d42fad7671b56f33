// One pass over the clusters that no watcher sees to: their master pod can't run or is gone, or it
// is older than the injection. Those that are abandoned are deleted, and claims whose time is over
// that were left to a sweep.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "watcher/driver/driver_tools.h"
#include "watcher/sweep/swept_cluster.h"

namespace cluster_watcher {

struct SweepProgress {
  std::size_t clusters = 0;                 // that there are
  std::size_t watched = 0;                  // that are left to their own watcher
  std::size_t settled = 0;                  // of the others
  std::size_t deleted = 0;                  // of them; in a dry run, that would be
  std::size_t failed = 0;                   // of them
  std::size_t claims = 0;                   // that were deleted, or would be
  std::map<std::string, std::size_t> kept;  // clusters by reason, "active"
};

struct SweepRequest {
  std::string ns;  // empty: all namespaces
  WatcherId me;
  // In whose words there may be clusters. How a first glance at them reads: from lists, which are
  // read once (CachedLists).
  struct Words {
    SharedProfile profile;
    const DriverTools& glance;
  };
  std::vector<Words> words;
};

struct SweepListener {
  // The end of a cluster or a claim: "lab", "cluster spark".
  std::function<void(const std::string& ns, const std::string& what, const Swept& swept)> told;
  std::function<void(const SweepProgress& progress)> moved;
};

// Fails if it can't be told which clusters there are. `sweep.driver.stop` is heeded, but a deletion
// that was begun goes on until it is done. With the setting dry-run nothing is written.
Result<SweepProgress, ApiError> Sweep(const SweepTools& sweep, const SweepRequest& request,
                                      const SweepListener& listener);

}  // namespace cluster_watcher

// Prepares a driver's program to run: its cluster, by name, ready and claimed.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "watcher/driver/cluster_file.h"
#include "watcher/driver/driver_tools.h"
#include "watcher/driver/outcome.h"
#include "watcher/protocol/marks.h"

namespace cluster_watcher {

// The application's cluster by name: the one that its owner is labelled to use; else the one whose
// master root names the owner, which may have lost the label with an earlier object of its name;
// else a new name, "cluster-bcdfgh". It is written on the owner, so that whoever comes next uses
// the same. Fails where the owner is absent or can't be read, or where several clusters name it.
// `profiles`: in whose words that may be. `lists` may answer from lists (CachedLists); no answer is
// older than the call.
struct NamedCluster {
  std::string name;
  std::string source;  // where the name comes from, for people
};
Result<NamedCluster, DriverOutcome> NameOfItsCluster(const DriverTools& tools,
                                                     const DriverTools& lists, const OwnerName& app,
                                                     const std::vector<SharedProfile>& profiles,
                                                     const std::string& ns);

struct DriverRun {
  ClusterId cluster;
  OwnerName app;  // a pod means its root
  // The file that the cluster is created of where there is none; nullopt: it isn't.
  std::optional<std::vector<ClusterObject>> objects;
  bool ephemeral = false;  // one that is created is the application's own
  Duration timeout{0};     // for a cluster that isn't ready
};

// The cluster that the application may use.
struct ReadyCluster {
  // The application as it was found: the pod that was named may end before its root does.
  OwnerName app;
  std::string app_uid;  // empty: there is no owner
  bool is_own = false;  // its end is the application's; else it is shared
  std::vector<std::string> warnings;
};

// Waits for the cluster or creates it, and claims it. An error is what `await` or `create` came to.
Result<ReadyCluster, DriverOutcome> MakeReady(const DriverTools& tools, const DriverRun& run);

}  // namespace cluster_watcher

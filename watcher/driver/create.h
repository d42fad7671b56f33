// Creates a cluster.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "watcher/driver/claim.h"
#include "watcher/driver/cluster_file.h"
#include "watcher/protocol/marks.h"

namespace cluster_watcher {

struct CreateOrder {
  ClusterId cluster;
  std::vector<ClusterObject> objects;  // as ReadClusterFile returns them
  std::optional<OwnerName> app;        // who uses it, and is labelled so
  bool ephemeral = false;              // it is the application's own; needs `app`
  WatcherId creator;                   // WhoActs: what others are told
  Duration timeout{0};
  std::function<void(const std::string&)> say;  // told of each object that is written, a line
};

// Creates the objects, the master root first. Until all are applied, the root is marked as being
// created, by whom: who comes second sees that, and where the first is gone it deletes what that
// one had made and begins anew. So it may end anywhere, and be called again.
//
// A cluster that was created whole and lacks something gets it; nothing of it is deleted.
//
// kDone: the cluster is created or completed, or was complete and the application may use it.
// kOthers: it is another application's, or the owner uses another cluster. kNotReady: somebody else
// creates it; or it is condemned or being deleted until the time is over. kUnknown: the owner or
// the cluster can't be read; nothing was written. kFailed: refused, or not all could be applied in
// time; the error says what to do. An owner that is definitely absent gets a shared cluster, with a
// warning.
DriverOutcome Create(const DriverTools& tools, const CreateOrder& order);

}  // namespace cluster_watcher

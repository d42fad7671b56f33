// Creates a cluster.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "watcher/driver/claim.h"
#include "watcher/driver/cluster_file.h"

namespace cluster_watcher {

struct CreateOrder {
  ClusterId cluster;
  std::vector<ClusterObject> objects;  // as ReadClusterFiles returns them
  std::optional<OwnerName> app;        // who uses it, and is labelled so
  bool ephemeral = false;              // it is the application's own; needs `app`
  Duration timeout{0};
  std::function<void(const std::string&)> say;         // told of each object that is made, a line
  std::function<void(const std::string&)> waits = {};  // told what is waited for; may be empty
};

// Makes the objects that aren't there, the master root first. Writes nothing that is there, and
// deletes nothing; so it may end anywhere, and saying it again makes the rest.
//
// kDone: the cluster is created or completed, or was complete and the application may use it.
// kFailed: somebody else's object has the name of one, or the API server refuses one; what was made
// stays. kOthers: it is another application's, or the owner uses another cluster. kNotReady, when
// the time is over: it is condemned or going, or somebody else makes or uses what isn't complete;
// and at once if it was deleted meanwhile: then the error names what is left. kUnknown: the owner
// or the cluster can't be read. An owner that is definitely absent gets a shared cluster, with a
// warning. The warnings of the API server are among those of the outcome.
DriverOutcome Create(const DriverTools& tools, const CreateOrder& order);

}  // namespace cluster_watcher

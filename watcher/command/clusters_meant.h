// The clusters that a command is about: by their names, by a selector, or all of the namespace.
#pragma once

#include <string>
#include <vector>

#include "watcher/command/command_line.h"
#include "watcher/command/driver_session.h"

namespace cluster_watcher {

// The request of --selector and --all.
struct Selection {
  bool is_asked = false;
  std::string selector;  // empty: all
};

Flag SelectorFlag();
Flag AllFlag();
// Adds to `errors` where names are given, too.
Selection ReadSelection(const Invocation& invocation, std::vector<std::string>& errors);

struct MeantCluster {
  Invocation invocation;
  std::optional<std::string> root_uid = {};  // as in DeleteRequest
};
// One for each cluster that is named; one without a cluster if none is.
std::vector<MeantCluster> OfEachCluster(const Invocation& invocation);
// The same for each that is selected in the namespace of `session`, sorted.
Result<std::vector<MeantCluster>, ApiError> OfEachSelected(DriverSession& session,
                                                           const Invocation& invocation,
                                                           const std::string& selector);

}  // namespace cluster_watcher

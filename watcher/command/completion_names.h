// Finds the names that shells complete.
#pragma once

#include <string>
#include <vector>

#include "watcher/command/completion.h"
#include "watcher/settings/settings.h"

namespace cluster_watcher {

// Sorted. Takes 300 ms at most: a person waits for it. What can't be found by then, for whatever
// reason, is left out. Clusters are found by their pods, workloads and Services alone.
std::vector<std::string> FindNames(NamesOfWhat what, const TextMap& flags,
                                   const Environment& environment);

}  // namespace cluster_watcher

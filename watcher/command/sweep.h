// `sweep`: deletes what no watcher sees to, of a namespace or of all.
#pragma once

#include <stop_token>
#include <string>

#include "probes/kube/api_server.h"
#include "watcher/command/command_line.h"
#include "watcher/command/commands.h"
#include "watcher/sweep/sweep.h"

namespace cluster_watcher {

// Returns the exit code.
int RunSweep(const Invocation& invocation, const Environment& environment, std::stop_token stop);

// "7 clusters: 3 deleted, 2 kept, 1 failed, 1 watched over; 1 claim deleted".
std::string SweepSummary(const SweepProgress& progress, bool dry_run);

CommandDescription DescribeSweep();

}  // namespace cluster_watcher

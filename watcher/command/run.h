// The command `run`: a driver's program with its cluster.
#pragma once

#include <set>

#include "probes/kube/api_server.h"
#include "watcher/command/command_line.h"
#include "watcher/command/commands.h"
#include "watcher/driver/signals.h"

namespace cluster_watcher {

// Returns the program's exit code, or 125 for its own failure before the program; 126, 127 and
// 128+n are as a shell's. `signals` holds kChildSignals; `descriptors`
// are those that the program inherits. REQUIRES: as RunChild (child_process.h).
int RunRun(const Invocation& invocation, const Environment& environment, SignalSource& signals,
           const std::set<int>& descriptors);

CommandDescription DescribeRun();

}  // namespace cluster_watcher

// What the program does with its arguments: reads them, and runs the command that they name.
#pragma once

#include <span>

#include "probes/kube/api_server.h"
#include "watcher/driver/signals.h"

namespace cluster_watcher {

// The first of `arguments` is the program's own name. Returns the exit code; SIGTERM and SIGINT end
// the commands that would go on for ever.
int Run(std::span<const char* const> arguments, const Environment& environment,
        SignalSource& signals);

}  // namespace cluster_watcher

// What the program does with its arguments: reads them, and runs the command that they name.
#pragma once

#include <span>
#include <stop_token>

#include "probes/kube/api_server.h"

namespace cluster_watcher {

// The first of `arguments` is the program's own name. Returns the exit code; `stop` ends the
// commands that would go on for ever.
int Run(std::span<const char* const> arguments, const Environment& environment,
        std::stop_token stop);

}  // namespace cluster_watcher

// Reads the program's arguments, and runs the command that they name.
#pragma once

#include <span>

#include "probes/kube/api_server.h"

namespace cluster_watcher {

// The first of `arguments` is the program's own name. Returns the exit code; SIGTERM and SIGINT end
// the commands that would go on for ever. REQUIRES: called in the main thread, the only one.
int Run(std::span<const char* const> arguments, const Environment& environment);

}  // namespace cluster_watcher

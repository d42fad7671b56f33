// The command `watch`: the sidecar, from its settings to its exit code.
#pragma once

#include <stop_token>

#include "watcher/command/command_line.h"

namespace cluster_watcher {

// Watches until told to stop or until the watcher's own pod is gone. 0; 2: the settings or the
// kubeconfig can't be used, which is said on stderr, or there is no such pod.
int RunWatch(const Invocation& invocation, const Environment& environment, std::stop_token stop);

}  // namespace cluster_watcher

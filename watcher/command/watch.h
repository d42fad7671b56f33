// The command `watch`: the sidecar, from its settings to its exit code.
#pragma once

#include <stop_token>

#include "probes/base/clock.h"
#include "watcher/command/command_line.h"
#include "watcher/command/commands.h"

namespace cluster_watcher {

// Watches until told to stop or until the watcher's own pod is gone. 0; 2: the settings or the
// kubeconfig can't be used, which is said on stderr, or there is no such pod. All but time-outs of
// requests goes by `clock`.
int RunWatch(const Invocation& invocation, const Environment& environment, Clock& clock,
             std::stop_token stop);

CommandDescription DescribeWatch();

}  // namespace cluster_watcher

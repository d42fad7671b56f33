// `cluster-watcher inject`: files in, standard output out.
#pragma once

#include "watcher/command/command_line.h"

namespace cluster_watcher {

// Returns the exit code: 0 done; 1 the manifests can't be read, or are refused; 2 settings.
int RunInject(const Invocation& invocation);

}  // namespace cluster_watcher

// `cluster-watcher inject`: reads files or standard input, writes standard output.
#pragma once

#include "watcher/command/command_line.h"
#include "watcher/command/commands.h"

namespace cluster_watcher {

// Returns the exit code: 0 if done, 1 if manifests can't be read or are refused, 2 for wrong
// settings.
int RunInject(const Invocation& invocation);

CommandDescription DescribeInject();

}  // namespace cluster_watcher

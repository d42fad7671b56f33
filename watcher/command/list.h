// The command `list`: the clusters as a table, or for programs.
#pragma once

#include <stop_token>

#include "watcher/command/command_line.h"
#include "watcher/command/commands.h"

namespace cluster_watcher {

// Lists them, again and again with `--watch`, until `stop`. Returns the exit code.
int RunList(const Invocation& invocation, const Environment& environment, std::stop_token stop);

CommandDescription DescribeList();

}  // namespace cluster_watcher

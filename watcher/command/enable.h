// The command `enable`: makes what a namespace needs.
#pragma once

#include <stop_token>

#include "watcher/command/command_line.h"
#include "watcher/command/commands.h"

namespace cluster_watcher {

int RunEnable(const Invocation& invocation, const Environment& environment, std::stop_token stop);

CommandDescription DescribeEnable();

}  // namespace cluster_watcher

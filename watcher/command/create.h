// The command `create`.
#pragma once

#include <stop_token>

#include "watcher/command/command_line.h"
#include "watcher/command/commands.h"

namespace cluster_watcher {

// Prints a line for each object that is written, then what it came to, and returns the exit code.
int RunCreate(const Invocation& invocation, const Environment& environment, std::stop_token stop);

CommandDescription DescribeCreate();

}  // namespace cluster_watcher

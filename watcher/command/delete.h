// The command `delete`.
#pragma once

#include <stop_token>

#include "watcher/command/command_line.h"
#include "watcher/command/commands.h"

namespace cluster_watcher {

// Prints what it came to, and returns the exit code.
int RunDelete(const Invocation& invocation, const Environment& environment, std::stop_token stop);

CommandDescription DescribeDelete();

}  // namespace cluster_watcher

// The commands `hold` and `unhold`.
#pragma once

#include <stop_token>

#include "watcher/command/command_line.h"
#include "watcher/command/commands.h"

namespace cluster_watcher {

// Each prints what it came to, and returns the exit code.
int RunHold(const Invocation& invocation, const Environment& environment, std::stop_token stop);
int RunUnhold(const Invocation& invocation, const Environment& environment, std::stop_token stop);

CommandDescription DescribeHold();
CommandDescription DescribeUnhold();

}  // namespace cluster_watcher

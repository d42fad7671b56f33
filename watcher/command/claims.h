// The commands `await`, `claim` and `release`.
#pragma once

#include <stop_token>

#include "watcher/command/command_line.h"
#include "watcher/command/commands.h"

namespace cluster_watcher {

// Each prints what it came to, and returns the exit code.
int RunAwait(const Invocation& invocation, const Environment& environment, std::stop_token stop);
int RunClaim(const Invocation& invocation, const Environment& environment, std::stop_token stop);
int RunRelease(const Invocation& invocation, const Environment& environment, std::stop_token stop);

CommandDescription DescribeAwait();
CommandDescription DescribeClaim();
CommandDescription DescribeRelease();

}  // namespace cluster_watcher

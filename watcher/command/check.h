// The command `check`: takes one sure look at a cluster and shows the outcome of each rule.
#pragma once

#include <stop_token>
#include <string>

#include "watcher/command/command_line.h"
#include "watcher/command/commands.h"
#include "watcher/decision/rules.h"
#include "watcher/observation/snapshot.h"

namespace cluster_watcher {

// The exit codes of `check`.
enum class CheckExit { kKeep = 0, kNoSuchCluster = 1, kNoTarget = 2, kAbandoned = 3, kUnknown = 4 };

struct CheckReport {
  std::string text;   // for stdout
  std::string error;  // for stderr; empty: none
  CheckExit exit = CheckExit::kUnknown;
};

// Describes `decision`, made on `snapshot` and other drivers, in the wanted format.
CheckReport Report(const Snapshot& snapshot, const Decision& decision,
                   const ResolvedSettings& settings, OutputFormat format);

// Looks once, prints the report and returns the exit code.
int RunCheck(const Invocation& invocation, const Environment& environment, std::stop_token stop);

CommandDescription DescribeCheck();

}  // namespace cluster_watcher

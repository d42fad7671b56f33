// `check`: one sure look at a cluster, and how each rule came out.
#pragma once

#include <string>

#include "watcher/command/command_line.h"
#include "watcher/observation/survey.h"

namespace cluster_watcher {

// What `check` exits with.
enum class CheckExit { kKeep = 0, kNoSuchCluster = 1, kNoTarget = 2, kAbandoned = 3, kUnknown = 4 };

struct CheckReport {
  std::string text;   // for stdout
  std::string error;  // for stderr; empty: none
  CheckExit exit = CheckExit::kUnknown;
};

CheckReport Report(const Snapshot& snapshot, const ResolvedSettings& settings, OutputFormat format);

}  // namespace cluster_watcher

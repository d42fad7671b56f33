// Reports errors on stderr before a command ends.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "probes/base/printable.h"

namespace cluster_watcher {

inline constexpr int kUsageExit = 2;  // wrong usage or settings

// Prints each error as a line on stderr, and returns `exit`.
inline int PrintErrors(const std::vector<std::string>& errors, int exit = kUsageExit) {
  for (const std::string& error : errors) {
    std::fprintf(stderr, "cluster-watcher: %s\n", Printable(error).c_str());
  }
  return exit;
}

}  // namespace cluster_watcher

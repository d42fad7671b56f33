// How a command says what is wrong before it ends.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

namespace cluster_watcher {

inline constexpr int kUsageExit = 2;  // wrong usage or settings

// Each a line on stderr; `exit` is handed back.
inline int PrintErrors(const std::vector<std::string>& errors, int exit = kUsageExit) {
  for (const std::string& error : errors) {
    std::fprintf(stderr, "cluster-watcher: %s\n", error.c_str());
  }
  return exit;
}

}  // namespace cluster_watcher

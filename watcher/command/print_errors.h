// What commands print: texts on stdout, errors on stderr.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "probes/base/printable.h"

namespace cluster_watcher {

inline constexpr int kUsageExit = 2;  // wrong usage or settings
// Of `run`: its own failure before the program, wrong usage included.
inline constexpr int kRunFailedExit = 125;

// Prints `text` on stdout at once. What cannot be written, because nobody reads it any more, is
// lost: false then.
inline bool PrintText(const std::string& text) {
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() &&
         std::fflush(stdout) == 0;
}

// Prints each error as a line on stderr, and returns `exit`.
inline int PrintErrors(const std::vector<std::string>& errors, int exit = kUsageExit) {
  for (const std::string& error : errors) {
    std::fprintf(stderr, "cluster-watcher: %s\n", Printable(error).c_str());
  }
  return exit;
}

}  // namespace cluster_watcher

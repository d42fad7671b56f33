// Prints for commands: texts on stdout, errors on stderr.
#pragma once

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "probes/base/printable.h"
#include "watcher/command/commands.h"

namespace cluster_watcher {

inline constexpr int kUsageExit = 2;  // wrong usage or settings
// The exit code of `run` for its own failure before the program, wrong usage included.
inline constexpr int kRunFailedExit = 125;

// Prints `text` on stdout at once. False: it could not be written, which is told on stderr and
// leaves stdout in error, unless only nobody reads it any more.
inline bool PrintText(const std::string& text) {
  const bool is_written =
      std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (is_written) return true;
  const int error = errno;
  if (error == EPIPE) {
    std::clearerr(stdout);
  } else {
    std::fprintf(stderr, "%s: standard output: %s\n", CalledAs().c_str(), std::strerror(error));
  }
  return false;
}

// Prints each error as a line on stderr, and returns `exit`.
inline int PrintErrors(const std::vector<std::string>& errors, int exit = kUsageExit) {
  for (const std::string& error : errors) {
    const std::string text = Printable(AsCalled(error));
    std::fprintf(stderr, "%s: %s\n", CalledAs().c_str(), text.c_str());
  }
  return exit;
}

}  // namespace cluster_watcher

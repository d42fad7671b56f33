// Runs a program to its end and returns what it wrote. No shell is involved.
#pragma once

#include <cstddef>
#include <map>
#include <stop_token>
#include <string>
#include <vector>

#include "probes/base/clock.h"
#include "probes/base/result.h"

namespace cluster_watcher {

struct Program {
  // The first is the program: a path if it contains a slash, else looked up in the directories of
  // PATH, of which only absolute ones count.
  std::vector<std::string> arguments;
  std::map<std::string, std::string> environment;  // added to ours, in place of the same names
  // Whether it gets our standard input, and stays in our process group, so that it may ask a person
  // at the terminal. Else its standard input is empty.
  bool interactive = false;
  Duration timeout{60'000};
  std::size_t output_limit = 1u << 20;  // in bytes
};

struct ProgramEnd {
  std::string output;  // its standard output
  int exit_code = 0;
  int signal = 0;  // that ended it; 0: none did, and exit_code counts
};

struct ProgramFailure {
  enum class Kind {
    kNotFound,       // there is no such program
    kNotStarted,     // it can't be executed
    kTimeout,        // it did not end in time
    kTooMuchOutput,  // more than output_limit
    kStopped,        // stop was requested first
  };
  Kind kind;
  std::string message;  // names the program: "/bin/a can't be executed: Permission denied"
};

// Starts the program and blocks until it has ended; what it has started itself may go on. Its
// standard error is ours. It inherits no other descriptor, and neither our blocked signals nor that
// we ignore SIGPIPE. Whatever fails, nothing is left of it: it gets SIGTERM, a second later
// SIGKILL, and so does its process group unless that is ours. Requires that nobody else waits for
// our children.
Result<ProgramEnd, ProgramFailure> RunProgram(const Program& program, std::stop_token stop = {});

}  // namespace cluster_watcher

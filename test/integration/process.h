// A child process, started with exactly the given environment. Its output goes to files, and it
// dies with the object at the latest.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "probes/base/clock.h"

namespace cluster_watcher::integration {

// How long what should happen is waited for, on a machine that others load.
inline constexpr Duration kPatience = std::chrono::minutes(3);

class Process {
 public:
  // `arguments` begins with the program's path; `environment` holds "NAME=value" entries. Fails the
  // test if the process can't be started.
  Process(const std::vector<std::string>& arguments, const std::vector<std::string>& environment,
          const std::string& stdout_file, const std::string& stderr_file);
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process();

  pid_t Pid() const { return pid_; }
  void Signal(int signal);
  // Returns the exit code, -SIGNAL if a signal ended it, or nullopt if it still runs.
  std::optional<int> WaitForExit(Duration timeout = kPatience);
  bool IsRunning() { return !WaitForExit(Duration(0)); }

 private:
  pid_t pid_ = -1;
  std::optional<int> exit_;
};

// This process's own environment.
std::vector<std::string> OwnEnvironment();

// Returns the file's content, or "" if it can't be read.
std::string ReadWhole(const std::string& file);
void WriteWhole(const std::string& file, const std::string& content);

}  // namespace cluster_watcher::integration

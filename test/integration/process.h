// A child process: started with exactly the environment that is given, its output in files, and
// dead at the latest when the object is.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "probes/base/clock.h"

namespace cluster_watcher::integration {

class Process {
 public:
  // `arguments` begins with the program's path; `environment` holds "NAME=value" entries. Fails the
  // test where it can't be started.
  Process(const std::vector<std::string>& arguments, const std::vector<std::string>& environment,
          const std::string& stdout_file, const std::string& stderr_file);
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process();

  pid_t Pid() const { return pid_; }
  void Signal(int signal);
  // Its exit code, or -SIGNAL where a signal ended it; nullopt: it still runs.
  std::optional<int> WaitForExit(Duration timeout);
  bool IsRunning() { return !WaitForExit(Duration(0)); }

 private:
  pid_t pid_ = -1;
  std::optional<int> exit_;
};

// This process's own environment.
std::vector<std::string> OwnEnvironment();

// The file's content; "" where it can't be read.
std::string ReadWhole(const std::string& file);
void WriteWhole(const std::string& file, const std::string& content);

}  // namespace cluster_watcher::integration

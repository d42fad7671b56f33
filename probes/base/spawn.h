// Starts a program as a child. No shell is involved.
#pragma once

#include <signal.h>
#include <spawn.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace cluster_watcher {

// A program, and how it differs from us: its signal mask is empty in any case.
struct Spawning {
  std::string file;  // looked up in PATH unless it contains a slash
  std::vector<std::string> arguments;
  std::map<std::string, std::string> environment;  // added to ours, in place of the same names
  sigset_t defaults;                               // the signals that have their default effect
  bool leads_group;                                // it has a process group of its own
  std::function<void(posix_spawn_file_actions_t*)> add_actions;  // of the child, before it begins
};

// Returns 0, or the errno of what failed, exec in the child included.
int Spawn(const Spawning& spawning, pid_t* child);

}  // namespace cluster_watcher

#include "watcher/driver/terminal.h"

#include <signal.h>
#include <unistd.h>

namespace cluster_watcher {

std::optional<pid_t> ForegroundGroup() {
  const pid_t group = tcgetpgrp(STDIN_FILENO);
  return group > 0 ? std::optional(group) : std::nullopt;
}

void MakeForeground(pid_t group) {
  sigset_t background_write;
  sigset_t before;
  sigemptyset(&background_write);
  sigaddset(&background_write, SIGTTOU);
  pthread_sigmask(SIG_BLOCK, &background_write, &before);
  tcsetpgrp(STDIN_FILENO, group);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace cluster_watcher

#include "watcher/driver/child_process.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "probes/base/spawn.h"
#include "watcher/driver/terminal.h"

namespace cluster_watcher {
namespace {

// Libraries open descriptors that a child would inherit, such as curl's connections.
void KeepDescriptorsFromChildren(const std::set<int>& inherited) {
  for (const int descriptor : InheritableDescriptors()) {
    if (descriptor <= STDERR_FILENO || inherited.contains(descriptor)) continue;
    fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  }
}

// Returns 0, or the errno of what failed.
int Start(const ChildCommand& command, bool in_foreground, pid_t* child) {
  const auto add_actions = [&](posix_spawn_file_actions_t* actions) {
    // The child does it itself: it could read before we had done it.
    if (in_foreground) posix_spawn_file_actions_addtcsetpgrp_np(actions, STDIN_FILENO);
  };
  Spawning spawning{command.argv[0], command.argv, command.environment, {}, true, add_actions};
  // sigfillset leaves out those that glibc has for itself, and posix_spawn has these ignored.
  std::memset(&spawning.defaults, 0xff, sizeof spawning.defaults);
  return Spawn(spawning, child);
}

std::string WhyNotStarted(const std::string& name, int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return "command " + name + " can't be run: it, or the interpreter that it names, " +
             (name.find('/') == std::string::npos
                  ? "is not in PATH; install it, or give its path"
                  : "doesn't exist; install it, or correct its path");
    case EACCES:
      return "command " + name +
             " can't be executed: permission denied; it must be a file, not a directory, that this "
             "user may execute, on a file system that isn't mounted noexec";
    case ENOEXEC:
      return "command " + name +
             " can't be executed: it is neither a program for this machine nor a script that "
             "begins with #!; run a script by its interpreter, as in: sh " +
             name;
    case E2BIG:
      return "command " + name +
             " can't be executed: its arguments and environment are too long; shorten them";
    default:
      return "command " + name + " can't be executed: " + std::generic_category().message(error);
  }
}

// Reaps the children of this thread that have ended, until there is none or the next is `but`.
// WNOWAIT shows whose turn it is. Linux before 4.7 refuses __WNOTHREAD here: orphans then stay
// zombies until we end.
void ReapOrphans(pid_t but = 0) {
  siginfo_t ended{};
  while (waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT | __WNOTHREAD) == 0 &&
         ended.si_pid != 0 && ended.si_pid != but) {
    waitpid(ended.si_pid, nullptr, WNOHANG);
    ended = {};
  }
}

// Watches over the child from its start until it is reaped.
class Supervisor {
 public:
  Supervisor(pid_t child, Duration stop_timeout, SignalSource& signals)
      : child_(child), stop_timeout_(stop_timeout), signals_(signals) {}

  ChildEnd Supervise() {
    while (!HasEnded()) {
      ReapOrphans(child_);
      if (TakeStop()) StopWithIt();
      if (const std::optional<int> signal = signals_.Take(deadline_)) {
        Forward(*signal);
      } else {
        Kill();
      }
    }
    // Until it is reaped its pid, which is also its group's, is nobody else's.
    while (const std::optional<int> signal = signals_.TakePending()) Forward(*signal);
    if (ForegroundGroup() == child_) MakeForeground(getpgrp());
    Reap();
    return end_;
  }

 private:
  bool HasEnded() const {
    siginfo_t info{};
    return waitid(P_PID, static_cast<id_t>(child_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
           info.si_pid != 0;
  }

  // Whether the child was stopped since this was last asked.
  bool TakeStop() {
    siginfo_t info{};
    return waitid(P_PID, static_cast<id_t>(child_), &info, WSTOPPED | WNOHANG) == 0 &&
           info.si_pid != 0;
  }

  void Reap() {
    siginfo_t info{};
    waitid(P_PID, static_cast<id_t>(child_), &info, WEXITED);
    const bool exited = info.si_code == CLD_EXITED;
    end_.exit_code = exited ? info.si_status : 128 + info.si_status;
    if (!exited) end_.killed_by = info.si_status;
  }

  void Forward(int signal) {
    if (signal == SIGCHLD) return;
    if (IsStop(signal) && !end_.stopped_by) {
      end_.stopped_by = signal;
      deadline_ = std::chrono::steady_clock::now() + stop_timeout_;
    }
    if (signal != SIGCONT) Send(signal);
    if (IsStop(signal) || signal == SIGCONT) Continue();
  }

  void Kill() {
    deadline_ = MonotonicTime::max();
    Send(SIGKILL);
  }

  void Send(int signal) const {
    kill(-child_, signal);
    // It may have left its group.
    if (getpgid(child_) != child_) kill(child_, signal);
  }

  // The shell that continues us after a stop may have put us into the foreground, or left us in the
  // background.
  void Continue() const {
    if (ForegroundGroup() == getpgrp()) MakeForeground(child_);
    Send(SIGCONT);
  }

  // The shell that started us knows our process group, and not the child's: only if ours is stopped
  // does it take the terminal.
  void StopWithIt() const {
    const std::optional<pid_t> foreground = ForegroundGroup();
    if (!foreground) return;
    if (*foreground == child_) MakeForeground(getpgrp());
    // This doesn't stop PID 1, nor a group that no shell could continue.
    kill(0, SIGTSTP);
    // A child in the background would read, and be stopped, again and again.
    if (*foreground == child_) Continue();
  }

  const pid_t child_;
  const Duration stop_timeout_;
  SignalSource& signals_;
  MonotonicTime deadline_ = MonotonicTime::max();
  ChildEnd end_;
};

}  // namespace

std::set<int> InheritableDescriptors() {
  std::set<int> descriptors;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", error)) {
    descriptors.insert(std::atoi(entry.path().filename().c_str()));
  }
  // Among them is the one that was open to list them.
  std::erase_if(descriptors, [](int descriptor) {
    const int flags = fcntl(descriptor, F_GETFD);
    return flags < 0 || (flags & FD_CLOEXEC) != 0;
  });
  return descriptors;
}

Result<ChildEnd, NotStarted> RunChild(const ChildCommand& command, SignalSource& signals) {
  signal(SIGCHLD, SIG_DFL);
  KeepDescriptorsFromChildren(command.descriptors);
  const bool in_foreground = ForegroundGroup() == getpgrp();
  pid_t child = 0;
  if (const int error = Start(command, in_foreground, &child); error != 0) {
    if (in_foreground) MakeForeground(getpgrp());
    const int exit_code = error == ENOENT || error == ENOTDIR ? 127 : 126;
    return Unexpected{NotStarted{exit_code, WhyNotStarted(command.argv[0], error)}};
  }
  return Supervisor(child, command.stop_timeout, signals).Supervise();
}

int AwaitStop(SignalSource& signals) {
  while (true) {
    ReapOrphans();
    const std::optional<int> signal = signals.Take(MonotonicTime::max());
    if (signal && IsStop(*signal)) return *signal;
  }
}

}  // namespace cluster_watcher

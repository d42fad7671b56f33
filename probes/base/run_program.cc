#include "probes/base/run_program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "probes/base/spawn.h"

namespace cluster_watcher {
namespace {

using std::chrono::steady_clock;
using Kind = ProgramFailure::Kind;

constexpr std::chrono::seconds kTimeToEnd{1};  // between SIGTERM and SIGKILL
// Bounds a wait whose wake-up there may be no descriptor for.
constexpr Duration kLongestPoll{1'000};
constexpr Duration kLongestPollWithoutPidfd{50};

Unexpected<ProgramFailure> Failed(Kind kind, std::string message) {
  return {ProgramFailure{kind, std::move(message)}};
}

std::string Text(int error) { return std::generic_category().message(error); }

class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor() { Close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int number() const { return number_; }
  void Close() {
    if (number_ >= 0) close(number_);
    number_ = -1;
  }

 private:
  int number_;
};

// --- Which file. ---

bool IsExecutableFile(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         access(path.c_str(), X_OK) == 0;
}

std::optional<std::string> FindInPath(const std::string& name) {
  const char* const path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const std::string_view directory = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(directory.size() + 1, rest.size()));
    // A program in the current directory may be anybody's.
    if (!directory.starts_with('/')) continue;
    std::string file = std::string(directory) + "/" + name;
    if (IsExecutableFile(file)) return file;
  }
  return std::nullopt;
}

Result<std::string, ProgramFailure> FindFile(const std::string& name) {
  if (name.find('/') == std::string::npos) {
    const std::optional<std::string> file = name.empty() ? std::nullopt : FindInPath(name);
    if (!file) return Failed(Kind::kNotFound, name + " is not in PATH");
    return *file;
  }
  if (access(name.c_str(), F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR)) {
    return Failed(Kind::kNotFound, name + " does not exist");
  }
  return name;
}

// --- The start. ---

Result<pid_t, ProgramFailure> Start(const Program& program, int output) {
  if (program.arguments.empty()) return Failed(Kind::kNotFound, "no program is named");
  const Result<std::string, ProgramFailure> file = FindFile(program.arguments.front());
  if (!file) return Unexpected{file.error()};
  const auto add_actions = [&](posix_spawn_file_actions_t* actions) {
    posix_spawn_file_actions_adddup2(actions, output, STDOUT_FILENO);
    if (!program.interactive) {
      posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    }
    // Libraries open descriptors that aren't closed in a child.
    posix_spawn_file_actions_addclosefrom_np(actions, STDERR_FILENO + 1);
  };
  Spawning spawning{*file, program.arguments,    program.environment,
                    {},    !program.interactive, add_actions};
  sigemptyset(&spawning.defaults);
  sigaddset(&spawning.defaults, SIGPIPE);
  pid_t child = -1;
  const int error = Spawn(spawning, &child);
  if (error == 0) return child;
  const std::string why = error == ENOENT    ? "the interpreter in its first line does not exist"
                          : error == ENOEXEC ? "it is neither a program of this machine nor a "
                                               "script whose first line names its interpreter"
                                             : Text(error);
  return Failed(Kind::kNotStarted, *file + " can't be executed: " + why);
}

// --- The end. ---

// Debian 12's <sys/pidfd.h> can't be used from C++.
int OpenPidfd(pid_t pid) { return static_cast<int>(syscall(SYS_pidfd_open, pid, 0)); }

// A started program. It has ended and is waited for when the object is gone.
class Child {
 public:
  Child(pid_t pid, bool leads_group)
      : pid_(pid), leads_group_(leads_group), pidfd_(OpenPidfd(pid)) {}
  ~Child() {
    if (pid_ < 0) return;
    Signal(SIGTERM);
    const auto deadline = steady_clock::now() + kTimeToEnd;
    while (!HasEnded() && steady_clock::now() < deadline) {
      pollfd end{pidfd(), POLLIN, 0};
      poll(&end, 1, static_cast<int>(LongestPoll().count()));
    }
    Signal(SIGKILL);
    Wait();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Its end makes this readable; -1 on kernels that don't have that.
  int pidfd() const { return pidfd_.number(); }
  Duration LongestPoll() const { return pidfd() < 0 ? kLongestPollWithoutPidfd : kLongestPoll; }

  // Until somebody waits for it its number, and that of its group, stay its own.
  bool HasEnded() const {
    siginfo_t end{};
    const int failed = waitid(P_PID, static_cast<id_t>(pid_), &end, WEXITED | WNOHANG | WNOWAIT);
    return failed != 0 ? errno != EINTR : end.si_pid == pid_;
  }

  // Returns its status, as waitpid does.
  int Wait() {
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return status;
  }

 private:
  void Signal(int signal) const { kill(leads_group_ ? -pid_ : pid_, signal); }

  pid_t pid_;
  const bool leads_group_;
  const Descriptor pidfd_;
};

// Becomes readable once stop is requested.
class StopEvent {
 public:
  explicit StopEvent(const std::stop_token& stop)
      : event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        callback_(stop, [this] { eventfd_write(event_.number(), 1); }) {}
  int number() const { return event_.number(); }

 private:
  const Descriptor event_;
  const std::stop_callback<std::function<void()>> callback_;
};

// Reads what is there without waiting, and a little more than `limit` at most. Returns false once
// nothing more can come.
bool ReadWhatIsThere(int file, std::string& text, std::size_t limit) {
  std::array<char, 16384> piece;
  while (text.size() <= limit) {
    const ssize_t count = read(file, piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno == EAGAIN;
    if (count == 0) return false;
    text.append(piece.data(), static_cast<std::size_t>(count));
  }
  return true;
}

Result<ProgramEnd, ProgramFailure> Follow(Child& child, int output, const Program& program,
                                          const std::stop_token& stop) {
  const std::string& name = program.arguments.front();
  const StopEvent stopped(stop);
  const auto deadline = steady_clock::now() + program.timeout;
  ProgramEnd end;
  bool open = true;
  while (true) {
    // Everything that it wrote before its end is there to be read after it. Its output may stay
    // open: whatever it has left behind has inherited it.
    const bool ended = child.HasEnded();
    if (open) open = ReadWhatIsThere(output, end.output, program.output_limit);
    if (end.output.size() > program.output_limit) {
      return Failed(Kind::kTooMuchOutput, name + " wrote more than the " +
                                              std::to_string(program.output_limit) +
                                              " bytes that are accepted");
    }
    if (ended) break;
    if (stop.stop_requested()) return Failed(Kind::kStopped, name + " was stopped before its end");
    const auto left = std::chrono::ceil<Duration>(deadline - steady_clock::now());
    if (left.count() <= 0) {
      const auto seconds = std::chrono::ceil<std::chrono::seconds>(program.timeout).count();
      return Failed(Kind::kTimeout,
                    name + " did not end within " + std::to_string(seconds) + " s, and was killed");
    }
    std::array<pollfd, 3> events{{{open ? output : -1, POLLIN, 0},
                                  {child.pidfd(), POLLIN, 0},
                                  {stopped.number(), POLLIN, 0}}};
    poll(events.data(), events.size(),
         static_cast<int>(std::min(left, child.LongestPoll()).count()));
  }
  const int status = child.Wait();
  if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  if (WIFEXITED(status)) end.exit_code = WEXITSTATUS(status);
  return end;
}

}  // namespace

Result<ProgramEnd, ProgramFailure> RunProgram(const Program& program, std::stop_token stop) {
  std::array<int, 2> pipe{};
  if (pipe2(pipe.data(), O_CLOEXEC) != 0) {
    return Failed(Kind::kNotStarted, "no pipe for a program's output: " + Text(errno));
  }
  const Descriptor output(pipe[0]);
  Descriptor input(pipe[1]);
  const Result<pid_t, ProgramFailure> pid = Start(program, input.number());
  if (!pid) return Unexpected{pid.error()};
  input.Close();
  fcntl(output.number(), F_SETFL, O_NONBLOCK);
  Child child(*pid, !program.interactive);
  return Follow(child, output.number(), program, stop);
}

}  // namespace cluster_watcher

#include "test/integration/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <thread>

namespace cluster_watcher::integration {
namespace {

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// Between fork and exec, a process with threads may only make safe calls.
[[noreturn]] void BecomeChild(char* const* arguments, char* const* environment, int out, int err,
                              pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  execve(arguments[0], arguments, environment);
  _exit(127);
}

int OpenForWriting(const std::string& file) {
  return open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

}  // namespace

Process::Process(const std::vector<std::string>& arguments,
                 const std::vector<std::string>& environment, const std::string& stdout_file,
                 const std::string& stderr_file) {
  const std::vector<char*> argument_pointers = Pointers(arguments);
  const std::vector<char*> environment_pointers = Pointers(environment);
  const int out = OpenForWriting(stdout_file);
  const int err = OpenForWriting(stderr_file);
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) {
    BecomeChild(argument_pointers.data(), environment_pointers.data(), out, err, parent);
  }
  if (pid_ < 0) ADD_FAILURE() << "cannot start " << arguments.front();
  close(out);
  close(err);
}

Process::~Process() {
  if (pid_ <= 0 || !IsRunning()) return;
  Signal(SIGKILL);
  WaitForExit(std::chrono::seconds(10));
}

void Process::Signal(int signal) {
  if (pid_ > 0 && !exit_) kill(pid_, signal);
}

std::optional<int> Process::WaitForExit(Duration timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (!exit_ && pid_ > 0) {
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) == pid_) {
      exit_ = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    } else if (std::chrono::steady_clock::now() >= deadline) {
      break;
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  return exit_;
}

std::vector<std::string> OwnEnvironment() {
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) environment.emplace_back(*entry);
  return environment;
}

std::string ReadWhole(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

// Renames a finished file, so that nobody reads half of it.
void WriteWhole(const std::string& file, const std::string& content) {
  const std::string next = file + ".next";
  std::ofstream(next, std::ios::binary) << content;
  EXPECT_EQ(rename(next.c_str(), file.c_str()), 0) << file;
}

}  // namespace cluster_watcher::integration

// Runs a command again and again, and prints for each run "ms most-KiB": the time from its exec,
// and the peak of its resident memory:
//
//   stopwatch RUNS UNTIL COMMAND...
//
// UNTIL: a text of its output; where that appears the clock stops, and the process is killed. ""
// waits for its end. Fails where a run fails, or ends without the text.
#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

extern char** environ;

namespace {

using Clock = std::chrono::steady_clock;

// Reads until the text is there, or the output ends.
bool Appears(int output, const std::string& text) {
  std::string seen;
  char buffer[4096];
  for (ssize_t size; (size = read(output, buffer, sizeof buffer)) > 0;) {
    seen.append(buffer, static_cast<std::size_t>(size));
    if (seen.find(text) != std::string::npos) return true;
  }
  std::fputs(seen.c_str(), stderr);
  return false;
}

bool Run(const std::string& until, char** command) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  if (!until.empty()) posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
  pid_t child = 0;
  const auto began = Clock::now();
  if (posix_spawnp(&child, command[0], &actions, nullptr, command, environ) != 0) return false;
  close(ends[1]);
  posix_spawn_file_actions_destroy(&actions);
  const bool appeared = !until.empty() && Appears(ends[0], until);
  auto ended = Clock::now();
  if (appeared) kill(child, SIGKILL);
  int status = 0;
  rusage used = {};
  if (wait4(child, &status, 0, &used) != child) return false;
  if (until.empty()) ended = Clock::now();
  close(ends[0]);
  std::printf("%.3f %ld\n", std::chrono::duration<double, std::milli>(ended - began).count(),
              used.ru_maxrss);
  return until.empty() ? WIFEXITED(status) && WEXITSTATUS(status) == 0 : appeared;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fputs("usage: stopwatch RUNS UNTIL COMMAND...\n", stderr);
    return 2;
  }
  for (int run = std::atoi(argv[1]); run > 0; --run) {
    if (Run(argv[2], argv + 3)) continue;
    std::fprintf(stderr, "stopwatch: %s failed\n", argv[3]);
    return 1;
  }
}

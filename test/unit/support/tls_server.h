// A TLS server on the loopback.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

namespace cluster_watcher {

// Runs `openssl s_server` on a free port of the loopback.
class TlsServer {
 public:
  explicit TlsServer(std::vector<std::string> arguments, const std::string& input = "") {
    arguments.insert(arguments.begin(), {"openssl", "s_server", "-accept", "127.0.0.1:0"});
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    int in[2];
    int out[2];
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) std::abort();
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], 0);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    EXPECT_EQ(posix_spawnp(&process_, "openssl", &actions, nullptr, argv.data(), environ), 0)
        << "these tests need the openssl command";
    posix_spawn_file_actions_destroy(&actions);
    close(in[0]);
    close(out[1]);
    input_ = in[1];
    output_ = out[0];
    EXPECT_EQ(write(input_, input.data(), input.size()), static_cast<ssize_t>(input.size()));
    const std::string announced = ReadUntil("ACCEPT 127.0.0.1:", "\n");
    address_ = "127.0.0.1:" + announced.substr(0, announced.size() - 1);
  }
  ~TlsServer() {
    if (process_ > 0) {
      kill(process_, SIGKILL);
      waitpid(process_, nullptr, 0);
    }
    close(input_);
    close(output_);
  }

  const std::string& address() const { return address_; }
  // Meanwhile it answers nothing.
  void Pause() const { kill(process_, SIGSTOP); }
  void GoOn() const { kill(process_, SIGCONT); }

  // Returns what the server writes after `begin`, up to and including `end`.
  std::string ReadUntil(const std::string& begin, const std::string& end) {
    while (true) {
      const std::size_t from = written_.find(begin);
      const std::size_t to =
          from == std::string::npos ? from : written_.find(end, from + begin.size());
      if (to != std::string::npos) {
        return written_.substr(from + begin.size(), to + end.size() - from - begin.size());
      }
      char piece[1024];
      const ssize_t count = read(output_, piece, sizeof piece);
      if (count <= 0) return "?";
      written_.append(piece, static_cast<std::size_t>(count));
    }
  }

 private:
  pid_t process_ = -1;
  int input_ = -1;
  int output_ = -1;
  std::string address_;
  std::string written_;
};

}  // namespace cluster_watcher

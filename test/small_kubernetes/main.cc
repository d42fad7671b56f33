// small-kubernetes: serves a small Kubernetes on the loopback interface until SIGTERM or SIGINT,
// until stdin closes (with --until-stdin-closes), or until another process has ended.
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <fstream>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>

#include "probes/base/clock.h"
#include "test/small_kubernetes/http_server.h"
#include "test/small_kubernetes/small_kubernetes.h"

namespace {

constexpr std::string_view kUsage =
    "Usage: small-kubernetes [--port=N] [--kubeconfig=FILE] [--seed=N] [--pods-run]\n"
    "                        [--until-stdin-closes] [--parent-pid=PID] [--no-anonymous]\n";

struct Settings {
  int port = 0;
  std::string kubeconfig;
  unsigned seed = 1;
  bool pods_run = false;
  bool until_stdin_closes = false;
  int parent_pid = 0;
  bool no_anonymous = false;
};

template <typename Number>
bool ToNumber(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

std::optional<Settings> ParseArguments(int count, char** arguments) {
  Settings settings;
  for (int i = 1; i < count; ++i) {
    const std::string_view argument = arguments[i];
    const std::string_view flag = argument.substr(0, argument.find('='));
    const std::string_view value = flag == argument ? "" : argument.substr(flag.size() + 1);
    bool good = true;
    if (flag == "--port") {
      good = ToNumber(value, settings.port);
    } else if (flag == "--kubeconfig") {
      settings.kubeconfig = value;
    } else if (flag == "--seed") {
      good = ToNumber(value, settings.seed);
    } else if (flag == "--parent-pid") {
      good = ToNumber(value, settings.parent_pid);
    } else if (argument == "--pods-run") {
      settings.pods_run = true;
    } else if (argument == "--no-anonymous") {
      settings.no_anonymous = true;
    } else if (argument == "--until-stdin-closes") {
      settings.until_stdin_closes = true;
    } else {
      good = false;
    }
    if (!good) return std::nullopt;
  }
  return settings;
}

bool StdinClosed() {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  if (poll(&input, 1, 0) <= 0) return false;
  char ignored[256];
  return read(STDIN_FILENO, ignored, sizeof ignored) <= 0;
}

void WaitForEnd(const Settings& settings, const sigset_t& signals) {
  const timespec pause{0, 200'000'000};
  while (sigtimedwait(&signals, nullptr, &pause) < 0) {
    if (settings.until_stdin_closes && StdinClosed()) return;
    if (settings.parent_pid > 0 && kill(settings.parent_pid, 0) != 0 && errno == ESRCH) return;
  }
}

}  // namespace

int main(int count, char** arguments) {
  const std::optional<Settings> settings = ParseArguments(count, arguments);
  if (!settings) {
    std::cerr << kUsage;
    return 2;
  }
  // Blocked before any thread starts, so that only WaitForEnd receives them.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);

  cluster_watcher::SystemClock clock;
  cluster_watcher::small_kubernetes::SmallKubernetes kubernetes(clock, settings->seed);
  // kubectl sends no token over plain HTTP.
  if (!settings->no_anonymous) {
    kubernetes.GetTokens().SetAnonymous({"admin", {"system:masters", "system:authenticated"}});
  }
  kubernetes.SetPodsRun(settings->pods_run);
  cluster_watcher::small_kubernetes::HttpServer server(kubernetes);
  if (const auto started = server.Start(settings->port); !started) {
    std::cerr << "small-kubernetes: " << started.error().message << "\n";
    return 1;
  }
  if (!settings->kubeconfig.empty()) {
    std::ofstream file(settings->kubeconfig);
    file << server.Kubeconfig();
    if (!file.flush()) {
      std::cerr << "small-kubernetes: cannot write " << settings->kubeconfig << "\n";
      return 1;
    }
  }
  std::cout << "small-kubernetes at " << server.Url() << std::endl;
  WaitForEnd(*settings, signals);
  server.Stop();
  return 0;
}

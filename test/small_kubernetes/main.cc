// small-kubernetes: serves a small Kubernetes on the loopback interface until SIGTERM or SIGINT, or
// until another process has gone.
#include <signal.h>

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
    "Usage: small-kubernetes [--kubeconfig=FILE] [--pods-run] [--parent-pid=PID]\n";

struct Settings {
  std::string kubeconfig;
  bool pods_run = false;
  int parent_pid = 0;
};

bool ToNumber(std::string_view text, int& number) {
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
    if (flag == "--kubeconfig") {
      settings.kubeconfig = value;
    } else if (flag == "--parent-pid") {
      good = ToNumber(value, settings.parent_pid);
    } else if (argument == "--pods-run") {
      settings.pods_run = true;
    } else {
      good = false;
    }
    if (!good) return std::nullopt;
  }
  return settings;
}

void WaitForEnd(const Settings& settings, const sigset_t& signals) {
  const timespec pause{0, 200'000'000};
  while (sigtimedwait(&signals, nullptr, &pause) < 0) {
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
  cluster_watcher::small_kubernetes::SmallKubernetes kubernetes(clock);
  // kubectl sends no token over plain HTTP.
  kubernetes.GetTokens().SetAnonymous({"admin", {"system:masters", "system:authenticated"}});
  kubernetes.SetPodsRun(settings->pods_run);
  cluster_watcher::small_kubernetes::HttpServer server(kubernetes);
  if (const auto started = server.Start(); !started) {
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

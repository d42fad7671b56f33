// Wiring: argv, the environment, signals.
#include <signal.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>

#include "watcher/command/run.h"

namespace cluster_watcher {
namespace {

std::optional<std::string> FromEnvironment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

// Takes SIGTERM and SIGINT, in a thread of its own, as a request to stop.
class StopSignals {
 public:
  StopSignals() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGTERM);
    sigaddset(&signals_, SIGINT);
    signal(SIGPIPE, SIG_IGN);  // A peer that has gone is an error of the call.
    // Every thread that is started from now on inherits this.
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
    std::thread([this] {
      for (int signal = 0; sigwait(&signals_, &signal) == 0;) source_.request_stop();
    }).detach();
  }
  std::stop_token token() const { return source_.get_token(); }

 private:
  sigset_t signals_;
  std::stop_source source_;
};

}  // namespace
}  // namespace cluster_watcher

int main(int argc, char** argv) {
  using namespace cluster_watcher;
  StopSignals signals;
  const int code = Run({argv, static_cast<std::size_t>(argc)}, FromEnvironment, signals.token());
  std::fflush(nullptr);
  // The threads that serve signals and metrics have nothing to clean up.
  std::_Exit(code);
}

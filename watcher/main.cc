// Wiring: argv, the environment, signals.
#include <signal.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "watcher/command/dispatch.h"

namespace cluster_watcher {
namespace {

std::optional<std::string> FromEnvironment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

}  // namespace
}  // namespace cluster_watcher

int main(int argc, char** argv) {
  using namespace cluster_watcher;
  signal(SIGPIPE, SIG_IGN);  // A peer that has gone is an error of the call.
  // Where it is set, libcurl writes there what decrypts its connections, tokens included.
  unsetenv("SSLKEYLOGFILE");
  int code = Run({argv, static_cast<std::size_t>(argc)}, FromEnvironment);
  std::fflush(nullptr);
  if (code == 0 && std::ferror(stdout) != 0) code = 1;  // what it said is lost
  // The threads that serve metrics have nothing to clean up.
  std::_Exit(code);
}

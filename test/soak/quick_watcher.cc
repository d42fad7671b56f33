// The program's `watch` on a machine whose clocks run QUICKLY times as fast (an environment
// variable), as far as the loop sees it: with 5000, a poll each 5 s is one each millisecond, and a
// day's looks, reviews and rotations come in a day's proportions. All else is as in the program.
#include <signal.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <variant>

#include "watcher/command/print_errors.h"
#include "watcher/command/watch.h"
#include "watcher/driver/signals.h"

namespace cluster_watcher {
namespace {

class QuickClock final : public Clock {
 public:
  explicit QuickClock(int quickly) : quickly_(quickly) {}

  MonotonicTime Now() override { return begun_ + (clock_.Now() - begun_) * quickly_; }
  WallTime WallNow() override { return wall_begun_ + (clock_.Now() - begun_) * quickly_; }
  bool WaitUntil(MonotonicTime deadline, std::stop_token stop) override {
    // A deadline may be for ever.
    if (deadline == MonotonicTime::max()) return clock_.WaitUntil(deadline, std::move(stop));
    return clock_.WaitUntil(begun_ + (deadline - begun_) / quickly_, std::move(stop));
  }

 private:
  SystemClock clock_;
  const int quickly_;
  const MonotonicTime begun_ = clock_.Now();
  const WallTime wall_begun_ = clock_.WallNow();
};

std::optional<std::string> FromEnvironment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

int Main(std::span<const char* const> arguments) {
  const CommandLine command_line = ParseCommandLine(arguments);
  const auto* invocation = std::get_if<Invocation>(&command_line);
  const int quickly = std::atoi(FromEnvironment("QUICKLY").value_or("").c_str());
  if (invocation == nullptr || invocation->command != Command::kWatch || quickly < 1) {
    return PrintErrors({"usage: QUICKLY=TIMES quick-watcher watch FLAG..."}, 2);
  }
  QuickClock clock(quickly);
  const SignalSource signals;
  StopOnSignal stop(signals);
  return RunWatch(*invocation, FromEnvironment, clock, stop.token());
}

}  // namespace
}  // namespace cluster_watcher

int main(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);
  // The threads that serve metrics have nothing to clean up.
  std::_Exit(cluster_watcher::Main({argv, static_cast<std::size_t>(argc)}));
}

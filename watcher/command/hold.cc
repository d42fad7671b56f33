#include "watcher/command/hold.h"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "watcher/command/driver_session.h"
#include "watcher/driver/hold.h"
#include "watcher/observation/observer.h"

namespace cluster_watcher {
namespace {

constexpr Duration kShortest = std::chrono::seconds(1);
constexpr Duration kLongest = std::chrono::hours(8760);
constexpr const char* kUsual = "24h";

Observer MakeObserver(DriverSession& session) {
  const DriverTools& tools = session.tools();
  return Observer(tools.client, tools.discovery, tools.clock, session.settings());
}

}  // namespace

int RunHold(const Invocation& invocation, const Environment& environment, std::stop_token stop) {
  std::vector<std::string> errors;
  const std::string text = invocation.words.empty() ? kUsual : invocation.words.front();
  const Duration duration = ReadDuration("hold", text, kShortest, kLongest, errors);
  const auto given = invocation.options.find("reason");
  const std::string reason = given == invocation.options.end() ? "" : given->second;
  if (auto too_long = WhyNotAReason(reason)) errors.push_back("--reason: " + *too_long);
  return WithDriverSession(
      invocation, environment, std::move(stop), std::move(errors), [&](DriverSession& session) {
        Observer observer = MakeObserver(session);
        return WriteHold(session.tools(), observer, {session.cluster()}, duration, reason);
      });
}

int RunUnhold(const Invocation& invocation, const Environment& environment, std::stop_token stop) {
  return WithDriverSession(invocation, environment, std::move(stop), {},
                           [&](DriverSession& session) {
                             Observer observer = MakeObserver(session);
                             return TakeHoldOff(session.tools(), observer, {session.cluster()});
                           });
}

}  // namespace cluster_watcher

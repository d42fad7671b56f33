#include "watcher/command/hold.h"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "watcher/command/driver_session.h"
#include "watcher/command/shared_flags.h"
#include "watcher/driver/hold.h"
#include "watcher/observation/observer.h"

namespace cluster_watcher {
namespace {

constexpr Duration kShortestHold = std::chrono::seconds(1);
constexpr Duration kLongestHold = std::chrono::hours(8760);
constexpr const char* kUsualHold = "24h";

// "7d" as a duration, which has no days.
std::string InHours(const std::string& text) {
  constexpr std::size_t kMostDigits = 6;
  const bool is_days = text.size() > 1 && text.size() <= kMostDigits && text.ends_with('d') &&
                       text.find_first_not_of("0123456789") == text.size() - 1;
  return is_days ? std::to_string(std::stoi(text) * 24) + "h" : text;
}

Observer MakeObserver(DriverSession& session) {
  const DriverTools& tools = session.tools();
  return Observer(tools.client, tools.discovery, tools.clock, session.settings());
}

Flag NamespaceWideFlag() {
  return SwitchFlag("namespace-wide", "all clusters of the namespace, instead of CLUSTER");
}

}  // namespace

int RunHold(const Invocation& invocation, const Environment& environment, std::stop_token stop) {
  std::vector<std::string> errors;
  const std::string text = invocation.words.empty() ? kUsualHold : invocation.words.front();
  HoldOrder order;
  order.duration = ReadDuration("hold", InHours(text), kShortestHold, kLongestHold, errors);
  const auto given = invocation.options.find("reason");
  if (given != invocation.options.end()) order.reason = given->second;
  if (auto too_long = WhyNotAReason(order.reason)) errors.push_back("--reason: " + *too_long);
  order.overwrites = invocation.options.at("overwrite") == "true";
  return WithDriverSession(
      invocation, environment, std::move(stop), std::move(errors), [&](DriverSession& session) {
        SayWhere(session);
        Observer observer = MakeObserver(session);
        return WriteHold(session.tools(), observer, {session.cluster()}, order);
      });
}

int RunUnhold(const Invocation& invocation, const Environment& environment, std::stop_token stop) {
  return WithDriverSession(invocation, environment, std::move(stop), {},
                           [&](DriverSession& session) {
                             SayWhere(session);
                             Observer observer = MakeObserver(session);
                             return TakeHoldOff(session.tools(), observer, {session.cluster()});
                           });
}

CommandDescription DescribeHold() {
  CommandDescription command = {
      .name = "hold",
      .command = Command::kHold,
      .usage = "hold [CLUSTER] [DURATION] [--namespace-wide] [--reason=TEXT] [--overwrite] [FLAGS]",
      .help = "Keep a cluster, or all of a namespace, for a while",
      .flags = {NamespaceWideFlag(), OwnFlag("reason", "TEXT", "", "why, for whoever wonders"),
                SwitchFlag("overwrite", "also where it is held for longer")},
      .about =
          "DURATION is from 1s to 8760h, or in days as 7d (default 24h). A hold that ends later "
          "stays. A\ndeletion that was begun is not stopped.\n",
      .ending =
          "\nExit codes:\n"
          "  0  held\n"
          "  1  there is no such cluster, or it could not be written\n"
          "  2  wrong usage or settings\n",
      .takes_cluster = true};
  return WithSettings(std::move(command));
}

CommandDescription DescribeUnhold() {
  CommandDescription command = {.name = "unhold",
                                .command = Command::kUnhold,
                                .usage = "unhold [CLUSTER] [--namespace-wide] [FLAGS]",
                                .help = "End a hold",
                                .flags = {NamespaceWideFlag()},
                                .about = "",
                                .ending =
                                    "\nExit codes:\n"
                                    "  0  not held by this any more\n"
                                    "  1  there is no such cluster, or it could not be written\n"
                                    "  2  wrong usage or settings\n",
                                .takes_cluster = true};
  return WithSettings(std::move(command));
}

}  // namespace cluster_watcher

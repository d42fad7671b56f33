#include "watcher/command/claims.h"

#include <chrono>
#include <optional>
#include <utility>

#include "watcher/command/driver_session.h"
#include "watcher/driver/await.h"
#include "watcher/driver/claim.h"

namespace cluster_watcher {
namespace {

constexpr Duration kLongestTimeout = std::chrono::hours(24);

std::optional<OwnerName> RequireApp(const Invocation& invocation,
                                    std::vector<std::string>& errors) {
  const auto app = invocation.options.find("app");
  if (app != invocation.options.end() && !app->second.empty()) return ReadApp(invocation, errors);
  errors.push_back("--app is missing: name the application's owner, as in --app=deployment/bob");
  return std::nullopt;
}

}  // namespace

int RunAwait(const Invocation& invocation, const Environment& environment, std::stop_token stop) {
  std::vector<std::string> errors;
  const auto app = RequireApp(invocation, errors);
  const Duration timeout = ReadDuration("--timeout", invocation.options.at("timeout"), Duration(0),
                                        kLongestTimeout, errors);
  return WithDriverSession(invocation, environment, std::move(stop), std::move(errors),
                           [&](DriverSession& session) {
                             return Await(session.tools(), session.cluster(), *app, timeout);
                           });
}

int RunClaim(const Invocation& invocation, const Environment& environment, std::stop_token stop) {
  std::vector<std::string> errors;
  const auto app = RequireApp(invocation, errors);
  const bool ephemeral = invocation.options.at("ephemeral") == "true";
  return WithDriverSession(invocation, environment, std::move(stop), std::move(errors),
                           [&](DriverSession& session) {
                             return Claim(session.tools(), session.cluster(), *app, ephemeral);
                           });
}

int RunRelease(const Invocation& invocation, const Environment& environment, std::stop_token stop) {
  std::vector<std::string> errors;
  const auto app = RequireApp(invocation, errors);
  return WithDriverSession(
      invocation, environment, std::move(stop), std::move(errors),
      [&](DriverSession& session) { return Release(session.tools(), session.cluster(), *app); });
}

}  // namespace cluster_watcher

#include "watcher/command/delete.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "probes/base/names.h"
#include "watcher/command/deletion_session.h"

namespace cluster_watcher {
namespace {

// Reads the application's options; nullopt: there are none, or errors.
std::optional<AppStatus> ReadEnded(const Invocation& invocation, std::vector<std::string>& errors) {
  const auto app = invocation.options.find("app");
  const auto status = invocation.options.find("app-status");
  const bool has_app = app != invocation.options.end();
  const bool has_status = status != invocation.options.end();
  if (!has_app && !has_status) return std::nullopt;
  if (!has_app || !has_status) {
    errors.push_back(
        std::string(has_app ? "--app without --app-status" : "--app-status without --app") +
        ": give both, and the rules decide; or neither, and the cluster is deleted whatever they "
        "say");
  }
  if (has_status && status->second != "completed" && status->second != "terminated") {
    errors.push_back("--app-status: " + Quoted(status->second) +
                     " is unknown: give completed or terminated");
  }
  if (!has_app) return std::nullopt;
  auto name = OwnerName::Parse(app->second);
  if (!name) errors.push_back("--app: " + name.error().message);
  if (!name || !has_status) return std::nullopt;
  return AppStatus{*std::move(name), status->second};
}

}  // namespace

int RunDelete(const Invocation& invocation, const Environment& environment, std::stop_token stop) {
  std::vector<std::string> errors;
  const auto ended = ReadEnded(invocation, errors);
  const bool waits = invocation.options.at("wait") == "true";
  const bool skips_steps = invocation.options.at("skip-steps") == "true";
  if (skips_steps && invocation.options.contains("app")) {
    errors.emplace_back(
        "--skip-steps contradicts --app: only who deletes a cluster whatever the "
        "rules say may pass over its steps");
  }
  return WithDriverSession(
      invocation, environment, std::move(stop), std::move(errors), [&](DriverSession& session) {
        DeletionSession deletion(session, environment,
                                 skips_steps ? StepsAt::kNowhere : StepsAt::kElsewhere,
                                 waits ? Until::kAllGone : Until::kAccepted);
        DriverOutcome outcome = Delete(deletion.work(), {session.cluster(), ended, waits});
        if (!deletion.actor().warning.empty()) {
          outcome.warnings.push_back(deletion.actor().warning);
        }
        return outcome;
      });
}

}  // namespace cluster_watcher

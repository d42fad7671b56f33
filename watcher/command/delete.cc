#include "watcher/command/delete.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "probes/base/names.h"
#include "watcher/command/deletion_session.h"
#include "watcher/command/shared_flags.h"

namespace cluster_watcher {
namespace {

// Reads the application's options; nullopt: there are none, or errors.
std::optional<AppStatus> ReadEnded(const Invocation& invocation, std::vector<std::string>& errors) {
  const auto status = invocation.options.find("app-status");
  const bool has_app = invocation.options.contains("app");
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
  auto app = ReadApp(invocation, errors);
  if (!app || !has_status) return std::nullopt;
  return AppStatus{*std::move(app), status->second};
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
        SayWhere(session);
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

CommandDescription DescribeDelete() {
  CommandDescription command = {
      .name = "delete",
      .command = Command::kDelete,
      .usage = "delete CLUSTER [--app=OWNER --app-status=completed|terminated] [--wait] [FLAGS]",
      .help = "Delete a cluster now",
      .flags = {AppFlag("whose application has ended; the rules decide then"),
                OwnFlag("app-status", "completed|terminated", "", "how it ended"),
                SwitchFlag("wait", "delete in the foreground, and return when all of it is gone"),
                SwitchFlag("skip-steps",
                           "pass over its steps before and after; only without --app")},
      .about = std::string("With --app the cluster must be that application's own, and is kept "
                           "where watch would keep it;\nconfirmations and grace periods don't "
                           "count. Without, it is deleted whatever the rules and\nholds say.\n") +
               kOwnerForms,
      .ending =
          "\nExit codes:\n"
          "  0      deleted; or kept, and it says why\n"
          "  1      shared, another's, misconfigured, not known, or not allowed\n"
          "  2      wrong usage or settings\n"
          "  128+n  signal n ended it\n",
      .takes_cluster = true};
  return WithSettings(std::move(command),
                      {"volumes", "volume-retention", "resources", "concurrency", "steps-deadline",
                       "delete-deadline", "operator-grace", "log-level", "log-format"});
}

}  // namespace cluster_watcher

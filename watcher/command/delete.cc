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

CommandDescription DescribeDelete() {
  CommandDescription command = {
      .name = "delete",
      .command = Command::kDelete,
      .usage = "delete CLUSTER [--app=OWNER --app-status=completed|terminated] [--wait] [FLAGS]",
      .help = "Delete a cluster now",
      .flags = {AppFlag("whose application has ended; the rules decide then"),
                OwnFlag("app-status", "completed|terminated", "", "how it ended"),
                OwnFlag("wait", "true|false", "false",
                        "delete in the foreground, and return when all of it is gone"),
                OwnFlag("skip-steps", "true|false", "false",
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
  AddConnection(command.flags);
  for (const char* name :
       {"volumes", "volume-retention", "resources", "concurrency", "steps-deadline",
        "delete-deadline", "operator-grace", "log-level", "log-format"}) {
    Flag flag = LikeSetting(name);
    flag.is_own = false;
    if (flag.name == "log-level") flag.default_value = "warn";
    command.flags.push_back(std::move(flag));
  }
  return command;
}

}  // namespace cluster_watcher

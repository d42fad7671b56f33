#include "watcher/command/delete.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "probes/base/duration_text.h"
#include "probes/base/names.h"
#include "watcher/command/clusters_meant.h"
#include "watcher/command/deletion_session.h"
#include "watcher/command/print_errors.h"
#include "watcher/command/shared_flags.h"
#include "watcher/command/time_limit.h"

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

struct DeleteOptions {
  std::optional<AppStatus> ended;
  Selection selection;
  bool waits = true;
  bool ignores_absent = false;
  StepsAt steps_at = StepsAt::kElsewhere;
  Duration timeout{0};  // 0: none
};

bool IsAsked(const Invocation& invocation, const char* flag) {
  return invocation.options.at(flag) == "true";
}

DeleteOptions ReadOptions(const Invocation& invocation, std::vector<std::string>& errors) {
  DeleteOptions options;
  options.ended = ReadEnded(invocation, errors);
  options.selection = ReadSelection(invocation, errors);
  const bool has_app = invocation.options.contains("app");
  if (has_app && options.selection.is_asked) {
    errors.emplace_back("--app contradicts --selector and --all: name the application's cluster");
  }
  const auto wait = invocation.options.find("wait");
  options.waits = wait == invocation.options.end() ? !has_app : wait->second == "true";
  options.ignores_absent = IsAsked(invocation, "ignore-not-found") || options.selection.is_asked;
  if (IsAsked(invocation, "skip-steps")) {
    options.steps_at = StepsAt::kNowhere;
    if (has_app) {
      errors.emplace_back(
          "--skip-steps contradicts --app: only who deletes a cluster whatever the "
          "rules say may pass over its steps");
    }
  }
  options.timeout = ReadTimeout(invocation, "timeout", errors);
  return options;
}

// The settings that flags of its own stand for.
Invocation WithSettingsMeant(Invocation invocation, std::vector<std::string>& errors) {
  if (IsAsked(invocation, "verbose")) invocation.flags.emplace("log-level", "info");
  const auto dry_run = invocation.options.find("dry-run");
  if (dry_run == invocation.options.end()) return invocation;
  const std::string& how = dry_run->second;
  if (how != "none" && how != "server") {
    errors.push_back("--dry-run: " + Quoted(how) + " is unknown: give none or server");
  }
  invocation.flags["dry-run"] = how == "server" ? "true" : "false";
  return invocation;
}

// Deletes clusters one after the other, and says each.
class Deletions {
 public:
  // All of them are done at `server`, whatever becomes of the kubeconfig meanwhile.
  Deletions(const DeleteOptions& options, const Environment& environment, const ApiServer& server,
            const TimeLimit& limit)
      : options_(options), environment_(environment), server_(server), limit_(limit) {}

  int Run(const MeantCluster& meant) {
    bool is_begun = false;
    int exit = 1;
    if (!limit_.token().stop_requested()) {
      exit = WithDriverSession(
          meant.invocation, environment_, limit_.token(), {},
          [&](DriverSession& session) {
            is_begun = true;
            if (!std::exchange(is_place_said_, true)) SayWhere(session);
            return Run(session, meant.root_uid);
          },
          {}, &server_);
    }
    if (is_begun || !limit_.token().stop_requested()) return exit;
    return PrintErrors({Why() + ": cluster " + meant.invocation.cluster + " is not deleted"}, 1);
  }

 private:
  DriverOutcome Run(DriverSession& session, const std::optional<std::string>& root_uid) {
    DeletionSession deletion(session, environment_, options_.steps_at,
                             options_.waits ? Until::kAllGone : Until::kAccepted);
    DriverOutcome outcome =
        Delete(deletion.work(), {session.cluster(), options_.ended, options_.waits, root_uid});
    if (outcome.exit == DriverExit::kNoCluster) {
      if (options_.ignores_absent) return {};
      outcome.exit = DriverExit::kFailed;
    } else if (outcome.exit != DriverExit::kDone && limit_.IsOver()) {
      const bool is_why = outcome.error.starts_with(kToldToStop);
      outcome.error =
          Why() + (is_why ? outcome.error.substr(std::strlen(kToldToStop)) : ": " + outcome.error);
    }
    if (!deletion.actor().warning.empty()) outcome.warnings.push_back(deletion.actor().warning);
    return outcome;
  }
  std::string Why() const {
    return limit_.IsOver() ? "timed out after " + FormatDuration(options_.timeout) : kToldToStop;
  }

  const DeleteOptions& options_;
  const Environment& environment_;
  const ApiServer& server_;
  const TimeLimit& limit_;
  bool is_place_said_ = false;
};

}  // namespace

int RunDelete(const Invocation& given, const Environment& environment, std::stop_token stop) {
  std::vector<std::string> errors;
  const DeleteOptions options = ReadOptions(given, errors);
  const Invocation invocation = WithSettingsMeant(given, errors);
  // All that is wrong with the settings is said once.
  const Session trial = MakeSession(invocation, environment);
  errors.insert(errors.end(), trial.errors.begin(), trial.errors.end());
  if (!errors.empty()) return PrintErrors(errors);
  const TimeLimit limit(std::move(stop), options.timeout);
  std::vector<MeantCluster> each = OfEachCluster(invocation);
  if (options.selection.is_asked) {
    const int exit = WithDriverSession(
        invocation, environment, limit.token(), {},
        [&](DriverSession& session) {
          auto selected = OfEachSelected(session, invocation, options.selection.selector);
          if (!selected && limit.IsOver()) {
            return DriverOutcome::Of(
                DriverExit::kFailed,
                "timed out after " + FormatDuration(options.timeout) + ": nothing is deleted");
          }
          if (!selected) return DriverOutcome::Of(DriverExit::kFailed, selected.error());
          each = *std::move(selected);
          return each.empty() ? DriverOutcome::Said("no clusters found in namespace " +
                                                    session.settings()->ns)
                              : DriverOutcome();
        },
        {}, &trial.server);
    if (exit != 0) return exit;
  }
  Deletions deletions(options, environment, trial.server, limit);
  int worst = 0;
  for (const MeantCluster& one : each) worst = std::max(worst, deletions.Run(one));
  return worst;
}

CommandDescription DescribeDelete() {
  CommandDescription command = {
      .name = "delete",
      .command = Command::kDelete,
      .usage =
          "delete CLUSTER... [-l SELECTOR] [--all] [--app=OWNER "
          "--app-status=completed|terminated] [--wait] [FLAGS]",
      .help = "Delete clusters now",
      .flags = {AppFlag("whose application has ended; the rules decide then"),
                OwnFlag("app-status", "completed|terminated", "", "how it ended"), SelectorFlag(),
                AllFlag(),
                OwnFlag("wait", "true|false", "",
                        "delete in the foreground, and return when all of it is gone (default "
                        "true, and false with --app)"),
                OwnFlag("timeout", "DURATION", "0s",
                        "how long that is waited for; 0s: until it is so. What was begun goes on"),
                SwitchFlag("ignore-not-found", "where there is no such cluster, that is no error"),
                OwnFlag("dry-run", "none|server", "",
                        "server: say what would be deleted, as the API server takes it (default "
                        "none)"),
                VerboseFlag(),
                SwitchFlag("skip-steps",
                           "pass over its steps before and after; only without --app")},
      .about = std::string("With --app the cluster must be that application's own, and is kept "
                           "where watch would keep it;\nconfirmations and grace periods don't "
                           "count. Without, it is deleted whatever the rules and\nholds say.\n") +
               kOwnerForms,
      .ending =
          "\nExit codes:\n"
          "  0      deleted; or kept, and it says why\n"
          "  1      shared, another's, misconfigured, not known, not allowed, or the time is over\n"
          "  2      wrong usage or settings\n"
          "  128+n  signal n ended it\n",
      .takes_cluster = true};
  return WithSettings(std::move(command),
                      {"volumes", "volume-retention", "resources", "concurrency", "steps-deadline",
                       "delete-deadline", "operator-grace", "log-level", "log-format"});
}

}  // namespace cluster_watcher

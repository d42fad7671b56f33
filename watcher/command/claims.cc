#include "watcher/command/claims.h"

#include <optional>
#include <utility>

#include "watcher/command/driver_session.h"
#include "watcher/command/shared_flags.h"
#include "watcher/driver/await.h"
#include "watcher/driver/claim.h"

namespace cluster_watcher {
namespace {

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
  const Duration timeout = ReadTimeout(invocation, "timeout", errors);
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
                             SayWhere(session);
                             return Claim(session.tools(), session.cluster(), *app, ephemeral);
                           });
}

int RunRelease(const Invocation& invocation, const Environment& environment, std::stop_token stop) {
  std::vector<std::string> errors;
  const auto app = RequireApp(invocation, errors);
  return WithDriverSession(invocation, environment, std::move(stop), std::move(errors),
                           [&](DriverSession& session) {
                             SayWhere(session);
                             return Release(session.tools(), session.cluster(), *app);
                           });
}

CommandDescription DescribeAwait() {
  CommandDescription command = {
      .name = "await",
      .command = Command::kAwait,
      .usage = "await CLUSTER --app=OWNER [--timeout=60s] [FLAGS]",
      .help = "Wait until an application may use its cluster",
      .flags = {AppFlag("the application's owner"),
                OwnFlag("timeout", "DURATION", "60s",
                        "how long a cluster is waited for that is not ready")},
      .about = std::string("A cluster is ready if it has a master, a worker and a master service, "
                           "and is not\ncondemned. ") +
               kOwnerForms,
      .ending =
          "\nExit codes:\n"
          "  0      ready\n"
          "  2      wrong usage or settings\n"
          "  4      unknown: something could not be read\n"
          "  10     there is no such cluster\n"
          "  11     it is another application's; said at once, unless that one has ended\n"
          "  12     it is condemned or incomplete, and the time is over\n"
          "  128+n  signal n ended it\n",
      .takes_cluster = true};
  return WithSettings(std::move(command));
}

CommandDescription DescribeClaim() {
  CommandDescription command = {
      .name = "claim",
      .command = Command::kClaim,
      .usage = "claim CLUSTER --app=OWNER [--ephemeral] [FLAGS]",
      .help = "Say that an application uses a cluster",
      .flags = {AppFlag("the application's owner"),
                SwitchFlag("ephemeral", "the cluster is the application's own, and goes with it")},
      .about = std::string("A cluster that is used is not deleted for want of its owner. ") +
               kOwnerForms,
      .ending =
          "\nExit codes:\n"
          "  0   claimed\n"
          "  1   there is no such cluster or owner, or it could not be written\n"
          "  2   wrong usage or settings\n"
          "  4   unknown: something could not be read\n"
          "  11  it is another application's, or the owner uses another cluster\n"
          "  12  it is condemned, or has no master\n",
      .takes_cluster = true};
  return WithSettings(std::move(command));
}

CommandDescription DescribeRelease() {
  CommandDescription command = {
      .name = "release",
      .command = Command::kRelease,
      .usage = "release CLUSTER --app=OWNER [FLAGS]",
      .help = "Say that an application no longer uses a cluster",
      .flags = {AppFlag("the application's owner")},
      .about = std::string("An ephemeral cluster becomes a shared one, which nothing deletes by "
                           "itself. ") +
               kOwnerForms,
      .ending =
          "\nExit codes:\n"
          "  0   released, or it wasn't claimed\n"
          "  1   it could not be written\n"
          "  2   wrong usage or settings\n"
          "  4   unknown: something could not be read\n"
          "  11  it is another application's\n",
      .takes_cluster = true};
  return WithSettings(std::move(command));
}

}  // namespace cluster_watcher

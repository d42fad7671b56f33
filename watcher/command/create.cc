#include "watcher/command/create.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "probes/base/names.h"
#include "watcher/command/driver_session.h"
#include "watcher/command/manifest_file.h"
#include "watcher/command/print_errors.h"
#include "watcher/command/shared_flags.h"
#include "watcher/command/status_line.h"
#include "watcher/driver/create.h"

namespace cluster_watcher {
namespace {

void CheckCluster(const Invocation& invocation, std::vector<std::string>& errors) {
  if (invocation.cluster.empty() || IsDnsLabel(invocation.cluster)) return;
  errors.push_back("create: " + Quoted(invocation.cluster) +
                   " can't be the name of objects: give a DNS label, at most 63 of a-z, 0-9 and -");
}

}  // namespace

int RunCreate(const Invocation& invocation, const Environment& environment, std::stop_token stop) {
  std::vector<std::string> errors;
  CheckCluster(invocation, errors);
  const auto files = ReadManifestFiles(invocation.files, errors);
  if (invocation.files.empty()) {
    errors.emplace_back(
        "-f is missing: give the files with the cluster's manifests, or - for stdin");
  }
  CreateOrder order;
  order.app = ReadApp(invocation, errors);
  order.ephemeral = invocation.options.at("ephemeral") == "true";
  if (order.ephemeral && !invocation.options.contains("app")) {
    errors.push_back("--ephemeral needs --app: name the owner whose own the cluster is");
  }
  order.timeout = ReadTimeout(invocation, "timeout", errors);
  StatusLine status;
  order.say = [&status](const std::string& line) {
    status.Clear();
    PrintText(Printable(line) + "\n");
  };
  order.waits = [&status](const std::string& why) { status.Show("waiting: " + why); };
  const auto read_objects = [&](Settings& settings, std::vector<std::string>& problems) {
    if (files.empty() || settings.cluster.empty()) return;
    auto file = ReadClusterFiles(files, {settings.ns, settings.Words(), settings.cluster},
                                 *settings.profiles, !settings.words);
    if (file) {
      order.objects = std::move(file->objects);
      settings.words = file->profile;
    } else {
      problems.insert(problems.end(), file.error().begin(), file.error().end());
    }
  };
  const auto create = [&](DriverSession& session) {
    SayWhere(session);
    session.Use(session.cluster().profile);
    order.cluster = session.cluster();
    DriverOutcome outcome = Create(session.tools(), order);
    status.Clear();
    return outcome;
  };
  return WithDriverSession(invocation, environment, std::move(stop), std::move(errors), create,
                           read_objects);
}

CommandDescription DescribeCreate() {
  CommandDescription command = {
      .name = "create",
      .command = Command::kCreate,
      .usage = "create CLUSTER -f FILE... [--app=OWNER [--ephemeral]] [--timeout=60s] [FLAGS]",
      .help = "Create a cluster from manifests",
      .flags = {FilenameFlag(
                    "the cluster's manifests, YAML or JSON, or a directory with such files; "
                    "\"-\" is the standard input; may be repeated"),
                AppFlag("the owner of the application that uses it"),
                SwitchFlag("ephemeral", "the cluster is the application's own, and goes with it"),
                OwnFlag(
                    "timeout", "DURATION", "60s",
                    "how long a cluster is waited for that goes or isn't ready, and what fails is "
                    "tried again")},
      .about =
          std::string("$(CLUSTER) in the manifests stands for the name. They need exactly one "
                      "master: a workload whose\npods are labelled oshinko-type: master, or a "
                      "framework's cluster. All objects get the cluster's\nlabel. What is there "
                      "is never changed: saying it again makes what is missing. A cluster that "
                      "is complete is used as it is.\n") +
          kOwnerForms,
      .ending =
          "\nExit codes:\n"
          "  0      created, or complete already\n"
          "  1      refused, or not all could be made: run it again\n"
          "  2      wrong usage, settings or manifests\n"
          "  4      unknown: the owner or the cluster could not be read\n"
          "  11     it is another application's, or the owner uses another cluster\n"
          "  12     it is condemned or going, or somebody else makes or uses what isn't complete, "
          "and the time is over; or it was deleted meanwhile\n"
          "  128+n  signal n ended it\n",
      .takes_cluster = true};
  return WithSettings(std::move(command));
}

}  // namespace cluster_watcher

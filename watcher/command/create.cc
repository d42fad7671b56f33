#include "watcher/command/create.h"

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "probes/base/names.h"
#include "watcher/command/driver_session.h"
#include "watcher/command/manifest_file.h"
#include "watcher/command/print_errors.h"
#include "watcher/driver/create.h"

namespace cluster_watcher {
namespace {

constexpr Duration kLongestTimeout = std::chrono::hours(24);

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
  order.timeout = ReadDuration("--timeout", invocation.options.at("timeout"), Duration(0),
                               kLongestTimeout, errors);
  order.say = [](const std::string& line) { PrintText(Printable(line) + "\n"); };
  const auto read_objects = [&](const Settings& settings, std::vector<std::string>& problems) {
    if (files.empty() || settings.cluster.empty()) return;
    auto objects = ReadClusterFiles(files, {settings.ns, settings.cluster_label, settings.cluster});
    if (objects) {
      order.objects = *std::move(objects);
    } else {
      problems.insert(problems.end(), objects.error().begin(), objects.error().end());
    }
  };
  const auto create = [&](DriverSession& session) {
    order.cluster = session.cluster();
    return Create(session.tools(), order);
  };
  return WithDriverSession(invocation, environment, std::move(stop), std::move(errors), create,
                           read_objects);
}

}  // namespace cluster_watcher

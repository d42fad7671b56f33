#include "watcher/command/create.h"

#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "probes/base/file.h"
#include "probes/base/names.h"
#include "watcher/command/driver_session.h"
#include "watcher/command/print_errors.h"
#include "watcher/driver/create.h"
#include "watcher/driver/who_acts.h"

namespace cluster_watcher {
namespace {

constexpr Duration kLongestTimeout = std::chrono::hours(24);
constexpr std::size_t kFileLimit = 32u << 20;

struct File {
  std::string name;  // in messages
  std::string text;
};

std::optional<File> ReadManifestFile(const Invocation& invocation,
                                     std::vector<std::string>& errors) {
  if (invocation.files.empty()) {
    errors.push_back("-f is missing: give the file with the cluster's manifests, or - for stdin");
    return std::nullopt;
  }
  if (invocation.files.size() > 1) {
    errors.push_back("--filename: give one file; it may have several documents");
    return std::nullopt;
  }
  const std::string& name = invocation.files.front();
  const bool is_input = name == "-";
  auto text = is_input ? ReadOpenFile(STDIN_FILENO, "the standard input", kFileLimit)
                       : ReadFile(name, kFileLimit);
  if (text) return File{is_input ? "stdin" : name, *std::move(text)};
  errors.push_back(text.error().message);
  return std::nullopt;
}

void CheckCluster(const Invocation& invocation, std::vector<std::string>& errors) {
  if (invocation.cluster.empty() || IsDnsLabel(invocation.cluster)) return;
  errors.push_back("create: " + Quoted(invocation.cluster) +
                   " can't be the name of objects: give a DNS label, at most 63 of a-z, 0-9 and -");
}

WatcherId WhoCreates(const DriverSession& session, const Environment& environment) {
  const std::string ns = session.cluster().ns;
  return WhoActs(session.tools(), ns, environment("POD_NAME").value_or(""),
                 environment("POD_NAMESPACE").value_or(ns));
}

}  // namespace

int RunCreate(const Invocation& invocation, const Environment& environment, std::stop_token stop) {
  std::vector<std::string> errors;
  CheckCluster(invocation, errors);
  const auto file = ReadManifestFile(invocation, errors);
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
    if (!file || settings.cluster.empty()) return;
    auto objects = ReadClusterFile(file->name, file->text,
                                   {settings.ns, settings.cluster_label, settings.cluster});
    if (objects) {
      order.objects = *std::move(objects);
    } else {
      problems.insert(problems.end(), objects.error().begin(), objects.error().end());
    }
  };
  const auto create = [&](DriverSession& session) {
    order.cluster = session.cluster();
    order.creator = WhoCreates(session, environment);
    return Create(session.tools(), order);
  };
  return WithDriverSession(invocation, environment, std::move(stop), std::move(errors), create,
                           read_objects);
}

}  // namespace cluster_watcher

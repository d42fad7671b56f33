#include "watcher/command/session.h"

#include <algorithm>
#include <iterator>
#include <sstream>
#include <string_view>
#include <utility>

#include "probes/base/duration_text.h"
#include "probes/kube/api_server_flags.h"

namespace cluster_watcher {
namespace {

// Requires what the command is about: `watch` needs a pod, `check` a pod or a cluster.
void RequireTarget(const Invocation& invocation, const Settings& settings,
                   std::vector<std::string>& errors) {
  switch (invocation.command) {
    case Command::kWatch:
      if (settings.pod.empty()) {
        errors.push_back("--pod: give the name of the pod, or set POD_NAME by the downward API");
      }
      if (settings.ns.empty()) {
        errors.push_back(
            "--namespace: give the pod's namespace, or set POD_NAMESPACE by the "
            "downward API");
      }
      return;
    case Command::kCheck:
      if (settings.pod.empty() && settings.cluster.empty()) {
        errors.push_back(
            "neither a cluster nor a pod is given: name the cluster, as in "
            "`cluster-watcher check CLUSTER`, or give --pod");
      }
      return;
    case Command::kHold:
    case Command::kUnhold:
      if (settings.cluster.empty() && invocation.options.at("namespace-wide") != "true") {
        errors.push_back(
            "no cluster is given: name it, as in `cluster-watcher hold CLUSTER`, or give "
            "--namespace-wide for all of the namespace");
      }
      return;
    case Command::kCreate:
    case Command::kAwait:
    case Command::kClaim:
    case Command::kRelease:
      if (settings.cluster.empty()) errors.push_back("no cluster is given: name it as CLUSTER");
      return;
    case Command::kDelete:
      if (settings.cluster.empty() && !invocation.options.contains("selector") &&
          invocation.options.at("all") != "true") {
        errors.emplace_back("no cluster is given: name it as CLUSTER, or give --selector or --all");
      }
      return;
    case Command::kRun:
    case Command::kSweep:
    case Command::kList:
    case Command::kDoctor:
    case Command::kEnable:
    case Command::kInject:
    case Command::kWebhook:
    case Command::kCompletion:
    case Command::kVersion:
      return;
  }
}

// Whether a kubeconfig gives a namespace. For what isn't about the pod it counts more than the
// pod's own, which may be of another API server; kubectl takes it, too.
bool GivesNamespace(const Result<ApiServer>& server) {
  return server && !server->source.starts_with("in-cluster") && !server->default_namespace.empty();
}

Environment WithoutPodNamespace(const Environment& environment) {
  return [environment](const std::string& name) {
    return name == "POD_NAMESPACE" ? std::nullopt : environment(name);
  };
}

ApiServerFlags ReadServerFlags(const TextMap& options, std::vector<std::string>& errors) {
  const auto value = [&options](std::string_view flag) {
    const auto given = options.find(flag);
    return given == options.end() ? "" : given->second;
  };
  ApiServerFlags flags{value("server"), value("token"), value("as"), {}};
  std::istringstream groups(value("as-group"));
  for (std::string group; std::getline(groups, group);) flags.as_groups.push_back(group);
  // A number alone is seconds, as for kubectl.
  std::string timeout = value("request-timeout");
  if (timeout.empty()) return flags;
  if (timeout.find_first_not_of("0123456789") == std::string::npos) timeout += 's';
  const auto duration = ParseDuration(timeout);
  if (duration) {
    flags.longest_request = *duration;
  } else {
    errors.push_back("--request-timeout: " + duration.error().message);
  }
  return flags;
}

Result<ApiServer> FindServer(const Settings& settings, const Environment& environment,
                             const ApiServerFlags& flags, const ApiServer* known) {
  if (known != nullptr) return *known;
  return FindApiServer(settings.kubeconfig, settings.context, environment, flags);
}

}  // namespace

Session MakeSession(const Invocation& invocation, const Environment& outside,
                    const ApiServer* known) {
  Session session;
  const TextMap& flags = invocation.flags;
  const bool is_watch = invocation.command == Command::kWatch;
  const bool by_cluster =
      !is_watch && (invocation.command != Command::kCheck || !invocation.cluster.empty());
  Environment environment = by_cluster ? WithoutOwner(outside) : outside;
  session.settings = ResolveSettings(flags, environment, {});
  const ApiServerFlags server_flags = ReadServerFlags(invocation.options, session.errors);
  auto server = FindServer(session.settings.settings, outside, server_flags, known);
  if (by_cluster && GivesNamespace(server)) {
    environment = WithoutPodNamespace(environment);
    session.settings = ResolveSettings(flags, environment, {});
  }
  session.errors.insert(session.errors.end(), session.settings.errors.begin(),
                        session.settings.errors.end());
  const std::string& rows_error = session.settings.rows_error;
  if (!is_watch && !rows_error.empty()) session.errors.push_back(rows_error);
  // No pod's verdict says so.
  constexpr Command kDeleting[] = {Command::kDelete, Command::kSweep, Command::kRun};
  if (std::count(std::begin(kDeleting), std::end(kDeleting), invocation.command) > 0) {
    const auto& others = session.settings.annotation_errors;
    session.errors.insert(session.errors.end(), others.begin(), others.end());
  }
  Settings& settings = session.settings.settings;
  if (by_cluster) {
    settings.pod.clear();
    settings.cluster = invocation.cluster;
  }
  const bool is_known = server.has_value();
  if (is_known) {
    session.server = *std::move(server);
    if (settings.ns.empty()) settings.ns = session.server.default_namespace;
    if (settings.ns.empty() && !is_watch) settings.ns = "default";
    auto transport = CurlTransport::Create(session.server, server_flags);
    if (transport) {
      session.transport = *std::move(transport);
    } else {
      session.errors.push_back(transport.error().message);
    }
  } else {
    session.errors.push_back(server.error().message);
  }
  // The namespace needn't be known if nothing is known of the API server.
  if (is_known || settings.pod.empty()) RequireTarget(invocation, settings, session.errors);
  session.with_annotations = [flags = flags, environment, ns = settings.ns,
                              pod = settings.pod](const TextMap& annotations) {
    ResolvedSettings resolved = ResolveSettings(flags, environment, annotations);
    resolved.settings.ns = ns;
    resolved.settings.pod = pod;
    return resolved;
  };
  if (by_cluster) {
    session.with_annotations = SettingsInForce::About(
        {settings.ns, settings.Words(), settings.cluster}, session.with_annotations);
  }
  return session;
}

}  // namespace cluster_watcher

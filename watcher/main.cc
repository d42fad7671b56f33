// Wiring: argv, signals, the real transport and clocks. All logic is in the library.
#include <signal.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <prometheus/registry.h>
#include <spdlog/fmt/fmt.h>

#include "metrics/http/metrics_endpoint.h"
#include "metrics/process_metrics.h"
#include "metrics/watcher_metrics.h"
#include "probes/kube/api_server.h"
#include "probes/kube/curl_transport.h"
#include "probes/kube/kube_client.h"
#include "probes/kube/token_source.h"
#include "watcher/command/check.h"
#include "watcher/command/command_line.h"
#include "watcher/command/inject.h"
#include "watcher/command/print_errors.h"
#include "watcher/command/webhook.h"
#include "watcher/loop/watch_loop.h"
#include "watcher/observation/survey.h"
#include "watcher/reporting/announcer.h"
#include "watcher/reporting/events.h"
#include "watcher/reporting/logging.h"
#include "watcher/settings/settings.h"
#include "watcher/version.h"

namespace cluster_watcher {
namespace {

constexpr Duration kListenAgain = std::chrono::seconds(10);

std::optional<std::string> FromEnvironment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

// SIGTERM and SIGINT, taken by a thread of their own as a request to stop.
class StopSignals {
 public:
  StopSignals() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGTERM);
    sigaddset(&signals_, SIGINT);
    signal(SIGPIPE, SIG_IGN);  // A peer that has gone is an error of the call.
    // Inherited by every thread that is started from now on.
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
    std::thread([this] {
      for (int signal = 0; sigwait(&signals_, &signal) == 0;) source_.request_stop();
    }).detach();
  }
  std::stop_token token() const { return source_.get_token(); }

 private:
  sigset_t signals_;
  std::stop_source source_;
};

// What both `watch` and `check` work with, made from the invocation.
struct Session {
  ResolvedSettings settings;
  std::function<ResolvedSettings(const TextMap&)> with_annotations;
  ApiServer server;
  std::unique_ptr<CurlTransport> transport;
  std::vector<std::string> errors;
};

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
    case Command::kInject:
    case Command::kWebhook:
    case Command::kVersion:
      return;
  }
}

Session MakeSession(const Invocation& invocation) {
  Session session;
  TextMap flags = invocation.flags;
  if (!invocation.cluster.empty()) flags["cluster"] = invocation.cluster;
  const bool by_cluster = invocation.command == Command::kCheck && !invocation.cluster.empty();
  session.settings = ResolveSettings(flags, FromEnvironment, {});
  session.errors = session.settings.errors;
  Settings& settings = session.settings.settings;
  if (by_cluster) settings.pod.clear();
  auto server = FindApiServer(settings.kubeconfig, settings.context, FromEnvironment);
  if (server) {
    session.server = *std::move(server);
    if (settings.ns.empty()) settings.ns = session.server.default_namespace;
    if (settings.ns.empty() && invocation.command == Command::kCheck) settings.ns = "default";
    auto transport = CurlTransport::Create(session.server);
    if (transport) {
      session.transport = *std::move(transport);
    } else {
      session.errors.push_back(session.server.source + ": " + transport.error().message);
    }
  } else {
    session.errors.push_back(server.error().message);
  }
  // The namespace needn't be known where nothing is known of the API server.
  if (server || settings.pod.empty()) RequireTarget(invocation, settings, session.errors);
  session.with_annotations = [flags, ns = settings.ns, pod = settings.pod](const TextMap& map) {
    ResolvedSettings resolved = ResolveSettings(flags, FromEnvironment, map);
    resolved.settings.ns = ns;
    resolved.settings.pod = pod;
    return resolved;
  };
  return session;
}

std::string CodeText(int status) { return status == 0 ? "<error>" : std::to_string(status); }

int RunCheck(const Invocation& invocation, std::stop_token stop) {
  Session session = MakeSession(invocation);
  if (!session.errors.empty()) return PrintErrors(session.errors);
  SystemClock clock;
  TokenSource tokens(session.server, clock);
  KubeClient client(*session.transport, tokens, [](const RequestRecord&) {});
  Survey survey(client, clock, session.settings, session.with_annotations);
  const Snapshot snapshot = survey.SureLook(true, stop);
  const CheckReport report = Report(snapshot, survey.settings(), invocation.output);
  fmt::print("{}", report.text);
  if (!report.error.empty()) fmt::print(stderr, "cluster-watcher: {}\n", report.error);
  return static_cast<int>(report.exit);
}

// A port that is in use is said loudly and tried again; the watcher watches all the same.
class PatientEndpoint {
 public:
  PatientEndpoint(MetricsEndpoint& endpoint, Clock& clock, spdlog::logger& log)
      : endpoint_(endpoint), clock_(clock), log_(log) {}

  void EnsureListening() {
    if (listening_ || clock_.Now() < next_try_) return;
    const auto error = endpoint_.Start();
    listening_ = !error;
    next_try_ = clock_.Now() + kListenAgain;
    if (error) {
      log_.error("no metrics: {}; it is tried again every 10s, or give another --listen", *error);
    } else {
      log_.info("metrics and health on port {}", endpoint_.port());
    }
  }

 private:
  MetricsEndpoint& endpoint_;
  Clock& clock_;
  spdlog::logger& log_;
  bool listening_ = false;
  MonotonicTime next_try_{};
};

int RunWatch(const Invocation& invocation, std::stop_token stop) {
  Session session = MakeSession(invocation);
  if (!session.errors.empty()) return PrintErrors(session.errors);
  const Settings& settings = session.settings.settings;
  Log log(settings.log_level, settings.log_format);
  SystemClock clock;
  prometheus::Registry registry;
  WatcherMetrics metrics(registry, kVersion, kRevision);
  metrics.SetDryRun(settings.dry_run);
  ProcessMetrics process_metrics;
  LoopHealth health;
  health.Turned(clock.Now());
  MetricsEndpoint endpoint(
      settings.listen, {&metrics, &process_metrics},
      {[&] { return health.IsAlive(clock.Now()); }, [&] { return health.IsReady(); }});
  PatientEndpoint patient(endpoint, clock, log.logger());
  TokenSource tokens(session.server, clock);
  KubeClient client(*session.transport, tokens, [&](const RequestRecord& request) {
    metrics.Requested(CodeText(request.status), ToString(request.method), request.elapsed);
    if (request.retry) metrics.Retried();
    log.logger().trace("{} {} {} in {} us", ToString(request.method), request.target,
                       CodeText(request.status), request.elapsed.count());
    // A loop that waits for a slow API server is alive.
    health.Turned(clock.Now());
  });
  // The pod's annotations have a say in how the first look is told, too.
  const auto with_annotations = [&](const TextMap& annotations) {
    ResolvedSettings resolved = session.with_annotations(annotations);
    log.Configure(resolved.settings.log_level, resolved.settings.log_format);
    return resolved;
  };
  Survey survey(client, clock, session.settings, with_annotations);
  EventRecorder events(client, clock, log.logger(), settings.pod);
  Announcer announcer(events, clock, log);
  const Dial dial = [](const std::string& url) -> Result<std::unique_ptr<Transport>> {
    ApiServer step_server;
    step_server.url = url;
    step_server.source = "step";
    auto transport = CurlTransport::Create(step_server);
    if (!transport) return Failure(transport.error().message);
    return std::unique_ptr<Transport>(*std::move(transport));
  };
  const auto turn = [&] { patient.EnsureListening(); };
  const auto next_scrape = [&](MonotonicTime since) {
    return endpoint.scrapers().NextExpected(since, clock.Now());
  };
  WatchLoop loop(survey, clock, metrics, announcer, log.logger(), health, dial, turn, next_scrape);
  log.logger().info("cluster-watcher {} watches over pod {} in namespace {} ({})", kVersion,
                    settings.pod, settings.ns, session.server.source);
  return loop.Run(stop);
}

int Run(std::span<const char* const> arguments, std::stop_token stop) {
  const CommandLine command_line = ParseCommandLine(arguments);
  if (const auto* help = std::get_if<HelpText>(&command_line)) {
    fmt::print("{}", help->text);
    return 0;
  }
  if (const auto* errors = std::get_if<UsageErrors>(&command_line)) {
    return PrintErrors(errors->lines);
  }
  const auto& invocation = std::get<Invocation>(command_line);
  switch (invocation.command) {
    case Command::kWatch:
      return RunWatch(invocation, stop);
    case Command::kCheck:
      return RunCheck(invocation, stop);
    case Command::kInject:
      return RunInject(invocation);
    case Command::kWebhook: {
      const ResolvedWebhookOptions resolved = ResolveWebhookOptions(invocation.flags);
      if (!resolved.errors.empty()) return PrintErrors(resolved.errors);
      return RunWebhook(resolved.options, stop);
    }
    case Command::kVersion:
      fmt::print("cluster-watcher {} ({})\n", kVersion, kRevision);
      return 0;
  }
  return kUsageExit;
}

}  // namespace
}  // namespace cluster_watcher

int main(int argc, char** argv) {
  cluster_watcher::StopSignals signals;
  const int code = cluster_watcher::Run({argv, static_cast<std::size_t>(argc)}, signals.token());
  std::fflush(nullptr);
  // The threads that serve signals and metrics have nothing to clean up.
  std::_Exit(code);
}

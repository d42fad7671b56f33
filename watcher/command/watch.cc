#include "watcher/command/watch.h"

#include <memory>
#include <string>
#include <utility>

#include <prometheus/registry.h>

#include "metrics/http/metrics_endpoint.h"
#include "metrics/process_metrics.h"
#include "metrics/watcher_metrics.h"
#include "probes/kube/token_source.h"
#include "watcher/command/print_errors.h"
#include "watcher/command/session.h"
#include "watcher/command/shared_flags.h"
#include "watcher/command/step_dial.h"
#include "watcher/command/version.h"
#include "watcher/loop/watch_loop.h"
#include "watcher/reporting/events.h"
#include "watcher/reporting/logging.h"
#include "watcher/reporting/metrics_port.h"
#include "watcher/reporting/status_page.h"

namespace cluster_watcher {
namespace {

std::string CodeText(int status) { return status == 0 ? "<error>" : std::to_string(status); }

}  // namespace

int RunWatch(const Invocation& invocation, const Environment& environment, Clock& clock,
             std::stop_token stop) {
  Session session = MakeSession(invocation, environment);
  if (!session.errors.empty()) return PrintErrors(session.errors);
  const Settings& at_start = session.settings.settings;
  Log log(at_start.log_level, at_start.log_format);
  // The pod's annotations decide how the first look is logged, too.
  SettingsInForce settings(session.settings, [&](const TextMap& annotations) {
    ResolvedSettings resolved = session.with_annotations(annotations);
    log.Configure(resolved.settings.log_level, resolved.settings.log_format);
    return resolved;
  });

  LoopHealth health;
  health.Turned(clock.Now());
  prometheus::Registry registry;
  WatcherMetrics metrics(registry, kVersion, kRevision);
  metrics.SetDryRun(at_start.dry_run);
  ProcessMetrics process_metrics;
  MetricsEndpoint endpoint(
      at_start.listen, {&metrics, &process_metrics},
      {[&] { return health.IsAlive(clock.Now()); }, [&] { return health.IsReady(); }}, {},
      [&] { return PageFor(metrics.Status(), clock.WallNow()); });
  MetricsPort port([&] { return endpoint.Start(); }, [&] { return endpoint.port(); }, clock,
                   log.logger());

  TokenSource tokens(session.server, clock);
  const RequestObserver note_request = [&](const RequestRecord& request) {
    metrics.Requested(CodeText(request.status), ToString(request.method), request.elapsed);
    if (request.retry) metrics.Retried();
    log.logger().trace("{} {} {} in {} us", ToString(request.method), request.target,
                       CodeText(request.status), request.elapsed.count());
    // A loop that waits for a slow API server is alive.
    health.Turned(clock.Now());
  };
  KubeClient client(*session.transport, tokens, note_request);
  const WatchAccess watches{*session.transport, tokens, clock, note_request};
  Discovery discovery(client);
  const Tools tools{
      client, discovery, clock, settings, metrics, log.logger(), [&](Duration may_take) {
        health.Turned(clock.Now() + may_take);
        port.EnsureListening();
      }};

  Observer observer(client, discovery, clock, settings);
  EventRecorder events(client, clock, log.logger(), at_start.pod);
  Announcer announcer(events, clock, log);
  WatchLoop loop(
      tools, observer, announcer, health,
      DialSteps(session.server, SystemAuthoritiesFile(), StepsAt::kMaster),
      [&](MonotonicTime since) { return endpoint.scrapers().NextExpected(since, clock.Now()); },
      &watches);
  log.logger().info("cluster-watcher {} watches over pod {} in namespace {} ({})", kVersion,
                    at_start.pod, at_start.ns, session.server.source);
  return loop.Run(stop);
}

CommandDescription DescribeWatch() {
  return {
      .name = "watch",
      .command = Command::kWatch,
      .usage = "[watch] [FLAGS]",
      .help = "Watch the owner of this pod's cluster; delete the cluster once it is abandoned",
      .flags = SettingFlags(),
      .about =
          "A setting is taken from its flag, else from the environment, else from the pod's\n"
          "annotation, else it has its default:\n"
          "  --poll-interval=10s\n"
          "  CLUSTER_WATCHER_POLL_INTERVAL=10s\n"
          "  cluster-watcher/poll-interval: 10s\n"
          "A flag that is given twice: the last counts. A duration is written as 500ms, 1m30s or "
          "24h.\n",
      .ending =
          "\nExit codes:\n"
          "  0  told to stop, or its pod is gone\n"
          "  2  flags, environment or kubeconfig are wrong, or there is no such pod\n"};
}

}  // namespace cluster_watcher

#include "test/simulation/life.h"

#include <map>
#include <utility>

#include <spdlog/sinks/base_sink.h>

#include "probes/base/duration_text.h"
#include "probes/kube/kube_client.h"
#include "probes/kube/token_source.h"
#include "watcher/loop/watch_loop.h"
#include "watcher/observation/observer.h"
#include "watcher/reporting/events.h"

namespace cluster_watcher::simulation {
namespace {

class JournalSink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  JournalSink(const Journal& journal, std::string who) : journal_(journal), who_(std::move(who)) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    journal_.Line(who_, "log: " + std::string(message.payload.data(), message.payload.size()));
  }
  void flush_() override {}

  const Journal& journal_;
  const std::string who_;
};

TextMap FlagsOf(const Plan& plan, const Identity& identity) {
  TextMap flags{{"namespace", World::kNamespace},
                {"pod", identity.pod},
                {"confirmations", std::to_string(plan.confirmations)},
                {"poll-interval", FormatDuration(plan.poll)},
                {"grace-period", FormatDuration(plan.grace)},
                {"startup-grace", FormatDuration(plan.startup_grace)},
                {"delete-deadline", FormatDuration(plan.delete_deadline)},
                {"steps-deadline", FormatDuration(plan.steps_deadline)},
                {"concurrency", std::to_string(plan.concurrency)},
                {"operator-grace", FormatDuration(plan.operator_grace)},
                {"volumes", plan.volumes}};
  if (plan.surge_grace) {
    flags["surge-limit"] = std::to_string(World::kOtherRoots);
    flags["surge-grace"] = FormatDuration(*plan.surge_grace);
  }
  if (plan.zero_grace) flags["scaled-to-zero-grace-period"] = FormatDuration(*plan.zero_grace);
  if (plan.watch) flags["observe"] = "watch";
  if (plan.driver == DriverKind::kWork) {
    flags["completed-when"] = "{.status.phase}=Succeeded,Failed";
  }
  if (!plan.all_kinds) {
    const std::string workers = kWorkerResources[static_cast<std::size_t>(plan.workers)];
    flags["resources"] = "pods,services,configmaps" + (workers.empty() ? "" : "," + workers) +
                         (plan.volumes == std::string("preserve") ? "" : ",persistentvolumeclaims");
    if (plan.set_of_farm) flags["resources"] += ",farms.example.com";
  }
  if (!identity.orders.owner.empty()) flags["owner"] = identity.orders.owner;
  if (identity.orders.dry_run) flags["dry-run"] = "true";
  return flags;
}

}  // namespace

// The server of steps: it obeys, fails, or never answers.
class Life::StepTransport final : public Transport {
 public:
  explicit StepTransport(Life& life) : life_(life) {}

  std::vector<HttpResult> Perform(std::span<const HttpRequest> requests, std::size_t,
                                  std::stop_token) override {
    std::vector<HttpResult> results;
    for (const HttpRequest& request : requests) {
      const int fate = life_.random_.Between(0, 9);
      const Micros takes =
          fate == 0 ? Micros(request.timeout) : life_.random_.Between(Micros(500), Micros(900'000));
      const MonotonicTime until = life_.timeline_.Now() + std::min(takes, Micros(request.timeout));
      life_.WakeAt(until);
      while (life_.timeline_.Now() < until) life_.Suspend();
      if (takes >= request.timeout || fate == 1) {
        const auto kind =
            fate == 1 ? TransportError::Kind::kConnect : TransportError::Kind::kTimeout;
        results.push_back(Unexpected{TransportError{kind, "simulated"}});
        continue;
      }
      HttpResponse response;
      response.status = fate <= 3 ? 500 : 200;
      results.push_back(std::move(response));
    }
    return results;
  }

 private:
  Life& life_;
};

Life::Life(Workshop& workshop, Timeline& timeline, World& world, Network& network,
           MachineClock& wall, Random random, Identity identity)
    : Process(workshop.stacks, timeline, world, network, wall, random, std::move(identity)),
      workshop_(workshop) {}

Life::~Life() { Kill(); }

// Wires the program as command/watch.cc does.
void Life::Run(Clock& clock, Transport& transport, std::stop_token stop) {
  const Plan& plan = world_.plan();
  const ApiServer server = workshop_.ServerOf(plan, network_.token());
  const bool on = world_.journal().on();
  Log log(on ? LogLevel::kDebug : LogLevel::kError, LogFormat::kText,
          on ? std::make_shared<JournalSink>(world_.journal(), identity().pod) : workshop_.silent);
  const TextMap flags = FlagsOf(plan, identity());
  // Each look asks for them, and they hardly ever change.
  std::map<TextMap, ResolvedSettings> resolved;
  const auto with_annotations = [&](const TextMap& annotations) {
    const auto known = resolved.find(annotations);
    if (known != resolved.end()) return known->second;
    const auto none = [](const std::string&) { return std::nullopt; };
    return resolved.emplace(annotations, ResolveSettings(flags, none, annotations)).first->second;
  };
  TokenSource tokens(server, clock);
  KubeClient client(transport, tokens, [](const RequestRecord&) {});
  SettingsInForce settings(with_annotations({}), with_annotations);
  Discovery discovery(client);
  Observer observer(client, discovery, clock, settings);
  EventRecorder events(client, clock, log.logger(), identity().pod);
  Announcer announcer(events, clock, log);
  LoopHealth health;
  const Dial dial = [this](const std::string&) -> Result<std::unique_ptr<Transport>> {
    return std::unique_ptr<Transport>(std::make_unique<StepTransport>(*this));
  };
  const auto next_scrape = [](MonotonicTime) { return std::optional<MonotonicTime>(); };
  const Tools tools{
      client, discovery, clock, settings, workshop_.metrics, log.logger(), [&](Duration may_take) {
        health.Turned(clock.Now() + may_take);
      }};
  const WatchAccess watches{streams(), tokens, clock, [](const RequestRecord&) {}};
  WatchLoop loop(tools, observer, announcer, health, dial, next_scrape, &watches);
  const int code = loop.Run(std::move(stop));
  if (world_.journal().on()) {
    world_.journal().Line(identity().pod, "ended with exit code " + std::to_string(code));
  }
}

}  // namespace cluster_watcher::simulation

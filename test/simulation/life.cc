#include "test/simulation/life.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <utility>

#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/null_sink.h>

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
                {"volumes", plan.volumes}};
  if (plan.surge_grace) {
    flags["surge-limit"] = std::to_string(World::kOtherRoots);
    flags["surge-grace"] = FormatDuration(*plan.surge_grace);
  }
  if (plan.zero_grace) flags["scaled-to-zero-grace-period"] = FormatDuration(*plan.zero_grace);
  if (plan.abandon_replaced) flags["replaced-owner"] = "abandon";
  if (plan.foreground) flags["propagation"] = "foreground";
  if (!plan.finish_on_termination) flags["on-termination"] = "leave";
  if (!plan.all_kinds) {
    constexpr const char* kWorkers[] = {"", ",deployments.apps", ",statefulsets.apps",
                                        ",replicationcontrollers"};
    flags["resources"] = std::string("pods,services,configmaps") + kWorkers[plan.workers];
  }
  if (!identity.orders.owner.empty()) flags["owner"] = identity.orders.owner;
  if (identity.orders.dry_run) flags["dry-run"] = "true";
  return flags;
}

}  // namespace

Workshop::Workshop()
    : metrics(registry, "simulated", "simulated"),
      silent(std::make_shared<spdlog::sinks::null_sink_st>()),
      token_file(memfd_create("token", 0)),
      token_path("/proc/self/fd/" + std::to_string(token_file)) {
  if (token_file < 0) {
    std::perror("the token's file");
    std::exit(1);
  }
}

void Workshop::WriteToken(const std::string& token) const {
  if (ftruncate(token_file, 0) != 0 ||
      pwrite(token_file, token.data(), token.size(), 0) != static_cast<ssize_t>(token.size())) {
    std::perror("the token's file");
    std::exit(1);
  }
}

// Requests sent side by side. The batch may outlive the code that waits for it.
struct Life::Batch final : Receiver, std::enable_shared_from_this<Life::Batch> {
  Batch(Life& of_life, std::span<const HttpRequest> of_requests)
      : life(of_life),
        requests(of_requests),
        results(of_requests.size()),
        called(of_life.timeline_.Now()),
        by_own_clock(of_life.wall_.Now()) {}

  bool complete() const { return next == requests.size() && open == 0; }

  void Launch() {
    const std::size_t i = next++;
    ++open;
    life.network_.Send(life.identity_, requests[i], called, by_own_clock, life.told_to_stop(),
                       shared_from_this(), i);
  }

  bool Receive(std::size_t index, HttpResult result) override {
    if (closed) return false;
    if (life.paused_) {
      life.Post([self = shared_from_this(), index, late = std::move(result)]() mutable {
        if (!self->closed) self->Take(index, std::move(late));
      });
    } else {
      Take(index, std::move(result));
    }
    return true;
  }

  void Take(std::size_t index, HttpResult result) {
    results[index] = std::move(result);
    --open;
    if (next < requests.size()) Launch();
    if (complete()) life.Resume();
  }

  Life& life;
  const std::span<const HttpRequest> requests;
  std::vector<std::optional<HttpResult>> results;
  const MonotonicTime called;
  const MonotonicTime by_own_clock;
  std::size_t next = 0;
  std::size_t open = 0;
  bool closed = false;  // nobody waits any more
};

class Life::LifeClock final : public Clock {
 public:
  explicit LifeClock(Life& life) : life_(life) {}

  MonotonicTime Now() override { return life_.wall_.Now(); }
  WallTime WallNow() override { return life_.wall_.WallNow(); }
  BootTime BootNow() override { return BootTime(life_.timeline_.Now().time_since_epoch()); }
  bool WaitUntil(MonotonicTime deadline, std::stop_token stop) override {
    MonotonicTime awaited{};
    while (Now() < deadline && !stop.stop_requested()) {
      // It is later if the machine has been suspended since.
      if (deadline != MonotonicTime::max() && awaited != deadline + life_.wall_.slept()) {
        awaited = deadline + life_.wall_.slept();
        life_.WakeAt(awaited);
      }
      life_.Suspend();
    }
    return !stop.stop_requested();
  }

 private:
  Life& life_;
};

class Life::LifeTransport final : public Transport {
 public:
  explicit LifeTransport(Life& life) : life_(life) {}

  std::vector<HttpResult> Perform(std::span<const HttpRequest> requests, std::size_t concurrency,
                                  std::stop_token stop) override {
    if (IsReview(requests) && !life_.world_.plan().ask_permissions) return Refuse(requests);
    const auto batch = std::make_shared<Batch>(life_, requests);
    struct Closer {
      Batch& batch;
      ~Closer() { batch.closed = true; }
    } closer{*batch};
    Dawdle();
    if (!stop.stop_requested()) {
      for (std::size_t i = 0; i < concurrency && batch->next < requests.size(); ++i) {
        batch->Launch();
      }
    }
    while (!batch->complete() && !stop.stop_requested()) life_.Suspend();
    std::vector<HttpResult> results;
    results.reserve(requests.size());
    for (auto& result : batch->results) {
      if (result) {
        results.push_back(*std::move(result));
      } else {
        results.push_back(Unexpected{TransportError{TransportError::Kind::kStopped, "stopped"}});
      }
    }
    return results;
  }

 private:
  // These would be a quarter of all requests, and prove nothing.
  static bool IsReview(std::span<const HttpRequest> requests) {
    return !requests.empty() && requests.front().method == HttpMethod::kPost &&
           requests.front().target.ends_with("/selfsubjectaccessreviews");
  }
  static std::vector<HttpResult> Refuse(std::span<const HttpRequest> requests) {
    HttpResponse response;
    response.status = 503;
    return std::vector<HttpResult>(requests.size(), response);
  }

  // Simulates a process that isn't scheduled between a discovery and its consequence.
  void Dawdle() {
    const Plan& plan = life_.world_.plan();
    if (plan.dawdling == 0 || life_.timeline_.Now() >= plan.calm ||
        !life_.random_.Chance(plan.dawdling)) {
      return;
    }
    const MonotonicTime until =
        life_.timeline_.Now() + life_.random_.Between(Micros(1'000), Micros(12'000'000));
    life_.WakeAt(until);
    while (life_.timeline_.Now() < until) life_.Suspend();
  }

  Life& life_;
};

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
    : workshop_(workshop),
      timeline_(timeline),
      world_(world),
      network_(network),
      wall_(wall),
      random_(random),
      identity_(std::make_shared<const Identity>(std::move(identity))),
      fiber_(workshop.stacks, [this] { Run(); }) {}

Life::~Life() { Kill(); }

// Wires the program as command/watch.cc does.
void Life::Run() {
  const Plan& plan = world_.plan();
  LifeClock clock(*this);
  LifeTransport transport(*this);
  ApiServer server;
  if (plan.token_rotates) {
    server.token_file = workshop_.token_path;
  } else {
    server.token = network_.token();
  }
  const bool on = world_.journal().on();
  Log log(on ? LogLevel::kDebug : LogLevel::kError, LogFormat::kText,
          on ? std::make_shared<JournalSink>(world_.journal(), identity_->pod) : workshop_.silent);
  const TextMap flags = FlagsOf(plan, *identity_);
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
  EventRecorder events(client, clock, log.logger(), identity_->pod);
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
  WatchLoop loop(tools, observer, announcer, health, dial, next_scrape);
  const int code = loop.Run(stop_.get_token());
  if (world_.journal().on()) {
    world_.journal().Line(identity_->pod, "ended with exit code " + std::to_string(code));
  }
}

void Life::Start() {
  Post([this] { Resume(); });
}

void Life::WakeAt(MonotonicTime time) {
  timeline_.At(time, [this, alive = std::weak_ptr<int>(alive_)] {
    if (!alive.expired()) Post([this] { Resume(); });
  });
}

void Life::Post(std::function<void()> action) {
  if (paused_) {
    posted_.push_back(std::move(action));
  } else {
    action();
  }
}

void Life::Resume() {
  if (running_ || fiber_.ended()) return;
  running_ = true;
  fiber_.Resume();
  running_ = false;
}

void Life::Terminate() {
  stop_.request_stop();
  WakeAt(timeline_.Now());
}

void Life::Kill() {
  alive_.reset();
  posted_.clear();
  running_ = true;
  fiber_.Kill();
  running_ = false;
}

void Life::Pause() { paused_ = true; }

void Life::Continue() {
  paused_ = false;
  while (!posted_.empty() && !paused_) {
    auto action = std::move(posted_.front());
    posted_.pop_front();
    action();
  }
}

}  // namespace cluster_watcher::simulation

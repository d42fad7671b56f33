#include "test/simulation/driver_process.h"

#include <span>
#include <utility>

#include "watcher/driver/await.h"
#include "watcher/driver/claim.h"
#include "watcher/driver/create.h"
#include "watcher/driver/hold.h"

namespace cluster_watcher::simulation {
namespace {

using CommandKind = DriverCommand::Kind;

}  // namespace

DriverProcess::DriverProcess(Workshop& workshop, Timeline& timeline, World& world, Network& network,
                             DriversJudge& judge, MachineClock& wall, Random random,
                             Identity identity, std::string app)
    : Process(workshop.stacks, timeline, world, network, wall, random, std::move(identity)),
      workshop_(workshop),
      judge_(judge),
      app_(std::move(app)) {}

DriverProcess::~DriverProcess() { Kill(); }

void DriverProcess::Nudge() {
  nudged_ = true;
  WakeAt(timeline_.Now());
}

void DriverProcess::Idle(Micros longest, const std::stop_token& stop) {
  nudged_ = false;
  const MonotonicTime until = timeline_.Now() + longest;
  WakeAt(until);
  while (timeline_.Now() < until && !nudged_ && !stop.stop_requested()) Suspend();
}

DriverCommand DriverProcess::Of(CommandKind kind) {
  DriverCommand command;
  command.kind = kind;
  command.app = random_.Chance(0.3) ? app_ : world_.KindOfApplication(app_) + "/" + app_;
  const bool may_own = kind == CommandKind::kClaim || kind == CommandKind::kCreate;
  command.ephemeral = may_own && random_.Chance(app_ == World::kOwnerName ? 0.6 : 0.3);
  command.timeout = std::chrono::seconds(random_.Pick(std::array{0, 1, 3, 8, 15}));
  return command;
}

DriverCommand DriverProcess::Choose() {
  if (std::exchange(is_first_, false)) {
    return Of(random_.Chance(0.7) ? CommandKind::kClaim : CommandKind::kAwait);
  }
  const bool is_missing = last_exit_ == DriverExit::kNoCluster;
  if (is_missing && random_.Chance(0.7)) return Of(CommandKind::kCreate);
  if (last_exit_ == DriverExit::kNotReady && random_.Chance(0.3)) return Of(CommandKind::kCreate);
  const bool awaited = last_.kind == CommandKind::kAwait;
  if (awaited && last_exit_ == DriverExit::kDone) return Of(CommandKind::kClaim);
  if (!awaited && last_exit_ == DriverExit::kNotReady) {
    return Of(random_.Chance(0.6) ? CommandKind::kAwait : CommandKind::kClaim);
  }
  const std::array<int, 6> weights =
      has_claimed_ ? std::array{2, 3, 4, 1, 1, 1} : std::array{6, 3, 1, 1, 1, 2};
  return Of(static_cast<CommandKind>(random_.Weighted(weights)));
}

DriverOutcome DriverProcess::Do(const DriverCommand& command, const DriverTools& tools,
                                SettingsInForce& settings) {
  const ClusterId cluster{World::kNamespace, DefaultProfile(), World::kCluster};
  const OwnerName app = *OwnerName::Parse(command.app);
  Observer observer(tools.client, tools.discovery, tools.clock, settings);
  switch (command.kind) {
    case CommandKind::kClaim:
      return Claim(tools, cluster, app, command.ephemeral);
    case CommandKind::kAwait:
      return Await(tools, cluster, app, command.timeout);
    case CommandKind::kRelease:
      return Release(tools, cluster, app);
    case CommandKind::kHold:
      return WriteHold(tools, observer, {cluster}, {std::chrono::hours(72)});
    case CommandKind::kUnhold:
      return TakeHoldOff(tools, observer, {cluster});
    case CommandKind::kCreate: {
      std::string text;
      for (const std::string& manifest : world_.ClusterManifests(true)) text += manifest + "\n";
      const ManifestFile file{"cluster.json", std::move(text)};
      auto objects = ReadClusterFiles(std::span(&file, 1), cluster);
      if (!objects) return DriverOutcome::Of(DriverExit::kFailed, objects.error().front());
      return Create(tools, {cluster, std::move(objects->objects), app, command.ephemeral,
                            command.timeout, [](const std::string&) {}});
    }
  }
  return {};
}

// Wires the program as command/driver_session.cc does.
void DriverProcess::Run(Clock& clock, Transport& transport, std::stop_token stop) {
  const ApiServer server = workshop_.ServerOf(world_.plan(), network_.token());
  const TextMap flags{{"namespace", World::kNamespace}, {"cluster", World::kCluster}};
  const auto with_annotations = [&](const TextMap& annotations) {
    return ResolveSettings(
        flags, [](const std::string&) { return std::nullopt; }, annotations);
  };
  // At once, soon, or when it is nudged.
  Idle(random_.Between(Micros(0), Micros(random_.Pick(std::array{20'000, 4'000'000, 60'000'000}))),
       stop);
  for (int left = random_.Between(1, 6); left > 0 && !stop.stop_requested(); --left) {
    // Each command is a program of its own.
    TokenSource tokens(server, clock);
    KubeClient client(transport, tokens, [](const RequestRecord&) {});
    Discovery discovery(client);
    SettingsInForce settings(with_annotations({}), with_annotations);
    last_ = Choose();
    const int life = identity().life;
    const Journal& journal = world_.journal();
    if (journal.on()) journal.Line(app_, last_.ToText() + " as " + last_.app);
    judge_.Begin(life, app_, last_);
    const DriverOutcome outcome = Do(last_, {client, discovery, clock, stop}, settings);
    judge_.End(life, outcome);
    last_exit_ = outcome.exit;
    if (journal.on()) {
      journal.Line(app_, last_.ToText() + " came to " +
                             std::to_string(static_cast<int>(outcome.exit)) + ": " + outcome.said +
                             outcome.error);
    }
    if (last_.kind == CommandKind::kClaim) has_claimed_ = outcome.exit == DriverExit::kDone;
    if (last_.kind == CommandKind::kRelease) has_claimed_ = false;
    Idle(random_.Between(Micros(1'000), Micros(random_.Chance(0.5) ? 1'000'000 : 6'000'000)), stop);
  }
}

}  // namespace cluster_watcher::simulation

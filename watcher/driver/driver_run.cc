#include "watcher/driver/driver_run.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "probes/base/names.h"
#include "watcher/driver/await.h"
#include "watcher/driver/claim.h"
#include "watcher/driver/cluster_list.h"
#include "watcher/driver/cluster_view.h"
#include "watcher/driver/create.h"
#include "watcher/driver/who_acts.h"
#include "watcher/driver/write_meta.h"

namespace cluster_watcher {
namespace {

constexpr int kNameLength = 6;

// Returns the cluster that names the owner, or a new name.
Result<NamedCluster, DriverOutcome> ChooseName(const DriverTools& lists, const Application& app,
                                               const std::vector<SharedProfile>& profiles,
                                               const std::string& ns) {
  std::vector<std::string> own;
  for (const SharedProfile& profile : profiles) {
    auto found = FindOwnClusters(lists, profile, ns, app);
    if (!found) return Unexpected{DriverOutcome::Of(DriverExit::kUnknown, found.error())};
    own.insert(own.end(), found->begin(), found->end());
  }
  if (own.empty()) return NamedCluster{"cluster-" + RandomLetters(kNameLength), "chance"};
  if (own.size() == 1) return NamedCluster{own.front(), "its master, which names " + app.Name()};
  return Unexpected{DriverOutcome::Of(DriverExit::kOthers, "several clusters name " + app.Name() +
                                                               " as their owner, " + Joined(own) +
                                                               ": give one of them by --cluster")};
}

// The owner by its own name, which outlives the pod that named it.
OwnerName Literally(const Application& app) {
  auto name = OwnerName::Parse(app.owner->Describe());
  return name ? *std::move(name) : app.given;
}

DriverOutcome WaitOrCreate(const DriverTools& tools, const DriverRun& run, const OwnerName& app,
                           Duration left) {
  if (!run.objects) {
    DriverOutcome outcome = Await(tools, run.cluster, app, left);
    if (outcome.exit == DriverExit::kNoCluster) {
      outcome.error += ": create it before, or give its manifests by -f";
    }
    return outcome;
  }
  CreateOrder order{run.cluster, *run.objects, app, run.ephemeral, left, {}};
  order.say = [](const std::string&) {};
  return Create(tools, order);
}

// Once through: it is there, the application's, and complete.
DriverOutcome TryOnce(const DriverTools& tools, const DriverRun& run, ReadyCluster& ready,
                      Duration left) {
  DriverOutcome outcome = WaitOrCreate(tools, run, ready.app, left);
  if (outcome.exit != DriverExit::kDone) return outcome;
  ready.warnings = outcome.warnings;
  outcome = Claim(tools, run.cluster, ready.app, false);
  if (outcome.exit != DriverExit::kDone || !run.objects) return outcome;
  // A cluster that was created may lack something, or have been deleted since.
  outcome = Await(tools, run.cluster, ready.app, Duration(0));
  const bool may_pass =
      outcome.exit == DriverExit::kUnknown || outcome.exit == DriverExit::kNoCluster;
  if (may_pass) outcome.exit = DriverExit::kNotReady;
  return outcome;
}

}  // namespace

Result<NamedCluster, DriverOutcome> NameOfItsCluster(const DriverTools& tools,
                                                     const DriverTools& lists, const OwnerName& app,
                                                     const std::vector<SharedProfile>& profiles,
                                                     const std::string& ns) {
  Application found = FindApplication(tools.client, tools.discovery, app, ns, tools.Reads());
  if (!found.owner) return Unexpected{WithoutOwner(found)};
  KubeObject& owner = *found.owner;
  NamedCluster chosen;
  for (int writes = 1;; ++writes) {
    if (auto used = found.Uses(); used && !used->empty()) {
      return NamedCluster{*std::move(used), "the label uses-oshinko-cluster of " + found.Name()};
    }
    if (chosen.name.empty()) {
      auto choice = ChooseName(lists, found, profiles, ns);
      if (!choice) return Unexpected{std::move(choice).error()};
      chosen = *std::move(choice);
    }
    const auto written = WriteMeta(tools.client, owner, {{{kUsesClusterLabel, chosen.name}}, {}});
    if (written) return chosen;
    if (!IsTransient(written.error().failure) || writes == kMostWrites) {
      return Unexpected{DriverOutcome::Of(DriverExit::kFailed, written.error())};
    }
    auto now = ReadMetaAgain(tools.client, owner, tools.Reads());
    if (!now) return Unexpected{DriverOutcome::Of(DriverExit::kUnknown, now.error())};
    owner = *std::move(now);
  }
}

Result<ReadyCluster, DriverOutcome> MakeReady(const DriverTools& tools, const DriverRun& run) {
  const MonotonicTime deadline = tools.clock.Now() + run.timeout;
  const Application app =
      FindApplication(tools.client, tools.discovery, run.app, run.cluster.ns, tools.Reads());
  if (!app.owner) return Unexpected{WithoutOwner(app)};
  ReadyCluster ready{Literally(app), app.owner->meta.uid, false, {}};
  for (;;) {
    const auto left = std::chrono::duration_cast<Duration>(
        std::max(deadline - tools.clock.Now(), MonotonicTime::duration(0)));
    DriverOutcome outcome = TryOnce(tools, run, ready, left);
    if (outcome.exit == DriverExit::kDone) break;
    // It was condemned meanwhile: a watcher decides within a minute.
    const bool again = outcome.exit == DriverExit::kNotReady && tools.clock.Now() < deadline &&
                       !tools.stop.stop_requested();
    if (!again) return Unexpected{std::move(outcome)};
    tools.clock.WaitUntil(std::min(deadline, tools.clock.Now() + kBetweenLooks), tools.stop);
  }
  const auto view = ReadClusterView(tools.client, tools.discovery, run.cluster, tools.Reads());
  if (!view) {
    return Unexpected{DriverOutcome::Of(DriverExit::kUnknown, view.error())};
  }
  ready.is_own = BelongingTo(*view, app) == Belonging::kOurs;
  if (!ready.is_own && run.ephemeral) {
    ready.warnings.push_back("cluster " + run.cluster.name +
                             " is shared, so it is used and not deleted");
  }
  return ready;
}

}  // namespace cluster_watcher

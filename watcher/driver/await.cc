#include "watcher/driver/await.h"

#include <algorithm>

#include "probes/base/names.h"
#include "watcher/driver/write_meta.h"

namespace cluster_watcher {
namespace {

constexpr Duration kBetweenLooks{1'000};
// When the time is over, if somebody else writes the master root all the time.
constexpr int kMostLateLooks = 10;

std::string Why(const ClusterView& view) {
  const std::string cluster = "cluster " + view.id.name;
  if (view.rivals.empty() && view.status == ClusterStatus::kIncomplete) {
    return cluster + " lacks " + Joined(view.lacks);
  }
  if (!view.rivals.empty()) return cluster + " has several masters: " + Joined(view.rivals);
  return cluster + " is " + ToString(view.status);
}

// nullopt: look again.
std::optional<DriverOutcome> Judge(const DriverTools& tools, const ClusterView& view,
                                   const Application& app) {
  if (!view.exists) {
    return DriverOutcome::Of(DriverExit::kNoCluster, "no cluster " + view.id.name);
  }
  const Belonging belonging = BelongingTo(view, app);
  if (belonging == Belonging::kAnothers) return BelongsToAnother(view, app);
  if (view.status != ClusterStatus::kRunning) {
    return DriverOutcome::Of(DriverExit::kNotReady, Why(view));
  }
  const char* whose = belonging == Belonging::kOurs ? " is ready" : " is ready, and shared";
  return DriverOutcome::Said("cluster " + view.id.name + whose);
}

// nullopt: look again at once. `is_for_good`: waiting doesn't help.
std::optional<DriverOutcome> LookOnce(const DriverTools& tools, const ClusterId& cluster,
                                      const OwnerName& name, bool& is_for_good) {
  const Application app =
      FindApplication(tools.client, tools.discovery, name, cluster.ns, tools.Reads());
  if (!app.owner && !app.is_absent) {
    is_for_good = app.is_refused;
    return WithoutOwner(app);
  }
  const auto view = ReadClusterView(tools.client, tools.discovery, cluster, tools.Reads());
  if (!view) {
    is_for_good = view.error().failure == ApiFailure::kForbidden;
    return DriverOutcome::Of(DriverExit::kUnknown, view.error());
  }
  return Judge(tools, *view, app);
}

}  // namespace

DriverOutcome Await(const DriverTools& tools, const ClusterId& cluster, const OwnerName& app,
                    Duration timeout) {
  const MonotonicTime deadline = tools.clock.Now() + timeout;
  DriverOutcome last;
  int late_looks = 0;
  for (bool again = true; again;) {
    bool is_for_good = false;
    auto outcome = LookOnce(tools, cluster, app, is_for_good);
    const MonotonicTime now = tools.clock.Now();
    again = now < deadline && !tools.stop.stop_requested();
    if (!outcome) {
      // What was written says nothing about the cluster: without another look nothing is known.
      last = DriverOutcome::Of(DriverExit::kUnknown,
                               "cluster " + cluster.name + " changes all the time");
      again = again || ++late_looks < kMostLateLooks;
      continue;
    }
    last = *std::move(outcome);
    const bool waits = last.exit == DriverExit::kNotReady || last.exit == DriverExit::kUnknown;
    if (!waits || is_for_good) return last;
    if (again) tools.clock.WaitUntil(std::min(deadline, now + kBetweenLooks), tools.stop);
  }
  return last;
}

}  // namespace cluster_watcher

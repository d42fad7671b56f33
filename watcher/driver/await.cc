#include "watcher/driver/await.h"

#include <algorithm>
#include <optional>

#include "probes/base/names.h"
#include "probes/owner_probe.h"

namespace cluster_watcher {
namespace {

// Whether the application whose cluster it is has ended.
bool IsOwnerOver(const DriverTools& tools, const ClusterView& view, const std::string& owner) {
  const auto name = OwnerName::Parse(owner);
  if (!name) return false;
  const std::string ns = view.marks.owner ? view.marks.owner->ns : view.id.ns;
  OwnerProbe probe(tools.client, tools.discovery);
  const OwnerQuery query{*name, "", ns, view.id.ns, std::nullopt, std::nullopt};
  return IsOver(probe.Look(query, Freshness::kConsistent, tools.Reads()).observation);
}

Readiness LookOnce(const DriverTools& tools, const ClusterId& cluster, const OwnerName& name) {
  const Application app =
      FindApplication(tools.client, tools.discovery, name, cluster.ns, tools.Reads());
  if (!app.owner && !app.is_absent) return {WithoutOwner(app), app.is_refused};
  const auto view = ReadClusterView(tools.client, tools.discovery, cluster, tools.Reads());
  if (view) return ReadinessFor(tools, *view, app);
  return {DriverOutcome::Of(DriverExit::kUnknown, view.error()),
          view.error().failure == ApiFailure::kForbidden};
}

}  // namespace

DriverOutcome NotReady(const ClusterView& view) {
  std::string why = "cluster " + view.id.name;
  if (!view.rivals.empty()) {
    why += " has several masters: " + Joined(view.rivals);
  } else if (view.status == ClusterStatus::kIncomplete && !view.lacks.empty()) {
    why += " lacks " + Joined(view.lacks);
  } else {
    why += std::string(" is ") + ToString(view.status);
  }
  for (const std::string& refused : view.refused) why += "; " + refused;
  return DriverOutcome::Of(DriverExit::kNotReady, why);
}

Readiness ReadinessFor(const DriverTools& tools, const ClusterView& view, const Application& app) {
  if (!view.exists) {
    return {DriverOutcome::Of(DriverExit::kNoCluster, "no cluster " + view.id.name)};
  }
  const Belonging belonging = BelongingTo(view, app);
  if (belonging == Belonging::kAnothers) {
    return {BelongsToAnother(view, app), !IsOwnerOver(tools, view, AnotherOwner(view, app))};
  }
  if (view.status != ClusterStatus::kRunning) return {NotReady(view), false};
  const char* whose = belonging == Belonging::kOurs ? " is ready" : " is ready, and shared";
  return {DriverOutcome::Said("cluster " + view.id.name + whose)};
}

DriverOutcome Await(const DriverTools& tools, const ClusterId& cluster, const OwnerName& app,
                    Duration timeout) {
  const MonotonicTime deadline = tools.clock.Now() + timeout;
  while (true) {
    Readiness now = LookOnce(tools, cluster, app);
    const MonotonicTime looked = tools.clock.Now();
    const bool is_over = looked >= deadline || tools.stop.stop_requested();
    if (now.is_final || is_over) return std::move(now.outcome);
    tools.clock.WaitUntil(std::min(deadline, looked + kBetweenLooks), tools.stop);
  }
}

}  // namespace cluster_watcher

#include "watcher/driver/cluster_list.h"

#include <algorithm>
#include <set>
#include <utility>

#include "probes/owner_kinds.h"
#include "watcher/decision/confirmation.h"
#include "watcher/deletion/judged_look.h"
#include "watcher/driver/claim.h"
#include "watcher/driver/cluster_view.h"
#include "watcher/observation/observer.h"

namespace cluster_watcher {
namespace {

// Owners that say that they use the cluster; what another of them controls is none.
Result<std::vector<std::string>, ApiError> FindDrivers(const DriverTools& tools,
                                                       const ClusterId& cluster) {
  ClusterProbe probe(tools.client, tools.discovery);
  const Patience patience = tools.Reads();
  auto types = probe.DriverTypes(patience);
  if (!types) return Unexpected{std::move(types).error()};
  std::vector<KubeObject> found;
  std::set<std::string> uids;
  for (const ResourceType& type : *types) {
    const auto read = tools.client.EachItem(
        ApiRequest::ListBySelector(type, cluster.ns,
                                   std::string(kUsesClusterLabel) + "=" + cluster.name, true),
        [&](JsonValue item) {
          auto meta = ReadObjectMeta(item);
          if (!meta) return;
          uids.insert(meta->uid);
          found.push_back({type, *std::move(meta)});
        },
        patience);
    if (!read) return Unexpected{read.error()};
  }
  std::vector<std::string> drivers;
  for (const KubeObject& driver : found) {
    const OwnerReference* controller = driver.meta.Controller();
    if (controller == nullptr || !uids.contains(controller->uid)) {
      drivers.push_back(driver.Describe());
    }
  }
  std::sort(drivers.begin(), drivers.end());
  return drivers;
}

// Until the grace period ends that began with the first abandoned verdict.
std::optional<Duration> TimeLeft(const Snapshot& look, const Decision& decision,
                                 const Settings& settings, Clock& clock) {
  const auto& since = look.marks.abandoned_since;
  if (!decision.abandoned() || !since) return std::nullopt;
  const Duration grace = GraceFor(settings, decision.reason, look.seen);
  return std::chrono::duration_cast<Duration>(*since + grace - ServerNow(look, clock));
}

void TakeLook(const DriverTools& tools, const SettingsInForce::WithAnnotations& with_annotations,
              const ClusterView& view, ClusterRow& row) {
  const auto of_cluster = SettingsInForce::About(view.id, with_annotations);
  SettingsInForce settings(of_cluster({}), of_cluster);
  Observer observer(tools.client, tools.discovery, tools.clock, settings);
  if (view.root) observer.SetRoot(*view.root);
  const JudgedLook look = LookAndDecide(observer, tools.stop);
  const Snapshot& snapshot = look.snapshot;
  const auto& owner = snapshot.facts.owner;
  row.shared = look.decision.reason == Reason::kShared;
  row.owner = snapshot.OwnerText();
  if (owner && owner->object) row.replicas = owner->fields.replicas;
  row.verdict = look.decision.verdict();
  row.reason = ToString(look.decision.reason);
  row.ephemeral = snapshot.owner_name ? snapshot.owner_name->name : "";
  row.steps = snapshot.StepsText();
  row.left = TimeLeft(snapshot, look.decision, *settings, tools.clock);
  if (view.root && view.root->meta.created) {
    const auto age = ServerNow(snapshot, tools.clock) - *view.root->meta.created;
    row.age = std::chrono::duration_cast<Duration>(age);
  }
}

Result<std::optional<ClusterRow>, ApiError> ReadRow(
    const DriverTools& tools, const SettingsInForce::WithAnnotations& settings,
    const ClusterId& cluster, const std::optional<Application>& app, const ClusterFilter& filter) {
  const auto view = ReadClusterView(tools.client, tools.discovery, cluster, tools.Reads());
  if (!view) return Unexpected{view.error()};
  if (filter.selects) {
    const auto selected = view->root ? filter.selects(*view->root) : Result<bool, ApiError>(false);
    if (!selected) return Unexpected{selected.error()};
    if (!*selected) return std::optional<ClusterRow>();
  }
  const bool is_wanted =
      !app || app->Uses() == cluster.name || BelongingTo(*view, *app) == Belonging::kOurs;
  if (!view->exists || !is_wanted) return std::optional<ClusterRow>();
  ClusterRow row;
  row.ns = cluster.ns;
  row.cluster = cluster.name;
  row.status = ToString(view->status);
  row.phase = ToString(view->marks.phase);
  row.workers = view->workers;
  row.master = view->master;
  row.web_ui = view->web_ui;
  row.route = view->route;
  TakeLook(tools, settings, *view, row);
  auto drivers = FindDrivers(tools, cluster);
  if (!drivers) return Unexpected{std::move(drivers).error()};
  row.drivers = *std::move(drivers);
  return std::optional(std::move(row));
}

// Whether the reads of other clusters would fail, too. What can't be read of one, as the kind of
// what stands above its master, says nothing of those.
bool FailsForAll(const ApiError& error) {
  return error.failure != ApiFailure::kUnexpected && IsTransient(error.failure);
}

}  // namespace

// By what carries the cluster label, of the kinds that make a cluster, and by the custom resources
// that stand for clusters.
Result<ClusterNames, ApiError> FindClusterNames(const DriverTools& tools,
                                                const SharedProfile& profile,
                                                const std::string& ns) {
  const Patience patience = tools.Reads();
  const std::string selector = profile->Selector();
  std::vector<ApiRequest> lists = {
      ApiRequest::ListBySelector(*FindBuiltInByName("services", ""), ns, selector, true)};
  for (const ResourceType& known : WorkloadTypes()) {
    auto type = tools.discovery.Resolve(known, patience);
    if (!type) return Unexpected{std::move(type).error()};
    if (*type) lists.push_back(ApiRequest::ListBySelector(**type, ns, selector, true));
  }
  if (profile->HasRoot()) {
    auto type = tools.discovery.ByPlural(profile->root, patience);
    if (!type) return Unexpected{std::move(type).error()};
    if (*type) lists.push_back(ApiRequest::ListMetadata(**type, ns));
  }
  ClusterNames names;
  const auto read = tools.client.EachItemSideBySide(
      lists, kReadsSideBySide,
      [&](std::size_t which, JsonValue item) {
        const auto meta = ReadObjectMeta(item);
        if (!meta) return;
        const auto name = profile->IsRoot(lists[which].type) ? std::optional(meta->name)
                                                             : meta->Label(profile->cluster_label);
        if (name && !name->empty() && !profile->IsOshinkos(*meta)) names.emplace(meta->ns(), *name);
      },
      patience);
  for (std::size_t i = 0; i < read.size(); ++i) {
    if (read[i]) continue;
    // An account that may not list a framework's resources still sees its pods.
    const bool is_passed_over =
        profile->IsRoot(lists[i].type) && read[i].error().failure == ApiFailure::kForbidden;
    if (!is_passed_over) return Unexpected{read[i].error()};
  }
  return names;
}

Result<ClusterRows, ApiError> ListClusters(const DriverTools& tools,
                                           const SettingsInForce::WithAnnotations& settings,
                                           const ClusterFilter& filter) {
  std::optional<Application> app;
  if (filter.app) {
    app = FindApplication(tools.client, tools.discovery, *filter.app, filter.ns, tools.Reads());
    if (!app->owner && !app->is_absent) {
      return Unexpected{ApiError{ApiFailure::kUnexpected, WithoutOwner(*app).error, std::nullopt}};
    }
  }
  Result<ClusterNames, ApiError> names = ClusterNames{{filter.ns, filter.cluster}};
  if (filter.cluster.empty()) names = FindClusterNames(tools, filter.profile, filter.ns);
  if (!names) return Unexpected{std::move(names).error()};
  ClusterRows listed;
  for (const auto& [ns, name] : *names) {
    auto row = ReadRow(tools, settings, {ns, filter.profile, name}, app, filter);
    if (tools.stop.stop_requested()) {
      return Unexpected{ApiError{ApiFailure::kStopped, kToldToStop, std::nullopt}};
    }
    if (!row && FailsForAll(row.error())) return Unexpected{std::move(row).error()};
    if (!row) {
      listed.unread.push_back("cluster " + name + " in namespace " + ns + ": " +
                              row.error().message);
    } else if (*row) {
      listed.rows.push_back(**std::move(row));
    }
  }
  return listed;
}

Result<std::vector<std::string>, ApiError> FindOwnClusters(const DriverTools& tools,
                                                           const SharedProfile& profile,
                                                           const std::string& ns,
                                                           const Application& app) {
  const auto names = FindClusterNames(tools, profile, ns);
  if (!names) return Unexpected{names.error()};
  std::vector<std::string> own;
  for (const auto& [of, name] : *names) {
    const ClusterId cluster{of, profile, name};
    const auto view = ReadClusterView(tools.client, tools.discovery, cluster, tools.Reads());
    if (!view) return Unexpected{view.error()};
    if (BelongingTo(*view, app) == Belonging::kOurs) own.push_back(name);
  }
  return own;
}

}  // namespace cluster_watcher

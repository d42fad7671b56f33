// All clusters of a namespace, or of all namespaces, and what would be made of each.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "probes/base/clock.h"
#include "watcher/driver/application.h"
#include "watcher/driver/driver_tools.h"
#include "watcher/settings/settings_in_force.h"

namespace cluster_watcher {

struct ClusterRow {
  std::string ns;
  std::string cluster;
  std::string status;                    // "Running"
  bool shared = false;                   // it has no owner
  std::string owner;                     // "deployment.apps/bob"; empty: none, or it isn't known
  std::optional<std::int64_t> replicas;  // that the owner wants
  std::string verdict;                   // "keep"
  std::string reason;                    // "active"
  std::string phase;                     // "watching"
  std::string ephemeral;                 // the owner's name; empty: it is shared
  std::vector<std::string> drivers;      // "deployment.apps/bob", sorted
  std::string steps;                     // "1/2" while steps are run; else empty
  std::int64_t workers = 0;
  std::string master;  // as in ClusterView, and so are these two
  std::string web_ui;
  std::string route;
  std::optional<Duration> age;  // of its master root, by the API server's clock
  // Until its deletion is due, or overdue; nullopt: that isn't on its way, or isn't known.
  std::optional<Duration> left;
};

// Which clusters are listed.
struct ClusterFilter {
  std::string ns;                            // empty: all namespaces
  std::string cluster;                       // empty: each
  std::optional<OwnerName> app;              // only those that it uses, or that are its own
  SharedProfile profile = DefaultProfile();  // in whose words
  // Whether a cluster with this master root is meant; empty: each is, also one without.
  std::function<Result<bool, ApiError>(const KubeObject&)> selects = {};
};

struct ClusterRows {
  std::vector<ClusterRow> rows;     // sorted
  std::vector<std::string> unread;  // why one that there is couldn't be read
};

// Lists them. `settings` resolves the command's with the annotations of a cluster's pod.
// `tools` may answer from lists (CachedLists): verdicts are without confirmations.
// Fails if it isn't known which clusters there are, or who `app` is, if the API server fails for
// the moment, and if it is told to stop.
Result<ClusterRows, ApiError> ListClusters(const DriverTools& tools,
                                           const SettingsInForce::WithAnnotations& settings,
                                           const ClusterFilter& filter);

// Finds which clusters there are in the words of `profile`, by namespace and name; in all
// namespaces if `ns` is empty.
using ClusterNames = std::set<std::pair<std::string, std::string>>;
Result<ClusterNames, ApiError> FindClusterNames(const DriverTools& tools,
                                                const SharedProfile& profile,
                                                const std::string& ns);

// Returns the names of the clusters in namespace `ns` whose master roots name `app`, sorted. Fails
// if one of all can't be read.
Result<std::vector<std::string>, ApiError> FindOwnClusters(const DriverTools& tools,
                                                           const SharedProfile& profile,
                                                           const std::string& ns,
                                                           const Application& app);

}  // namespace cluster_watcher

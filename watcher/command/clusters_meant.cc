#include "watcher/command/clusters_meant.h"

#include <algorithm>

#include "watcher/command/shared_flags.h"
#include "watcher/driver/select_clusters.h"

namespace cluster_watcher {
namespace {

Invocation OfCluster(Invocation invocation, const std::string& name) {
  invocation.cluster = name;
  invocation.words.clear();
  if (!name.empty()) invocation.flags["cluster"] = name;
  return invocation;
}

}  // namespace

Flag SelectorFlag() {
  return OwnFlag("selector", "SELECTOR", "",
                 "the clusters of the namespace whose master root's labels it fits, as kubectl's: "
                 "team=a,stage!=prod",
                 'l');
}

Flag AllFlag() { return SwitchFlag("all", "all clusters of the namespace"); }

Selection ReadSelection(const Invocation& invocation, std::vector<std::string>& errors) {
  const auto selector = invocation.options.find("selector");
  const bool has_selector = selector != invocation.options.end();
  const bool is_all = invocation.options.at("all") == "true";
  // One of blanks would fit all, too.
  if (has_selector && selector->second.find_first_not_of(" \t\r\n") == std::string::npos) {
    errors.emplace_back("--selector is empty: give labels, as in team=a, or --all");
  }
  if (has_selector && is_all) errors.emplace_back("--all contradicts --selector: give one of them");
  if (!invocation.cluster.empty() && (has_selector || is_all)) {
    errors.push_back(std::string(is_all ? "--all" : "--selector") +
                     " contradicts CLUSTER: give names, or what selects them");
  }
  return {has_selector || is_all, has_selector ? selector->second : ""};
}

std::vector<MeantCluster> OfEachCluster(const Invocation& invocation) {
  std::vector<MeantCluster> each = {{OfCluster(invocation, invocation.cluster)}};
  for (const std::string& name : invocation.words) each.push_back({OfCluster(invocation, name)});
  return each;
}

Result<std::vector<MeantCluster>, ApiError> OfEachSelected(DriverSession& session,
                                                           const Invocation& invocation,
                                                           const std::string& selector) {
  const auto profiles = session.ProfilesMeant();
  if (!profiles) return Unexpected{profiles.error()};
  std::vector<MeantCluster> each;
  for (const SharedProfile& profile : *profiles) {
    const auto selected =
        SelectClusters(session.tools(), profile, session.settings()->ns, selector);
    if (!selected) return Unexpected{selected.error()};
    for (const auto& [name, root_uid] : *selected) {
      each.push_back({OfCluster(invocation, name), root_uid});
      if (!session.HasWords()) each.back().invocation.flags["profile"] = profile->name;
    }
  }
  std::stable_sort(each.begin(), each.end(),
                   [](const MeantCluster& one, const MeantCluster& other) {
                     return one.invocation.cluster < other.invocation.cluster;
                   });
  return each;
}

}  // namespace cluster_watcher

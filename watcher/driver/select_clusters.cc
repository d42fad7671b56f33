#include "watcher/driver/select_clusters.h"

#include "watcher/driver/cluster_view.h"
#include "watcher/driver/label_selection.h"

namespace cluster_watcher {

Result<ClusterNames, ApiError> SelectClusters(const DriverTools& tools,
                                              const SharedProfile& profile, const std::string& ns,
                                              const std::string& selector) {
  auto names = FindClusterNames(tools, profile, ns);
  if (!names || selector.empty()) return names;
  LabelSelection selection(tools, ns, selector);
  ClusterNames selected;
  for (const auto& [of, name] : *names) {
    const auto view =
        ReadClusterView(tools.client, tools.discovery, {of, profile, name}, tools.Reads());
    if (!view) return Unexpected{view.error()};
    const auto& root = view->root ? view->root : view->resource;
    if (!root) continue;
    const auto fits = selection.Finds(*root);
    if (!fits) return Unexpected{fits.error()};
    if (*fits) selected.emplace(of, name);
  }
  return selected;
}

}  // namespace cluster_watcher

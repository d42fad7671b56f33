#include "watcher/driver/select_clusters.h"

#include "watcher/driver/cluster_view.h"
#include "watcher/driver/label_selection.h"

namespace cluster_watcher {

Result<SelectedClusters, ApiError> SelectClusters(const DriverTools& tools,
                                                  const SharedProfile& profile,
                                                  const std::string& ns,
                                                  const std::string& selector) {
  const auto names = FindClusterNames(tools, profile, ns);
  if (!names) return Unexpected{names.error()};
  LabelSelection selection(tools, ns, selector);
  SelectedClusters selected;
  for (const auto& [of, name] : *names) {
    const auto view =
        ReadClusterView(tools.client, tools.discovery, {of, profile, name}, tools.Reads());
    if (!view) return Unexpected{view.error()};
    const auto& root = view->root ? view->root : view->resource;
    if (!selector.empty()) {
      const auto fits = root ? selection.Finds(*root) : Result<bool, ApiError>(false);
      if (!fits) return Unexpected{fits.error()};
      if (!*fits) continue;
    }
    selected.emplace(name, root ? root->meta.uid : "");
  }
  return selected;
}

}  // namespace cluster_watcher

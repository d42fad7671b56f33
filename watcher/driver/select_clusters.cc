#include "watcher/driver/select_clusters.h"

#include <map>
#include <set>
#include <utility>

#include "probes/base/names.h"
#include "watcher/driver/cluster_view.h"

namespace cluster_watcher {

Result<ClusterNames, ApiError> SelectClusters(const DriverTools& tools,
                                              const SharedProfile& profile, const std::string& ns,
                                              const std::string& selector) {
  auto names = FindClusterNames(tools, profile, ns);
  if (!names || selector.empty()) return names;
  std::map<std::string, std::set<std::string>> fitting;  // by kind: the UIDs
  ClusterNames selected;
  for (const auto& [of, name] : *names) {
    const auto view =
        ReadClusterView(tools.client, tools.discovery, {of, profile, name}, tools.Reads());
    if (!view) return Unexpected{view.error()};
    const auto& root = view->root ? view->root : view->resource;
    if (!root) continue;
    const auto [uids, is_new] = fitting.try_emplace(root->type->QualifiedName());
    if (is_new) {
      const auto read = tools.client.EachItem(
          ApiRequest::ListBySelector(root->type, ns, selector, true),
          [&uids = uids->second](JsonValue item) {
            if (const auto meta = ReadObjectMeta(item)) uids.insert(meta->uid);
          },
          tools.Reads());
      if (!read) {
        ApiError error = read.error();
        error.message = "selector " + Quoted(selector) + ": " + error.message;
        return Unexpected{std::move(error)};
      }
    }
    if (uids->second.contains(root->meta.uid)) selected.emplace(of, name);
  }
  return selected;
}

}  // namespace cluster_watcher

#include "watcher/driver/deletion_rights.h"

#include <algorithm>
#include <vector>

#include "probes/permissions.h"
#include "watcher/deletion/member_listing.h"

namespace cluster_watcher {
namespace {

bool HasObjects(const DriverTools& tools, const ClusterId& cluster,
                const std::vector<ResourceType>& types, const Permission& permission) {
  const auto type = std::find_if(types.begin(), types.end(), [&](const ResourceType& one) {
    return one.plural == permission.resource && one.group == permission.group;
  });
  if (type == types.end()) return false;
  bool any = false;
  const auto read = tools.client.EachItem(
      ApiRequest::ListBySelector(*type, cluster.ns, cluster.Selector(), true),
      [&](JsonValue) { any = true; }, tools.Reads());
  return read && any;
}

}  // namespace

std::optional<std::string> WhyNotAllowed(const DriverTools& tools, const Settings& settings,
                                         const ClusterId& cluster, const KubeObject* root) {
  const Patience patience = tools.Reads();
  const MemberKinds kinds = FindMemberKinds(settings, tools.discovery, patience);
  std::vector<Permission> needed;
  for (const ResourceType& type : kinds.types) {
    const bool is_claim = type.kind == "PersistentVolumeClaim";
    if (is_claim && settings.volumes != Volumes::kDelete) continue;
    needed.push_back(Permission::For("delete", type, cluster.ns));
  }
  if (root != nullptr) {
    for (const char* verb : {"patch", "delete"}) {
      needed.push_back(Permission::For(verb, root->type, cluster.ns, root->meta.name));
    }
  }
  auto missing = PermissionProbe(tools.client, tools.clock).FindMissing(needed, patience);
  if (!missing || missing->empty()) return std::nullopt;
  std::erase_if(*missing, [&](const Permission& permission) {
    return permission.name.empty() && !HasObjects(tools, cluster, kinds.types, permission);
  });
  const auto rules = RulesThatGrant(*missing);
  if (rules.empty()) return std::nullopt;
  return "cluster " + cluster.name + " can't be deleted: the account needs in namespace " +
         cluster.ns + " the rules " + rules.front().text;
}

}  // namespace cluster_watcher

#include "watcher/observation/owner_names.h"

namespace cluster_watcher {

bool IsNameOfOwner(const Snapshot& snapshot, const std::string& name) {
  return name == snapshot.owner_name->name || (snapshot.seen && name == snapshot.seen->name);
}

bool IsDeploymentConfig(const Snapshot& snapshot) {
  const ResourceType& configs = *FindBuiltInByName("deploymentconfigs", "");
  const OwnerName& given = *snapshot.owner_name;
  return snapshot.seen ? snapshot.seen->kind == configs.SingularName()
                       : FindBuiltInByName(given.kind, given.group) == &configs;
}

bool IsNameOfItsController(const Snapshot& snapshot, const std::string& name) {
  const std::string prefix = snapshot.owner_name->name + "-";
  return IsDeploymentConfig(snapshot) && name.size() > prefix.size() && name.starts_with(prefix) &&
         name.find_first_not_of("0123456789", prefix.size()) == std::string::npos;
}

}  // namespace cluster_watcher

#include "watcher/observation/owner_names.h"

namespace cluster_watcher {

bool KindsAgree(const KindName& one, const KindName& other) {
  if (one.kind.empty() || other.kind.empty()) return true;
  const ResourceType* type = FindBuiltInByName(one.kind, one.group);
  const ResourceType* other_type = FindBuiltInByName(other.kind, other.group);
  if (type != nullptr || other_type != nullptr) return type == other_type;
  return one.kind == other.kind &&
         (one.group.empty() || other.group.empty() || one.group == other.group);
}

bool IsNumberedAfter(const std::string& config, const std::string& name) {
  const std::string prefix = config + "-";
  return name.size() > prefix.size() && name.starts_with(prefix) &&
         name.find_first_not_of("0123456789", prefix.size()) == std::string::npos;
}

bool IsNameOfOwner(const Snapshot& snapshot, const std::string& name) {
  return name == snapshot.owner_name->name || (snapshot.seen && name == snapshot.seen->name);
}

bool IsDeploymentConfig(const Snapshot& snapshot) {
  const ResourceType& configs = *FindBuiltInByName("deploymentconfigs", "");
  const OwnerName& given = *snapshot.owner_name;
  return snapshot.seen ? snapshot.seen->kind == configs.SingularName()
                       : FindBuiltInByName(given.kind, given.group) == &configs;
}

const std::string& NameOfOwner(const Snapshot& snapshot) {
  return snapshot.seen ? snapshot.seen->name : snapshot.owner_name->name;
}

bool IsNameOfItsController(const Snapshot& snapshot, const std::string& name) {
  return IsDeploymentConfig(snapshot) && IsNumberedAfter(NameOfOwner(snapshot), name);
}

bool NamesOwner(const Snapshot& snapshot, const OwnerName& name, const std::string& ns) {
  if (!ns.empty() && ns != snapshot.owner_ns) return false;
  const KindName kind{name.kind, name.group};
  const OwnerName& given = *snapshot.owner_name;
  const auto& seen = snapshot.seen;
  if (seen && name.name == seen->name && KindsAgree(kind, SplitKindName(seen->kind))) return true;
  if (IsNameOfItsController(snapshot, name.name)) {
    return KindsAgree(kind, {"replicationcontroller", ""});
  }
  // A bare name that was found is of the kind that was found.
  if (seen && given.IsBare()) return false;
  return name.name == given.name && KindsAgree(kind, {given.kind, given.group});
}

}  // namespace cluster_watcher

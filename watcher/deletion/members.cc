#include "watcher/deletion/members.h"

#include <algorithm>
#include <limits>

#include "probes/base/names.h"
#include "probes/cluster_probe.h"
#include "probes/masters.h"
#include "probes/owner_kinds.h"
#include "watcher/deletion/objects_by_uid.h"
#include "watcher/protocol/marks.h"

namespace cluster_watcher {
namespace {

// By default claims go after everything that may mount them.
constexpr int kAfterTheRest = std::numeric_limits<int>::max();

bool IsClaim(const ResourceType& type) { return type.kind == "PersistentVolumeClaim"; }

// Says why an object is left alone, whatever --resources and labels say; nullptr if it isn't.
const char* WhyLeft(const KubeObject& object, const DeletionMemory& memory) {
  if (IsNeverDeleted(object.type)) return "its kind is never deleted";
  if (IsKept(object)) return "annotated cluster-watcher/keep";
  if (!IsClaim(object.type)) return nullptr;
  if (memory.kept_claims.contains(object.meta.uid)) return "its StatefulSet stays";
  switch (memory.volumes) {
    case Volumes::kPreserve:
      return "volumes are preserved";
    case Volumes::kDelete:
      return nullptr;
    case Volumes::kCollect:
      return IsCollected(object.meta, memory.collect_after) ? "it is marked for collection"
                                                            : nullptr;
  }
  return nullptr;
}

// Whether it is a claim of the master's StatefulSet.
bool IsOfRootSet(const KubeObject& object, const DeletionMemory& memory) {
  return !memory.root_set.empty() && IsClaim(object.type) &&
         IsNamedAsClaimOf(memory.root_set, object.meta.name);
}

bool IsMounted(const KubeObject& object, const DeletionMemory& memory) {
  return std::any_of(memory.mounted.begin(), memory.mounted.end(), [&](const MountedObject& m) {
    return m.type.kind == object.type->kind && m.name == object.meta.name;
  });
}

// Returns the UIDs of the objects that control the owner, directly or not, as far as known.
std::set<std::string> AboveOwner(const ObjectsByUid& now, const DeletionMemory& memory) {
  std::set<std::string> above{memory.owner_controller_uid};
  std::set<std::string> begin = memory.owner_uids;
  begin.insert(memory.owner_controller_uid);
  for (const std::string& uid : begin) {
    for (const KubeObject* at = now.Find(uid); at != nullptr;) {
      const OwnerReference* controller = at->meta.Controller();
      if (controller == nullptr || !above.insert(controller->uid).second) break;
      at = now.Find(controller->uid);
    }
  }
  return above;
}

bool IsController(const ResourceType& type) {
  return IsWorkload(type) ? type.kind != "Pod"
                          : FindBuiltInByName(type.plural, type.group) == nullptr;
}

// Controllers come first: what they control can't be made again then. Claims of a StatefulSet can't
// be found once it is gone, so they come before it.
int OrderOfKind(const ResourceType& type) {
  if (IsClaim(type)) return 1;
  if (type.kind == "StatefulSet") return 2;
  return IsController(type) ? 0 : 3;
}

// Whether an operator may make it again while its custom resource is there: Flink's makes a
// JobManager's Deployment that belongs to nothing. Any other controller is somebody's addition.
bool IsOperators(const KubeObject& object, const ClusterId& cluster) {
  return cluster.Owns(object.meta) &&
         (!IsController(object.type) || IsMaster(object.type, object.meta, *cluster.profile));
}

// Whether a member goes right before the root.
bool GoesLast(const KubeObject& object, const DeletionMemory& memory) {
  if (memory.root_uid.empty()) return false;
  return object.type->kind == "NetworkPolicy" || IsMounted(object, memory) ||
         IsOfRootSet(object, memory) ||
         (memory.root_is_resource && IsOperators(object, memory.cluster));
}

enum class Controlled { kByMember, kByMasterRoot, kByOther, kByNothing };

struct Controller {
  Controlled controlled = Controlled::kByOther;
  std::optional<Uid> member_uid = {};  // if it is a member, or what is below nothing
};

// Returns what a listed object is below, listed itself or of the cluster all the same, as far as it
// was read; nullptr: that isn't known.
const ObjectMeta* FindAbove(const OwnerReference& owner, const ObjectsByUid& now,
                            const DeletionMemory& memory) {
  if (const KubeObject* listed = now.Find(owner.uid)) return &listed->meta;
  const auto read = memory.above.find(owner.uid);
  if (read == memory.above.end()) return nullptr;
  const ClusterId& cluster = memory.cluster;
  const bool is_of_cluster = cluster.Owns(read->second) || cluster.IsResource(owner);
  return is_of_cluster ? &read->second : nullptr;
}

// Follows the controllers of an object up to one that says whether it is of the cluster.
Controller FindController(const KubeObject& object, const ObjectsByUid& now,
                          const DeletionMemory& memory) {
  const ObjectMeta* at = &object.meta;
  const OwnerReference* controller = memory.cluster.Above(*at);
  for (int i = 0; controller != nullptr && i < kLongestOwnerChain; ++i) {
    if (controller->uid == memory.root_uid) return {Controlled::kByMasterRoot};
    if (IsLeft(controller->uid, memory)) return {};
    if (memory.listed.contains(controller->uid)) return {Controlled::kByMember, controller->uid};
    if (auto known = memory.below.find(controller->uid); known != memory.below.end()) {
      return {Controlled::kByMember, known->second};
    }
    // Deleted, perhaps by this deletion before a restart; it will be collected.
    if (IsGone(*controller, memory) && now.Find(at->uid) != nullptr) {
      return {Controlled::kByNothing, at->uid};
    }
    at = FindAbove(*controller, now, memory);
    if (at == nullptr) return {};
    controller = memory.cluster.Above(*at);
  }
  return {};
}

void Leave(const KubeObject& object, const std::string& why, DeletionMemory& memory,
           MemberPass& pass) {
  if (memory.left.insert(object.meta.uid).second) {
    pass.left.push_back(object.Describe() + ": " + why);
  }
}

void List(const KubeObject& member, DeletionMemory& memory, MemberPass& pass) {
  const auto text = member.meta.Annotation(annotation::kDeleteOrder);
  const auto set = memory.set_claims.find(member.meta.uid);
  const int usual = !IsClaim(member.type)            ? 0
                    : set == memory.set_claims.end() ? kAfterTheRest
                                                     : memory.OrderOf(set->second);
  const auto order = text ? ParseDeleteOrder(*text) : usual;
  if (memory.listed.emplace(member.meta.uid, order.value_or(0)).second && !order) {
    pass.mistakes.push_back(member.Describe() + ": annotation " + annotation::kDeleteOrder + ": " +
                            Quoted(*text) + " is not a whole number, it counts as 0");
  }
}

using Group = KubeObjects MemberPass::*;

// Returns the group of an object that is a member.
Group SortMember(const KubeObject& object, DeletionMemory& memory, MemberPass& pass) {
  List(object, memory, pass);
  if (IsClaim(object.type) && memory.volumes == Volumes::kCollect) return &MemberPass::to_collect;
  return GoesLast(object, memory) ? &MemberPass::last : &MemberPass::to_delete;
}

// Returns the group of an object with a controller; nullptr if it belongs to none.
Group SortControlled(const KubeObject& object, const ObjectsByUid& now, DeletionMemory& memory,
                     MemberPass& pass) {
  if (memory.set_claims.contains(object.meta.uid)) return SortMember(object, memory, pass);
  const Controller controller = FindController(object, now, memory);
  const OwnerReference& above = *memory.cluster.Above(object.meta);
  switch (controller.controlled) {
    case Controlled::kByMasterRoot:
      return nullptr;
    case Controlled::kByOther:
      Leave(object, "its controller " + above.kind + " " + above.name + " is not of the cluster",
            memory, pass);
      return nullptr;
    case Controlled::kByNothing:
      if (*controller.member_uid == object.meta.uid) return SortMember(object, memory, pass);
      break;
    case Controlled::kByMember:
      break;
  }
  // It goes by its ownerReference, which is taken off one that must stay.
  if (IsClaim(object.type)) return nullptr;
  memory.below.emplace(object.meta.uid, *controller.member_uid);
  const KubeObject* member = now.Find(controller.member_uid->ToText());
  return member != nullptr && GoesLast(*member, memory) ? nullptr : &MemberPass::leftovers;
}

}  // namespace

int DeletionMemory::OrderOf(const Uid& uid) const {
  const auto controlled = below.find(uid);
  const auto member = listed.find(controlled == below.end() ? uid : controlled->second);
  return member == listed.end() ? 0 : member->second;
}

const Uid* DeletionMemory::MemberOf(const Uid& uid) const {
  const auto controlled = below.find(uid);
  if (controlled != below.end()) return &controlled->second;
  const auto member = listed.find(uid);
  return member == listed.end() ? nullptr : &member->first;
}

bool DeletionMemory::HasWaves() const {
  std::set<int> orders;
  for (const auto& [uid, order] : listed) orders.insert(order);
  orders.erase(kAfterTheRest);
  return orders.size() > 1;
}

bool IsNeverDeleted(const ResourceType& type) {
  const std::string& kind = type.kind;
  return kind == "ServiceAccount" || kind == "Role" || kind == "RoleBinding" || kind == "Namespace";
}

bool IsNamedAsClaimOf(const std::string& set, const std::string& claim) {
  const std::size_t ordinal = claim.find_last_not_of("0123456789") + 1;
  return ordinal < claim.size() && claim.substr(0, ordinal).ends_with("-" + set + "-");
}

bool IsLeft(const std::string& uid, const DeletionMemory& memory) {
  return memory.left.contains(uid) || memory.kept.contains(uid);
}

bool IsGone(const OwnerReference& controller, const DeletionMemory& memory) {
  return memory.gone.contains(controller.uid) && !memory.owner_uids.contains(controller.uid);
}

bool IsOwner(const KubeObject& object, const DeletionMemory& memory) {
  if (memory.owner_uids.contains(object.meta.uid)) return true;
  if (memory.owner_name.empty() || object.meta.name != memory.owner_name) return false;
  return memory.owner_kind.empty() ? IsWorkload(object.type)
                                   : object.type->SingularName() == memory.owner_kind;
}

MemberPass SortMembers(KubeObjects objects, DeletionMemory& memory, bool has_gaps) {
  MemberPass pass;
  if (!has_gaps) memory.left.clear();
  const ObjectsByUid now(objects);
  const std::set<std::string> above_owner = AboveOwner(now, memory);
  std::vector<Group> groups(objects.size(), nullptr);
  for (std::size_t i = 0; i < objects.size(); ++i) {
    const KubeObject& object = objects[i];
    const std::string& uid = object.meta.uid;
    if (uid == memory.root_uid) continue;
    if (IsOwner(object, memory)) {
      Leave(object, "it is the owner", memory, pass);
    } else if (above_owner.contains(uid)) {
      Leave(object, "it controls the owner", memory, pass);
    } else if (const char* why = WhyLeft(object, memory)) {
      Leave(object, why, memory, pass);
    } else if (memory.cluster.Above(object.meta) == nullptr) {
      groups[i] = SortMember(object, memory, pass);
    }
  }
  // A second pass, because an object may be listed before the member that controls it.
  for (std::size_t i = 0; i < objects.size(); ++i) {
    const KubeObject& object = objects[i];
    const std::string& uid = object.meta.uid;
    if (memory.cluster.Above(object.meta) == nullptr || uid == memory.root_uid ||
        memory.left.contains(uid)) {
      continue;
    }
    groups[i] = SortControlled(object, now, memory, pass);
  }
  for (const Group group : groups) {
    if (group != nullptr) (pass.*group).push_back(std::move(objects.front()));
    objects.pop_front();
  }
  return pass;
}

std::vector<const KubeObject*> DueMembers(const MemberPass& pass, const DeletionMemory& memory,
                                          bool all,
                                          const std::function<bool(const KubeObject&)>& stays) {
  int lowest = std::numeric_limits<int>::max();
  const auto of_each = [&](const auto& what) {
    for (const auto* group : {&pass.to_delete, &pass.leftovers}) {
      for (const KubeObject& object : *group) {
        if (stays == nullptr || !stays(object)) what(object, memory.OrderOf(object.meta.uid));
      }
    }
  };
  of_each([&](const KubeObject&, int order) { lowest = std::min(lowest, order); });
  std::vector<const KubeObject*> due;
  of_each([&](const KubeObject& object, int order) {
    if (all || order == lowest) due.push_back(&object);
  });
  std::stable_sort(due.begin(), due.end(), [](const KubeObject* a, const KubeObject* b) {
    return OrderOfKind(a->type) < OrderOfKind(b->type);
  });
  return due;
}

}  // namespace cluster_watcher

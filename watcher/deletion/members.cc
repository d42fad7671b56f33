#include "watcher/deletion/members.h"

#include <algorithm>
#include <limits>

#include "probes/base/names.h"
#include "probes/cluster_probe.h"
#include "probes/owner_kinds.h"
#include "watcher/deletion/objects_by_uid.h"
#include "watcher/protocol/marks.h"

namespace cluster_watcher {
namespace {

// By default claims go after everything that may mount them.
constexpr int kAfterTheRest = std::numeric_limits<int>::max();

bool IsClaim(const ResourceType& type) { return type.kind == "PersistentVolumeClaim"; }

bool IsKept(const KubeObject& object, const DeletionMemory& memory) {
  return IsKept(object.meta) && !memory.copied_keep.contains(object.meta.uid);
}

// Says why an object is left alone, whatever --resources and labels say; nullptr if it isn't.
const char* WhyLeft(const KubeObject& object, const DeletionMemory& memory) {
  if (IsNeverDeleted(object.type)) return "its kind is never deleted";
  if (IsKept(object, memory)) return "kept";
  if (!IsClaim(object.type)) return nullptr;
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

// An owner that was created again has another UID, so its name counts too.
bool IsOwner(const KubeObject& object, const DeletionMemory& memory) {
  if (memory.owner_uids.contains(object.meta.uid)) return true;
  if (memory.owner_name.empty() || object.meta.name != memory.owner_name) return false;
  return memory.owner_kind.empty() ? IsWorkload(object.type)
                                   : object.type->SingularName() == memory.owner_kind;
}

// StatefulSets come behind other controllers, because they may have to wait for their claims.
int OrderOfKind(const ResourceType& type) {
  if (type.kind == "StatefulSet") return 1;
  const bool is_controller =
      IsWorkload(type) ? type.kind != "Pod" : FindBuiltInByName(type.plural, type.group) == nullptr;
  return is_controller ? 0 : 2;
}

enum class Controlled { kByMember, kByMasterRoot, kByOther };

struct Controller {
  Controlled controlled = Controlled::kByOther;
  std::optional<Uid> member_uid = {};  // if it is a member
};

// Follows the controllers of an object up to one that says whether it is of the cluster.
Controller FindController(const KubeObject& object, const ObjectsByUid& now,
                          const DeletionMemory& memory) {
  const OwnerReference* controller = object.meta.Controller();
  for (int i = 0; controller != nullptr && i < 16; ++i) {
    if (controller->uid == memory.root_uid) return {Controlled::kByMasterRoot};
    if (memory.left.contains(controller->uid)) return {};
    if (memory.listed.contains(controller->uid)) return {Controlled::kByMember, controller->uid};
    if (auto known = memory.below.find(controller->uid); known != memory.below.end()) {
      return {Controlled::kByMember, known->second};
    }
    const KubeObject* above = now.Find(controller->uid);
    if (above == nullptr) return {};
    controller = above->meta.Controller();
  }
  return {};
}

bool IsTooNew(const KubeObject& object, const DeletionMemory& memory) {
  if (!memory.made_before) return false;
  const auto& created = object.meta.created;
  const auto seen = std::chrono::floor<std::chrono::seconds>(*memory.made_before);
  if (!created || *created != seen) return !created || *created > seen;
  return !IsNoLaterVersion(object.meta.resource_version, memory.made_before_version);
}

void Leave(const KubeObject& object, const char* why, DeletionMemory& memory, MemberPass& pass) {
  if (memory.left.insert(object.meta.uid).second) {
    pass.left.push_back(object.Describe() + ": " + why);
  }
}

void List(const KubeObject& member, DeletionMemory& memory, MemberPass& pass) {
  const auto text = member.meta.Annotation(annotation::kDeleteOrder);
  const auto order = text ? ParseDeleteOrder(*text) : IsClaim(member.type) ? kAfterTheRest : 0;
  if (memory.listed.emplace(member.meta.uid, order.value_or(0)).second && !order) {
    pass.mistakes.push_back(member.Describe() + ": annotation " + annotation::kDeleteOrder + ": " +
                            Quoted(*text) + " is not a whole number, it counts as 0");
  }
}

using Group = KubeObjects MemberPass::*;

// Returns the group of an object without a controller; nullptr if it belongs to none.
Group SortRoot(const KubeObject& object, bool root_is_ours, DeletionMemory& memory,
               MemberPass& pass) {
  const std::string& uid = object.meta.uid;
  // What a member controlled may have lost that controller since.
  const bool is_known = memory.listed.contains(uid) || memory.below.contains(uid);
  if (!root_is_ours && !is_known) return nullptr;
  if (IsTooNew(object, memory)) {
    Leave(object, "made while the cluster was taken down", memory, pass);
    return nullptr;
  }
  List(object, memory, pass);
  if (IsClaim(object.type) && memory.volumes == Volumes::kCollect) return &MemberPass::to_collect;
  const bool goes_with_root =
      root_is_ours && (IsMounted(object, memory) || IsOfRootSet(object, memory));
  return goes_with_root ? &MemberPass::mounted : &MemberPass::to_delete;
}

// Does the same for an object with a controller.
Group SortControlled(const KubeObject& object, const ObjectsByUid& now, DeletionMemory& memory,
                     MemberPass& pass) {
  const Controller controller = FindController(object, now, memory);
  switch (controller.controlled) {
    case Controlled::kByMasterRoot:
      return nullptr;
    case Controlled::kByOther:
      Leave(object, "its controller is not of the cluster", memory, pass);
      return nullptr;
    case Controlled::kByMember:
      break;
  }
  if (IsClaim(object.type)) return nullptr;  // it is its StatefulSet's, and settled with that
  memory.below.emplace(object.meta.uid, *controller.member_uid);
  return &MemberPass::leftovers;
}

}  // namespace

int DeletionMemory::OrderOf(const Uid& uid) const {
  const auto above = below.find(uid);
  const auto member = listed.find(above == below.end() ? uid : above->second);
  return member == listed.end() ? 0 : member->second;
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

bool MustSurvive(const KubeObject& object, const DeletionMemory& memory) {
  if (IsKept(object, memory) || IsNeverDeleted(object.type) || IsOwner(object, memory)) return true;
  if (!IsClaim(object.type) || memory.volumes == Volumes::kDelete) return false;
  const auto& owners = object.meta.owner_references();
  // Claims of a StatefulSet are settled before it goes.
  return std::none_of(owners.begin(), owners.end(), [&](const OwnerReference& owner) {
    return owner.kind == "Pod" ||
           (owner.kind == "StatefulSet" && IsNamedAsClaimOf(owner.name, object.meta.name));
  });
}

const KubeObject* FindOtherMaster(const KubeObjects& objects, const DeletionMemory& memory) {
  const ObjectsByUid now(objects);
  const auto is_known = [&](const std::string& uid) {
    return uid == memory.root_uid || memory.listed.contains(uid) || memory.below.contains(uid);
  };
  const auto is_of_other_root = [&](const KubeObject& object) {
    const OwnerReference* controller = object.meta.Controller();
    for (int i = 0; controller != nullptr && i < 16; ++i) {
      if (is_known(controller->uid)) return false;
      const KubeObject* above = now.Find(controller->uid);
      // What a rollout makes may be gone before its pods, and tells nothing then.
      if (above == nullptr) {
        return controller->kind != "ReplicaSet" && controller->kind != "ReplicationController";
      }
      if (above->meta.deleting) return false;
      controller = above->meta.Controller();
    }
    return true;
  };
  for (const KubeObject& object : objects) {
    if (!CanJudge(object.type)) continue;  // a Service is labelled as its master is
    if (IsMaster(object.type, object.meta) && !object.meta.deleting && !is_known(object.meta.uid) &&
        is_of_other_root(object)) {
      return &object;
    }
  }
  return nullptr;
}

std::vector<const KubeObject*> NewWorkloads(const KubeObjects& objects,
                                            const DeletionMemory& memory) {
  std::vector<const KubeObject*> found;
  for (const KubeObject& object : objects) {
    const std::string& uid = object.meta.uid;
    const bool is_known =
        uid == memory.root_uid || memory.listed.contains(uid) || memory.below.contains(uid);
    const bool is_maker = IsWorkload(object.type) && object.type->kind != "Pod" &&
                          object.meta.Controller() == nullptr;
    if (is_maker && !is_known && !object.meta.deleting) found.push_back(&object);
  }
  return found;
}

MemberPass SortMembers(KubeObjects objects, bool root_is_ours, DeletionMemory& memory) {
  MemberPass pass;
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
      const bool is_preserved = IsClaim(object.type) && memory.volumes == Volumes::kPreserve;
      if (is_preserved && IsMarkedForCollection(object.meta)) pass.used_again.push_back(object);
    } else if (object.meta.Controller() == nullptr) {
      groups[i] = SortRoot(object, root_is_ours, memory, pass);
    }
  }
  // A second pass, because an object may be listed before the member that controls it.
  for (std::size_t i = 0; i < objects.size(); ++i) {
    const KubeObject& object = objects[i];
    const std::string& uid = object.meta.uid;
    if (object.meta.Controller() == nullptr || uid == memory.root_uid ||
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
                                          bool all) {
  int lowest = std::numeric_limits<int>::max();
  const auto of_each = [&](const auto& what) {
    for (const auto* group : {&pass.to_delete, &pass.leftovers}) {
      for (const KubeObject& object : *group) what(object, memory.OrderOf(object.meta.uid));
    }
  };
  of_each([&](const KubeObject&, int order) { lowest = std::min(lowest, order); });
  std::vector<const KubeObject*> due;
  of_each([&](const KubeObject& object, int order) {
    if (all || order == lowest) due.push_back(&object);
  });
  // Controllers first: what they control can't be made anew then.
  std::stable_sort(due.begin(), due.end(), [](const KubeObject* a, const KubeObject* b) {
    return OrderOfKind(a->type) < OrderOfKind(b->type);
  });
  return due;
}

}  // namespace cluster_watcher

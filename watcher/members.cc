#include "watcher/members.h"

#include <algorithm>

#include "watcher/marks.h"

namespace cluster_watcher {
namespace {

bool IsKept(const KubeObject& object) {
  return object.meta.Annotation(annotation::kKeep) == "true";
}

// The kinds that outlive every cluster, whatever --resources and labels say.
bool IsNeverDeleted(const ResourceType& type) {
  return type.kind == "ServiceAccount" || type.kind == "Role" || type.kind == "RoleBinding" ||
         type.kind == "Namespace" || type.kind == "PersistentVolumeClaim";
}

bool IsMounted(const KubeObject& object, const DeletionMemory& memory) {
  return std::any_of(memory.mounted.begin(), memory.mounted.end(), [&](const MountedObject& m) {
    return m.type.kind == object.type.kind && m.name == object.meta.name;
  });
}

// The UIDs of what controls the owner, as far as it is known.
std::set<std::string> AboveOwner(const std::map<std::string, const KubeObject*>& now,
                                 const DeletionMemory& memory) {
  std::set<std::string> above{memory.owner_controller_uid};
  const bool listed = now.contains(memory.owner_uid);
  for (auto at = now.find(listed ? memory.owner_uid : memory.owner_controller_uid);
       at != now.end();) {
    const OwnerReference* controller = at->second->meta.Controller();
    if (controller == nullptr || !above.insert(controller->uid).second) break;
    at = now.find(controller->uid);
  }
  return above;
}

enum class Controlled { kByMember, kByMasterRoot, kByOther };

struct Controller {
  Controlled controlled = Controlled::kByOther;
  std::string member_uid;  // where it is a member
};

// Who controls an object that has a controller, up to the top of what is known.
Controller FindController(const KubeObject& object,
                          const std::map<std::string, const KubeObject*>& now,
                          const DeletionMemory& memory) {
  const OwnerReference* controller = object.meta.Controller();
  for (int i = 0; controller != nullptr && i < 16; ++i) {
    if (controller->uid == memory.root_uid) return {Controlled::kByMasterRoot, ""};
    if (memory.left.contains(controller->uid)) return {};
    if (memory.listed.contains(controller->uid)) return {Controlled::kByMember, controller->uid};
    if (auto known = memory.below.find(controller->uid); known != memory.below.end()) {
      return {Controlled::kByMember, known->second};
    }
    const auto above = now.find(controller->uid);
    if (above == now.end()) return {};
    controller = above->second->meta.Controller();
  }
  return {};
}

bool IsTooNew(const KubeObject& object, const DeletionMemory& memory) {
  if (!memory.made_before) return false;
  const auto created = ParseTime(object.meta.created);
  return !created || *created > *memory.made_before;
}

void Leave(const KubeObject& object, const char* why, DeletionMemory& memory, MemberPass& pass) {
  if (memory.left.insert(object.meta.uid).second) {
    pass.left.push_back(object.Describe() + ": " + why);
  }
}

}  // namespace

MemberPass SortMembers(const std::vector<KubeObject>& objects, bool root_is_ours,
                       DeletionMemory& memory) {
  MemberPass pass;
  std::map<std::string, const KubeObject*> now;
  for (const KubeObject& object : objects) now[object.meta.uid] = &object;
  const std::set<std::string> above_owner = AboveOwner(now, memory);
  for (const KubeObject& object : objects) {
    const std::string& uid = object.meta.uid;
    if (uid == memory.root_uid) continue;
    if (uid == memory.owner_uid) {
      Leave(object, "it is the owner", memory, pass);
    } else if (above_owner.contains(uid)) {
      Leave(object, "it controls the owner", memory, pass);
    } else if (IsNeverDeleted(object.type) || IsKept(object)) {
      Leave(object, "kept", memory, pass);
    } else if (object.meta.Controller() == nullptr) {
      if (!root_is_ours && !memory.listed.contains(uid)) continue;
      if (IsTooNew(object, memory)) {
        Leave(object, "made while the cluster was taken down", memory, pass);
        continue;
      }
      memory.listed.emplace(uid, object);
      const bool goes_with_root = root_is_ours && IsMounted(object, memory);
      (goes_with_root ? pass.mounted : pass.to_delete).push_back(object);
    }
  }
  for (const KubeObject& object : objects) {
    const std::string& uid = object.meta.uid;
    if (object.meta.Controller() == nullptr || memory.left.contains(uid) ||
        uid == memory.root_uid) {
      continue;
    }
    Controller controller = FindController(object, now, memory);
    switch (controller.controlled) {
      case Controlled::kByMasterRoot:
        break;
      case Controlled::kByOther:
        Leave(object, "its controller is not of the cluster", memory, pass);
        break;
      case Controlled::kByMember:
        memory.below.emplace(uid, std::move(controller.member_uid));
        pass.leftovers.push_back(object);
        break;
    }
  }
  return pass;
}

}  // namespace cluster_watcher

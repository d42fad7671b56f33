// What of a cluster is to be deleted in one pass, and what is left alone and why. Pure.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "probes/base/clock.h"
#include "probes/kube/object_meta.h"
#include "watcher/protocol/member_annotations.h"
#include "watcher/protocol/mounted.h"
#include "watcher/settings/settings.h"

namespace cluster_watcher {

// What one deletion has learned, pass by pass.
struct DeletionMemory {
  std::string root_uid;
  std::string root_set;  // the master root's name where it is a StatefulSet
  // The owner is never deleted, whatever its labels say, nor is what controls it.
  std::set<std::string> owner_uids;
  std::string owner_name;  // in the cluster's namespace; empty: it is elsewhere, or there is none
  std::string owner_kind;  // "deployment.apps"; empty: any workload
  std::string owner_controller_uid;  // may be empty
  // What was made later is somebody's new object; nullopt: it counts as the cluster's.
  std::optional<WallTime> made_before;
  std::vector<MountedObject> mounted;
  Volumes volumes = Volumes::kPreserve;
  WallTime collect_after{};  // to the second: what claims are marked with

  std::map<std::string, int> listed;  // by UID: the members that were seen, to their delete-order
  std::map<std::string, std::string> below;  // by UID: what members control, to that member's UID
  std::set<std::string> left;                // what was named as left alone

  // The delete-order of a member, or of what a member controls.
  int OrderOf(const std::string& uid) const;
  // Whether the members that were seen are of several waves.
  bool HasWaves() const;
};

struct MemberPass {
  std::vector<KubeObject> to_delete;   // members that are still there
  std::vector<KubeObject> leftovers;   // what is left of controllers that were deleted
  std::vector<KubeObject> mounted;     // members that the master pod needs in order to start
  std::vector<KubeObject> to_collect;  // claims that are to be marked for collection
  std::vector<std::string> left;       // "pod/x: kept", named for the first time
  std::vector<std::string> mistakes;   // in annotations, that don't count, named for the first time

  std::size_t remaining() const { return to_delete.size() + leftovers.size() + to_collect.size(); }
};

// Sorts `objects`, all that carry the cluster's label now. Where the master root is no longer ours
// (`root_is_ours` false), only what was listed before is deleted.
MemberPass SortMembers(std::vector<KubeObject> objects, bool root_is_ours, DeletionMemory& memory);

// Of what remains, the objects of the wave that is due: those of the lowest delete-order. With
// `all`, every one.
std::vector<const KubeObject*> DueMembers(const MemberPass& pass, const DeletionMemory& memory,
                                          bool all);

}  // namespace cluster_watcher

// What of a cluster is to be deleted in one pass, and what is left alone and why. Pure.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "probes/cluster_probe.h"
#include "watcher/survey.h"

namespace cluster_watcher {

// What one deletion has learned, pass by pass.
struct DeletionMemory {
  std::string root_uid;
  std::string owner_uid;             // never deleted, whatever its labels say; may be empty
  std::string owner_controller_uid;  // nor is what controls it; may be empty
  // What was made later is somebody's new object; nullopt: it counts as the cluster's.
  std::optional<WallTime> made_before;
  std::vector<MountedObject> mounted;

  std::map<std::string, KubeObject> listed;            // by UID: the members that were seen
  std::map<std::string, MonotonicTime> deleted_since;  // by UID: when a delete was accepted
  std::map<std::string, std::string> below;  // by UID: what members control, to that member's UID
  std::set<std::string> left;                // what was named as left alone
};

struct MemberPass {
  std::vector<KubeObject> to_delete;  // members that are still there
  std::vector<KubeObject> leftovers;  // what is left of controllers that were deleted
  std::vector<KubeObject> mounted;    // members that the master pod needs in order to start
  std::vector<std::string> left;      // "pod/x: kept", named for the first time

  std::size_t remaining() const { return to_delete.size() + leftovers.size(); }
};

// Sorts `objects`, all that carry the cluster's label now. Where the master root is no longer ours
// (`root_is_ours` false), only what was listed before is deleted.
MemberPass SortMembers(const std::vector<KubeObject>& objects, bool root_is_ours,
                       DeletionMemory& memory);

}  // namespace cluster_watcher

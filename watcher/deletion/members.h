// Decides what one pass of a deletion deletes, and what it leaves alone and why. No I/O.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "probes/base/clock.h"
#include "probes/kube/object_meta.h"
#include "watcher/deletion/uid.h"
#include "watcher/protocol/member_annotations.h"
#include "watcher/protocol/mounted.h"
#include "watcher/settings/settings.h"

namespace cluster_watcher {

// What one deletion knows, and learns pass by pass.
struct DeletionMemory {
  std::string root_uid;
  std::string root_set;  // the master root's name if it is a StatefulSet, else empty
  // The owner and its controllers are never deleted, whatever their labels.
  std::set<std::string> owner_uids;
  std::string owner_name;            // empty: the owner is in another namespace, or there is none
  std::string owner_kind;            // "deployment.apps"; empty: any workload
  std::string owner_controller_uid;  // may be empty
  // When the master root was last seen: objects made later are somebody's new ones and stay.
  // nullopt: none are too new. Of those made in the same second, the ones that have changed since
  // the root was at `made_before_version` may have been made later, and stay too.
  std::optional<WallTime> made_before;
  std::string made_before_version = {};  // a resourceVersion
  std::vector<MountedObject> mounted;
  Volumes volumes = Volumes::kPreserve;
  WallTime collect_after{};  // the time that claims are marked with, in whole seconds

  std::unordered_map<Uid, int> listed;  // members seen so far, to their delete-order
  std::unordered_map<Uid, Uid> below;   // what members control, to the member
  std::unordered_set<Uid> left;         // objects already reported as left alone
  std::unordered_set<Uid> copied_keep;  // what had one, and is losing the Deployment it is of

  // Returns the delete-order of a member, also for an object that it controls; 0 if unknown.
  int OrderOf(const Uid& uid) const;
  // Whether the members seen so far form several waves, apart from claims that go last.
  bool HasWaves() const;
};

struct MemberPass {
  KubeObjects to_delete;  // members that still exist
  KubeObjects leftovers;  // objects that members control, or did before they went
  // Members that go with the root: the master pod needs them to start, or they are its claims.
  KubeObjects mounted;
  KubeObjects to_collect;             // claims to mark for collection
  KubeObjects used_again;             // claims that stay, marked since an earlier deletion
  std::vector<std::string> left;      // newly found to be left alone: "pod/x: kept"
  std::vector<std::string> mistakes;  // newly found bad annotations, which count as 0

  std::size_t remaining() const { return to_delete.size() + leftovers.size() + to_collect.size(); }
};

// Whether objects of this kind are never deleted, whatever --resources and labels say.
bool IsNeverDeleted(const ResourceType& type);

// Whether a claim is named TEMPLATE-SET-ORDINAL, as a StatefulSet names those that it makes.
bool IsNamedAsClaimOf(const std::string& set, const std::string& claim);

// Whether an object must not go, not even because the garbage collector takes it along with what
// owns it: it is kept, the owner, of a kind that is never deleted, or a claim that is not to be
// deleted and that no StatefulSet or Pod has made.
bool MustSurvive(const KubeObject& object, const DeletionMemory& memory);

// Returns an object that shows another master of the cluster, `objects` being all that carry the
// cluster's label now: one that is marked as a master, has no controller or another root's, and is
// none of the members seen before; nullptr if there is none.
const KubeObject* FindOtherMaster(const KubeObjects& objects, const DeletionMemory& memory);
// Returns the workloads without a controller that are none of the members seen before. What they
// make may be masters, though nothing is labelled so yet.
std::vector<const KubeObject*> NewWorkloads(const KubeObjects& objects,
                                            const DeletionMemory& memory);

// Sorts `objects`, which are all that carry the cluster's label now, and updates `memory`. If the
// master root is no longer ours (`root_is_ours` false), no members are added to those seen before.
MemberPass SortMembers(KubeObjects objects, bool root_is_ours, DeletionMemory& memory);

// Returns the remaining objects of the wave that is due, the one with the lowest delete-order; with
// `all`, those of every wave. Controllers come before all else.
std::vector<const KubeObject*> DueMembers(const MemberPass& pass, const DeletionMemory& memory,
                                          bool all);

}  // namespace cluster_watcher

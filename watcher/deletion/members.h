// Decides what one pass of a deletion deletes, and what it leaves alone and why. No I/O.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "probes/base/clock.h"
#include "probes/cluster_id.h"
#include "probes/kube/api_answer.h"
#include "probes/kube/object_meta.h"
#include "watcher/deletion/uid.h"
#include "watcher/protocol/member_annotations.h"
#include "watcher/protocol/mounted.h"
#include "watcher/settings/settings.h"

namespace cluster_watcher {

// Why something isn't deleted.
struct HeldBack {
  std::string why;       // "data-0 would go with it: …", for people
  bool may_pass = true;  // false: as long as what it would take along is annotated to be kept
};

// The knowledge of one deletion, which grows pass by pass.
struct DeletionMemory {
  ClusterId cluster;
  std::string root_uid;           // empty: there is no master root
  bool root_is_resource = false;  // the cluster's own, whose operator makes things again
  std::string root_set;           // the master root's name if it is a StatefulSet, else empty
  // The owner and its controllers are never deleted, whatever their labels.
  std::set<std::string> owner_uids;
  std::string owner_name;            // empty: the owner is in another namespace, or there is none
  std::string owner_kind;            // "deployment.apps"; empty: any workload
  std::string owner_controller_uid;  // may be empty
  std::optional<KubeObject> owner;   // nullopt: it is gone
  std::vector<MountedObject> mounted;
  Volumes volumes = Volumes::kPreserve;
  WallTime collect_after{};  // the time that claims are marked with, in whole seconds

  std::unordered_map<Uid, int> listed;      // members seen so far, to their delete-order
  std::unordered_map<Uid, Uid> below;       // what members control, to the member
  std::unordered_map<Uid, Uid> set_claims;  // claims of StatefulSets that go, to the set
  std::unordered_set<Uid> kept_claims;      // of StatefulSets that stay
  // Things that must survive, as lists have shown them so far.
  std::map<std::string, HeldBack> held_back;  // by UID
  std::map<std::string, KubeObject> kept;     // what is annotated to be kept, by UID
  std::map<std::string, ObjectMeta> above;    // owners on the way there by UID, as last read
  std::unordered_set<Uid> gone;               // owners that were read and aren't there
  std::unordered_set<Uid> left;               // objects that were last found to be left alone

  // Returns the delete-order of a member, also for an object that it controls; 0 if unknown.
  int OrderOf(const Uid& uid) const;
  // Whether the members seen so far form several waves, apart from claims that go last.
  bool HasWaves() const;
  // Returns the member that `uid` is, or that controls it; nullptr: none is known to.
  const Uid* MemberOf(const Uid& uid) const;
};

struct MemberPass {
  KubeObjects to_delete;  // members that still exist
  KubeObjects leftovers;  // objects that members control, or did before they went
  // Members that go right before the root, with what they control: NetworkPolicies, one of which
  // may let us out, what the master pod needs to start, and what an operator would make again.
  KubeObjects last;
  KubeObjects to_collect;             // claims to mark for collection
  std::vector<std::string> left;      // what is left alone: "pod/x: kept"
  std::vector<std::string> mistakes;  // newly found bad annotations, which count as 0
};

// Whether objects of this kind are never deleted, whatever --resources and labels say.
bool IsNeverDeleted(const ResourceType& type);

// Whether a claim is named TEMPLATE-SET-ORDINAL, as a StatefulSet names those that it makes.
bool IsNamedAsClaimOf(const std::string& set, const std::string& claim);

// Whether an object was found to be left alone, or to be kept since.
bool IsLeft(const std::string& uid, const DeletionMemory& memory);

// Whether a controller isn't there any longer, so that what it controlled has none. The owner's
// objects stay the owner's.
bool IsGone(const OwnerReference& controller, const DeletionMemory& memory);

// Whether an object is the owner, by its UID or, since it may have been made again, by its name.
bool IsOwner(const KubeObject& object, const DeletionMemory& memory);

// Sorts `objects`, which are all that the cluster consists of now, and updates `memory`. With gaps
// what was left alone before still is.
MemberPass SortMembers(KubeObjects objects, DeletionMemory& memory, bool has_gaps = false);

// Returns the remaining objects of the wave that is due, the one with the lowest delete-order; with
// `all`, those of every wave. Controllers come before all else. What `stays` holds no wave up.
std::vector<const KubeObject*> DueMembers(const MemberPass& pass, const DeletionMemory& memory,
                                          bool all,
                                          const std::function<bool(const KubeObject&)>& stays = {});

}  // namespace cluster_watcher

// Plans one pass of a deletion: what is sent, what is waited for, whether the deletion is over.
// Pure functions of what was listed, how the master root was read after it, and what came of the
// deletes so far: no I/O, no clock.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "probes/kube/kube_client.h"
#include "watcher/deletion/members.h"
#include "watcher/deletion/survivors.h"
#include "watcher/observation/snapshot.h"
#include "watcher/protocol/master_root.h"

namespace cluster_watcher {

// How a deletion ends, or a part of it.
enum class DeletionEnd {
  kDone,          // no member is left that is to go; with the root: its delete was accepted
  kStale,         // no delete was accepted while the evidence was fresh: look again, and go on
  kKept,          // somebody annotated the master root to be kept
  kReplaced,      // another object has the master root's name: somebody's new cluster
  kRootGone,      // the master root is gone
  kNewMaster,     // of a cluster without a root: there is a master that wasn't there
  kCalledOff,     // the marks were taken off, or the root is another cluster's now
  kOvertaken,     // another watcher has taken the deletion over
  kHeld,          // an admission policy, such as the brake, refuses deletes
  kRootMustStay,  // the master root would take along what must survive
  kGivenUp,       // something isn't accepted by the deadline, and the caller gives up
};

// Results of the deletes that were sent.
struct SentDeletes {
  std::unordered_map<Uid, MonotonicTime> accepted_at;  // when each was first accepted, or not found
  std::unordered_set<Uid> unanswered;  // that were sent, and may have been carried out
  // Objects of which the last delete was refused permanently, and in which words.
  std::unordered_map<Uid, std::string> forbidden;
  std::unordered_map<Uid, std::string> failed;  // of some, the words of a transient failure
  bool any_accepted = false;

  std::optional<MonotonicTime> AcceptedAt(const Uid& uid) const;
  // Whether its end may be this deletion's doing.
  bool MayHaveDeleted(const Uid& uid) const;
  // Whether all is there for certain, but for what others delete.
  bool IsWhole() const { return !any_accepted && unanswered.empty(); }
};

// Everything that one pass has read.
struct PassView {
  MemberPass members;
  Survivors::Found survivors;
  KubeObjects used_again;           // claims that stay, marked since an earlier deletion
  bool complete = false;            // false: a kind could not be listed: what of it must survive?
  std::vector<std::string> failed;  // why kinds could not be listed
  bool is_old = false;              // it was listed before the last look
};

// The circumstances of one pass.
struct PassTerms {
  MonotonicTime now{};
  bool late = false;          // the deadline has passed
  int blind_passes = 0;       // late ones in a row, with this one, that could not list a kind
  bool is_root_read = false;  // the root was read after the list, and nothing ends the deletion
  bool may_begin = false;     // false: of a cluster without a root it isn't known yet what there is
  bool with_root = false;     // the root follows the members
  bool terminating_is_gone = false;  // nobody waits for what is terminating
  PropagationPolicy propagation{};
};

// The deletes that a pass sends.
struct PassPlan {
  // Why the master root must stay, so that the deletion ends; nullptr: it needn't.
  const HeldBack* root_stays = nullptr;
  std::vector<const KubeObject*> due;  // side by side, in this order
  PropagationPolicy propagation{};     // of these
};
PassPlan PlanPass(const PassView& view, const DeletionMemory& memory, const SentDeletes& sent,
                  const PassTerms& terms);

// The state of the deletion after a pass.
struct PassEnd {
  std::size_t remaining = 0;            // members that are waited for
  bool is_over = false;                 // no member is left that is to go
  bool collects = false;                // the claims to be collected may be marked
  std::vector<const KubeObject*> last;  // once it is over, and the root may go: right before it
  bool root = false;                    // its delete follows them at once
};
// `sent`: with what came of the deletes that the pass has planned.
PassEnd ConcludePass(const PassView& view, const DeletionMemory& memory, const SentDeletes& sent,
                     const PassTerms& terms);

// Why `object`, or the member that controls it, isn't deleted; nullptr: it may be.
const HeldBack* WhyHeldBack(const PassView& view, const DeletionMemory& memory,
                            const KubeObject& object);
// The same of the master root.
const HeldBack* WhyRootIsHeldBack(const PassView& view, const DeletionMemory& memory);

// Returns what is known of why an object is still there, after its name: ", held by the finalizer
// x", ": HTTP 500"; or empty.
std::string WhyStillThere(const KubeObject& object, const SentDeletes& sent);
// Names what is left, and why: "pod/x: it may not be deleted".
std::vector<std::string> NamesOfLeft(const PassView& view, const DeletionMemory& memory,
                                     const SentDeletes& sent, bool late);
// Names what is terminating, and what is known of why it is still there.
std::vector<std::string> NamesOfTerminating(const PassView& view, const SentDeletes& sent);

// Whether something may be sent now, by how old it is what that rests on: the look that found the
// cluster abandoned, and the read of the root after the list; nullopt: it wasn't read.
bool MaySend(Duration look_age, std::optional<Duration> root_age, Duration look_lasts);
// How old a look may be. Once something is deleted the cluster is looked at again, but no more than
// once a minute: a slow API server would never come to an end. The root's delete is the end.
Duration LookLasts(const SentDeletes& sent, const Uid& root);

// Why nothing more may be deleted, by the master root as it was read; nullopt: it may.
struct DeletionOfRoot {
  const ClusterId& cluster;
  const WatcherId& condemned_by;
  bool is_asked;  // by a person, whom `keep` on the root doesn't bind
};
std::optional<DeletionEnd> WhyEndedBy(RootState state, const ObjectMeta& root,
                                      const DeletionOfRoot& of);

}  // namespace cluster_watcher

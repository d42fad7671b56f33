#include "watcher/decision/reason.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace cluster_watcher {
namespace {

enum Trait : unsigned { kAbandons = 1, kLasts = 2, kSureOfOwner = 4, kAsItShouldBe = 8 };

struct Row {
  Reason reason;
  const char* name;
  unsigned traits;
  Refusal refusal;
  const char* remedy;
};

constexpr std::array kRows = std::to_array<Row>({
    {Reason::kMisconfigured, "misconfigured", kLasts, Refusal::kUnknown,
     "correct what is named; a pod's annotations are read when its watcher starts"},
    {Reason::kShared, "shared", kAsItShouldBe, Refusal::kUnknown,
     "it is never deleted; to make it ephemeral, name its driver in the annotation "
     "cluster-watcher/owner of the master root or its pod"},
    {Reason::kOwnerMismatch, "owner-mismatch", 0, Refusal::kUnknown,
     "it is kept until the ephemeral label and the owner annotation of the master root name the "
     "owner that is given"},
    {Reason::kHeld, "held", kLasts | kSureOfOwner, Refusal::kHold,
     "it is kept until that time, until the annotation is taken off, or until the policy that is "
     "named, such as the brake, is released"},
    {Reason::kUnknown, "unknown", 0, Refusal::kUnknown,
     "it is kept until what is named can be read; the confirmations begin again then"},
    {Reason::kAmbiguous, "ambiguous", kLasts, Refusal::kAmbiguous,
     "it is kept until the cluster has one master root that nothing else controls, and neither "
     "another of its roots nor a rollout under way names another driver"},
    {Reason::kDriverRunning, "driver-running", kLasts | kSureOfOwner | kAsItShouldBe,
     Refusal::kDriverRunning,
     "it is abandoned once the pods and runs that the driver left behind have ended"},
    {Reason::kOwnerAdopted, "owner-adopted", kSureOfOwner | kAsItShouldBe, Refusal::kOwnerBack,
     "the new object is the owner from the next poll on"},
    {Reason::kSharedByReplicas, "shared-by-replicas", kLasts | kSureOfOwner | kAsItShouldBe,
     Refusal::kOwnerBack, "it is kept until the driver is deleted or wants at most one replica"},
    {Reason::kActive, "active", kSureOfOwner | kAsItShouldBe, Refusal::kOwnerBack,
     "it is abandoned once the driver is deleted, wants no replica or has completed"},
    {Reason::kInUse, "in-use", kLasts | kSureOfOwner | kAsItShouldBe, Refusal::kInUse,
     "it is kept until the other driver is gone, wants no replica, has completed or is no longer "
     "labelled uses-oshinko-cluster"},
    {Reason::kOwnerAbsent, "owner-absent", kAbandons | kSureOfOwner, Refusal::kOwnerBack,
     "to keep it, create the driver again, or annotate the namespace with "
     "cluster-watcher/hold-until"},
    {Reason::kOwnerDeleting, "owner-deleting", kAbandons | kSureOfOwner, Refusal::kOwnerBack,
     "to keep it, create the driver again, or annotate the namespace with "
     "cluster-watcher/hold-until"},
    {Reason::kScaledToZero, "scaled-to-zero", kAbandons | kSureOfOwner, Refusal::kOwnerBack,
     "to keep it, let the driver run again, or annotate the namespace with "
     "cluster-watcher/hold-until"},
    {Reason::kCompleted, "completed", kAbandons | kSureOfOwner, Refusal::kOwnerBack,
     "to keep it, start the driver again, or annotate the namespace with "
     "cluster-watcher/hold-until"},
    {Reason::kAsked, "asked", kAbandons, Refusal::kOwnerBack, "nothing keeps it but the brake"},
});

constexpr bool IsInOrder() {
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (static_cast<std::size_t>(kRows[i].reason) != i) return false;
  }
  return true;
}
static_assert(IsInOrder() && kRows.back().reason == Reason::kAsked);

const Row& RowOf(Reason reason) { return kRows[static_cast<std::size_t>(reason)]; }

bool Has(Reason reason, Trait trait) { return (RowOf(reason).traits & trait) != 0; }

constexpr const char* kRefusals[] = {"hold",   "conflict",  "owner-back",     "unknown",
                                     "in-use", "ambiguous", "driver-running", "uid-changed"};

}  // namespace

const char* ToString(Reason reason) { return RowOf(reason).name; }
const char* ToString(Refusal refusal) { return kRefusals[static_cast<std::size_t>(refusal)]; }

bool IsAbandoned(Reason reason) { return Has(reason, kAbandons); }
bool IsLasting(Reason reason) { return Has(reason, kLasts); }
bool IsSureOfOwner(Reason reason) { return Has(reason, kSureOfOwner); }
bool IsAsItShouldBe(Reason reason) { return Has(reason, kAsItShouldBe); }
Refusal RefusalOf(Reason reason) { return RowOf(reason).refusal; }
const char* RemedyFor(Reason reason) { return RowOf(reason).remedy; }

}  // namespace cluster_watcher

// The decision: when is a cluster abandoned? A pure function of what was read. To know when a
// cluster is deleted, read rules.cc and confirmation.cc.
#pragma once

#include <string>
#include <vector>

#include "probes/cluster_probe.h"
#include "watcher/observation/facts.h"

namespace cluster_watcher {

enum class Reason {
  // keep
  kMisconfigured,
  kShared,
  kOwnerMismatch,
  kHeld,
  kUnknown,
  kAmbiguous,
  kDriverRunning,
  kOwnerAdopted,
  kSharedByReplicas,
  kActive,
  kInUse,
  // abandoned
  kOwnerAbsent,
  kOwnerDeleting,
  kOwnerReplaced,
  kScaledToZero,
  kCompleted,
};
const char* ToString(Reason reason);  // "owner-absent"
bool IsAbandoned(Reason reason);

struct RuleOutcome {
  int number;        // 0-12; 13: another driver uses the cluster
  const char* name;  // of the verdict that it gives first
  bool matched;
  std::string detail;  // how it came out, for people
};

struct Decision {
  Reason reason = Reason::kUnknown;
  std::string detail;              // why, for people
  std::vector<RuleOutcome> rules;  // all of them, by number; exactly one matched
  // Rules 0 to 12 abandon the cluster, and rule 13 keeps it: another driver uses it, or that can't
  // be told.
  bool overruled = false;

  bool abandoned() const { return IsAbandoned(reason); }
  // What would have to change for another verdict, for people.
  const char* remedy() const;
  const char* verdict() const { return abandoned() ? "abandoned" : "keep"; }
};

// The first rule that matches decides. `others` has a say only if that abandons the cluster; it is
// looked up only then.
Decision Decide(const Facts& facts, const OtherDrivers& others = {});

}  // namespace cluster_watcher

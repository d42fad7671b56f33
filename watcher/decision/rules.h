// The decision: when is a cluster abandoned? A pure function of what was read; who wants to know
// when a cluster gets deleted reads this file and confirmation.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "probes/base/clock.h"
#include "probes/owner_name.h"
#include "probes/owner_probe.h"
#include "watcher/settings/settings.h"

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

// A hold-until annotation.
struct Hold {
  std::string where;              // "namespace spark", "pod bob-m-1"
  std::string text;               // as written
  std::optional<WallTime> until;  // nullopt: it doesn't parse, and holds
};

// What one look established.
struct Facts {
  // Rule 0: annotations that don't parse, settings that contradict.
  std::vector<std::string> setting_errors;

  std::optional<OwnerName> given_owner;        // by flag or annotation
  std::optional<std::string> ephemeral_label;  // on the master root
  bool label_agrees = false;                   // the label names the owner given

  std::vector<Hold> holds;
  WallTime now;                         // by the local clock
  std::optional<WallTime> server_time;  // by the API server's

  // Why the master root, our pod, the namespace or the cluster's other roots can't be read; empty:
  // they were. The owner counts as absent only where the master root was read under its recorded
  // UID in the same look.
  std::string problem;
  bool root_read = false;
  std::vector<std::string> ambiguities;

  std::optional<OwnerSight> owner;  // nullopt: none is given, or it wasn't looked for
  ReplacedOwner replaced_owner = ReplacedOwner::kAdopt;
  std::optional<std::string> app_status;  // "completed", "terminated"

  // Another driver that uses the cluster; looked up only where all else says abandoned.
  std::optional<std::string> in_use_by;
  std::string in_use_problem;  // why that can't be told; empty: it could

  // The owner's name as it came out: the given one, else the label's.
  std::optional<std::string> OwnerNameText() const;
  // The observation as metrics and people have it: "none" where there is no owner.
  const char* ObservationText() const;
};

struct RuleOutcome {
  int number;        // 0-12; 13: another driver uses the cluster
  const char* name;  // the first of its reasons
  bool matched;
  std::string detail;  // how it came out, for people
};

struct Decision {
  Reason reason = Reason::kUnknown;
  std::string detail;              // why, for people
  std::vector<RuleOutcome> rules;  // all of them, in order; exactly one matched

  bool abandoned() const { return IsAbandoned(reason); }
  // What would have to change for another verdict, for people.
  const char* remedy() const;
  const char* verdict() const { return abandoned() ? "abandoned" : "keep"; }
};

// The first rule that matches decides.
Decision Decide(const Facts& facts);

}  // namespace cluster_watcher

#include "watcher/decision/rules.h"

#include <algorithm>

#include "probes/base/names.h"

namespace cluster_watcher {
namespace {

// A rule's answer: the reason if it matches, and how it came out.
struct Outcome {
  std::optional<Reason> reason;
  std::string detail;
};

Outcome Match(Reason reason, std::string detail) { return {reason, std::move(detail)}; }
Outcome Pass(std::string detail) { return {std::nullopt, std::move(detail)}; }

Observation ObservationOf(const Facts& facts) {
  return facts.owner ? facts.owner->observation : Observation::kUnknown;
}

Outcome Misconfigured(const Facts& facts) {
  if (!facts.setting_errors.empty()) {
    return Match(Reason::kMisconfigured, Joined(facts.setting_errors));
  }
  return Pass("the settings and annotations are valid");
}

Outcome Shared(const Facts& facts) {
  if (!facts.root_read) return Pass("the master root can't be read");
  if (!facts.given_owner && !facts.ephemeral_label) {
    return Match(Reason::kShared, "no owner is given and the master root has no ephemeral label");
  }
  return Pass("the owner is " + facts.OwnerNameText().value_or(""));
}

Outcome Mismatch(const Facts& facts) {
  if (!facts.given_owner || !facts.ephemeral_label) return Pass("one source names the owner");
  if (!facts.label_agrees) {
    return Match(Reason::kOwnerMismatch, "the ephemeral label names \"" + *facts.ephemeral_label +
                                             "\", the owner given is \"" + facts.given_owner->name +
                                             "\"");
  }
  return Pass("the ephemeral label agrees");
}

Outcome Held(const Facts& facts) {
  for (const Hold& hold : facts.holds) {
    const std::string what = "hold-until on the " + hold.where + " is " + hold.text;
    if (!hold.until) {
      return Match(Reason::kHeld, what + ", which is not an RFC 3339 time and so holds");
    }
    if (*hold.until > facts.now || (facts.server_time && *hold.until > *facts.server_time)) {
      return Match(Reason::kHeld, what);
    }
  }
  return Pass(facts.holds.empty() ? "nothing holds" : "the hold is over");
}

Outcome Unknown(const Facts& facts) {
  if (!facts.problem.empty()) return Match(Reason::kUnknown, facts.problem);
  if (!facts.root_read) return Match(Reason::kUnknown, "the master root wasn't read");
  if (ObservationOf(facts) == Observation::kUnknown) {
    return Match(Reason::kUnknown,
                 facts.owner ? facts.owner->detail : "the owner wasn't looked for");
  }
  return Pass("the owner's observation is definite");
}

Outcome Ambiguous(const Facts& facts) {
  if (!facts.ambiguities.empty()) return Match(Reason::kAmbiguous, Joined(facts.ambiguities));
  return Pass("there is one master, and it is this cluster's");
}

// Left by `delete --cascade=orphan`.
Outcome DriverRunning(const Facts& facts, const std::string& what) {
  return Match(Reason::kDriverRunning, what + ", but " +
                                           std::to_string(facts.owner->still_running) +
                                           " of its pods or runs still run");
}

Outcome Absent(const Facts& facts) {
  if (ObservationOf(facts) != Observation::kAbsent) return Pass("the owner is not absent");
  const std::string& detail = facts.owner->detail;
  if (facts.owner->still_running > 0) return DriverRunning(facts, detail);
  return Match(Reason::kOwnerAbsent, detail);
}

Outcome Deleting(const Facts& facts) {
  if (ObservationOf(facts) != Observation::kDeleting) return Pass("the owner is not being deleted");
  const std::string detail = facts.owner->detail + " has a deletionTimestamp";
  if (facts.owner->still_running > 0) return DriverRunning(facts, detail + " and is orphaning");
  return Match(Reason::kOwnerDeleting, detail);
}

Outcome Replaced(const Facts& facts) {
  if (ObservationOf(facts) != Observation::kReplaced) return Pass("the owner has the recorded UID");
  const std::string detail = facts.owner->detail + " has another UID than the recorded owner";
  switch (facts.replaced_owner) {
    case ReplacedOwner::kAdopt:
      return Match(Reason::kOwnerAdopted, detail);
    case ReplacedOwner::kAbandon:
      return Match(Reason::kOwnerReplaced, detail);
  }
  return Match(Reason::kOwnerAdopted, detail);
}

Outcome ScaledToZero(const Facts& facts) {
  if (ObservationOf(facts) != Observation::kScaledToZero) return Pass("the owner wants to run");
  return Match(Reason::kScaledToZero,
               facts.owner->detail +
                   (facts.owner->fields.suspended ? " is suspended" : " wants 0 replicas"));
}

Outcome SharedByReplicas(const Facts& facts) {
  if (!facts.owner || facts.owner->fields.replicas <= 1)
    return Pass("at most one replica is wanted");
  return Match(
      Reason::kSharedByReplicas,
      facts.owner->detail + " wants " + std::to_string(facts.owner->fields.replicas) + " replicas");
}

Outcome Completed(const Facts& facts) {
  if (ObservationOf(facts) == Observation::kCompleted) {
    return Match(Reason::kCompleted, facts.owner->detail + " has completed");
  }
  if (facts.app_status == "completed") {
    return Match(Reason::kCompleted, "the application said that it completed");
  }
  return Pass("the application has not completed");
}

Outcome Active(const Facts& facts) {
  return Match(Reason::kActive, facts.owner ? facts.owner->detail : "");
}

struct Rule {
  Reason reason;  // the first of those that it can have
  Outcome (*outcome)(const Facts&);
};
constexpr Rule kRules[] = {
    {Reason::kMisconfigured, Misconfigured},
    {Reason::kShared, Shared},
    {Reason::kOwnerMismatch, Mismatch},
    {Reason::kHeld, Held},
    {Reason::kUnknown, Unknown},
    {Reason::kAmbiguous, Ambiguous},
    {Reason::kOwnerAbsent, Absent},
    {Reason::kOwnerDeleting, Deleting},
    {Reason::kOwnerReplaced, Replaced},
    {Reason::kScaledToZero, ScaledToZero},
    {Reason::kSharedByReplicas, SharedByReplicas},
    {Reason::kCompleted, Completed},
    {Reason::kActive, Active},
};

// Whatever abandons, this is looked at last.
Outcome InUse(const Facts& facts) {
  if (!facts.in_use_problem.empty()) {
    return Match(Reason::kUnknown,
                 "whether another driver uses the cluster can't be told: " + facts.in_use_problem);
  }
  if (facts.in_use_by) return Match(Reason::kInUse, *facts.in_use_by + " uses the cluster");
  return Pass("no other driver uses the cluster");
}

void Add(Decision& decision, int number, Reason reason, Outcome outcome) {
  decision.rules.push_back({number, ToString(reason), false, std::move(outcome.detail)});
}

}  // namespace

const char* ToString(Reason reason) {
  switch (reason) {
    case Reason::kMisconfigured:
      return "misconfigured";
    case Reason::kShared:
      return "shared";
    case Reason::kOwnerMismatch:
      return "owner-mismatch";
    case Reason::kHeld:
      return "held";
    case Reason::kUnknown:
      return "unknown";
    case Reason::kAmbiguous:
      return "ambiguous";
    case Reason::kDriverRunning:
      return "driver-running";
    case Reason::kOwnerAdopted:
      return "owner-adopted";
    case Reason::kSharedByReplicas:
      return "shared-by-replicas";
    case Reason::kActive:
      return "active";
    case Reason::kInUse:
      return "in-use";
    case Reason::kOwnerAbsent:
      return "owner-absent";
    case Reason::kOwnerDeleting:
      return "owner-deleting";
    case Reason::kOwnerReplaced:
      return "owner-replaced";
    case Reason::kScaledToZero:
      return "scaled-to-zero";
    case Reason::kCompleted:
      return "completed";
  }
  return "unknown";
}

const char* Decision::remedy() const {
  switch (reason) {
    case Reason::kMisconfigured:
      return "correct what is named; a pod's annotations are read when its watcher starts";
    case Reason::kShared:
      return "it is never deleted; to make it ephemeral, name its driver in the annotation "
             "cluster-watcher/owner of the master root or its pod";
    case Reason::kOwnerMismatch:
      return "it is kept until the ephemeral label and the owner that is given name the same "
             "driver";
    case Reason::kHeld:
      return "it is kept until that time, or until the annotation is taken off";
    case Reason::kUnknown:
      return "it is kept until what is named can be read; the confirmations begin anew then";
    case Reason::kAmbiguous:
      return "it is kept until the cluster has one master root, that nothing else controls or "
             "names "
             "another driver for";
    case Reason::kDriverRunning:
      return "it is abandoned once the pods that the driver left behind have ended";
    case Reason::kOwnerAdopted:
      return "the new object is the owner from the next poll on";
    case Reason::kSharedByReplicas:
      return "it is kept until the driver is deleted or wants at most one replica";
    case Reason::kActive:
      return "it is abandoned once the driver is deleted, wants no replica or has completed";
    case Reason::kInUse:
      return "it is kept until the other driver is gone, wants no replica, has completed or is no "
             "longer labelled uses-oshinko-cluster";
    case Reason::kOwnerAbsent:
    case Reason::kOwnerDeleting:
    case Reason::kOwnerReplaced:
      return "to keep it, create the driver again, or annotate the namespace with "
             "cluster-watcher/hold-until";
    case Reason::kScaledToZero:
      return "to keep it, let the driver run again, or annotate the namespace with "
             "cluster-watcher/hold-until";
    case Reason::kCompleted:
      return "to keep it, start the driver anew, or annotate the namespace with "
             "cluster-watcher/hold-until";
  }
  return "";
}

bool IsAbandoned(Reason reason) { return reason >= Reason::kOwnerAbsent; }

std::optional<std::string> Facts::OwnerNameText() const {
  if (given_owner) return given_owner->ToText();
  return ephemeral_label;
}

const char* Facts::ObservationText() const {
  if (owner) return ToString(owner->observation);
  return problem.empty() && root_read ? "none" : "unknown";
}

Decision Decide(const Facts& facts) {
  Decision decision;
  std::optional<int> decided;
  for (int number = 0; const Rule& rule : kRules) {
    Outcome outcome = rule.outcome(facts);
    if (!decided && outcome.reason) {
      decided = number;
      decision.reason = *outcome.reason;
      decision.detail = outcome.detail;
    }
    Add(decision, number++, rule.reason, std::move(outcome));
  }
  const int in_use_rule = static_cast<int>(std::size(kRules));
  Outcome in_use = InUse(facts);
  if (decision.abandoned() && in_use.reason) {
    decided = in_use_rule;
    decision.reason = *in_use.reason;
    decision.detail = in_use.detail;
  }
  Add(decision, in_use_rule, Reason::kInUse, std::move(in_use));
  decision.rules[static_cast<std::size_t>(*decided)].matched = true;
  return decision;
}

}  // namespace cluster_watcher

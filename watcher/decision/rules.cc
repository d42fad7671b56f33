#include "watcher/decision/rules.h"

#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include "probes/base/names.h"
#include "probes/owner_kinds.h"

namespace cluster_watcher {
namespace {

constexpr std::size_t kLongestTime = 40;  // bytes

// A rule's answer: the reason if it matches, and the explanation in any case.
struct Outcome {
  std::optional<Reason> reason;
  std::string detail;
};

Outcome Match(Reason reason, std::string detail) { return {reason, std::move(detail)}; }
Outcome NoMatch(std::string detail) { return {std::nullopt, std::move(detail)}; }

Observation ObservationOf(const Facts& facts) {
  return facts.owner ? facts.owner->observation : Observation::kUnknown;
}

Outcome Misconfigured(const Facts& facts) {
  if (!facts.setting_errors.empty()) {
    return Match(Reason::kMisconfigured, Joined(facts.setting_errors));
  }
  return NoMatch("the settings and annotations are valid");
}

Outcome Shared(const Facts& facts) {
  if (!facts.root_read) return NoMatch("the master root can't be read");
  if (!facts.given_owner && !facts.ephemeral_label) {
    return Match(Reason::kShared, "no owner is given and the master root has no ephemeral label");
  }
  return NoMatch("the owner is " + facts.OwnerNameText().value_or(""));
}

Outcome Mismatch(const Facts& facts) {
  if (!facts.given_owner || (!facts.ephemeral_label && !facts.root_owner)) {
    return NoMatch("one source names the owner");
  }
  if (facts.root_owner && !facts.root_owner_agrees) {
    return Match(Reason::kOwnerMismatch,
                 "the annotation cluster-watcher/owner of the master root names " +
                     Quoted(*facts.root_owner) + ", the owner given is \"" +
                     facts.given_owner->ToText() + "\"");
  }
  if (facts.ephemeral_label && !facts.label_agrees) {
    return Match(Reason::kOwnerMismatch, "the ephemeral label names \"" + *facts.ephemeral_label +
                                             "\", the owner given is \"" + facts.given_owner->name +
                                             "\"");
  }
  return NoMatch("what the master root says agrees");
}

Outcome Held(const Facts& facts) {
  for (const Hold& hold : facts.holds) {
    const bool is_long = hold.text.size() > kLongestTime;
    const std::string what = "hold-until on the " + hold.where + " is " +
                             (hold.until && !is_long ? hold.text : Quoted(hold.text)) +
                             (hold.reason.empty() ? "" : ", because of " + Quoted(hold.reason));
    if (!hold.until) {
      return Match(Reason::kHeld, what + ", which is not an RFC 3339 time and so holds");
    }
    if (hold.IsOn(facts.now, facts.server_time)) return Match(Reason::kHeld, what);
  }
  if (!facts.kept_root.empty()) {
    return Match(Reason::kHeld, "the master root " + facts.kept_root +
                                    " is annotated cluster-watcher/keep: take that off to end the "
                                    "hold");
  }
  if (!facts.opted_out.empty()) {
    return Match(Reason::kHeld,
                 "the " + facts.opted_out + " is annotated cluster-watcher/inject: \"false\"");
  }
  return NoMatch(facts.holds.empty() ? "nothing holds" : "the hold is over");
}

Outcome Unknown(const Facts& facts) {
  if (!facts.problem.empty()) return Match(Reason::kUnknown, facts.problem);
  if (!facts.root_read) return Match(Reason::kUnknown, "the master root wasn't read");
  if (!facts.unseen.empty()) return Match(Reason::kUnknown, facts.unseen);
  if (ObservationOf(facts) == Observation::kUnknown) {
    return Match(Reason::kUnknown,
                 facts.owner ? facts.owner->detail : "the owner wasn't looked for");
  }
  const std::string definite = "the owner's observation is definite";
  if (facts.unlistable.empty()) return NoMatch(definite);
  return NoMatch(definite +
                 "; these may not be listed, and are passed over: " + Joined(facts.unlistable));
}

Outcome Ambiguous(const Facts& facts) {
  if (!facts.ambiguities.empty()) return Match(Reason::kAmbiguous, Joined(facts.ambiguities));
  return NoMatch("there is one master, and it is this cluster's");
}

// Returns what stands after `quoted`, which ends with a quotation mark, up to the next one; empty:
// that isn't there.
std::string Behind(const std::string& words, std::string_view quoted) {
  const std::size_t begin = words.find(quoted);
  if (begin == words.npos) return "";
  const std::size_t name = begin + quoted.size();
  const std::size_t end = words.find(quoted.back(), name);
  return end == words.npos ? "" : words.substr(name, end - name);
}

// Says why the owner is over; empty: it isn't, or that isn't known.
std::string WhyOver(const Facts& facts) {
  switch (ObservationOf(facts)) {
    case Observation::kActive:
    case Observation::kReplaced:
    case Observation::kUnknown:
      return "";
    case Observation::kAbsent:
      return facts.owner->detail;
    case Observation::kDeleting:
      return facts.owner->detail + " has a deletionTimestamp";
    case Observation::kScaledToZero:
      return facts.owner->detail +
             (facts.owner->fields.suspended ? " is suspended" : " wants 0 replicas");
    case Observation::kCompleted:
      return facts.owner->detail + " has completed";
  }
  return "";
}

Outcome DriverRunning(const Facts& facts) {
  const std::string over = WhyOver(facts);
  if (over.empty()) return NoMatch("the owner isn't over");
  // The pod that says that the application has completed is something of it that runs.
  const bool is_said = facts.app_status == "completed" && facts.owner->object;
  const std::string& running = is_said ? facts.also_running : facts.owner->still_running;
  if (running.empty()) return NoMatch("nothing of the owner runs");
  return Match(Reason::kDriverRunning, over + ", but " + running + " still runs");
}

// The answer of the rule for one observation, by which the owner is over.
Outcome OverBy(Observation observation, Reason reason, const char* otherwise, const Facts& facts) {
  return ObservationOf(facts) == observation ? Match(reason, WhyOver(facts)) : NoMatch(otherwise);
}

Outcome Absent(const Facts& facts) {
  return OverBy(Observation::kAbsent, Reason::kOwnerAbsent, "the owner is not absent", facts);
}

Outcome Deleting(const Facts& facts) {
  return OverBy(Observation::kDeleting, Reason::kOwnerDeleting, "the owner is not being deleted",
                facts);
}

Outcome Replaced(const Facts& facts) {
  if (ObservationOf(facts) != Observation::kReplaced) {
    return NoMatch("the owner has the recorded UID");
  }
  return Match(Reason::kOwnerAdopted,
               facts.owner->detail + " has another UID than the recorded owner");
}

Outcome ScaledToZero(const Facts& facts) {
  return OverBy(Observation::kScaledToZero, Reason::kScaledToZero, "the owner wants to run", facts);
}

Outcome SharedByReplicas(const Facts& facts) {
  if (!facts.owner || facts.owner->fields.replicas <= 1)
    return NoMatch("at most one replica is wanted");
  return Match(
      Reason::kSharedByReplicas,
      facts.owner->detail + " wants " + std::to_string(facts.owner->fields.replicas) + " replicas");
}

Outcome Completed(const Facts& facts) {
  const bool is_said = facts.app_status == "completed";
  if (!is_said || ObservationOf(facts) == Observation::kCompleted) {
    return OverBy(Observation::kCompleted, Reason::kCompleted, "the application has not completed",
                  facts);
  }
  const std::string said = "the application said that it completed";
  if (facts.also_running.empty()) return Match(Reason::kCompleted, said);
  return Match(Reason::kDriverRunning, said + ", but " + facts.also_running + " still runs");
}

Outcome Active(const Facts& facts) {
  if (!facts.owner) return Match(Reason::kActive, "");
  std::string detail = facts.owner->detail;
  const auto& object = facts.owner->object;
  if (object && !HasOwnRow(object->type)) {
    detail += ", a kind of which only the existence counts, and what --completed-when says";
  }
  return Match(Reason::kActive, std::move(detail));
}

struct Rule {
  int number;
  Reason name;  // the first reason that it can give
  Outcome (*outcome)(const Facts&);
};
constexpr Rule kRules[] = {
    {0, Reason::kMisconfigured, Misconfigured},
    {1, Reason::kShared, Shared},
    {2, Reason::kOwnerMismatch, Mismatch},
    {3, Reason::kHeld, Held},
    {4, Reason::kUnknown, Unknown},
    {5, Reason::kAmbiguous, Ambiguous},
    {6, Reason::kDriverRunning, DriverRunning},
    {7, Reason::kOwnerAbsent, Absent},
    {8, Reason::kOwnerDeleting, Deleting},
    {9, Reason::kOwnerAdopted, Replaced},
    {10, Reason::kScaledToZero, ScaledToZero},
    {11, Reason::kSharedByReplicas, SharedByReplicas},
    {12, Reason::kCompleted, Completed},
    {13, Reason::kActive, Active},
};
constexpr int kInUseRule = 14;

Outcome InUse(const OtherDrivers& others) {
  if (others.unknown) {
    return Match(Reason::kUnknown, "whether another driver uses the cluster can't be told: " +
                                       others.unknown->message);
  }
  if (others.in_use_by) return Match(Reason::kInUse, *others.in_use_by + " uses the cluster");
  return NoMatch("no other driver uses the cluster");
}

}  // namespace

// The detail of a rule that didn't match says nothing that wasn't seen.
static void SayWhatIsKnown(const Facts& facts, std::vector<RuleOutcome>& rules) {
  const bool is_read = facts.problem.empty() && facts.root_read;
  const Observation seen = ObservationOf(facts);
  for (RuleOutcome& rule : rules) {
    if (rule.matched || rule.number < 3) continue;
    if (rule.number == 3 && !is_read) rule.detail += ", as far as could be read";
    if (rule.number == 5 && !is_read) rule.detail = "not known";
    if (rule.number <= 5) continue;
    if (!facts.owner && !facts.given_owner && !facts.ephemeral_label) {
      rule.detail = is_read ? "no owner is given" : "not known";
    } else if (seen == Observation::kUnknown) {
      rule.detail = "not known";
    } else if (seen == Observation::kAbsent && rule.number >= 8 && rule.number <= 13) {
      rule.detail = "there is no owner";
    }
  }
}

Decision Decide(const Facts& facts, const OtherDrivers& others) {
  if (others.misconfigured || others.ambiguous) {
    Facts all = facts;
    if (others.misconfigured) all.setting_errors.push_back(*others.misconfigured);
    if (others.ambiguous) all.ambiguities.push_back(*others.ambiguous);
    Decision decision = Decide(all, {others.in_use_by, others.unknown});
    decision.overruled = Decide(facts).abandoned();
    return decision;
  }
  Decision decision;
  bool decided = false;
  const auto add = [&](int number, Reason name, Outcome outcome, bool matched) {
    if (matched) {
      decision.reason = *outcome.reason;
      decision.detail = outcome.detail;
    }
    decision.rules.push_back({number, ToString(name), matched, std::move(outcome.detail)});
  };
  for (const Rule& rule : kRules) {
    Outcome outcome = rule.outcome(facts);
    const bool matched = !decided && outcome.reason;
    decided = decided || matched;
    add(rule.number, rule.name, std::move(outcome), matched);
  }
  Outcome in_use = InUse(others);
  decision.overruled = decision.abandoned() && in_use.reason;
  if (decision.overruled) {
    for (RuleOutcome& rule : decision.rules) rule.matched = false;
  }
  add(kInUseRule, Reason::kInUse, std::move(in_use), decision.overruled);
  SayWhatIsKnown(facts, decision.rules);
  return decision;
}

std::optional<std::string> WhatHolds(const Facts& facts) {
  Outcome held = Held(facts);
  return held.reason ? std::optional(std::move(held.detail)) : std::nullopt;
}

Decision AskedFor() {
  Decision decision;
  decision.reason = Reason::kAsked;
  decision.detail = "somebody asked for it, whatever the rules say";
  return decision;
}

Decision HeldByPolicy(Decision decision, const std::string& policy) {
  decision.reason = IsOfGuard(policy) ? Reason::kMisconfigured : Reason::kHeld;
  decision.detail = policy;
  for (RuleOutcome& rule : decision.rules) {
    rule.matched = rule.name == std::string_view(ToString(decision.reason));
    if (rule.matched) rule.detail = policy;
  }
  return decision;
}

std::string WhoRefuses(const std::string& words) {
  if (const auto name = Behind(words, "failed calling webhook \""); !name.empty()) {
    return "admission webhook " + name +
           ", which can't be called: repair what answers it, or set its failurePolicy to Ignore";
  }
  if (const auto name = Behind(words, "admission webhook \""); !name.empty()) {
    return "admission webhook " + name + ": see to what it asks for, or to its configuration";
  }
  const auto policy = Behind(words, "AdmissionPolicy '");
  if (policy.empty()) return policy;
  return "admission policy " + policy + ", by its binding " + Behind(words, "with binding '") +
         ": see to what it asks for (docs/guard.md tells of the brake and the guard)";
}

bool IsOfGuard(const std::string& policy) {
  return policy.find("'cluster-watcher-guard'") != policy.npos;
}

}  // namespace cluster_watcher

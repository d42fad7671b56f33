// Decides whether a cluster is abandoned: a pure function of what was read. To know when a cluster
// is deleted, read rules.cc and confirmation.cc.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "probes/cluster_probe.h"
#include "watcher/decision/reason.h"
#include "watcher/observation/facts.h"

namespace cluster_watcher {

struct RuleOutcome {
  int number;        // 0-13; 14: another driver uses the cluster
  const char* name;  // the first of the reasons that it can give
  bool matched;
  std::string detail;  // why it matched or not, for people
};

struct Decision {
  Reason reason = Reason::kUnknown;
  std::string detail;              // why, for people
  std::vector<RuleOutcome> rules;  // all of them, by number; exactly one matched
  // Rules 0 to 13 abandon the cluster but rule 14 keeps it, because another driver uses it or that
  // isn't known.
  bool overruled = false;
  std::string refused_by = {};  // the admission that refuses it to be condemned, as WhoRefuses says

  bool abandoned() const { return IsAbandoned(reason); }
  std::string remedy() const {
    return refused_by.empty() ? RemedyFor(reason) : "refused by " + refused_by;
  }
  const char* verdict() const { return abandoned() ? "abandoned" : "keep"; }
};

// The first matching rule decides. `others` matters only if that one abandons the cluster, so the
// caller needs to look it up only then.
Decision Decide(const Facts& facts, const OtherDrivers& others = {});

// Finds what holds a cluster by rule 3 alone, for people; nullopt: nothing does.
std::optional<std::string> WhatHolds(const Facts& facts);

// The decision of a person who asks for the deletion, whatever the rules say.
Decision AskedFor();

// `decision`, which abandons the cluster, as it comes out where an admission policy forbids to
// condemn it: `policy` is what that one says. The guard's refusal is a mistake of the installation
// (misconfigured), any other a hold (held).
Decision HeldByPolicy(Decision decision, const std::string& policy);
// Names the admission webhook or policy that refused a request by these words of the API server's,
// or could not be called, and the remedy, for people; empty: they tell of none.
std::string WhoRefuses(const std::string& words);
// Whether what an admission policy says is said by the guard.
bool IsOfGuard(const std::string& policy);

}  // namespace cluster_watcher

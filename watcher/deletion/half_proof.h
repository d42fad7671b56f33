// Whether a cluster whose marks say that its deletion was begun is half, so that nothing stops the
// rest, or may be whole, so that it is judged again. Marks alone prove nothing: a watcher may have
// died before its first delete, people forge marks, and rollbacks bring old ones back.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "watcher/deletion/tools.h"
#include "watcher/observation/snapshot.h"
#include "watcher/reporting/warn_once.h"

namespace cluster_watcher {

enum class Wholeness {
  kHalf,      // proven
  kMayWhole,  // not proven
  kUnknown,   // something that would tell could not be read
};

struct HalfProof {
  Wholeness wholeness = Wholeness::kMayWhole;
  bool is_sure = false;           // of half: all kinds were listed
  std::vector<std::string> gone;  // of what was to be deleted first: "deployments.apps/bob-w"
};

// Whether `marks` say that the deletion began less than a day before `now`, by the API server's
// clock, and not in the future. Else no cluster is proven half, whatever is gone.
bool IsOfToday(const Marks& marks, WallTime now);

// Half is a cluster whose deletion began less than a day before `now`, by the API server's clock,
// with an object among `first-deletes` that is definitely absent, terminating or another one, and
// no member made since. `marks` name `cluster`; `root_uid` is that of the master root, which is no
// member.
HalfProof ProveHalf(const Tools& tools, WarnOnce& warn_once, const ClusterId& cluster,
                    const std::string& root_uid, const Marks& marks, WallTime now);

// For people, behind what else is said: "; already deleted: deployments.apps/bob-w"; empty where
// nothing is.
std::string WhatIsGone(const std::vector<std::string>& gone);

// Whether a deletion that a person asked for, whatever the rules say, and that somebody else is to
// finish, is still what was asked for: it began less than a day before `now`, and no member was
// made since. nullopt: that could not be read. The other arguments as above.
std::optional<bool> IsStillAsked(const Tools& tools, WarnOnce& warn_once, const ClusterId& cluster,
                                 const std::string& root_uid, const Marks& marks, WallTime now);

}  // namespace cluster_watcher

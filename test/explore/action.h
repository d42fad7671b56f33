// What may happen next in a state, and what it comes to. Between any two of these anything else
// may.
#pragma once

#include <string>
#include <vector>

#include "test/explore/state.h"

namespace cluster_watcher::explore {

enum class What : std::uint8_t {
  // Of a process.
  kStep,        // its next request
  kLoseAnswer,  // the same, and it doesn't learn that it was written
  kKill,        // it ends; a container is started again
  kKillPod,     // it ends with its pod
  kStart,
  // Of the world.
  kTick,
  kMinute,
  kDriverLeaves,
  kDriverPodEnds,
  kDriverReturns,
  kHold,
  kUnhold,
  kKeep,
  kUnkeep,
  kForgeMarks,  // a rollback brings back the marks of a deletion
  kTakeMarksOff,
  kDeleteRoot,     // by a person
  kMakeWorker,     // a controller makes it again
  kReleaseWorker,  // a finalizer is taken off
  kMapsFail,
  kApiFails,
  kOwnerFails,
  kHeal,
};

struct Action {
  What what;
  std::uint8_t process = 0;
};

// A cluster that is in use. `is_kept_owned`: what is to be kept belongs to the worker;
// `worker_finalizer`: a finalizer holds that; `companion`: the process beside watcher A, or 0.
State Begin(bool is_kept_owned, bool worker_finalizer, int companion, int events);

std::vector<Action> Possible(const State& state);

// Carries out `action`, which is possible in `state`. Returns what was done, for people. `broken`:
// the promise that it breaks; left alone where it breaks none.
std::string Apply(const Action& action, State& state, std::string& broken);

// Whether the process has something to do but to wait for time.
bool IsBusy(const State& state, int process);

}  // namespace cluster_watcher::explore

// One process: what it reads and writes next. Everything that it decides is decided by the
// program's own functions.
#pragma once

#include <string>

#include "test/explore/state.h"

namespace cluster_watcher::explore {

// Its next request, which takes effect at once. `is_lost`: it isn't told that it did. Returns what
// was done, for people.
std::string Step(State& state, int process, bool is_lost, std::string& broken);

// Whether its next request changes something.
bool Writes(const State& state, int process);

}  // namespace cluster_watcher::explore

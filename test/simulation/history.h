// Runs one history from a seed.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "test/simulation/life.h"

namespace cluster_watcher::simulation {

struct Outcome {
  std::uint64_t seed = 0;
  std::string broken;                           // the first broken promise, and how; empty if none
  std::map<std::string, std::uint64_t> counts;  // how often what happened
};

Outcome RunHistory(Workshop& workshop, std::uint64_t seed, bool verbose);

}  // namespace cluster_watcher::simulation

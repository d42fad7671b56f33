// A command of the driver's side, as an application runs it.
#pragma once

#include <string>

#include "probes/base/clock.h"
#include "watcher/driver/outcome.h"

namespace cluster_watcher::simulation {

struct DriverCommand {
  enum class Kind { kClaim, kAwait, kRelease, kHold, kUnhold, kCreate };

  Kind kind = Kind::kClaim;
  std::string app;  // as it is given: "deployment/bob", "bob"
  bool ephemeral = false;
  Duration timeout{0};

  // "claim --ephemeral"
  std::string ToText() const;
};

}  // namespace cluster_watcher::simulation

// Holds a cluster, or all clusters of a namespace, so that nobody has to compute a time while one
// is about to be deleted.
#pragma once

#include <optional>
#include <string>

#include "watcher/driver/driver_tools.h"
#include "watcher/driver/outcome.h"
#include "watcher/observation/observer.h"

namespace cluster_watcher {

// The thing that is held: the cluster's master root, or with an empty name the whole namespace.
struct HoldTarget {
  ClusterId cluster;
  bool is_namespace() const { return cluster.name.empty(); }
};

// Finds what is wrong with a reason that somebody gives; nullopt: nothing.
std::optional<std::string> WhyNotAReason(const std::string& reason);

struct HoldOrder {
  Duration duration{0};
  std::string reason = {};
  bool overwrites = false;  // a hold that ends later, too
};

// Writes `hold-until`, from now, and the reason beside it, if one is given. A hold that ends later,
// or whose end can't be read, stays as it is. `observer` is of the cluster, and tells what would
// happen otherwise; it isn't asked for a namespace.
DriverOutcome WriteHold(const DriverTools& tools, Observer& observer, const HoldTarget& target,
                        const HoldOrder& order);

// Takes both off, and tells what happens now. Done as well where it wasn't held.
DriverOutcome TakeHoldOff(const DriverTools& tools, Observer& observer, const HoldTarget& target);

}  // namespace cluster_watcher

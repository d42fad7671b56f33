// Tells the end of one driver, which is everyday, from that of many within a minute, which is
// somebody's mistake: then people need longer than a grace period to stop it. A surge only ever
// lengthens the grace period. A value without clock or I/O.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "probes/base/clock.h"
#include "watcher/decision/rules.h"

namespace cluster_watcher {

class Surge {
 public:
  // Adds an abandoned verdict of the time `now`. `first`: it is the first of a new count of
  // confirmations. `marked`: since when the master root says that the cluster is abandoned.
  void Add(Reason reason, bool first, WallTime now, std::optional<WallTime> marked);

  // Call for a verdict that definitely keeps the cluster. An unknown one doesn't end a surge.
  void Reset() { *this = Surge(); }

  // Since when the cluster is abandoned, to the second, as marks say it; nullopt: it isn't, or its
  // application has completed, so that it neither counts for others nor waits.
  std::optional<WallTime> since() const { return completed_ ? std::nullopt : since_; }

  // Whether a cluster that is marked so lost its driver at about the same time.
  bool IsBeside(WallTime marked) const;

  // Whether the master root that is `marked` so says when this cluster was abandoned. Another
  // watcher of the same root may have written a later time.
  bool IsSaidBy(std::optional<WallTime> marked, WallTime now) const;

  // The clusters beside this one are counted once. `surge` says why that lengthens the grace
  // period; empty: there are few.
  void SetCounted(std::string surge);
  bool is_counted() const { return counted_; }
  // Why the grace period is longer, for people; empty: it isn't.
  std::string why() const { return since() ? why_ : ""; }

 private:
  std::optional<WallTime> since_;
  std::optional<WallTime> earlier_;  // by the mark of a count that was broken off
  bool completed_ = false;
  bool counted_ = false;
  std::string why_;
};

}  // namespace cluster_watcher

// Counts abandoned verdicts: one proves little, so a cluster is condemned only after several in a
// row that span a grace period. A value without clock or I/O.
#pragma once

#include <algorithm>
#include <string>

#include "probes/base/clock.h"
#include "probes/owner_probe.h"
#include "watcher/decision/rules.h"
#include "watcher/observation/facts.h"
#include "watcher/settings/settings.h"

namespace cluster_watcher {

// How long abandoned verdicts with this `reason` must span. `seen` is the owner as last seen;
// nullopt if this cluster has never seen it.
Duration GraceFor(const Settings& settings, Reason reason,
                  const std::optional<RecordedOwner>& seen);

// How long the owner of `facts`, if it is a terminating Pod, may go on computing; 0 if it isn't. At
// most a year.
Duration TerminatesIn(const Facts& facts);

// How close an abandoned cluster is to being condemned.
struct Abandonment {
  Duration lasted{0};  // since the first verdict
  int confirmations = 0;
  Duration due_in{0};      // until the deletion, at the earliest
  bool dry_run = false;    // nothing will be deleted
  std::string surge = {};  // why the grace period is longer than usual; empty: it isn't
};

class Confirmation {
 public:
  // Adds an abandoned verdict from a consistent read that began and ended at these times. `owner`
  // identifies the owner by UID and name; another owner starts the count again. Verdicts with
  // different reasons count together, under the longest of their grace periods. The grace period
  // ends no sooner than `left` after `ended`.
  void Add(const std::string& owner, Duration grace, MonotonicTime began, MonotonicTime ended,
           Duration left = Duration(0));

  // From now on the grace period is at least this long, whatever was said before.
  void Lengthen(Duration least) { least_ = least; }

  // Call for any other verdict.
  void Reset() { *this = Confirmation(); }

  int count() const { return count_; }

  // Whether there are at least `confirmations` verdicts and they span the grace period. The span
  // runs from the end of the first read to the beginning of the last, so it is never overestimated.
  bool IsConfirmed(int confirmations) const;

  // The earliest time of confirmation if all verdicts agree: reads follow each other at intervals
  // of at least `interval`, and one begins when the grace period ends. Requires count() > 0.
  MonotonicTime Earliest(int confirmations, Duration interval) const;

  // The end of the first read, and the end of the grace period. Both require count() > 0.
  MonotonicTime Began() const { return first_ended_; }
  MonotonicTime GraceEnd() const { return first_ended_ + Grace(); }
  Duration Grace() const { return std::max(grace_, least_); }

 private:
  int count_ = 0;
  std::string owner_;
  Duration grace_{0};
  Duration least_{0};
  MonotonicTime first_ended_{};
  MonotonicTime last_began_{};
};

}  // namespace cluster_watcher

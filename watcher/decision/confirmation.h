// One abandoned verdict proves little; a cluster is condemned only after several in a row that span
// a grace period. A small value that verdicts are folded over: no clock, no I/O.
#pragma once

#include <string>

#include "probes/base/clock.h"
#include "probes/owner_probe.h"
#include "watcher/decision/rules.h"
#include "watcher/settings/settings.h"

namespace cluster_watcher {

// How long verdicts of this abandoned `reason` must span. `seen`: the owner as it was last seen;
// nullopt: this cluster has never seen it.
Duration GraceFor(const Settings& settings, Reason reason,
                  const std::optional<RecordedOwner>& seen);

// How far an abandoned cluster is on its way to be condemned.
struct Abandonment {
  Duration lasted{0};  // since the first of these verdicts
  int confirmations = 0;
  Duration due_in{0};    // the deletion, at the earliest
  bool dry_run = false;  // there will be none
};

class Confirmation {
 public:
  // One abandoned verdict, from a sure look that began and ended at these times. `owner` is what
  // identifies the owner (its UID and name); another one starts the count again. Verdicts of
  // different reasons count together, under the longest of their grace periods.
  void Add(const std::string& owner, Duration grace, MonotonicTime began, MonotonicTime ended);

  // Any other verdict.
  void Reset() { *this = Confirmation(); }

  int count() const { return count_; }

  // Whether `confirmations` verdicts span the grace period. The span runs from the end of the first
  // look to the beginning of the last, so that it is never overestimated.
  bool IsConfirmed(int confirmations) const;

  // When it is confirmed at the earliest, if no verdict differs: looks follow each other after
  // `interval` at the least, and one begins when the grace period ends. Only where count() > 0.
  MonotonicTime Earliest(int confirmations, Duration interval) const;

  // When the first of them ended, and when the grace period does; only where count() > 0.
  MonotonicTime Began() const { return first_ended_; }
  MonotonicTime GraceEnd() const { return first_ended_ + grace_; }

 private:
  int count_ = 0;
  std::string owner_;
  Duration grace_{0};
  MonotonicTime first_ended_{};
  MonotonicTime last_began_{};
};

}  // namespace cluster_watcher

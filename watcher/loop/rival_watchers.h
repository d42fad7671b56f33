// Decides who acts when the master root bears marks of a condemnation or a deletion: resumes what
// this watcher began before a restart, waits for another watcher that is at it, takes over from one
// that is gone, and takes off what nobody carries through.
#pragma once

#include <optional>
#include <string>

#include "watcher/deletion/reaper.h"
#include "watcher/loop/judge.h"
#include "watcher/reporting/warn_once.h"

namespace cluster_watcher {

class RivalWatchers {
 public:
  enum class Outcome {
    kNoMarks,  // none that count; void ones are taken off
    kWait,     // look again
    kDone,     // a deletion was resumed, and the cluster is gone
  };

  RivalWatchers(const Tools& tools, Reaper& reaper, Judge& judge);

  // Acts on the marks in `snapshot`, which has a root; `me` is this watcher.
  Outcome Act(const WatcherId& me, const Snapshot& snapshot, const std::stop_token& stop);

  // Whether the last attempt to take marks off was refused permanently.
  bool is_refused() const { return refused_; }
  // Whether the guard refused it: then no mark of a deletion could be written either.
  bool is_refused_by_guard() const { return refused_by_guard_; }

 private:
  Outcome Resume(const WatcherId& me, const Snapshot& snapshot, const std::stop_token& stop);
  bool TakeMarksOff(const Snapshot& snapshot);
  void CallOff(const Snapshot& snapshot, const std::string& why);

  const Tools& tools_;
  Reaper& reaper_;
  Judge& judge_;
  WarnOnce warn_once_;
  bool refused_ = false;
  bool refused_by_guard_ = false;
  std::optional<MarksSeen> seen_;
};

}  // namespace cluster_watcher

// Runs the steps of a deletion, each once: those that are done are marked on the master root, so
// that a watcher that resumes the deletion doesn't run them again.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "watcher/deletion/deletion_order.h"
#include "watcher/deletion/step_runner.h"
#include "watcher/deletion/tools.h"
#include "watcher/reporting/announcer.h"

namespace cluster_watcher {

class MarkedSteps {
 public:
  // `dial` reaches the servers of steps.
  MarkedSteps(const Tools& tools, Announcer& announcer, Dial dial, StepsAt at);

  // Starts a deletion of which the steps `done` have ended.
  void Begin(Steps steps, std::set<std::string> done) {
    steps_ = std::move(steps);
    done_ = std::move(done);
  }
  // Ends what still runs of it, since it is called off. `marks`: those on its `root`.
  void CallOff(const KubeObject& root, const Marks& marks);

  // Whether some of those before the deletion are still to be run.
  bool HasBefore(const DeletionOrder& order) const;
  // Both return whether any step was run. Those before run until `deadline` at most; what there was
  // no time for counts as done.
  bool RunBefore(const DeletionOrder& order, MonotonicTime deadline);
  bool RunAfter(const DeletionOrder& order);

 private:
  bool HasAny(const std::vector<Step>& steps, const char* prefix) const;
  bool Run(const std::vector<Step>& steps, const char* prefix, const DeletionOrder& order,
           Duration allowed);
  // Returns whether the deletion is still ours, as far as that can be read.
  bool MarkDone(const DeletionOrder& order);

  const Tools& tools_;
  Announcer& announcer_;
  StepRunner runner_;
  Steps steps_;
  std::set<std::string> done_;  // even if that could not be marked
};

}  // namespace cluster_watcher

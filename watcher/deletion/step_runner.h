// Runs the steps of a deletion, one after the other. No step stops a deletion: one that fails or
// takes too long is logged and skipped.
#pragma once

#include <functional>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "watcher/deletion/step_pod.h"
#include "watcher/observation/snapshot.h"

namespace cluster_watcher {

// Makes a transport to the server of a step, "http://127.0.0.1:8080". It sends no credentials.
using Dial = std::function<Result<std::unique_ptr<Transport>>(const std::string& server)>;

// Where steps are run.
enum class StepsAt {
  kMaster,     // in the master pod
  kElsewhere,  // outside of it: what only the master pod reaches (kLocal) fails at once
  kNowhere,    // they are passed over
};

// Returns the name of a step in marks: "before-delete/drain".
std::string StepId(const std::string& prefix, const Step& step);

class StepRunner {
 public:
  StepRunner(Dial dial, StepsAt at, const Tools& tools);

  StepsAt at() const { return at_; }

  // Runs those of `steps` whose StepId isn't in `done`. Together they may take `allowed`; then the
  // running one is cut off and the rest isn't run. A step that has succeeded, failed without a
  // retry or been cut off is added to `done`, and `finished` is called; the time of that call
  // doesn't count. If that returns false the deletion is no longer ours, and no other is begun.
  // Returns what went wrong, for people: "drain: HTTP 500".
  std::vector<std::string> Run(const std::vector<Step>& steps, const std::string& prefix,
                               const Snapshot& look, Duration allowed, std::set<std::string>& done,
                               const std::function<bool()>& finished);

 private:
  // Tries it again and again, if it is to be retried.
  StepAttempt RunOne(const Step& step, StepPod& pod, MonotonicTime deadline);
  StepAttempt Ask(const StepRequest& step, Duration timeout);

  Dial dial_;
  const StepsAt at_;
  const Tools& tools_;
  std::minstd_rand jitter_;
};

}  // namespace cluster_watcher

// Runs a step of a deletion as a pod of the cluster, and waits for its end. The pod's name is made
// of the deletion's root and the step, so that whoever resumes finds the one that was started. It
// has the cluster's label, so it goes with the members; its account, kStepsAccount, has to be
// there, and needs no rights. Source: kubernetes.io "Pod Lifecycle".
#pragma once

#include <string>

#include "probes/cluster_id.h"
#include "watcher/deletion/tools.h"
#include "watcher/protocol/steps.h"

namespace cluster_watcher {

// How an attempt at a step ended.
struct StepAttempt {
  enum class Outcome { kSucceeded, kFailed, kTimedOut };
  Outcome outcome;
  std::string why = {};   // for people
  bool is_final = false;  // another attempt would come to the same
};

// The deletion that steps belong to.
struct StepsOf {
  const ClusterId& cluster;
  const std::string& root_uid;
  bool is_resumed;  // its steps may have been begun by another process
};

inline constexpr const char* kStepsAccount = "cluster-watcher-steps";
inline constexpr const char* kStepLabel = "cluster-watcher/step";  // "before-delete"

// Runs `step`, called `id` in marks ("before-delete/save"), for at most `timeout`. With `adopts` a
// pod of its name is waited for instead of started; else that is one of an earlier attempt, and is
// deleted first. A pod that fails is told with the end of what it logged.
StepAttempt RunAsPod(const Tools& tools, const Step& step, const std::string& id, const StepsOf& of,
                     Duration timeout, bool adopts);

}  // namespace cluster_watcher

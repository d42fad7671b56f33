// Runs a step of a deletion as a pod of the cluster's namespace, and waits for its end. The pod's
// name is made of the deletion and the step, so that whoever resumes finds the one that was
// started. It carries no label of the cluster: to those who find the cluster's pods by labels it is
// none of them. The master root owns it. Its account, kStepsAccount, has to be there, and needs no
// rights. Source: kubernetes.io "Pod Lifecycle".
#pragma once

#include <string>

#include "watcher/deletion/tools.h"
#include "watcher/protocol/marks.h"
#include "watcher/protocol/steps.h"

namespace cluster_watcher {

// How an attempt at a step ended.
struct StepAttempt {
  enum class Outcome { kSucceeded, kFailed, kTimedOut };
  Outcome outcome;
  std::string why = {};   // for people
  bool is_final = false;  // another attempt would come to the same
};

inline constexpr const char* kStepsAccount = "cluster-watcher-steps";
inline constexpr const char* kStepLabel = "cluster-watcher/step";  // "before-delete"

// A step as a pod of one deletion.
class StepPod {
 public:
  // `root` and `marks` are those of the master root in the deletion's look; the step is called `id`
  // in marks ("before-delete/save").
  StepPod(const Tools& tools, const KubeObject& root, const Marks& marks, std::string id);

  // Runs it for at most `timeout`. The first attempt waits for the pod that a process before this
  // one has started; a further one deletes what it finds, and starts another. A pod that fails is
  // told with the end of what it logged.
  StepAttempt Run(const PodToRun& pod, Duration timeout, bool is_first);
  // Deletes it, if it is there.
  void End();

 private:
  const Tools& tools_;
  const KubeObject& root_;
  const std::string id_;
  const std::string name_;
};

}  // namespace cluster_watcher

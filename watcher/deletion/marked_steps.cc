#include "watcher/deletion/marked_steps.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "probes/base/names.h"
#include "watcher/protocol/master_root.h"
#include "watcher/protocol/member_annotations.h"

namespace cluster_watcher {
namespace {

// The names of steps in marks and logs: as their annotations.
constexpr const char* kBefore = annotation::kBeforeDelete + std::size(annotation::kPrefix) - 1;
constexpr const char* kAfter = annotation::kAfterDelete + std::size(annotation::kPrefix) - 1;
constexpr int kMostMarks = 5;
constexpr Duration kMarkTimeout{2'000};
constexpr Duration kBetweenMarks{10};  // doubled each time

}  // namespace

MarkedSteps::MarkedSteps(const Tools& tools, Announcer& announcer, Dial dial, StepsAt at)
    : tools_(tools), announcer_(announcer), runner_(std::move(dial), at, tools) {}

bool MarkedSteps::HasAny(const std::vector<Step>& steps, const char* prefix) const {
  if (runner_.at() == StepsAt::kNowhere) return false;
  return std::any_of(steps.begin(), steps.end(),
                     [&](const Step& step) { return !done_.contains(StepId(prefix, step)); });
}

bool MarkedSteps::HasBefore(const DeletionOrder& order) const {
  return HasAny(order.look.pod_says.steps.before, kBefore);
}

bool MarkedSteps::RunBefore(const DeletionOrder& order, MonotonicTime deadline) {
  const auto left = std::chrono::duration_cast<Duration>(deadline - tools_.clock.Now());
  return Run(order.look.pod_says.steps.before, kBefore, order,
             std::min(tools_.settings->steps_deadline, left));
}

bool MarkedSteps::RunAfter(const DeletionOrder& order) {
  return Run(order.look.pod_says.steps.after, kAfter, order,
             OwnTimeOf(tools_, tools_.settings->steps_deadline));
}

// A process before this one may have begun them.
void MarkedSteps::CallOff(const KubeObject& root, const Marks& marks) {
  for (const auto& [list, prefix] : {std::pair(&steps_.before, kBefore), {&steps_.after, kAfter}}) {
    for (const Step& step : *list) {
      if (step.IsPod()) StepPod(tools_, root, marks, StepId(prefix, step)).End();
    }
  }
}

bool MarkedSteps::Run(const std::vector<Step>& steps, const char* prefix,
                      const DeletionOrder& order, Duration allowed) {
  if (!HasAny(steps, prefix)) return false;
  const auto troubles =
      runner_.Run(steps, prefix, order.look, allowed, done_, [&] { return MarkDone(order); });
  // Steps that there was no time for aren't run later either.
  for (const Step& step : steps) done_.insert(StepId(prefix, step));
  if (!troubles.empty()) {
    announcer_.Trouble(order.look, "RunningSteps",
                       std::string(prefix) + " steps: " + Joined(troubles));
  }
  return true;
}

// A few attempts: a step that is run twice is better than a deletion that waits.
bool MarkedSteps::MarkDone(const DeletionOrder& order) {
  MasterRoot root(tools_.client, *order.look.root);
  for (int attempt = 0; attempt < kMostMarks; ++attempt) {
    tools_.turn({});
    const RootState state = root.Read({}, kMarkTimeout);
    if (state == RootState::kReplaced || state == RootState::kGone) return false;
    if (state == RootState::kOurs || state == RootState::kTerminating) {
      if (root.marks().condemned_by != order.marks.condemned_by) return false;
      if (root.WriteMarks({{annotation::kStepsDone, StepsMark(done_)}}, kMarkTimeout)) return true;
    }
    tools_.clock.WaitUntil(tools_.clock.Now() + kBetweenMarks * (1 << attempt), {});
  }
  tools_.log.warn("the steps that are done could not be marked");
  return true;
}

}  // namespace cluster_watcher

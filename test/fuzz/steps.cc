// Fuzzes the steps of a deletion: every text has a reason why it isn't a list of steps, or each of
// its steps can be run.
#include "watcher/protocol/steps.h"

#include <set>
#include <string>
#include <string_view>

#include "test/fuzz/fuzz.h"
#include "watcher/protocol/marks.h"

namespace cluster_watcher {

void TryInput(std::string_view input) {
  const auto steps = ParseSteps(input);
  if (!steps) return Require(IsOneLine(steps.error().message), "the reason is one line");
  std::set<std::string> names;
  for (const Step& step : *steps) {
    Require(IsOneLine(step.name) && names.insert(step.name).second, "a name of its own");
    Require(step.timeout > Duration(0), "a timeout");
    if (step.IsPod()) {
      Require(IsOneLine(std::get<PodToRun>(step.what).image), "an image");
      continue;
    }
    const StepRequest& request = std::get<StepRequest>(step.what);
    Require(request.target.starts_with('/'), "a path");
    Require(request.server.starts_with("http://") || request.server.starts_with("https://"),
            "a server");
    Require(request.server.find('@') == std::string::npos, "no credentials");
    Require(IsOneLine(request.server) && IsOneLine(request.target), "a URL");
  }
  ObjectMeta root;
  root.uid = "u";
  root.common.Edit().annotations = {{annotation::kRootUid, "u"},
                                    {annotation::kStepsDone, StepsMark(names)}};
  Require(ReadMarks(root).steps_done == names, "what is marked is read");
  root.common.Edit().annotations[annotation::kStepsDone] = input;
  static_cast<void>(ReadMarks(root));
}

}  // namespace cluster_watcher

// Fuzzes AdmissionReviews: the answer to any body is a review that the API server can read, or an
// HTTP error, and only a new pod is patched.
#include "watcher/admission/admission_review.h"

#include <string>
#include <string_view>

#include "probes/base/json.h"
#include "test/fuzz/fuzz.h"
#include "watcher/admission/injection.h"

namespace cluster_watcher {
namespace {

void Judge(const AdmissionAnswer& answer, std::string_view input, bool may_patch) {
  Require(answer.log.empty() || IsOneLine(answer.log), "one line for the log");
  if (answer.status != 200) {
    Require(answer.status == 400 && !answer.body.empty(), "an error of HTTP with its reason");
    return;
  }
  const auto document = JsonDocument::Parse(answer.body);
  Require(document.has_value(), "JSON");
  const JsonValue response = document->root()["response"];
  const auto asked = JsonDocument::Parse(input);
  Require(asked.has_value(), "only JSON is answered by a review");
  Require(response["uid"].AsString() == asked->root()["request"]["uid"].AsString(), "its uid");
  Require(response["allowed"].AsBool().has_value(), "allowed or not");
  if (!response["patch"].Exists()) return;
  Require(may_patch && response["patchType"].AsString() == "JSONPatch", "a patch where it may be");
  const JsonValue pod = asked->root()["request"]["object"];
  Require(pod["spec"]["containers"].size() > 0, "a pod with containers");
}

}  // namespace

void TryInput(std::string_view input) {
  InjectionSettings settings;
  settings.image = "cluster-watcher:0.1.0";
  Judge(AnswerMutate(input, settings), input, true);
  Judge(AnswerValidate(input, settings, false), input, false);
  Judge(AnswerValidate(input, settings, true), input, false);
}

}  // namespace cluster_watcher

// Fuzzes the fields of owners of each kind: counts and times are within bounds, and an owner is
// suspended or completed only if it says so. The first line is the kind, as in --resources.
#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>

#include "probes/base/names.h"
#include "probes/owner_kinds.h"
#include "probes/owner_reader.h"
#include "test/fuzz/fuzz.h"

namespace cluster_watcher {
namespace {

ResourceType TypeOf(std::string_view text) {
  const KindName name = SplitKindName(text);
  if (const ResourceType* known = FindBuiltInByName(name.kind, name.group)) return *known;
  return {name.group, "v1", name.kind, name.kind};
}

bool IsCount(JsonValue value) { return value.AsInteger().value_or(-1) >= 0; }

void Check(const OwnerFields& fields, JsonValue object) {
  const JsonValue spec = object["spec"];
  Require(fields.replicas >= 0, "there are no fewer than 0 replicas");
  Require(fields.replicas != 0 || IsCount(spec["replicas"]), "who is scaled to zero says so");
  const bool says_suspended =
      spec["suspend"].AsBool() == true || spec["job"]["state"].AsString() == "suspended";
  Require(!fields.suspended || says_suspended, "who is suspended says so");
  Require(!fields.completed || object["status"].IsObject(), "who has completed says so");
  Require(WantsToRun(fields) == (fields.replicas > 0 && !fields.completed),
          "who is neither scaled to zero nor completed wants to run");
  if (fields.termination_grace) {
    Require(*fields.termination_grace >= std::chrono::seconds(0) &&
                *fields.termination_grace <= std::chrono::hours(24 * 366),
            "a grace is at most a year");
  }
}

}  // namespace

void TryInput(std::string_view input) {
  std::string_view text = input;
  const ResourceType type = TypeOf(TakeLine(text));
  const auto document = JsonDocument::Parse(text);
  if (!document) return;
  const auto fields = ReadOwnerFields(type, document->root());
  if (fields) {
    Require(CanJudge(type), "only what can be judged has fields");
    Check(*fields, document->root());
  } else {
    Require(!fields.error().message.empty(), "there is a reason");
  }
}

}  // namespace cluster_watcher

#include "watcher/protocol/marks.h"

#include <utility>

#include "probes/base/duration_text.h"
#include "probes/base/names.h"
#include "probes/base/time_text.h"

namespace cluster_watcher {
namespace {

constexpr const char* kProtocolMarks[] = {annotation::kPhase,        annotation::kReason,
                                          annotation::kCondemnedBy,  annotation::kDeletingSince,
                                          annotation::kDeletesBegun, annotation::kStepsDone};
constexpr const char* kOwnerMarks[] = {annotation::kOwnerKind,     annotation::kOwnerName,
                                       annotation::kOwnerUid,      annotation::kOwnerGrace,
                                       annotation::kOwnerSelector, annotation::kOwnerGiven};

Phase ParsePhase(const std::string& text) {
  if (text == "condemned") return Phase::kCondemned;
  if (text == "deleting") return Phase::kDeleting;
  return Phase::kWatching;
}

std::optional<RecordedOwner> ReadOwnerMarks(const ObjectMeta& root) {
  const auto kind = root.Annotation(annotation::kOwnerKind);
  const auto name = root.Annotation(annotation::kOwnerName);
  const auto uid = root.Annotation(annotation::kOwnerUid);
  if (!kind || !name || !uid || uid->empty()) return std::nullopt;
  const std::size_t slash = name->find('/');
  if (!IsKindName(*kind) || slash == std::string::npos) return std::nullopt;
  RecordedOwner owner;
  owner.kind = *kind;
  owner.ns = name->substr(0, slash);
  owner.name = name->substr(slash + 1);
  owner.uid = *uid;
  owner.pod_selector = root.Annotation(annotation::kOwnerSelector).value_or("");
  owner.given = root.Annotation(annotation::kOwnerGiven).value_or("");
  if (auto grace = root.Annotation(annotation::kOwnerGrace)) {
    if (auto duration = ParseDuration(*grace)) {
      owner.termination_grace = std::chrono::duration_cast<std::chrono::seconds>(*duration);
    }
  }
  return owner;
}

// A mark that isn't a list of texts counts as empty, so finished steps run again.
std::set<std::string> ParseStepsMark(const std::string& text) {
  std::set<std::string> done;
  const auto document = JsonDocument::Parse(text);
  if (!document) return done;
  for (JsonValue step : document->root().Elements()) {
    if (auto id = step.AsString()) done.emplace(*id);
  }
  return done;
}

}  // namespace

const char* ToString(Phase phase) {
  switch (phase) {
    case Phase::kWatching:
      return "watching";
    case Phase::kCondemned:
      return "condemned";
    case Phase::kDeleting:
      return "deleting";
    case Phase::kDone:
      return "done";
  }
  return "watching";
}

WatcherId WatcherId::Parse(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return {std::string(text), ""};
  return {std::string(text.substr(0, slash)), std::string(text.substr(slash + 1))};
}

std::string WatcherId::ToText() const { return uid.empty() ? pod : pod + "/" + uid; }

Marks ReadMarks(const ObjectMeta& root) {
  Marks marks;
  if (root.Annotation(annotation::kRootUid) != root.uid) return marks;
  marks.phase = ParsePhase(root.Annotation(annotation::kPhase).value_or(""));
  marks.reason = root.Annotation(annotation::kReason).value_or("");
  marks.condemned_by = WatcherId::Parse(root.Annotation(annotation::kCondemnedBy).value_or(""));
  if (auto since = root.Annotation(annotation::kDeletingSince)) {
    marks.deleting_since = ParseTime(*since);
  }
  marks.deletes_begun = root.Annotation(annotation::kDeletesBegun) == "true";
  marks.steps_done = ParseStepsMark(root.Annotation(annotation::kStepsDone).value_or("[]"));
  marks.owner = ReadOwnerMarks(root);
  marks.app_status = root.Annotation(annotation::kAppStatus);
  return marks;
}

bool HasForeignMarks(const ObjectMeta& root) {
  const auto uid = root.Annotation(annotation::kRootUid);
  if (uid) return *uid != root.uid;
  for (const char* mark : kProtocolMarks) {
    if (root.Annotation(mark)) return true;
  }
  for (const char* mark : kOwnerMarks) {
    if (root.Annotation(mark)) return true;
  }
  return root.Annotation(annotation::kAppStatus).has_value();
}

AnnotationChanges OwnerMarks(const RecordedOwner& owner) {
  AnnotationChanges changes;
  changes[annotation::kOwnerKind] = owner.kind;
  changes[annotation::kOwnerName] = owner.ns + "/" + owner.name;
  changes[annotation::kOwnerUid] = owner.uid;
  changes[annotation::kOwnerGrace] = owner.termination_grace
                                         ? std::optional(FormatDuration(*owner.termination_grace))
                                         : std::nullopt;
  changes[annotation::kOwnerSelector] =
      owner.pod_selector.empty() ? std::nullopt : std::optional(owner.pod_selector);
  changes[annotation::kOwnerGiven] =
      owner.given.empty() ? std::nullopt : std::optional(owner.given);
  return changes;
}

AnnotationChanges WithoutProtocolMarks() {
  AnnotationChanges changes;
  for (const char* mark : kProtocolMarks) changes[mark] = std::nullopt;
  return changes;
}

std::string StepsMark(const std::set<std::string>& done) {
  JsonWriter list;
  list.StartArray();
  for (const std::string& step : done) list.String(step);
  return list.EndArray().Text();
}

AnnotationChanges CollectMarks(WallTime after, const std::string& cluster) {
  return {{annotation::kCollectAfter, FormatTime(after)}, {annotation::kCollectOf, cluster}};
}

bool IsCollected(const ObjectMeta& claim, WallTime after) {
  if (claim.Annotation(annotation::kRootUid) != claim.uid) return false;
  const auto until = ParseTime(claim.Annotation(annotation::kCollectAfter).value_or(""));
  return until && *until >= after;
}

std::string MarksPatch(const ObjectMeta& root, AnnotationChanges changes) {
  if (HasForeignMarks(root)) {
    for (const char* mark : kProtocolMarks) changes.try_emplace(mark, std::nullopt);
    for (const char* mark : kOwnerMarks) changes.try_emplace(mark, std::nullopt);
    changes.try_emplace(annotation::kAppStatus, std::nullopt);
  }
  changes[annotation::kRootUid] = root.uid;
  JsonWriter patch;
  patch.StartObject().Key("metadata").StartObject();
  patch.Field("resourceVersion", root.resource_version);
  patch.Key("annotations").StartObject();
  for (const auto& [key, value] : changes) {
    patch.Key(key);
    if (value) {
      patch.String(*value);
    } else {
      patch.Null();
    }
  }
  return patch.EndObject().EndObject().EndObject().Text();
}

}  // namespace cluster_watcher

#include "watcher/protocol/marks.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "probes/base/duration_text.h"
#include "probes/base/names.h"
#include "probes/base/time_text.h"

namespace cluster_watcher {
namespace {

constexpr const char* kProtocolMarks[] = {annotation::kPhase,        annotation::kReason,
                                          annotation::kCondemnedBy,  annotation::kDeletingSince,
                                          annotation::kDeletesBegun, annotation::kFirstDeletes,
                                          annotation::kStepsDone,    annotation::kCreatedBy};
// Those of earlier versions, but for `owner-kind`.
constexpr const char* kOutdatedOwnerMarks[] = {annotation::kOwnerName, annotation::kOwnerUid,
                                               annotation::kOwnerGrace, annotation::kOwnerSelector,
                                               annotation::kOwnerGiven};

// What is longer was written by no watcher, and is shown to people.
constexpr std::size_t kLongestId = 253 + 1 + 128;  // a pod's name, and a UID
constexpr std::size_t kLongestReason = 64;

Phase ParsePhase(const std::string& text) {
  if (text == "condemned") return Phase::kCondemned;
  if (text == "deleting") return Phase::kDeleting;
  return Phase::kWatching;
}

// Whether so much is known of it that it can be recorded.
bool IsWhole(const RecordedOwner& owner) {
  return IsKindName(owner.kind) && !owner.name.empty() && !owner.uid.empty();
}

std::optional<RecordedOwner> ParseRecordedOwner(const std::string& text) {
  const auto document = JsonDocument::Parse(text);
  if (!document) return std::nullopt;
  const auto field = [&](const char* key) {
    return std::string(document->root()[key].AsString().value_or(""));
  };
  RecordedOwner owner{field("kind"), field("namespace"), field("name"), field("uid"),
                      std::nullopt,  field("selector"),  field("given")};
  if (!IsWhole(owner)) return std::nullopt;
  owner.is_member = document->root()["member"].AsBool().value_or(false);
  if (auto grace = ParseDuration(field("grace"))) {
    owner.termination_grace = std::chrono::duration_cast<std::chrono::seconds>(*grace);
  }
  return owner;
}

std::optional<RecordedOwner> ReadOutdatedOwner(const ObjectMeta& root) {
  const auto kind = root.Annotation(annotation::kOwnerKind);
  const auto name = root.Annotation(annotation::kOwnerName);
  const auto uid = root.Annotation(annotation::kOwnerUid);
  if (!kind || !name || !uid) return std::nullopt;
  const std::size_t slash = name->find('/');
  if (slash == std::string::npos) return std::nullopt;
  RecordedOwner owner;
  owner.kind = *kind;
  owner.ns = name->substr(0, slash);
  owner.name = name->substr(slash + 1);
  owner.uid = *uid;
  if (!IsWhole(owner)) return std::nullopt;
  owner.pod_selector = root.Annotation(annotation::kOwnerSelector).value_or("");
  owner.given = root.Annotation(annotation::kOwnerGiven).value_or("");
  if (auto grace = root.Annotation(annotation::kOwnerGrace)) {
    if (auto duration = ParseDuration(*grace)) {
      owner.termination_grace = std::chrono::duration_cast<std::chrono::seconds>(*duration);
    }
  }
  return owner;
}

// nullopt: there is none, or it makes no sense.
std::optional<WallTime> ParseTimeMark(const ObjectMeta& root, const char* mark) {
  const auto time = ParseTime(root.Annotation(mark).value_or(""));
  return time > kEarliestTime && time < kLatestTime ? time : std::nullopt;
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
  if (text.size() > kLongestId) return {};
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
  if (marks.reason.size() > kLongestReason) marks.reason.clear();
  marks.condemned_by = WatcherId::Parse(root.Annotation(annotation::kCondemnedBy).value_or(""));
  marks.deleting_since = ParseTimeMark(root, annotation::kDeletingSince);
  marks.abandoned_since = ParseTimeMark(root, annotation::kAbandonedSince);
  marks.deletes_begun = root.Annotation(annotation::kDeletesBegun) == "true";
  marks.first_deletes = ParseFirstDeletes(root.Annotation(annotation::kFirstDeletes).value_or(""));
  marks.steps_done = ParseStepsMark(root.Annotation(annotation::kStepsDone).value_or("[]"));
  marks.owner = ParseRecordedOwner(root.Annotation(annotation::kRecordedOwner).value_or(""));
  marks.owner_is_outdated = HasOutdatedOwner(root);
  if (!marks.owner) marks.owner = ReadOutdatedOwner(root);
  marks.app_status = root.Annotation(annotation::kAppStatus);
  marks.app_status_by = WatcherId::Parse(root.Annotation(annotation::kAppStatusBy).value_or(""));
  marks.app_status_since = ParseTimeMark(root, annotation::kAppStatusSince);
  return marks;
}

bool HasOutdatedOwner(const ObjectMeta& root) {
  return root.Annotation(annotation::kOwnerKind) && root.Annotation(annotation::kOwnerName) &&
         root.Annotation(annotation::kOwnerUid);
}

bool HasForeignMarks(const ObjectMeta& root) {
  const auto uid = root.Annotation(annotation::kRootUid);
  if (uid) return *uid != root.uid;
  for (const char* mark : kProtocolMarks) {
    if (root.Annotation(mark)) return true;
  }
  for (const char* mark : kOutdatedOwnerMarks) {
    if (root.Annotation(mark)) return true;
  }
  return root.Annotation(annotation::kRecordedOwner) ||
         root.Annotation(annotation::kAbandonedSince) ||
         root.Annotation(annotation::kAppStatus).has_value();
}

bool IsMark(std::string_view key) {
  const auto is_it = [key](const char* mark) { return key == mark; };
  return key == annotation::kRootUid || key == annotation::kRecordedOwner ||
         key == annotation::kAbandonedSince || key == annotation::kAppStatus ||
         key == annotation::kAppStatusBy || key == annotation::kAppStatusSince ||
         std::any_of(std::begin(kProtocolMarks), std::end(kProtocolMarks), is_it) ||
         std::any_of(std::begin(kOutdatedOwnerMarks), std::end(kOutdatedOwnerMarks), is_it);
}

AnnotationChanges OwnerMarks(const RecordedOwner& owner) {
  JsonWriter mark;
  mark.StartObject().Field("kind", owner.kind).Field("namespace", owner.ns);
  mark.Field("name", owner.name).Field("uid", owner.uid);
  if (owner.termination_grace) mark.Field("grace", FormatDuration(*owner.termination_grace));
  if (!owner.pod_selector.empty()) mark.Field("selector", owner.pod_selector);
  if (!owner.given.empty()) mark.Field("given", owner.given);
  if (owner.is_member) mark.Key("member").Bool(true);
  return {{annotation::kRecordedOwner, mark.EndObject().Text()}};
}

AnnotationChanges WithoutProtocolMarks() {
  AnnotationChanges changes;
  for (const char* mark : kProtocolMarks) changes[mark] = std::nullopt;
  return changes;
}

AnnotationChanges WithoutAppStatus() {
  return {{annotation::kAppStatus, std::nullopt},
          {annotation::kAppStatusBy, std::nullopt},
          {annotation::kAppStatusSince, std::nullopt}};
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

AnnotationChanges WithoutCollectMarks() {
  return {{annotation::kCollectAfter, std::nullopt}, {annotation::kCollectOf, std::nullopt}};
}

bool IsMarkedForCollection(const ObjectMeta& claim) {
  return claim.Annotation(annotation::kRootUid) == claim.uid &&
         claim.Annotation(annotation::kCollectAfter).has_value();
}

bool IsCollected(const ObjectMeta& claim, WallTime after) {
  if (claim.Annotation(annotation::kRootUid) != claim.uid) return false;
  const auto until = ParseTime(claim.Annotation(annotation::kCollectAfter).value_or(""));
  return until && *until >= after;
}

// What is written along with `changes`.
AnnotationChanges Completed(const ObjectMeta& root, AnnotationChanges changes) {
  if (HasForeignMarks(root)) {
    for (const char* mark : kProtocolMarks) changes.try_emplace(mark, std::nullopt);
    changes.try_emplace(annotation::kRecordedOwner, std::nullopt);
    changes.try_emplace(annotation::kAbandonedSince, std::nullopt);
    changes.merge(WithoutAppStatus());
  }
  if (changes.contains(annotation::kRecordedOwner)) {
    for (const char* mark : kOutdatedOwnerMarks) {
      if (root.Annotation(mark)) changes.try_emplace(mark, std::nullopt);
    }
    if (HasOutdatedOwner(root)) changes.try_emplace(annotation::kOwnerKind, std::nullopt);
  }
  changes[annotation::kRootUid] = root.uid;
  return changes;
}

std::string MarksPatch(const ObjectMeta& root, AnnotationChanges changes) {
  changes = Completed(root, std::move(changes));
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

ObjectMeta WithMarks(ObjectMeta root, AnnotationChanges changes) {
  changes = Completed(root, std::move(changes));
  auto& annotations = root.common.Edit().annotations;
  for (auto& [key, value] : changes) {
    if (value) {
      annotations[key] = *std::move(value);
    } else {
      annotations.erase(key);
    }
  }
  return root;
}

}  // namespace cluster_watcher

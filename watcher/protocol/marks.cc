#include "watcher/protocol/marks.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "probes/base/duration_text.h"
#include "probes/base/names.h"
#include "probes/base/time_text.h"

namespace cluster_watcher {
namespace {

constexpr const char* kProtocolMarks[] = {annotation::kPhase, annotation::kReason,
                                          annotation::kCondemnedBy, annotation::kDeletingSince,
                                          annotation::kStepsDone};
constexpr const char* kOtherMarks[] = {annotation::kAbandonedSince, annotation::kRecordedOwner};
// A longer one was written by no watcher, and is shown to people.
constexpr std::size_t kLongestUid = 128;
constexpr std::size_t kLongestId = 253 + 1 + kLongestUid;  // a pod's name, and a UID
constexpr std::size_t kLongestReason = 64;

Phase ParsePhase(const std::string& text) {
  if (text == "condemned") return Phase::kCondemned;
  if (text == "deleting") return Phase::kDeleting;
  return Phase::kWatching;
}

bool IsUid(std::string_view text) {
  return !text.empty() && text.size() <= kLongestUid &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7F; });
}

// Whether so much is known of it that it can be recorded, in a form that can be shown to people.
bool IsWhole(const RecordedOwner& owner) {
  return IsKindName(owner.kind) && IsDnsSubdomain(owner.name) && IsUid(owner.uid);
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

template <typename Keys>
bool HasAny(const ObjectMeta& root, const Keys& keys) {
  return std::any_of(std::begin(keys), std::end(keys),
                     [&](std::string_view key) { return root.Annotation(key).has_value(); });
}

template <typename Keys>
bool Contains(const Keys& keys, std::string_view key) {
  return std::find(std::begin(keys), std::end(keys), key) != std::end(keys);
}

// The marks that are written along with `changes`.
AnnotationChanges Completed(const ObjectMeta& root, AnnotationChanges changes) {
  if (HasVoidMarks(root)) {
    for (const char* mark : kProtocolMarks) changes.try_emplace(mark, std::nullopt);
    for (const char* mark : kOtherMarks) changes.try_emplace(mark, std::nullopt);
  }
  changes[annotation::kRootUid] = root.uid;
  return changes;
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
  marks.steps_done = ParseStepsMark(root.Annotation(annotation::kStepsDone).value_or("[]"));
  marks.owner = ParseRecordedOwner(root.Annotation(annotation::kRecordedOwner).value_or(""));
  return marks;
}

bool HasVoidMarks(const ObjectMeta& root) {
  const auto uid = root.Annotation(annotation::kRootUid);
  if (uid) return *uid != root.uid;
  return HasAny(root, kProtocolMarks) || HasAny(root, kOtherMarks);
}

bool IsMark(std::string_view key) {
  return key == annotation::kRootUid || Contains(kProtocolMarks, key) || Contains(kOtherMarks, key);
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

std::string StepsMark(const std::set<std::string>& done) {
  JsonWriter list;
  list.StartArray();
  for (const std::string& step : done) list.String(step);
  return list.EndArray().Text();
}

// The name alone is that of a cluster of the default label: a sweep's own may be another.
AnnotationChanges CollectMarks(WallTime after, const ClusterId& cluster) {
  const bool is_default = cluster.label() == kDefaultClusterLabel;
  return {
      {annotation::kCollectAfter, FormatTime(after)},
      {annotation::kCollectOf, is_default ? cluster.name : cluster.label() + "=" + cluster.name}};
}

std::string CollectedOf(const ObjectMeta& claim) {
  const std::string of = claim.Annotation(annotation::kCollectOf).value_or("");
  const bool is_name = !of.empty() && of.find('=') == std::string::npos;
  return is_name ? std::string(kDefaultClusterLabel) + "=" + of : of;
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

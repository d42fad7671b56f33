#include "watcher/protocol/marks.h"

#include <algorithm>
#include <ctime>
#include <iterator>

#include "probes/base/duration_text.h"
#include "probes/base/names.h"

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

// What can't be read as a list of texts holds none: a step that was run is run again.
std::set<std::string> ParseStepsMark(const std::string& text) {
  std::set<std::string> done;
  const auto document = JsonDocument::Parse(text);
  if (!document) return done;
  for (JsonValue step : document->root().Elements()) {
    if (auto id = step.AsString()) done.emplace(*id);
  }
  return done;
}

// Reads `digits` digits at `at` and moves on; nullopt: there are none.
std::optional<int> ReadNumber(std::string_view text, std::size_t& at, std::size_t digits) {
  int number = 0;
  if (at + digits > text.size()) return std::nullopt;
  for (const std::size_t end = at + digits; at < end; ++at) {
    if (text[at] < '0' || text[at] > '9') return std::nullopt;
    number = number * 10 + (text[at] - '0');
  }
  return number;
}

bool ReadChar(std::string_view text, std::size_t& at, std::string_view any_of) {
  if (at >= text.size() || any_of.find(text[at]) == std::string_view::npos) return false;
  ++at;
  return true;
}

// ".123": cut off below the millisecond.
std::optional<std::chrono::milliseconds> ReadFraction(std::string_view text, std::size_t& at) {
  std::chrono::milliseconds fraction{0};
  if (!ReadChar(text, at, ".")) return fraction;
  int weight = 100;
  const std::size_t begin = at;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at, weight /= 10) {
    fraction += std::chrono::milliseconds((text[at] - '0') * weight);
  }
  return at == begin ? std::nullopt : std::optional(fraction);
}

std::optional<std::chrono::minutes> ReadZone(std::string_view text, std::size_t& at) {
  if (ReadChar(text, at, "Zz")) return std::chrono::minutes(0);
  if (at >= text.size()) return std::nullopt;
  const bool west = text[at] == '-';
  if (!ReadChar(text, at, "+-")) return std::nullopt;
  const auto hours = ReadNumber(text, at, 2);
  if (!hours || !ReadChar(text, at, ":")) return std::nullopt;
  const auto minutes = ReadNumber(text, at, 2);
  if (!minutes || *hours > 23 || *minutes > 59) return std::nullopt;
  const std::chrono::minutes offset(*hours * 60 + *minutes);
  return west ? -offset : offset;
}

}  // namespace

bool annotation::IsKnown(std::string_view key) {
  static constexpr const char* kOthers[] = {
      kRootUid,      kAppStatus,   kOwner,       kHoldUntil,    kKeep,      kStatus,
      kBeforeDelete, kAfterDelete, kDeleteOrder, kCollectAfter, kCollectOf, kInject};
  const auto is_it = [key](const char* known) { return key == known; };
  return std::any_of(std::begin(kProtocolMarks), std::end(kProtocolMarks), is_it) ||
         std::any_of(std::begin(kOwnerMarks), std::end(kOwnerMarks), is_it) ||
         std::any_of(std::begin(kOthers), std::end(kOthers), is_it);
}

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

Marks ReadMarks(const ObjectMeta& root) {
  Marks marks;
  if (root.Annotation(annotation::kRootUid) != root.uid) return marks;
  marks.phase = ParsePhase(root.Annotation(annotation::kPhase).value_or(""));
  marks.reason = root.Annotation(annotation::kReason).value_or("");
  marks.condemned_by = root.Annotation(annotation::kCondemnedBy).value_or("");
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

std::string FormatTime(WallTime time) {
  // Not to_time_t, which rounds up what is before 1970.
  const std::time_t seconds =
      std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count();
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  const std::size_t size = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return {text, size};
}

std::optional<WallTime> ParseTime(std::string_view text) {
  std::size_t at = 0;
  int fields[6];
  constexpr std::string_view kSeparators[] = {"-", "-", "Tt ", ":", ":", ""};
  for (std::size_t i = 0; i < std::size(fields); ++i) {
    const auto number = ReadNumber(text, at, i == 0 ? 4 : 2);
    if (!number) return std::nullopt;
    fields[i] = *number;
    if (!kSeparators[i].empty() && !ReadChar(text, at, kSeparators[i])) return std::nullopt;
  }
  const auto fraction = ReadFraction(text, at);
  if (!fraction) return std::nullopt;
  const auto zone = ReadZone(text, at);
  if (!zone || at != text.size()) return std::nullopt;
  const std::chrono::year_month_day day{std::chrono::year(fields[0]),
                                        std::chrono::month(static_cast<unsigned>(fields[1])),
                                        std::chrono::day(static_cast<unsigned>(fields[2]))};
  if (!day.ok() || fields[3] > 23 || fields[4] > 59 || fields[5] > 60) return std::nullopt;
  // What the clock can't hold is as good as for ever, or long ago.
  if (fields[0] > 2200) return WallTime::max();
  if (fields[0] < 1700) return WallTime::min();
  return std::chrono::sys_days(day) + std::chrono::hours(fields[3]) +
         std::chrono::minutes(fields[4]) + std::chrono::seconds(fields[5]) + *fraction - *zone;
}

}  // namespace cluster_watcher

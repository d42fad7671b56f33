#include "watcher/driver/creation_mark.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "probes/base/time_text.h"
#include "watcher/driver/cluster_view.h"
#include "watcher/driver/persistence.h"
#include "watcher/driver/who_acts.h"
#include "watcher/protocol/gone_watcher.h"

namespace cluster_watcher {
namespace {

// How long the mark of a command may stand.
constexpr Duration kPatienceWithOthers = std::chrono::minutes(1);
// How long one's own is trusted; well within that.
constexpr Duration kFresh = std::chrono::seconds(15);
// Controllers write status all the time.
constexpr int kMostConflicts = 10;
// Instead of who creates it.
constexpr const char* kComplete = "complete";

bool IsCreating(const ObjectMeta& root) {
  return root.Annotation(annotation::kPhase) == kCreatingPhase;
}

// When a manager last wrote what it owns, the mark included; nullopt: none owns that. Source:
// kubernetes.io "Server-Side Apply", managers: the time is the API server's.
std::optional<WallTime> WrittenAt(JsonValue root) {
  std::optional<WallTime> last;
  for (JsonValue entry : root["metadata"]["managedFields"].Elements()) {
    const JsonValue annotations = entry["fieldsV1"]["f:metadata"]["f:annotations"];
    if (!annotations[std::string("f:") + annotation::kCreatedBy].Exists()) continue;
    const auto time = ParseTime(std::string(entry["time"].AsString().value_or("")));
    if (time && (!last || *time > *last)) last = time;
  }
  return last;
}

// Whether all that `changes` want is so.
bool Has(const ObjectMeta& meta, const MetaChanges& changes) {
  const auto is_so = [](const AnnotationChanges& wanted, const auto& read) {
    return std::all_of(wanted.begin(), wanted.end(),
                       [&](const auto& one) { return read(one.first) == one.second; });
  };
  return is_so(changes.labels, [&](const std::string& key) { return meta.Label(key); }) &&
         is_so(changes.annotations, [&](const std::string& key) { return meta.Annotation(key); });
}

}  // namespace

AnnotationChanges CreatingMarks(const WatcherId& creator) {
  return {{annotation::kPhase, kCreatingPhase}, {annotation::kCreatedBy, creator.ToText()}};
}

WatcherId CreatorOf(const ObjectMeta& root) {
  return WatcherId::Parse(root.Annotation(annotation::kCreatedBy).value_or(""));
}

// A command that goes on for long numbers its name, so that the mark changes; each process of a pod
// has a word of its own.
bool IsCreatedBy(const ObjectMeta& root, const WatcherId& creator) {
  const WatcherId by = CreatorOf(root);
  return by.pod == creator.pod && (by.uid == creator.uid || by.uid.starts_with(creator.uid + "."));
}

bool IsMarkedCreating(const ObjectMeta& root) {
  const auto uid = root.Annotation(annotation::kRootUid);
  return IsCreating(root) && !IsCreationComplete(root) && (!uid || *uid == root.uid);
}

bool IsCreationComplete(const ObjectMeta& root) {
  return root.Annotation(annotation::kCreatedBy) == kComplete;
}

WatcherId SomeProcessOf(const WatcherId& creator) {
  if (!creator.IsPod()) return creator;
  return {creator.pod, creator.uid + "." + SomeCommand().uid};
}

bool IsCreatorGone(const DriverTools& tools, const KubeObject& root) {
  const WatcherId creator = CreatorOf(root.meta);
  if (creator.IsPod()) {
    const WatcherId pod{creator.pod, creator.uid.substr(0, creator.uid.find('.'))};
    return IsGone(tools.client, pod, root.meta.ns(), tools.Reads());
  }
  const auto answer = tools.client.Do(
      ApiRequest::GetMetadata(root.type, root.meta.ns(), root.meta.name), tools.Reads());
  if (!answer || !answer->server_time) return false;
  const auto now = ReadObjectMeta(answer->document.root());
  const auto written = WrittenAt(answer->document.root());
  if (!now || now->uid != root.meta.uid || CreatorOf(*now) != creator || !written) return false;
  return *answer->server_time - *written > kPatienceWithOthers + kDateRounding;
}

CreationMark::CreationMark(const DriverTools& tools, KubeObject root, WatcherId me,
                           MonotonicTime deadline)
    : tools_(tools),
      root_(std::move(root)),
      me_(std::move(me)),
      deadline_(deadline),
      is_put_(IsOurs(root_.meta)),
      known_at_(tools.clock.BootNow()) {}

bool CreationMark::IsOurs(const ObjectMeta& meta) const {
  return IsCreating(meta) && IsCreatedBy(meta, me_);
}

CreationMark::State CreationMark::Put(const MetaChanges& also) {
  MetaChanges changes = also;
  AnnotationChanges marks = CreatingMarks(me_);
  marks[annotation::kRootUid] = root_.meta.uid;
  // Those of another object.
  if (HasForeignMarks(root_.meta)) marks.merge(WithoutProtocolMarks());
  marks.merge(changes.annotations);
  changes.annotations = std::move(marks);
  is_put_ = false;
  const State state = Write(changes);
  is_put_ = state == State::kOurs;
  return state;
}

CreationMark::State CreationMark::PutUid() {
  return Write({{}, {{annotation::kRootUid, root_.meta.uid}}});
}

CreationMark::State CreationMark::Keep() {
  if (tools_.clock.BootNow() - known_at_ < kFresh) return State::kOurs;
  WatcherId next = me_;
  if (!me_.IsPod()) next.uid += "." + std::to_string(++renewals_);
  if (next != me_) return Write({{}, {{annotation::kCreatedBy, next.ToText()}}});
  const BootTime asked = tools_.clock.BootNow();
  const State state = Confirm();
  if (state != State::kOurs) return state;
  known_at_ = asked;
  return root_.meta.deleting ? State::kLost : State::kOurs;
}

CreationMark::State CreationMark::Confirm() {
  auto now = ReadMetaAgain(tools_.client, root_, tools_.Reads());
  if (!now && now.error().failure == ApiFailure::kNotFound) return State::kLost;
  if (!now) return problem_ = std::move(now).error(), State::kFailed;
  root_ = *std::move(now);
  return IsOurs(root_.meta) ? State::kOurs : State::kLost;
}

CreationMark::State CreationMark::TakeOff() {
  return Write({{}, {{annotation::kPhase, std::nullopt}, {annotation::kCreatedBy, kComplete}}});
}

CreationMark::State CreationMark::Write(const MetaChanges& changes) {
  const ObjectMeta judged = root_.meta;
  Persistence persistence(tools_, deadline_);
  for (int conflicts = 0;;) {
    const bool is_done = Has(root_.meta, changes);
    const bool may_write = is_put_ ? IsOurs(root_.meta) : HasOnlyNewStatus(judged, root_.meta);
    if (root_.meta.deleting || !(may_write || is_done)) return State::kLost;
    if (is_done) return State::kOurs;
    const BootTime sent = tools_.clock.BootNow();
    const ApiResult written = WriteMeta(tools_.client, root_, changes, kCreateManager);
    if (written) {
      if (auto meta = ReadObjectMeta(written->document.root())) root_.meta = *std::move(meta);
      known_at_ = sent;
      return State::kOurs;
    }
    if (written.error().failure == ApiFailure::kNotFound) return State::kLost;
    const bool at_once =
        written.error().failure == ApiFailure::kConflict && ++conflicts <= kMostConflicts;
    if (!at_once && !persistence.WaitToRepeat(written.error())) {
      problem_ = written.error();
      return State::kFailed;
    }
    auto now = ReadMetaAgain(tools_.client, root_, tools_.Reads());
    if (now) root_ = *std::move(now);
    if (!now && now.error().failure == ApiFailure::kNotFound) return State::kLost;
  }
}

}  // namespace cluster_watcher

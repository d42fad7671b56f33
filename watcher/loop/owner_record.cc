#include "watcher/loop/owner_record.h"

#include <utility>

#include "watcher/protocol/master_root.h"

namespace cluster_watcher {
namespace {

// Whether `after` is what `changes` make of `before`: an admission webhook may have added what is
// to be read. A Deployment counts changes of its annotations as well as those of its spec. Source:
// k8s.io/kubernetes pkg/registry/apps/deployment.
bool IsWrittenBy(const AnnotationChanges& changes, const ObjectMeta& before,
                 const ObjectMeta& after) {
  ObjectMeta expected = WithMarks(before, changes);
  if (after.generation == before.generation + 1) expected.generation = after.generation;
  return HasOnlyNewStatus(expected, after);
}

}  // namespace

std::optional<ObjectMeta> OwnerRecord::Write(const Snapshot& snapshot, const Decision& decision,
                                             const std::optional<RecordedOwner>& owner) {
  if (!owner) return std::nullopt;
  const bool is_member = owner->is_member && decision.reason == Reason::kMisconfigured;
  if (!IsSureOfOwner(decision.reason) && !is_member) return std::nullopt;
  const Marks& marks = snapshot.marks;
  if (owner == marks.owner) {
    state_ = State::kWritten;
    return std::nullopt;
  }
  const AnnotationChanges changes = OwnerMarks(*owner);
  MasterRoot root(tools_.client, *snapshot.root);
  auto written = root.WriteMarks(changes, kMarksTimeout);
  // A write that was refused permanently is tried again with the next sure look, and no sooner.
  state_ = written                                ? State::kWritten
           : IsOfGuard(written.error().policy)    ? State::kRefusedByGuard
           : IsTransient(written.error().failure) ? State::kPending
                                                  : State::kRefused;
  // A conflict is nothing unusual: controllers write status all the time.
  const bool expected = written || written.error().failure == ApiFailure::kConflict;
  if (!expected && !said_) {
    const bool is_refused = !written.error().policy.empty();
    tools_.log.log(is_refused ? spdlog::level::warn : spdlog::level::info,
                   "the owner can't be recorded: {}", written.error().message);
  }
  said_ = !expected;
  if (!written) return std::nullopt;
  auto meta = ReadObjectMeta(written->document.root());
  if (!meta || !IsWrittenBy(changes, snapshot.root->meta, *meta)) return std::nullopt;
  return *std::move(meta);
}

}  // namespace cluster_watcher

#include "watcher/engine/abandoned_since.h"

#include <string>
#include <utility>

#include "probes/base/time_text.h"
#include "watcher/protocol/master_root.h"

namespace cluster_watcher {
namespace {

// A write that was refused permanently is tried again after this time.
constexpr Duration kTryAgain = std::chrono::minutes(1);
// Somebody may take it off each time, a plugin of the API server too.
constexpr int kMostRewrites = 3;

}  // namespace

SinceMark AbandonedSince::Update(const Snapshot& snapshot, const Decision& decision,
                                 const Surge& surge) {
  // An unknown verdict is no reason to write.
  if (decision.reason == Reason::kUnknown) return SinceMark::kRight;
  const std::optional<WallTime> since = surge.since();
  const bool is_right =
      since ? written_ == since &&
                  surge.IsSaidBy(snapshot.marks.abandoned_since, ServerNow(snapshot, tools_.clock))
            : !snapshot.root->meta.Annotation(annotation::kAbandonedSince);
  if (!is_right && refused_ && refused_->since == since &&
      tools_.clock.Now() - refused_->at < kTryAgain) {
    return problem_ ? SinceMark::kRefused : SinceMark::kRight;
  }
  problem_.reset();
  refused_.reset();
  settled_ = true;
  return is_right ? SinceMark::kRight : SinceMark::kToWrite;
}

bool AbandonedSince::Write(const Snapshot& snapshot, const Surge& surge) {
  const std::optional<WallTime> since = surge.since();
  rewrites_ = since && written_ == since ? rewrites_ + 1 : 0;
  if (rewrites_ > kMostRewrites) {
    problem_ = {ApiFailure::kConflict, "the mark abandoned-since doesn't stay on the master root",
                std::nullopt};
    return false;
  }
  std::optional<std::string> mark;
  if (since) mark = FormatTime(*since);
  auto written = MasterRoot(tools_.client, *snapshot.root)
                     .WriteMarks({{annotation::kAbandonedSince, mark}}, kMarksTimeout);
  if (written) {
    written_ = since;
    return true;
  }
  const ApiError& error = written.error();
  // A conflict is nothing unusual: controllers write status all the time.
  if (error.failure != ApiFailure::kConflict) {
    warn_once_("the mark abandoned-since can't be " + std::string(since ? "written" : "taken off") +
               ": " + error.message);
  }
  const bool is_permanent = !IsTransient(error.failure);
  if (is_permanent) refused_ = {since, tools_.clock.Now()};
  settled_ = since || is_permanent;
  if (since) problem_ = error;
  return false;
}

}  // namespace cluster_watcher

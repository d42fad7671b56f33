// The last look before something is deleted, and what it comes to.
#include <algorithm>
#include <utility>

#include "probes/base/time_text.h"
#include "watcher/deletion/deletion.h"
#include "watcher/deletion/member_listing.h"
#include "watcher/deletion/reaper.h"

namespace cluster_watcher {
namespace {

// Controllers write status all the time, so a conflict is nothing unusual.
constexpr int kMostLastLooks = 20;

// The deletes of an earlier watcher aren't known to this one.
std::string WhatWasBegun(const Marks& marks) {
  const std::string since =
      marks.deleting_since ? " at " + FormatTime(*marks.deleting_since) : std::string();
  return "; " + marks.condemned_by.ToText() + " had begun to delete it" + since +
         ": its Events and its log say what is gone, and creating the cluster again from the same "
         "file makes it whole";
}

// Goes on under the marks that the look has read.
DeletionOrder OrderOn(const Condemnation& of, JudgedLook look) {
  const BootTime read_at = look.snapshot.when.evidence.sent;
  Marks marks = look.snapshot.marks;
  return {
      std::move(look.snapshot), std::move(marks), look.decision.detail, of.is_asked, read_at, {}};
}

}  // namespace

std::string Reaper::LeftOf(const Snapshot& look) {
  if (!look.root || !look.root->meta.deleting) return "";
  std::vector<std::string> left;
  const auto listed =
      MemberListing(tools_, warn_once_, *look.cluster, false).List(RepeatedReads(tools_));
  for (const KubeObject& object : listed.objects) {
    if (object.meta.uid != look.root->meta.uid) left.push_back(object.Describe());
  }
  return WhatIsLeft(std::move(left));
}

JudgedLook Reaper::LookAt(const Case& of, const std::stop_token& stop) {
  if (!of.is_asked) return LookAndDecide(observer_, stop);
  Snapshot snapshot = observer_.SureLook(stop);
  Decision decision = snapshot.root ? AskedFor() : Decide(snapshot.facts);
  return {std::move(snapshot), std::move(decision)};
}

Result<std::optional<DeletionOrder>, Reaper::Outcome> Reaper::LastLook(
    const Case& of, const Progress& progress, const std::stop_token& stop) {
  const bool is_begun = of.begun != nullptr;
  JudgedLook look;
  for (int attempt = 0; is_begun || attempt < kMostLastLooks; ++attempt) {
    if (is_begun && attempt > 0 && tools_.clock.Now() >= DeadlineOf(progress)) {
      warn_once_("the deletion goes on by what was read before, for its deadline has passed");
      return std::optional<DeletionOrder>();
    }
    tools_.turn({});
    if (attempt > 0) Wait(is_begun ? LongBackoff(attempt) : Backoff(attempt), stop);
    // A watcher that is told to stop leaves its marks to the next one.
    if (stop.stop_requested()) return Unexpected{Outcome::kSpared};
    look = LookAt(of, stop);
    if (stop.stop_requested()) return Unexpected{Outcome::kSpared};
    const AfterCondemning next =
        NextAfterCondemning(of, look.snapshot, look.decision, tools_.settings->dry_run);
    if (std::holds_alternative<AwaitRead>(next)) {
      const bool has_ended = is_begun && of.begun->HasEnded();
      if (has_ended) return std::optional<DeletionOrder>();  // the next pass says how
      warn_once_("the deletion waits: " + look.decision.detail);
      if (is_begun) continue;
      return Unexpected{Outcome::kSpared};
    }
    if (!std::holds_alternative<Begin>(next)) return Unexpected{TurnBack(of, look, next)};
    if (is_begun) return std::optional(OrderOn(of, std::move(look)));
    auto written = WritePointOfNoReturn(of, look, stop);
    if (written) return std::optional(*std::move(written));
    const ApiError& error = written.error();
    if (!IsTransient(error.failure) && error.failure != ApiFailure::kNotSent) {
      return Unexpected{
          TurnBack(of, look, Spare{NotePolicy(error, Refusal::kConflict), error.message})};
    }
    tools_.log.info("the last look is repeated: {}", error.message);
  }
  return Unexpected{TurnBack(
      of, look, Spare{Refusal::kConflict, "the point of no return could not be written in time"})};
}

Reaper::Outcome Reaper::TurnBack(const Case& of, const JudgedLook& look,
                                 const AfterCondemning& next) {
  if (std::holds_alternative<Yield>(next)) return Overtaken();
  Spare why = std::get<Spare>(next);
  why.detail += of.gone;
  if (!of.is_resumed) {
    return SpareIt(of, look.snapshot, why, look.decision.abandoned() ? nullptr : &look.decision);
  }
  if (look.snapshot.marks.phase == Phase::kDeleting)
    why.detail += WhatWasBegun(look.snapshot.marks);
  why.detail += LeftOf(look.snapshot);
  return SpareIt(of, look.snapshot, why);
}

Result<DeletionOrder, ApiError> Reaper::WritePointOfNoReturn(const Case& of, JudgedLook& look,
                                                             const std::stop_token& stop) {
  Snapshot& snapshot = look.snapshot;
  const Unexpected<ApiError> old{
      ApiError{ApiFailure::kNotSent, "its evidence has grown old", std::nullopt}};
  const auto age = [&] { return snapshot.EvidenceAge(tools_.clock, tools_.client); };
  if (age() >= kFreshEvidence) return old;
  Marks marks = snapshot.marks;
  marks.phase = Phase::kDeleting;
  marks.reason = ToString(look.decision.reason);
  marks.deleting_since = ServerNow(snapshot, tools_.clock);
  AnnotationChanges changes = CondemnedMarks(of.me, look.decision.reason, marks.phase);
  changes[annotation::kDeletingSince] = FormatTime(*marks.deleting_since);
  const BootTime marked_at = tools_.clock.BootNow();
  // To write may take its time, and the machine may be suspended.
  const auto may_write = [&] { return !stop.stop_requested() && age() < kFreshEvidence; };
  auto written = MasterRoot(tools_.client, *snapshot.root)
                     .WriteMarks(changes, kFreshEvidence - age(), Patience::While(may_write));
  if (!written) return Unexpected{std::move(written).error()};
  if (age() >= kFreshEvidence) return old;
  // The root's own delete is for the object as it is now.
  if (auto now = ReadObjectMeta(written->document.root())) snapshot.root->meta = *std::move(now);
  return DeletionOrder{std::move(snapshot), std::move(marks), look.decision.detail,
                       of.is_asked,         marked_at,        {}};
}

}  // namespace cluster_watcher

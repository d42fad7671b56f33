#include "watcher/decision/next_step.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace cluster_watcher {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

const WallTime kWallNow{std::chrono::sys_days(std::chrono::year(2026) / 12 / 24)};
const WatcherId kMe{"spark-m-1", "uid-1"};
const WatcherId kOther{"spark-m-2", "uid-2"};

Snapshot LookAt(Phase phase, const WatcherId& by) {
  Snapshot look;
  look.cluster = ClusterId{"lab", DefaultProfile(), "spark"};
  look.root = KubeObject{*FindBuiltInByName("deployments", "apps"), {}};
  look.root->meta.uid = "root";
  look.marks.phase = phase;
  look.marks.condemned_by = by;
  look.seen = RecordedOwner{};
  look.seen->uid = "bob-1";
  look.marks.owner = look.seen;
  look.pod = KubeObject{*FindBuiltInByName("pods", ""), {}};
  look.pod->meta.uid = kMe.uid;
  return look;
}

struct OnMarksCase {
  const char* what;
  Phase phase;
  WatcherId by;
  Duration seen_for;    // as long as these marks are seen
  Duration marked_for;  // as their time says; below 0: none, or it can't be read
  bool is_gone;
  OnMarks next;
};

TEST(NextStep, OnTheMarksOfOthers) {
  const Duration kNone{-1};
  const std::vector<OnMarksCase> cases = {
      {"no marks", Phase::kWatching, {}, {}, kNone, false, OnMarks::kNone},
      {"an earlier version's", Phase::kDone, kOther, {}, kNone, false, OnMarks::kNone},
      {"our own condemnation, of before a restart",
       Phase::kCondemned,
       kMe,
       {},
       kNone,
       false,
       OnMarks::kCallOff},
      {"another's", Phase::kCondemned, kOther, seconds(59), kNone, false, OnMarks::kWait},
      {"another's, which stands for too long", Phase::kCondemned, kOther, minutes(1), kNone, false,
       OnMarks::kCallOff},
      {"another's, who is gone", Phase::kCondemned, kOther, {}, kNone, true, OnMarks::kCallOff},
      {"our own deletion", Phase::kDeleting, kMe, {}, {}, false, OnMarks::kResume},
      {"another's", Phase::kDeleting, kOther, minutes(10), minutes(10), false, OnMarks::kWait},
      {"another's, who is gone", Phase::kDeleting, kOther, {}, {}, true, OnMarks::kTakeOver},
      {"another's, overdue by its mark",
       Phase::kDeleting,
       kOther,
       {},
       minutes(11),
       false,
       OnMarks::kTakeOver},
      {"another's, overdue since it is seen", Phase::kDeleting, kOther, minutes(11), kNone, false,
       OnMarks::kTakeOver},
      {"another's, of the future",
       Phase::kDeleting,
       kOther,
       {},
       Duration(-minutes(11)),
       false,
       OnMarks::kWait},
  };
  for (const OnMarksCase& one : cases) {
    SCOPED_TRACE(one.what);
    Snapshot look = LookAt(one.phase, one.by);
    if (one.marked_for != kNone) look.marks.deleting_since = kWallNow - one.marked_for;
    const MonotonicTime now{minutes(60)};
    const auto seen = SeeMarks(std::nullopt, look.marks, now - one.seen_for);
    const MarksView view{look, kMe, seen, now, kWallNow, minutes(10)};
    EXPECT_EQ(NextOnMarks(view, one.is_gone), one.next);
    EXPECT_TRUE(!one.is_gone || DependsOnWhetherGone(view));
  }
}

TEST(NextStep, ADeletionOfAnotherClusterIsNobodysHere) {
  Snapshot look = LookAt(Phase::kDeleting, kOther);
  look.root->meta.common.Edit().labels["oshinko-cluster"] = "other";
  const std::optional<MarksSeen> seen;
  const MarksView view{look, kMe, seen, {}, kWallNow, minutes(10)};
  EXPECT_EQ(NextOnMarks(view, true), OnMarks::kAnotherCluster);
}

// A restarted watcher calls its own off, aloud: the rules keep what is labelled so.
TEST(NextStep, OnesOwnDeletionOfWhatHasBecomeAnothersIsResumed) {
  Snapshot look = LookAt(Phase::kDeleting, kMe);
  look.root->meta.common.Edit().labels["oshinko-cluster"] = "other";
  const std::optional<MarksSeen> seen;
  EXPECT_EQ(NextOnMarks({look, kMe, seen, {}, kWallNow, minutes(10)}, false), OnMarks::kResume);
}

TEST(NextStep, MarksAreSeenSinceTheyAreAsTheyAre) {
  const Snapshot look = LookAt(Phase::kDeleting, kOther);
  Marks marks = look.marks;
  marks.deleting_since = kWallNow;
  const MonotonicTime first{seconds(1)}, later{seconds(9)};
  const auto seen = SeeMarks(std::nullopt, marks, first);
  EXPECT_EQ(SeeMarks(seen, marks, later)->since, first);
  const std::vector<std::function<void(Marks&)>> changes = {
      [](Marks& m) { m.condemned_by = kMe; },
      [](Marks& m) { m.deleting_since = kWallNow + seconds(1); },
      [](Marks& m) { m.phase = Phase::kCondemned; },
  };
  for (const auto& change : changes) {
    Marks changed = marks;
    change(changed);
    EXPECT_EQ(SeeMarks(seen, changed, later)->since, later);
  }
  marks.phase = Phase::kWatching;
  EXPECT_FALSE(SeeMarks(seen, marks, later));
}

TEST(NextStep, ACommandLeavesADeletionToOthersWhoAreStillThereInTheNextLook) {
  Marks marks = LookAt(Phase::kDeleting, kOther).marks;
  const MonotonicTime now{seconds(9)};
  EXPECT_EQ(SeeOthers(OnMarks::kNone, std::nullopt, now), OthersAtIt::kMaybe);
  auto seen = SeeMarks(std::nullopt, marks, now);
  EXPECT_EQ(SeeOthers(OnMarks::kWait, seen, now), OthersAtIt::kMaybe);
  seen = SeeMarks(seen, marks, now);
  EXPECT_EQ(SeeOthers(OnMarks::kWait, seen, now), OthersAtIt::kDeletes);
  EXPECT_EQ(SeeOthers(OnMarks::kTakeOver, seen, now), OthersAtIt::kMaybe);
  EXPECT_EQ(SeeOthers(OnMarks::kResume, seen, now), OthersAtIt::kMaybe);
  marks.condemned_by = WatcherId{"spark-m-3", "uid-3"};
  seen = SeeMarks(seen, marks, now);
  EXPECT_EQ(SeeOthers(OnMarks::kWait, seen, now), OthersAtIt::kMaybe);
}

TEST(NextStep, ACondemnationHasTimeToBeCalledOffBeforeACommandGivesUp) {
  const Marks marks = LookAt(Phase::kCondemned, kOther).marks;
  const MonotonicTime first{seconds(9)};
  auto seen = SeeMarks(std::nullopt, marks, first);
  seen = SeeMarks(seen, marks, first + seconds(61));
  EXPECT_EQ(SeeOthers(OnMarks::kCallOff, seen, first + seconds(89)), OthersAtIt::kMaybe);
  EXPECT_EQ(SeeOthers(OnMarks::kCallOff, seen, first + seconds(90)), OthersAtIt::kStays);
}

// "begin", "yield", "await", or the refusal of a spared cluster.
std::string Next(const Condemnation& of, const Snapshot& look, Reason reason,
                 bool dry_run = false) {
  Decision decision;
  decision.reason = reason;
  const AfterCondemning next = NextAfterCondemning(of, look, decision, dry_run);
  if (const auto* spare = std::get_if<Spare>(&next)) return ToString(spare->refusal);
  return std::holds_alternative<Begin>(next)   ? "begin"
         : std::holds_alternative<Yield>(next) ? "yield"
                                               : "await";
}

struct BehindCase {
  const char* what;
  std::function<void(Snapshot&, Condemnation&)> change;
  std::string next;
};

TEST(NextStep, BehindACondemnation) {
  const std::vector<BehindCase> cases = {
      {"all is as it was", [](Snapshot&, Condemnation&) {}, "begin"},
      {"another owner", [](Snapshot& look, Condemnation&) { look.seen->uid = "bob-2"; },
       "owner-back"},
      {"another owner, and a person asks",
       [](Snapshot& look, Condemnation& of) {
         look.seen->uid = "bob-2";
         of.is_asked = true;
       },
       "begin"},
      {"our pod terminates", [](Snapshot& look, Condemnation&) { look.pod->meta.deleting = true; },
       "conflict"},
      {"another pod terminates",
       [](Snapshot& look, Condemnation&) {
         look.pod->meta.deleting = true;
         look.pod->meta.uid = kOther.uid;
       },
       "begin"},
      {"the marks are taken off",
       [](Snapshot& look, Condemnation&) { look.marks.phase = Phase::kWatching; }, "conflict"},
      {"another has condemned it",
       [](Snapshot& look, Condemnation&) { look.marks.condemned_by = kOther; }, "conflict"},
      {"another deletes it",
       [](Snapshot& look, Condemnation&) {
         look.marks.condemned_by = kOther;
         look.marks.phase = Phase::kDeleting;
       },
       "yield"},
  };
  for (const BehindCase& one : cases) {
    SCOPED_TRACE(one.what);
    Snapshot look = LookAt(Phase::kCondemned, kMe);
    Condemnation of{kMe, look.OwnerIdentity(), false, false};
    one.change(look, of);
    EXPECT_EQ(Next(of, look, Reason::kOwnerAbsent), one.next);
  }
}

TEST(NextStep, AVerdictThatKeepsSparesUnlessADeletionThatWasBegunIsUnknown) {
  const Snapshot look = LookAt(Phase::kDeleting, kMe);
  const Condemnation first{kMe, look.OwnerIdentity(), false, false};
  const Condemnation resumed{kMe, "", false, true};
  EXPECT_EQ(Next(first, look, Reason::kUnknown), "unknown");
  EXPECT_EQ(Next(resumed, look, Reason::kUnknown), "await");
  EXPECT_EQ(Next(resumed, look, Reason::kActive), "owner-back");
  EXPECT_EQ(Next(resumed, look, Reason::kOwnerAbsent), "begin");
}

TEST(NextStep, WhatIsResumedIsForTheRecordedOwner) {
  Snapshot look = LookAt(Phase::kDeleting, kMe);
  look.marks.owner->uid = "bob-0";
  EXPECT_EQ(Next({kMe, "", false, true}, look, Reason::kOwnerAbsent), "owner-back");
}

struct CaseOfALook {
  const char* what;
  CaseView view;
  CaseStep next;
};

TEST(NextStep, OnACase) {
  const auto see = [](Caller caller, OnMarks on_marks, Confirmed confirmed,
                      SinceMark since = SinceMark::kRight, bool has_void_marks = false) {
    return CaseView{caller, false, on_marks, has_void_marks, since, confirmed};
  };
  const auto watch = [&](Confirmed confirmed, SinceMark since = SinceMark::kRight,
                         bool has_void_marks = false) {
    return see(Caller::kWatcher, OnMarks::kNone, confirmed, since, has_void_marks);
  };
  const auto dry = [](CaseView view) {
    view.dry_run = true;
    return view;
  };
  const std::vector<CaseOfALook> cases = {
      {"all is well", watch(Confirmed::kKept), CaseStep::kKeep},
      {"a first abandoned verdict", watch(Confirmed::kNotYet), CaseStep::kConfirm},
      {"enough of them, and a surge is looked for", watch(Confirmed::kButForSurge),
       CaseStep::kConfirm},
      {"enough of them", watch(Confirmed::kYes), CaseStep::kCondemn},
      {"not marked yet", watch(Confirmed::kNotYet, SinceMark::kToWrite), CaseStep::kMarkSince},
      {"enough, and not marked", watch(Confirmed::kYes, SinceMark::kToWrite), CaseStep::kMarkSince},
      {"marked, and kept", watch(Confirmed::kKept, SinceMark::kToWrite), CaseStep::kMarkSince},
      {"can't be marked", watch(Confirmed::kNotYet, SinceMark::kRefused), CaseStep::kConfirm},
      {"due, and can't be marked", watch(Confirmed::kButForSurge, SinceMark::kRefused),
       CaseStep::kSpare},
      {"due, and can't be marked", watch(Confirmed::kYes, SinceMark::kRefused), CaseStep::kSpare},
      {"void marks", watch(Confirmed::kKept, SinceMark::kRight, true), CaseStep::kClear},
      {"void marks come before others", watch(Confirmed::kNotYet, SinceMark::kToWrite, true),
       CaseStep::kClear},
      {"a condemnation overwrites them", watch(Confirmed::kYes, SinceMark::kRight, true),
       CaseStep::kCondemn},
      {"somebody else is at it", see(Caller::kWatcher, OnMarks::kWait, Confirmed::kYes),
       CaseStep::kWait},
      {"it is another cluster's", see(Caller::kWatcher, OnMarks::kAnotherCluster, Confirmed::kYes),
       CaseStep::kKeep},
      {"nobody carries it through", see(Caller::kWatcher, OnMarks::kCallOff, Confirmed::kYes),
       CaseStep::kCallOff},
      {"our own deletion, which is judged again",
       see(Caller::kWatcher, OnMarks::kResume, Confirmed::kKept), CaseStep::kResume},
      {"of one who is gone, where we can't judge",
       see(Caller::kWatcher, OnMarks::kTakeOver, Confirmed::kUnknown), CaseStep::kWait},
      {"of one who is gone", see(Caller::kWatcher, OnMarks::kTakeOver, Confirmed::kKept),
       CaseStep::kTakeOver},
      {"an application needs no mark",
       see(Caller::kApplication, OnMarks::kNone, Confirmed::kYes, SinceMark::kToWrite),
       CaseStep::kCondemn},
      {"an application is told who is at it",
       see(Caller::kApplication, OnMarks::kWait, Confirmed::kYes), CaseStep::kWait},
      {"an application's cluster is kept",
       see(Caller::kApplication, OnMarks::kNone, Confirmed::kKept), CaseStep::kKeep},
      {"a person waits for nobody", see(Caller::kPerson, OnMarks::kWait, Confirmed::kYes),
       CaseStep::kCondemn},
      {"a dry run", dry(watch(Confirmed::kYes, SinceMark::kToWrite, true)), CaseStep::kRehearse},
      {"a person's dry run", dry(see(Caller::kPerson, OnMarks::kNone, Confirmed::kYes)),
       CaseStep::kRehearse},
      {"a dry run resumes nothing",
       dry(see(Caller::kWatcher, OnMarks::kResume, Confirmed::kNotYet)), CaseStep::kConfirm},
      {"a dry run writes nothing", dry(watch(Confirmed::kKept, SinceMark::kToWrite, true)),
       CaseStep::kKeep},
  };
  for (const CaseOfALook& each : cases) EXPECT_EQ(NextOnCase(each.view), each.next) << each.what;
}

}  // namespace
}  // namespace cluster_watcher

#include "watcher/decision/confirmation.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace cluster_watcher {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

MonotonicTime At(int second) { return MonotonicTime(seconds(second)); }

// One verdict of a timeline: abandoned, or kept if `owner` is kKept.
struct ALook {
  int began;  // seconds
  int ended;
  const char* owner = "bob";
  int grace = 30;
};
constexpr const char* kKept = nullptr;

Confirmation Fold(const std::vector<ALook>& steps) {
  Confirmation confirmation;
  for (const ALook& step : steps) {
    if (step.owner == kKept) {
      confirmation.Reset();
    } else {
      confirmation.Add(step.owner, seconds(step.grace), At(step.began), At(step.ended));
    }
  }
  return confirmation;
}

TEST(Confirmation, Timelines) {
  struct Case {
    const char* what;
    std::vector<ALook> steps;
    int count;
    bool confirmed;  // with 3 confirmations
  };
  const std::vector<Case> cases = {
      {"nothing yet", {}, 0, false},
      {"one", {{0, 0}}, 1, false},
      {"long enough, too few", {{0, 0}, {100, 100}}, 2, false},
      {"enough, too short", {{0, 0}, {15, 15}, {29, 29}}, 3, false},
      {"enough and long enough", {{0, 0}, {15, 15}, {30, 30}}, 3, true},
      {"more than enough", {{0, 0}, {10, 10}, {20, 20}, {30, 30}}, 4, true},
      {"the first look's end counts, not its beginning", {{0, 5}, {10, 11}, {34, 36}}, 3, false},
      {"the last look's beginning counts, not its end", {{0, 5}, {10, 11}, {35, 90}}, 3, true},
      {"one slow look spans nothing", {{0, 99}, {99, 99}, {99, 200}}, 3, false},
      {"a keep between", {{0, 0}, {15, 15}, {20, 20, kKept}, {30, 30}}, 1, false},
      {"three after a keep", {{0, 0}, {20, 20, kKept}, {30, 30}, {45, 45}, {60, 60}}, 3, true},
      {"the span begins again after a keep",
       {{0, 0}, {20, 20, kKept}, {30, 30}, {45, 45}, {59, 59}},
       3,
       false},
      {"another owner begins again", {{0, 0}, {15, 15}, {30, 30, "alice"}}, 1, false},
      {"the first owner back begins again",
       {{0, 0}, {15, 15, "alice"}, {30, 30}, {45, 45}},
       2,
       false},
      {"the longest grace, last", {{0, 0}, {15, 15}, {30, 30, "bob", 60}}, 3, false},
      {"the longest grace, first", {{0, 0, "bob", 60}, {15, 15}, {59, 59}}, 3, false},
      {"the longest grace is over", {{0, 0, "bob", 60}, {15, 15}, {60, 60}}, 3, true},
      {"the grace before a keep",
       {{0, 0, "bob", 600}, {1, 1, kKept}, {2, 2}, {3, 3}, {32, 32}},
       3,
       true},
      {"the grace of another owner", {{0, 0, "alice", 600}, {2, 2}, {3, 3}, {32, 32}}, 3, true},
      {"no grace, all at once", {{0, 9, "bob", 0}, {1, 9, "bob", 0}, {2, 9, "bob", 0}}, 3, true},
      {"no grace, too few", {{0, 9, "bob", 0}, {90, 99, "bob", 0}}, 2, false},
  };
  for (const Case& one : cases) {
    const Confirmation confirmation = Fold(one.steps);
    EXPECT_EQ(confirmation.count(), one.count) << one.what;
    EXPECT_EQ(confirmation.IsConfirmed(3), one.confirmed) << one.what;
  }
}

TEST(Confirmation, CountsWhatIsAskedFor) {
  const Confirmation once = Fold({{0, 0, "bob", 0}});
  EXPECT_TRUE(once.IsConfirmed(1));
  EXPECT_FALSE(once.IsConfirmed(2));
  EXPECT_FALSE(Confirmation().IsConfirmed(0)) << "never without a verdict";
  EXPECT_FALSE(Fold({{0, 0}}).IsConfirmed(1)) << "one verdict spans no grace period";
  EXPECT_EQ(Fold({{0, 5}, {10, 12}}).GraceEnd(), At(35));
  EXPECT_EQ(Fold({{0, 5}, {10, 12, "bob", 60}}).GraceEnd(), At(65));
  EXPECT_EQ(Fold({{0, 5}, {10, 12, "alice"}}).GraceEnd(), At(42));
}

RecordedOwner Seen(std::optional<seconds> grace) {
  RecordedOwner owner;
  owner.uid = "u1";
  owner.termination_grace = grace;
  return owner;
}

TEST(Confirmation, LastsUntilTheOwnerHasTerminated) {
  Confirmation confirmation;
  confirmation.Add("bob", seconds(30), At(0), At(0));
  confirmation.Add("bob", seconds(30), At(10), At(12), hours(1));
  EXPECT_EQ(confirmation.GraceEnd(), At(12 + 3600)) << "counted from when that was seen";
  confirmation.Add("bob", seconds(30), At(100), At(102), seconds(3510));
  EXPECT_EQ(confirmation.GraceEnd(), At(12 + 3600));
  EXPECT_FALSE(confirmation.IsConfirmed(3));
  confirmation.Add("bob", seconds(30), At(3612), At(3613));
  EXPECT_TRUE(confirmation.IsConfirmed(3)) << "it is gone";
}

TEST(TerminatesIn, IsByTheApiServersClock) {
  const WallTime now{std::chrono::sys_days(std::chrono::year(2026) / 12 / 24)};
  Facts facts;
  EXPECT_EQ(TerminatesIn(facts), seconds(0)) << "no owner";
  facts.now = now - hours(5);
  facts.server_time = now;
  facts.owner = OwnerSight();
  EXPECT_EQ(TerminatesIn(facts), seconds(0)) << "it isn't terminating";
  facts.owner->fields.terminates_by = now + hours(2);
  EXPECT_EQ(TerminatesIn(facts), Duration(hours(2))) << "whatever the longest grace period is";
  facts.owner->fields.terminates_by = now - seconds(1);
  EXPECT_EQ(TerminatesIn(facts), seconds(0));
  facts.owner->fields.terminates_by = WallTime::min();
  EXPECT_EQ(TerminatesIn(facts), seconds(0));
  facts.owner->fields.terminates_by = WallTime::max();
  EXPECT_EQ(TerminatesIn(facts), Duration(hours(24 * 365)));
}

TEST(GraceFor, FollowsTheSettingsAndTheOwner) {
  struct Case {
    const char* what;
    Reason reason;
    std::optional<RecordedOwner> seen;
    std::optional<Duration> explicit_grace;
    std::optional<Duration> scaled_to_zero;
    Duration expected;
  };
  const auto unset = std::nullopt;
  const std::vector<Case> cases = {
      {"default", Reason::kOwnerAbsent, Seen(unset), unset, unset, seconds(30)},
      {"owner's shorter", Reason::kOwnerDeleting, Seen(seconds(5)), unset, unset, seconds(30)},
      {"owner's zero", Reason::kOwnerDeleting, Seen(seconds(0)), unset, unset, seconds(30)},
      {"owner's longer", Reason::kOwnerAbsent, Seen(seconds(90)), unset, unset, seconds(90)},
      {"owner's, an hour", Reason::kCompleted, Seen(hours(1)), unset, unset, hours(1)},
      {"owner's, capped", Reason::kOwnerDeleting, Seen(hours(2)), unset, unset, hours(1)},
      {"owner's, absurd", Reason::kOwnerDeleting, Seen(seconds::max()), unset, unset, hours(1)},
      {"explicit, shorter", Reason::kOwnerAbsent, Seen(hours(1)), seconds(2), unset, seconds(2)},
      {"explicit, none", Reason::kOwnerDeleting, Seen(hours(1)), seconds(0), unset, seconds(0)},
      {"explicit, beyond the cap", Reason::kCompleted, Seen(unset), hours(5), unset, hours(5)},
      {"scaled, as the others", Reason::kScaledToZero, Seen(seconds(90)), unset, unset,
       seconds(90)},
      {"scaled, as the explicit one", Reason::kScaledToZero, Seen(unset), seconds(7), unset,
       seconds(7)},
      {"scaled, its own", Reason::kScaledToZero, Seen(seconds(90)), seconds(7), minutes(10),
       minutes(10)},
      {"scaled, its own of zero", Reason::kScaledToZero, Seen(seconds(90)), unset, seconds(0),
       seconds(0)},
      {"scaled's is no other's", Reason::kOwnerAbsent, Seen(unset), unset, minutes(10),
       seconds(30)},
      {"never seen", Reason::kOwnerAbsent, unset, unset, unset, minutes(5)},
      {"never seen, explicit and shorter", Reason::kOwnerAbsent, unset, seconds(0), unset,
       minutes(5)},
      {"never seen, explicit and longer", Reason::kOwnerAbsent, unset, hours(1), unset, hours(1)},
      {"never seen before, but now", Reason::kOwnerDeleting, unset, unset, unset, seconds(30)},
  };
  for (const Case& one : cases) {
    Settings settings;
    settings.grace_period = one.explicit_grace;
    settings.scaled_to_zero_grace_period = one.scaled_to_zero;
    EXPECT_EQ(GraceFor(settings, one.reason, one.seen), one.expected) << one.what;
  }
  Settings settings;
  settings.startup_grace = seconds(0);
  EXPECT_EQ(GraceFor(settings, Reason::kOwnerAbsent, std::nullopt), Duration(seconds(30)));
}

TEST(ConfirmationTest, TellsTheEarliestTimeAtWhichItIsConfirmed) {
  struct Case {
    Duration grace;
    int confirmations;
    Duration interval;
    Duration earliest;  // since the first look
  };
  const Case cases[] = {
      {seconds(30), 3, seconds(5), seconds(30)},
      {seconds(0), 1, seconds(5), seconds(0)},
      {seconds(0), 3, seconds(5), seconds(10)},
      // The loop wakes when the grace period ends, so one look comes early.
      {seconds(3), 2, seconds(30), seconds(3)},
      {seconds(3), 3, seconds(30), seconds(33)},
      {seconds(8), 3, seconds(5), seconds(8)},
      {seconds(12), 3, seconds(5), seconds(12)},
  };
  const MonotonicTime first{std::chrono::seconds(1'000)};
  for (const Case& c : cases) {
    Confirmation confirmation;
    confirmation.Add("bob", c.grace, first, first);
    EXPECT_EQ(confirmation.Earliest(c.confirmations, c.interval) - first, c.earliest)
        << c.grace.count() << " " << c.confirmations;
  }
}

TEST(Confirmation, IsLengthenedAndNeverShortened) {
  Confirmation confirmation = Fold({{0, 0}, {15, 15}, {30, 30}});
  ASSERT_TRUE(confirmation.IsConfirmed(3));
  confirmation.Lengthen(seconds(10));
  EXPECT_TRUE(confirmation.IsConfirmed(3));
  EXPECT_EQ(confirmation.GraceEnd(), At(30));
  confirmation.Lengthen(minutes(1));
  EXPECT_FALSE(confirmation.IsConfirmed(3));
  EXPECT_EQ(confirmation.GraceEnd(), At(60));
  confirmation.Add("bob", seconds(30), At(60), At(60));
  EXPECT_TRUE(confirmation.IsConfirmed(3));
  confirmation.Lengthen(minutes(2));
  confirmation.Lengthen(seconds(0));
  EXPECT_EQ(confirmation.GraceEnd(), At(30)) << "what was said last counts";

  Confirmation at_once;
  at_once.Add("bob", seconds(0), At(0), At(1));
  at_once.Lengthen(seconds(5));
  EXPECT_FALSE(at_once.IsConfirmed(1));
}

}  // namespace
}  // namespace cluster_watcher

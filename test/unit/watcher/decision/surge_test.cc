#include "watcher/decision/surge.h"

#include <gtest/gtest.h>

namespace cluster_watcher {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr WallTime kDay{std::chrono::sys_days(std::chrono::year(2026) / 12 / 24)};

Surge Abandoned(Reason reason = Reason::kOwnerAbsent) {
  Surge surge;
  surge.Add(reason, true, kDay, std::nullopt);
  return surge;
}

TEST(Surge, BeginsAtTheFirstVerdictToTheSecond) {
  Surge surge;
  EXPECT_FALSE(surge.since());
  EXPECT_FALSE(surge.IsBeside(kDay));
  surge.Add(Reason::kOwnerAbsent, true, kDay + milliseconds(999), std::nullopt);
  surge.Add(Reason::kOwnerDeleting, false, kDay + seconds(5), kDay);
  EXPECT_EQ(surge.since(), kDay);
  surge.Add(Reason::kOwnerAbsent, true, kDay + minutes(3), std::nullopt);
  EXPECT_EQ(surge.since(), kDay + minutes(3)) << "the confirmations began again";
  surge.Reset();
  EXPECT_FALSE(surge.since());
}

TEST(Surge, IsOfWhatWasAbandonedWithinAMinute) {
  const Surge surge = Abandoned();
  for (const seconds off : {seconds(-60), seconds(0), seconds(60)}) {
    EXPECT_TRUE(surge.IsBeside(kDay + off)) << off.count();
  }
  for (const seconds off : {seconds(-61), seconds(61)}) {
    EXPECT_FALSE(surge.IsBeside(kDay + off)) << off.count();
  }
  EXPECT_FALSE(surge.IsBeside(WallTime::min()));
  EXPECT_FALSE(surge.IsBeside(WallTime::max()));
}

// A watcher that is restarted in the middle writes its mark again, the others don't.
TEST(Surge, IsAlsoOfWhatWasAbandonedWithTheCountBefore) {
  Surge surge;
  surge.Add(Reason::kOwnerAbsent, true, kDay + minutes(5), kDay);
  EXPECT_TRUE(surge.IsBeside(kDay - seconds(30)));
  EXPECT_TRUE(surge.IsBeside(kDay + minutes(5)));
  EXPECT_FALSE(surge.IsBeside(kDay + minutes(3)));
  surge.Add(Reason::kOwnerAbsent, false, kDay + minutes(6), kDay + minutes(3));
  EXPECT_FALSE(surge.IsBeside(kDay + minutes(3))) << "that is no other count";
}

TEST(Surge, ACompletedApplicationNeitherCountsNorWaits) {
  Surge surge = Abandoned(Reason::kCompleted);
  EXPECT_FALSE(surge.since());
  surge.Add(Reason::kOwnerAbsent, false, kDay + seconds(5), std::nullopt);
  EXPECT_FALSE(surge.since()) << "a Job that was cleaned up";
  surge.Add(Reason::kOwnerAbsent, true, kDay + seconds(10), std::nullopt);
  EXPECT_TRUE(surge.since()) << "the confirmations began again";

  surge.SetCounted("many");
  EXPECT_EQ(surge.why(), "many");
  surge.Add(Reason::kCompleted, false, kDay + seconds(15), std::nullopt);
  EXPECT_EQ(surge.why(), "");
}

TEST(Surge, IsCountedOnceForEachCountUnlessItIsKnown) {
  Surge surge = Abandoned();
  EXPECT_FALSE(surge.is_counted());
  surge.SetCounted("");
  EXPECT_TRUE(surge.is_counted());
  EXPECT_EQ(surge.why(), "");
  surge.Add(Reason::kOwnerAbsent, false, kDay + seconds(5), std::nullopt);
  EXPECT_TRUE(surge.is_counted());
  surge.Add(Reason::kOwnerAbsent, true, kDay + seconds(10), std::nullopt);
  EXPECT_FALSE(surge.is_counted());

  surge.SetCounted("many");
  surge.Add(Reason::kOwnerAbsent, true, kDay + seconds(20), std::nullopt);
  EXPECT_TRUE(surge.is_counted());
  EXPECT_EQ(surge.why(), "many") << "nobody has said meanwhile that it is over";
  surge.Reset();
  EXPECT_FALSE(surge.is_counted());
  EXPECT_EQ(surge.why(), "");
}

TEST(Surge, MarksSayTheTimeOrALaterOneThatHasPassed) {
  const Surge surge = Abandoned();
  const WallTime now = kDay + minutes(10);
  EXPECT_FALSE(surge.IsSaidBy(std::nullopt, now));
  EXPECT_TRUE(surge.IsSaidBy(kDay - seconds(60), now));
  EXPECT_FALSE(surge.IsSaidBy(kDay - seconds(61), now)) << "a rollback has brought it back";
  EXPECT_TRUE(surge.IsSaidBy(now + seconds(60), now)) << "another watcher's clock";
  EXPECT_FALSE(surge.IsSaidBy(now + seconds(61), now));
  EXPECT_FALSE(Surge().IsSaidBy(kDay, now));
}

}  // namespace
}  // namespace cluster_watcher

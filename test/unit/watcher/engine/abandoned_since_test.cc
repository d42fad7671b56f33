#include "watcher/engine/abandoned_since.h"

#include "probes/base/time_text.h"
#include "test/unit/support/tools_lab.h"
#include "watcher/observation/observer.h"

namespace cluster_watcher {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

class AbandonedSinceTest : public ToolsLab {
 protected:
  // Adds the verdict and writes what it asks for, after a look.
  bool Write(Reason reason, bool first = false) {
    look_ = observer_.SureLook({});
    Decision decision;
    decision.reason = reason;
    if (decision.abandoned()) {
      surge_.Add(reason, first, clock_.WallNow(), look_.marks.abandoned_since);
    } else if (reason != Reason::kUnknown) {
      surge_.Reset();
    }
    const bool is_to_write = mark_.Update(look_, decision, surge_) == SinceMark::kToWrite;
    return is_to_write && mark_.Write(look_, surge_);
  }
  std::string Marked() { return Mark("abandoned-since"); }
  std::string Now() { return FormatTime(clock_.WallNow()); }
  std::size_t Writes() const { return kubernetes_.Count("PATCH", "spark-m"); }

  // The settings must be complete before somebody reads them.
  const Tools& of_lab_ = [this]() -> const Tools& {
    settings_.settings.pod = NameOfPod();
    return MakeTools();
  }();
  Observer observer_{client_, discovery_, clock_, *in_force_};
  AbandonedSince mark_{of_lab_};
  Surge surge_;
  Snapshot look_;
};

TEST_F(AbandonedSinceTest, IsWrittenAtTheFirstVerdictAndStays) {
  EXPECT_FALSE(Write(Reason::kActive));
  EXPECT_EQ(Writes(), 0u);
  const std::string began = Now();
  EXPECT_TRUE(Write(Reason::kOwnerAbsent, true));
  EXPECT_EQ(Marked(), began);
  EXPECT_EQ(Mark("root-uid"), ObjectUid(kRoot));
  clock_.elapsed += seconds(20);
  EXPECT_FALSE(Write(Reason::kOwnerAbsent));
  EXPECT_EQ(Marked(), began);
  EXPECT_EQ(Writes(), 1u);
}

TEST_F(AbandonedSinceTest, IsWrittenAnewWhenTheCountBeginsAnew) {
  Write(Reason::kOwnerAbsent, true);
  clock_.elapsed += seconds(20);
  Write(Reason::kOwnerAbsent, true);
  EXPECT_EQ(Marked(), Now());
}

TEST_F(AbandonedSinceTest, IsTakenOffByEveryDefiniteKeep) {
  for (const Reason reason :
       {Reason::kActive, Reason::kHeld, Reason::kInUse, Reason::kShared, Reason::kMisconfigured}) {
    Write(Reason::kOwnerAbsent, true);
    EXPECT_NE(Marked(), "");
    EXPECT_FALSE(Write(Reason::kUnknown));
    EXPECT_NE(Marked(), "") << "nothing is known";
    EXPECT_TRUE(Write(reason));
    EXPECT_EQ(Marked(), "") << ToString(reason);
    clock_.elapsed += seconds(5);
  }
  Annotate(kRoot, "abandoned-since", "nonsense");
  EXPECT_TRUE(Write(Reason::kActive));
  EXPECT_EQ(Marked(), "");
}

TEST_F(AbandonedSinceTest, IsTakenOffWhereTheApplicationHasCompleted) {
  Write(Reason::kOwnerAbsent, true);
  EXPECT_TRUE(Write(Reason::kCompleted));
  EXPECT_EQ(Marked(), "");
}

TEST_F(AbandonedSinceTest, AnotherWatchersLaterTimeIsLeft) {
  Write(Reason::kOwnerAbsent, true);
  clock_.elapsed += minutes(5);
  const std::string later = Now();
  Annotate(kRoot, "abandoned-since", later);
  EXPECT_FALSE(Write(Reason::kOwnerAbsent));
  EXPECT_EQ(Marked(), later);
}

TEST_F(AbandonedSinceTest, WhatARollbackBroughtBackIsReplaced) {
  const std::string began = Now();
  Write(Reason::kOwnerAbsent, true);
  for (const char* odd : {"2026-12-01T00:00:00Z", "2027-12-01T00:00:00Z", "nonsense"}) {
    Annotate(kRoot, "abandoned-since", odd);
    EXPECT_TRUE(Write(Reason::kOwnerAbsent)) << odd;
    EXPECT_EQ(Marked(), began);
  }
}

TEST_F(AbandonedSinceTest, ThatItCannotBeWrittenIsAProblem) {
  Refuse("PATCH", "spark-m", 409);
  EXPECT_FALSE(Write(Reason::kOwnerAbsent, true));
  ASSERT_TRUE(mark_.problem());
  EXPECT_EQ(mark_.problem()->failure, ApiFailure::kConflict);
  EXPECT_FALSE(IsLogged("can't be")) << "controllers write all the time";
  kubernetes_.GetFaults().Clear();
  EXPECT_FALSE(Write(Reason::kUnknown)) << "nothing is known";
  EXPECT_TRUE(Write(Reason::kOwnerAbsent));
  EXPECT_FALSE(mark_.problem());
}

TEST_F(AbandonedSinceTest, WhatIsRefusedForGoodIsTriedOnceAMinute) {
  Refuse("PATCH", "spark-m", 403);
  for (int look = 0; look < 24; ++look) {
    EXPECT_FALSE(Write(Reason::kOwnerAbsent, look == 0));
    EXPECT_TRUE(mark_.problem());
    clock_.elapsed += seconds(5);
  }
  EXPECT_EQ(Writes(), 2u);
  EXPECT_TRUE(IsLogged("the mark abandoned-since can't be written: patch deployments.apps"));
  kubernetes_.GetFaults().Clear();
  Write(Reason::kOwnerAbsent, true);
  EXPECT_FALSE(mark_.problem()) << "another count, another try";
}

// A plugin of the API server may take off what it doesn't know.
TEST_F(AbandonedSinceTest, AMarkThatDoesNotStayIsAProblem) {
  bool first = true;
  for (int writes = 0; writes < 4; ++writes) {
    EXPECT_TRUE(Write(Reason::kOwnerAbsent, std::exchange(first, false)));
    EXPECT_FALSE(mark_.problem());
    Annotate(kRoot, "abandoned-since", "");
  }
  EXPECT_FALSE(Write(Reason::kOwnerAbsent));
  ASSERT_TRUE(mark_.problem());
  EXPECT_NE(mark_.problem()->message.find("doesn't stay"), std::string::npos);
  clock_.elapsed += seconds(20);
  EXPECT_TRUE(Write(Reason::kOwnerAbsent, true)) << "the count begins again";
}

TEST_F(AbandonedSinceTest, WhatCannotBeTakenOffBlocksNothingAndIsTriedSoon) {
  Write(Reason::kOwnerAbsent, true);
  Refuse("PATCH", "spark-m", 503);
  EXPECT_FALSE(Write(Reason::kActive));
  EXPECT_FALSE(mark_.problem());
  EXPECT_FALSE(mark_.is_settled());
  kubernetes_.GetFaults().Clear();
  Refuse("PATCH", "spark-m", 403);
  EXPECT_FALSE(Write(Reason::kActive));
  EXPECT_TRUE(mark_.is_settled()) << "it is refused permanently";
  kubernetes_.GetFaults().Clear();
  clock_.elapsed += minutes(1);
  EXPECT_TRUE(Write(Reason::kActive));
  EXPECT_EQ(Marked(), "");
}

}  // namespace
}  // namespace cluster_watcher

// A deletion that a person asked for, whatever the rules say, and that a watcher finds begun.
#include <gtest/gtest.h>

#include "test/unit/support/reaper_lab.h"

namespace cluster_watcher {
namespace {

class AskedTest : public ReaperLab {
 protected:
  // It was begun this long ago, and died before its first delete could be proven.
  void Begin(Duration ago) {
    MakeMap("first");
    AnHourPasses();
    WriteMarks(Named("first"), ago);
    Annotate(kRoot, "reason", "asked");
  }
};

TEST_F(AskedTest, IsFinishedThoughTheDriverLives) {
  Begin(std::chrono::minutes(11));
  Annotate(kRoot, "keep", "true");
  EXPECT_EQ(Resume(), Reaper::Outcome::kDone);
  EXPECT_FALSE(Exists(kRoot) || MapExists("first"));
  EXPECT_TRUE(Exists(kDriver));
}

// A rollback brings old marks back.
TEST_F(AskedTest, IsJudgedWhereSomethingWasMadeSince) {
  Begin(std::chrono::minutes(11));
  MakeMap("second");
  EXPECT_EQ(Resume(), Reaper::Outcome::kSpared);
  EXPECT_EQ(Deletes(), 0u);
  EXPECT_EQ(Mark("phase") + Mark("reason"), "");
}

TEST_F(AskedTest, IsJudgedADayLater) {
  clock_.elapsed += std::chrono::hours(48);
  Begin(std::chrono::hours(25));
  EXPECT_EQ(Resume(), Reaper::Outcome::kSpared);
  EXPECT_EQ(Deletes(), 0u);
  EXPECT_EQ(Mark("phase"), "");
}

TEST_F(AskedTest, WaitsWhereThatCantBeRead) {
  Begin(std::chrono::minutes(11));
  Refuse("GET", "services?labelSelector", 500);
  EXPECT_EQ(Resume(), Reaper::Outcome::kSpared);
  EXPECT_EQ(Deletes(), 0u);
  EXPECT_EQ(Mark("phase"), "deleting") << "it is asked again";
}

// Who takes a deletion over looks once more. What can't be read then is no word against it.
TEST_F(AskedTest, IsNotSparedForAnotherDriversSake) {
  Begin(std::chrono::minutes(11));
  MakeWorkload("alice", R"("uses-oshinko-cluster":"spark",)");
  Annotate(kRoot, "hold-until", "2099-01-01T00:00:00Z");
  EXPECT_EQ(Resume(), Reaper::Outcome::kDone);
}

}  // namespace
}  // namespace cluster_watcher

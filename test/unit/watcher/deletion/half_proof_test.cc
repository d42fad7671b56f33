#include "watcher/deletion/half_proof.h"

#include <gtest/gtest.h>

#include <string>

#include "test/unit/support/reaper_lab.h"

namespace cluster_watcher {
namespace {

using small_kubernetes::Request;
using small_kubernetes::Response;
using small_kubernetes::User;
using std::chrono::hours;
using std::chrono::seconds;

// The cluster is an hour old, and its deletion was begun a minute ago.
class HalfProofTest : public ReaperLab {
 protected:
  HalfProofTest() {
    observer_->SureLook({});
    AnHourPasses();
    marks_.deletes_begun = true;
    marks_.first_deletes = ParseFirstDeletes(kGone);
    marks_.deleting_since = clock_.WallNow() - seconds(60);
  }
  Wholeness Prove() {
    const Snapshot look = observer_->SureLook({});
    WarnOnce warn_once(log_.logger());
    return ProveHalf(MakeTools(), warn_once, *look.cluster, look.root->meta.uid, marks_,
                     clock_.WallNow())
        .wholeness;
  }
  Wholeness ProveBy(const std::string& first) {
    marks_.first_deletes = ParseFirstDeletes(first);
    return Prove();
  }

  Marks marks_;
};

TEST_F(HalfProofTest, WhatWasToGoFirstIsGone) { EXPECT_EQ(Prove(), Wholeness::kHalf); }

TEST_F(HalfProofTest, NothingWasBegun) {
  marks_.deletes_begun = false;
  EXPECT_EQ(Prove(), Wholeness::kMayWhole);
}

TEST_F(HalfProofTest, WhatIsAsItWasProvesNothing) {
  EXPECT_EQ(ProveBy(Named("spark-config")), Wholeness::kMayWhole);
  EXPECT_EQ(ProveBy(""), Wholeness::kMayWhole);
  EXPECT_EQ(ProveBy("configmaps/spark-config=0011223344556677"), Wholeness::kHalf)
      << "another object";
}

TEST_F(HalfProofTest, WhatCannotBeReadByTheDeadlineProvesNothing) {
  Refuse("GET", "/configmaps?fieldSelector", 500);
  EXPECT_EQ(Prove(), Wholeness::kUnknown);
  marks_.deleting_since = clock_.WallNow() - settings_.settings.delete_deadline;
  EXPECT_EQ(Prove(), Wholeness::kMayWhole);
}

TEST_F(HalfProofTest, WhatIsTerminatingWasDeleted) {
  MakeMap("held", R"(,"finalizers":["example.com/held"])");
  const std::string named = Named("held");
  EXPECT_EQ(ProveBy(named), Wholeness::kMayWhole);
  Delete(kMaps + std::string("/held"));
  EXPECT_EQ(ProveBy(named), Wholeness::kHalf);
}

TEST_F(HalfProofTest, WhatGoesByItselfProvesNothing) {
  for (const char* first : {"pods/gone=0011223344556677", "jobs.batch/gone=0011223344556677",
                            "+configmaps/gone=0011223344556677"}) {
    EXPECT_EQ(ProveBy(first), Wholeness::kMayWhole) << first;
  }
}

TEST_F(HalfProofTest, NorDoesAKindThatIsNotServedOrMayNotBeRead) {
  EXPECT_EQ(ProveBy("nonsense.example.com/gone=0011223344556677"), Wholeness::kMayWhole);
  EXPECT_EQ(ProveBy("namespaces/gone=0011223344556677"), Wholeness::kMayWhole);
  Refuse("GET", "metadata.name%3Dgone", 403);
  EXPECT_EQ(ProveBy(kGone), Wholeness::kMayWhole);
}

TEST_F(HalfProofTest, WhatCannotBeReadYetIsUnknown) {
  Refuse("GET", "metadata.name%3Dgone", 503);
  EXPECT_EQ(Prove(), Wholeness::kUnknown);
  EXPECT_EQ(ProveBy(std::string(kGone) + ",services/gone=0011223344556677"), Wholeness::kUnknown);
  kubernetes_.GetFaults().Clear();
  Refuse("GET", "/services?labelSelector", 503);
  EXPECT_EQ(Prove(), Wholeness::kUnknown);
}

TEST_F(HalfProofTest, ADeletionOfLongAgoOrOfTheFutureProvesNothing) {
  AnHourPasses();
  clock_.elapsed += hours(30);  // so that nothing is too young
  marks_.deleting_since = clock_.WallNow() - hours(24) + seconds(1);
  EXPECT_EQ(Prove(), Wholeness::kHalf);
  marks_.deleting_since = clock_.WallNow() - hours(24);
  EXPECT_EQ(Prove(), Wholeness::kMayWhole);
  marks_.deleting_since = clock_.WallNow() + seconds(59);
  EXPECT_EQ(Prove(), Wholeness::kHalf) << "clocks differ";
  marks_.deleting_since = clock_.WallNow() + seconds(60);
  EXPECT_EQ(Prove(), Wholeness::kMayWhole);
  marks_.deleting_since.reset();
  EXPECT_EQ(Prove(), Wholeness::kMayWhole);
}

TEST_F(HalfProofTest, AMemberThatWasMadeSinceProvesThatTheClusterIsUsedAgain) {
  MakeMap("new");
  EXPECT_EQ(Prove(), Wholeness::kMayWhole);
  EXPECT_EQ(ProveBy(kGone + ("," + Named("new"))), Wholeness::kHalf) << "it was there before";
}

// Times of creation are whole seconds.
TEST_F(HalfProofTest, AMemberOfTheSecondInWhichItBeganCountsAsMadeSince) {
  MakeMap("new");
  marks_.deleting_since = clock_.WallNow() + std::chrono::milliseconds(900);
  EXPECT_EQ(Prove(), Wholeness::kMayWhole);
  marks_.deleting_since = clock_.WallNow() + seconds(1);
  EXPECT_EQ(Prove(), Wholeness::kHalf);
}

TEST_F(HalfProofTest, AMemberWithoutATimeCountsAsMadeSince) {
  kubernetes_.on_answer = [](const Request& request, const User&, Response& response) {
    if (request.target.find("/configmaps?labelSelector") == std::string::npos) return;
    const std::string key = R"("creationTimestamp":")";
    const std::size_t at = response.body.find(key);
    ASSERT_NE(at, std::string::npos);
    response.body.replace(at, key.size(), R"("wasCreatedAt":")");
  };
  EXPECT_EQ(Prove(), Wholeness::kMayWhole);
}

// They come and go without anybody who needs the cluster.
TEST_F(HalfProofTest, WhatIsMadeSinceAndIsNoMemberProvesNothing) {
  kubernetes_.Apply(R"({"apiVersion":"v1","kind":"Pod",)" +
                    Labelled("of-a-job",
                             R"(,"ownerReferences":[{"apiVersion":"batch/v1","kind":"Job",)"
                             R"("name":"j","uid":"j","controller":true}])") +
                    R"(,"spec":{"containers":[{"name":"m","image":"x"}]}})");
  MakeMap("kept", R"(,"annotations":{"cluster-watcher/keep":"true"})");
  MakeMap("going", R"(,"finalizers":["example.com/held"])");
  Delete(kMaps + std::string("/going"));
  EXPECT_EQ(Prove(), Wholeness::kHalf);
  ReplaceRoot();
  StartWatcher();
  EXPECT_EQ(Prove(), Wholeness::kHalf);
}

}  // namespace
}  // namespace cluster_watcher

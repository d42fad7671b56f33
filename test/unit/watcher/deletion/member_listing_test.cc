#include "watcher/deletion/member_listing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "test/unit/support/tools_lab.h"

namespace cluster_watcher {
namespace {

using small_kubernetes::Request;
using small_kubernetes::User;
using Names = std::vector<std::string>;

class MemberListingTest : public ToolsLab {
 protected:
  MemberListingTest() {
    DefineRayClusters();
    Reset();
  }
  // Begins again with the settings as they are.
  void Reset() { listing_.emplace(MakeTools(), warn_once_, cluster_, false); }
  void MakeClaim() {
    kubernetes_.Apply(R"({"apiVersion":"v1","kind":"PersistentVolumeClaim",)" + Labelled("data") +
                      R"(,"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":)"
                      R"({"storage":"1Gi"}}}})");
  }
  static Names NamesOf(const KubeObjects& objects) {
    Names names;
    for (const KubeObject& object : objects) names.push_back(object.Describe());
    return names;
  }

  std::optional<MemberListing> listing_;
};

TEST_F(MemberListingTest, AKindThatDiscoveryCannotTellIsAGap) {
  Refuse("GET", "/apis/ray.io", 503);
  const MemberKinds kinds = FindMemberKinds(settings_.settings, discovery_, {});
  EXPECT_EQ(kinds.errors.size(), 1u);
  EXPECT_EQ(kinds.not_served, Names());
  MemberListing::Listed listed = listing_->List();
  EXPECT_FALSE(listed.complete);
  EXPECT_EQ(listed.failed.size(), 1u);
  kubernetes_.GetFaults().Clear();
  listed = listing_->List();
  EXPECT_TRUE(listed.complete);
  EXPECT_EQ(listed.failed, Names());
}

TEST_F(MemberListingTest, OfTheKindsThatAreAskedForTheOthersAreSaidToBeSkipped) {
  EXPECT_EQ(FindMemberKinds(settings_.settings, discovery_, {}).not_served, Names())
      << "few API servers have all kinds";
  settings_.settings.resources = {"configmaps", "widgets.example.com", "namespaces"};
  const MemberKinds kinds = FindMemberKinds(settings_.settings, discovery_, {});
  EXPECT_EQ(kinds.types, std::vector{TypeOf("configmaps")});
  EXPECT_EQ(kinds.not_served, (Names{"widgets.example.com", "namespaces"}));
  Reset();
  for (int times = 0; times < 2; ++times) {
    EXPECT_TRUE(listing_->List().complete);
    EXPECT_EQ(listing_->skipped(),
              (Names{"widgets.example.com: not served", "namespaces: not served"}));
  }
}

TEST_F(MemberListingTest, AfterAGapDiscoveryIsReadAgain) {
  int reads = 0;
  kubernetes_.on_request = [&](const Request& request, const User&) {
    if (request.target == "/apis") ++reads;
  };
  const auto reads_by_list = [&] {
    reads = 0;
    listing_->List();
    return reads;
  };
  EXPECT_EQ(reads_by_list(), 1);
  Refuse("GET", "/services?labelSelector", 503);
  EXPECT_EQ(reads_by_list(), 0);
  kubernetes_.GetFaults().Clear();
  EXPECT_EQ(reads_by_list(), 1);
  EXPECT_EQ(reads_by_list(), 0);
}

TEST_F(MemberListingTest, AKindThatWasReadMustBeReadAgainUnlessItIsNoLongerServed) {
  EXPECT_TRUE(listing_->List().complete);
  Refuse("GET", "/services?labelSelector", 503);
  EXPECT_FALSE(listing_->List().complete);
  kubernetes_.GetFaults().Clear();
  Refuse("GET", "/apis/ray.io/v1", 503);
  EXPECT_FALSE(listing_->List().complete);
  kubernetes_.GetFaults().Clear();
  Refuse("GET", "/rayclusters?labelSelector", 403);
  EXPECT_FALSE(listing_->List().complete);
  Delete("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/rayclusters.ray.io");
  EXPECT_TRUE(listing_->List().complete);
}

TEST_F(MemberListingTest, AKindThatMayNotBeListedIsSaidOnceToBeSkipped) {
  Refuse("GET", "/services?labelSelector", 403);
  for (int times = 0; times < 2; ++times) {
    const MemberListing::Listed listed = listing_->List();
    EXPECT_TRUE(listed.complete);
    EXPECT_EQ(listed.failed, Names());
    EXPECT_EQ(listing_->skipped(), Names{"services: the account may not list them"});
  }
}

TEST_F(MemberListingTest, OfKindsThatAreLeftOutOnlyWhatIsKeptIsToldAndARefusalIsNoNews) {
  MakeMap("kept", R"(,"annotations":{"cluster-watcher/keep":"true"})");
  settings_.settings.resources = {"services"};
  Reset();
  Refuse("GET", "/jobs?labelSelector", 403);
  const MemberListing::Listed listed = listing_->List();
  EXPECT_EQ(NamesOf(listed.kept), Names{"configmap/kept"});
  EXPECT_EQ(NamesOf(listed.objects), Names());
  EXPECT_TRUE(listed.complete);
  EXPECT_EQ(listing_->skipped(), Names());
}

// A claim may have any labels; what has none of an owner, a cluster or an ordinal says nothing.
TEST_F(MemberListingTest, ClaimsAndSetsAreThoseOfTheWholeNamespace) {
  const auto claim = [this](const std::string& meta) {
    kubernetes_.Apply(R"({"apiVersion":"v1","kind":"PersistentVolumeClaim",)" + meta +
                      R"(,"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":)"
                      R"({"storage":"1Gi"}}}})");
  };
  claim(Labelled("labelled"));
  claim(Meta("data-w-0"));
  claim(Meta("plain"));
  claim(Meta("owned", OwnedBy(ObjectNamed("configmaps", "spark-config"))));
  kubernetes_.Apply(
      R"({"apiVersion":"apps/v1","kind":"StatefulSet",)" + Meta("w") +
      R"(,"spec":{"replicas":0,"serviceName":"w","selector":{"matchLabels":{"app":"w"}},)"
      R"("volumeClaimTemplates":[{"metadata":{"name":"data"},"spec":{"accessModes":)"
      R"(["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}],)"
      R"("template":{"metadata":{"labels":{"app":"w"}},"spec":{"containers":)"
      R"([{"name":"m","image":"x"}]}}}})");
  const MemberListing::Listed listed = listing_->List();
  EXPECT_EQ(NamesOf(listed.claims),
            (Names{"persistentvolumeclaim/data-w-0", "persistentvolumeclaim/labelled",
                   "persistentvolumeclaim/owned"}));
  ASSERT_EQ(listed.sets.size(), 1u);
  EXPECT_FALSE(listed.sets[0].deletes_claims);
  ObjectMeta made;
  made.name = "data-w-0";
  EXPECT_FALSE(listed.sets[0].HasMade(made)) << "its claims bear the selector's labels";
  made.common.Edit().labels["app"] = "w";
  EXPECT_TRUE(listed.sets[0].HasMade(made));
  for (const char* name : {"data-w-", "data-w-x", "data-v-0", "other-w-0", "data-w-0x"}) {
    made.name = name;
    EXPECT_FALSE(listed.sets[0].HasMade(made)) << name;
  }
}

TEST_F(MemberListingTest, OfClaimsAndSetsTheFailureThatMayPassIsTold) {
  EXPECT_FALSE(listing_->List().claims_problem);
  for (const char* may_repeat_at_once : {"/persistentvolumeclaims", "/statefulsets"}) {
    kubernetes_.GetFaults().Clear();
    Refuse("GET", may_repeat_at_once, 503);
    Refuse("GET", "/persistentvolumeclaims", 403);
    Refuse("GET", "/statefulsets", 403);
    const auto problem = listing_->List().claims_problem;
    ASSERT_TRUE(problem);
    EXPECT_EQ(problem->failure, ApiFailure::kServer) << may_repeat_at_once;
  }
}

}  // namespace
}  // namespace cluster_watcher

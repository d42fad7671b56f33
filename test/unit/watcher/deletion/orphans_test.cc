#include "watcher/deletion/orphans.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "test/unit/support/tools_lab.h"

namespace cluster_watcher {
namespace {

using small_kubernetes::Request;
using small_kubernetes::User;
using Names = std::vector<std::string>;

class OrphansTest : public ToolsLab {
 protected:
  OrphansTest() {
    kubernetes_.settle_after_writes = false;  // nobody collects
    kubernetes_.on_request = [](const Request& request, const User&) {
      if (request.target.find("metadata.name") == std::string::npos) return;
      EXPECT_EQ(request.target.find("resourceVersion=0"), std::string::npos) << request.target;
    };
  }
  static FirstDelete MarkOf(const KubeObject& object) {
    FirstDelete mark = FirstDelete::Of(object);
    mark.is_orphan = true;
    return mark;
  }
  Names Remaining() {
    Names names;
    for (const KubeObject& object : orphans_.Remaining()) names.push_back(object.meta.name);
    return names;
  }
  void LetGoOf(const std::string& map) {
    kubernetes_.Admin("PATCH", kMaps + ("/" + map), R"({"metadata":{"ownerReferences":null}})",
                      "application/merge-patch+json");
  }

  Orphans orphans_{MakeTools(), warn_once_, cluster_,
                   [](const KubeObject& object) { return object.meta.name == "kept"; }};
  const KubeObject owner_ = MakeBareMap("owner");
};

TEST_F(OrphansTest, OneThatLosesItsOwnersOneByOneIsFoundWithTheLast) {
  const KubeObject other = MakeBareMap("other");
  const KubeObject both = MakeBareMap(
      "both", R"(,"ownerReferences":[)" + Reference(owner_) + "," + Reference(other) + "]");
  EXPECT_TRUE(orphans_.Find({&owner_}));
  EXPECT_FALSE(orphans_.Contains(both.meta.uid));
  EXPECT_TRUE(orphans_.Find({&other}));
  EXPECT_TRUE(orphans_.Contains(both.meta.uid));
}

TEST_F(OrphansTest, WhatSurvivesIsNone) {
  MakeBareMap("kept", OwnedBy(owner_));
  EXPECT_TRUE(orphans_.Find({&owner_}));
  EXPECT_TRUE(orphans_.empty());
}

TEST_F(OrphansTest, AKindThatDiscoveryCannotTellMayHoldSome) {
  DefineRayClusters();
  MakeRayCluster("left", OwnedBy(owner_));
  Refuse("GET", "/apis/ray.io", 503);
  EXPECT_FALSE(orphans_.Find({&owner_}));
  kubernetes_.GetFaults().Clear();
  EXPECT_TRUE(orphans_.Find({&owner_}));
  EXPECT_EQ(Remaining(), Names{"left"});
}

TEST_F(OrphansTest, OneThatCannotBeReadCountsAsThere) {
  MakeBareMap("left", OwnedBy(owner_));
  EXPECT_TRUE(orphans_.Find({&owner_}));
  Refuse("GET", "metadata.name%3Dleft", 503);
  EXPECT_EQ(Remaining(), Names{"left"});
}

// --- Those that an earlier watcher has marked.

TEST_F(OrphansTest, AMarkedOneOfAKindThatDiscoveryCannotTellIsNotForgotten) {
  DefineRayClusters();
  MakeRayCluster("left");
  const auto left =
      JsonDocument::Parse(Read("/apis/ray.io/v1/namespaces/lab/rayclusters/left").body);
  orphans_.TakeUp({MarkOf(
      {ResourceType{"ray.io", "v1", "rayclusters", "RayCluster"}, *ReadObjectMeta(left->root())})});
  Refuse("GET", "/apis/ray.io", 503);
  EXPECT_EQ(Remaining(), Names());
  EXPECT_EQ(orphans_.untold().size(), 1u);
  EXPECT_EQ(orphans_.Marks().size(), 1u) << "another watcher may have to take it up";
  kubernetes_.GetFaults().Clear();
  EXPECT_EQ(Remaining(), Names{"left"});
  EXPECT_EQ(orphans_.untold().size(), 0u);
}

TEST_F(OrphansTest, OneOfAnotherGroupIsAnother) {
  FirstDelete mark = MarkOf(MakeBareMap("left"));
  mark.group = "example.com";
  orphans_.TakeUp({mark});
  EXPECT_EQ(Remaining(), Names());
  EXPECT_TRUE(orphans_.empty());
}

TEST_F(OrphansTest, WhatNeedsNoDeleteHoldsNothingUp) {
  const KubeObject gone = MakeBareMap("gone");
  const KubeObject dead = MakeBareMap("dead");
  const KubeObject kept = MakeBareMap("kept", OwnedBy(dead));
  const KubeObject others = MakeBareMap("others", OwnedBy(owner_));
  for (const char* name : {"gone", "dead"}) Delete(kMaps + ("/" + std::string(name)));
  orphans_.TakeUp({MarkOf(gone), MarkOf(kept), MarkOf(others)});
  EXPECT_EQ(Remaining(), Names());
  EXPECT_TRUE(orphans_.empty());
}

// The garbage collector takes the reference off, or the object along.
TEST_F(OrphansTest, AMarkedOneWhoseOwnerIsNotSureToLiveIsWaitedFor) {
  Refuse("GET", "/configmaps/unreadable", 503);
  for (const std::string owner : {"deleted", "terminating", "unreadable"}) {
    SCOPED_TRACE(owner);
    const bool held = owner == "terminating";
    const KubeObject dying =
        MakeBareMap(owner, held ? R"(,"finalizers":["example.com/held"])" : "");
    const KubeObject left = MakeBareMap("of-" + owner, OwnedBy(dying));
    if (owner != "unreadable") Delete(kMaps + ("/" + owner));
    Orphans orphans(*tools_, warn_once_, cluster_, [](const KubeObject&) { return false; });
    orphans.TakeUp({MarkOf(left)});
    EXPECT_EQ(orphans.Remaining().size(), 0u);
    EXPECT_EQ(orphans.untold().size(), 1u);
    EXPECT_FALSE(orphans.Contains(left.meta.uid));
    LetGoOf("of-" + owner);
    EXPECT_EQ(orphans.Remaining().size(), 1u);
    EXPECT_EQ(orphans.untold().size(), 0u);
  }
}

TEST_F(OrphansTest, ThatNotAllCanBeMarkedIsSaid) {
  for (std::size_t i = 0; i <= kMostOrphansMarked; ++i) {
    kubernetes_.Apply(R"({"apiVersion":"v1","kind":"ConfigMap",)" +
                      Meta("o-" + std::to_string(i), OwnedBy(owner_)) + "}");
  }
  EXPECT_TRUE(orphans_.Find({&owner_}));
  EXPECT_EQ(orphans_.Marks().size(), kMostOrphansMarked);
  EXPECT_TRUE(IsLogged("too many objects lose their owner"));
}

}  // namespace
}  // namespace cluster_watcher

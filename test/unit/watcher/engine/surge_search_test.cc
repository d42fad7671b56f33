#include "watcher/engine/surge_search.h"

#include <algorithm>

#include "probes/base/time_text.h"
#include "test/unit/support/tools_lab.h"

namespace cluster_watcher {
namespace {

class SurgeSearchTest : public ToolsLab {
 protected:
  SurgeSearchTest() { surge_.Add(Reason::kOwnerAbsent, true, clock_.WallNow(), std::nullopt); }

  // An object with this mark; `uid`: of whose marks they are, its own by default.
  void MakeMarked(const ResourceType& type, const std::string& name, const std::string& since,
                  const std::string& uid = "", const std::string& labels = "") {
    const std::string pods = R"({"app":")" + name + "\"}";
    const std::string spec = R"("containers":[{"name":"main","image":"x"}])";
    kubernetes_.Apply(R"({"apiVersion":")" + type.ApiVersion() + R"(","kind":")" + type.kind +
                      R"(",)" + Meta(name, R"(,"labels":{)" + labels + "}") + R"(,"spec":{)" +
                      (type.plural == "pods"
                           ? spec
                           : R"("replicas":0,"selector":)" +
                                 (type.group.empty() ? pods : R"({"matchLabels":)" + pods + "}") +
                                 R"(,"template":{"metadata":{"labels":)" + pods + R"(},"spec":{)" +
                                 spec + "}}") +
                      "}}");
    const std::string path = type.CollectionPath("lab") + "/" + name;
    const auto object = JsonDocument::Parse(Read(path).body);
    const std::string own(object->root()["metadata"]["uid"].AsString().value_or(""));
    Annotate(path, "root-uid", uid.empty() ? own : uid);
    Annotate(path, "abandoned-since", since);
  }
  void MakeMarked(const std::string& name, std::chrono::seconds off = {}) {
    MakeMarked(TypeOf("deployments"), name, FormatTime(clock_.WallNow() + off));
  }
  KubeObject Root() { return ObjectNamed("deployments", "spark-m"); }
  Result<std::string, ApiError> Find(int limit, const KubeObject& own) {
    const auto lists = MasterRootLists(discovery_, own, {});
    if (!lists) return Unexpected{lists.error()};
    return FindSurge(client_, *lists, own, surge_, limit, {});
  }
  // How many are found.
  int Count(const KubeObject& own) {
    int count = 0;
    for (auto surge = Find(count, own); surge && !surge->empty(); surge = Find(count, own)) ++count;
    return count;
  }
  int Count() { return Count(Root()); }

  Surge surge_;
};

TEST_F(SurgeSearchTest, TheOwnClusterCountsOnce) {
  EXPECT_EQ(Count(), 1);
  Annotate(kRoot, "root-uid", Root().meta.uid);
  Annotate(kRoot, "abandoned-since", FormatTime(clock_.WallNow()));
  EXPECT_EQ(Count(), 1);
}

TEST_F(SurgeSearchTest, CountsRootsThatWereAbandonedWithinAMinute) {
  MakeMarked("one");
  MakeMarked("two", std::chrono::seconds(60));
  MakeMarked("three", std::chrono::seconds(-60));
  MakeMarked("later", std::chrono::seconds(61));
  MakeMarked("earlier", std::chrono::seconds(-61));
  MakeWorkload("kept", "");
  EXPECT_EQ(Count(), 4);
  EXPECT_EQ(*Find(4, Root()), "");
  EXPECT_EQ(*Find(3, Root()),
            "more than 3 clusters of the namespace lost their drivers within a minute");
}

TEST_F(SurgeSearchTest, MarksThatMakeNoSenseOrAreAnotherObjectsDontCount) {
  const ResourceType& type = TypeOf("deployments");
  for (const std::string text : {"", "now", "true", "0001-01-01T00:00:00Z", "9999-12-31T00:00:00Z",
                                 "2026-12-24", "99999999999999999999"}) {
    MakeMarked(type, "odd", text);
    EXPECT_EQ(Count(), 1) << text;
  }
  MakeMarked(type, "copied", FormatTime(clock_.WallNow()), "another");
  EXPECT_EQ(Count(), 1);
}

TEST_F(SurgeSearchTest, RootsAreOfEveryKindOfWorkload) {
  int count = 1;
  for (const char* plural : {"replicasets", "statefulsets", "replicationcontrollers", "jobs"}) {
    MakeMarked(TypeOf(plural), "one", FormatTime(clock_.WallNow()));
    EXPECT_EQ(Count(), ++count) << plural;
  }
}

TEST_F(SurgeSearchTest, PodsAreReadOnlyWhereTheyMayBeRoots) {
  const std::string now = FormatTime(clock_.WallNow());
  MakeMarked(TypeOf("pods"), "labelled", now, "", R"("oshinko-type":"master")");
  MakeMarked(TypeOf("pods"), "bare", now);
  MakeMarked(TypeOf("pods"), "bare-too", now);
  EXPECT_EQ(Count(), 2);
  EXPECT_EQ(Count(ObjectNamed("pods", "labelled")), 1);
  EXPECT_EQ(Count(ObjectNamed("pods", "bare")), 3) << "others aren't labelled either";
}

TEST_F(SurgeSearchTest, RootsAreOfTheOwnRootsKindToo) {
  DefineRayClusters();
  const ResourceType type{"ray.io", "v1", "rayclusters", "RayCluster"};
  MakeRayCluster("own");
  MakeMarked(type, "other", FormatTime(clock_.WallNow()));
  MakeMarked("deployment");
  const auto own = JsonDocument::Parse(Read(type.CollectionPath("lab") + "/own").body);
  EXPECT_EQ(Count({type, *ReadObjectMeta(own->root())}), 3);
  EXPECT_EQ(Count(), 2);
}

TEST_F(SurgeSearchTest, WhatMayNotBeListedCountsAsMany) {
  Refuse("GET", "statefulsets", 403);
  const auto surge = Find(10, Root());
  ASSERT_TRUE(surge);
  EXPECT_NE(surge->find("can't be seen, which counts as many (list statefulsets.apps"),
            std::string::npos)
      << *surge;
}

TEST_F(SurgeSearchTest, WhatCannotBeListedIsUnknown) {
  for (const int status : {401, 404, 429, 500, 503}) {
    Refuse("GET", "statefulsets", status);
    EXPECT_FALSE(Find(10, Root())) << status;
    kubernetes_.GetFaults().Clear();
  }
}

TEST_F(SurgeSearchTest, NoMoreIsReadThanItTakes) {
  kubernetes_.settle_after_writes = false;
  for (int i = 0; i < 1'100; ++i) MakeMarked("m-" + std::to_string(i));
  const auto lists = *MasterRootLists(discovery_, Root(), {});
  EXPECT_NE(*FindSurge(client_, lists, Root(), surge_, 10, {}), "");
  EXPECT_EQ(kubernetes_.Count("GET", "limit="), 1u);
  EXPECT_EQ(*FindSurge(client_, lists, Root(), surge_, 10'000, {}), "");
  EXPECT_EQ(kubernetes_.Count("GET", "continue="), 2u) << "of 500 each";
}

}  // namespace
}  // namespace cluster_watcher

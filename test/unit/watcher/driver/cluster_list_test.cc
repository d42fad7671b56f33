#include "watcher/driver/cluster_list.h"

#include <gtest/gtest.h>

#include "probes/kube/cached_lists.h"
#include "test/unit/support/driver_lab.h"

namespace cluster_watcher {
namespace {

class ClusterListTest : public DriverLab {
 protected:
  ClusterListTest() { settings_.settings.owner.reset(); }

  std::vector<ClusterRow> List(const ClusterFilter& filter = {"lab", "", std::nullopt}) {
    CachedLists lists(transport_, filter.ns, "oshinko-cluster");
    KubeClient client(lists, tokens_source_, [](const RequestRecord&) {});
    Discovery discovery(client);
    const auto listed = ListClusters(
        {client, discovery, clock_, {}}, [this](const TextMap&) { return settings_; }, filter);
    EXPECT_TRUE(listed) << (listed ? "" : listed.error().message);
    if (!listed) return {};
    unread_ = listed->unread;
    return listed->rows;
  }
  ClusterRow Only() {
    const auto rows = List();
    EXPECT_EQ(rows.size(), 1u);
    return rows.size() == 1 ? rows.front() : ClusterRow{};
  }
  TokenSource& tokens_source_ = Lab::tokens_;
  std::vector<std::string> unread_;
};

TEST_F(ClusterListTest, ASharedCluster) {
  const ClusterRow row = Only();
  EXPECT_EQ(row.cluster, "spark");
  EXPECT_EQ(row.status, "Running");
  EXPECT_TRUE(row.shared);
  EXPECT_EQ(row.reason, "shared");
  EXPECT_EQ(row.phase, "watching");
  EXPECT_EQ(row.owner + row.ephemeral, "");
  EXPECT_FALSE(row.replicas);
  EXPECT_EQ(row.workers, 1);
  EXPECT_EQ(row.master, "spark://spark:7077");
}

TEST_F(ClusterListTest, AnEphemeralOne) {
  MakeEphemeral("deployment.apps/bob");
  LabelObject(kDriver, R"("uses-oshinko-cluster":"spark")");
  ClusterRow row = Only();
  EXPECT_EQ(row.owner, "deployment.apps/bob");
  EXPECT_EQ(row.replicas, 1);
  EXPECT_EQ(row.verdict + ": " + row.reason, "keep: active");
  EXPECT_EQ(row.ephemeral, "bob");
  EXPECT_EQ(row.drivers, std::vector<std::string>{"deployment.apps/bob"});
  EXPECT_FALSE(row.left);
  Delete(kDriver);
  kubernetes_.Settle();
  MarkRoot("abandoned-since", "2026-12-24T00:00:00Z");
  settings_.settings.grace_period = std::chrono::minutes(5);
  row = Only();
  EXPECT_EQ(row.verdict + ": " + row.reason, "abandoned: owner-absent");
  ASSERT_TRUE(row.left);
  EXPECT_GT(*row.left, std::chrono::minutes(3));
  EXPECT_LE(*row.left, std::chrono::minutes(5));
}

TEST_F(ClusterListTest, SeveralDriversOfOneAreAllListed) {
  MakeWorkload("alice", "");
  for (const char* name : {"bob", "alice"}) {
    LabelObject("/apis/apps/v1/namespaces/lab/deployments/" + std::string(name),
                R"("uses-oshinko-cluster":"spark")");
  }
  kubernetes_.Settle();
  EXPECT_EQ(Only().drivers,
            (std::vector<std::string>{"deployment.apps/alice", "deployment.apps/bob"}));
}

TEST_F(ClusterListTest, AnApplicationsOwn) {
  const ClusterFilter of_bob{"lab", "", *OwnerName::Parse("deployment/bob")};
  EXPECT_TRUE(List(of_bob).empty());
  LabelObject(kDriver, R"("uses-oshinko-cluster":"spark")");
  EXPECT_EQ(List(of_bob).size(), 1u);
  LabelObject(kDriver, R"("uses-oshinko-cluster":null)");
  MakeEphemeral("deployment.apps/bob");
  EXPECT_EQ(List(of_bob).size(), 1u);
  EXPECT_TRUE(List({"lab", "none", std::nullopt}).empty());
}

TEST_F(ClusterListTest, RequestsDontGrowWithClusters) {
  const auto count = [this] {
    std::size_t requests = 0;
    kubernetes_.on_request = [&](const auto&, const auto&) { ++requests; };
    List();
    kubernetes_.on_request = nullptr;
    return requests;
  };
  const std::size_t of_one = count();
  for (int i = 0; i < 30; ++i) {
    const std::string name = "c" + std::to_string(i);
    MakeWorkload(name, R"("oshinko-cluster":")" + name + R"(","oshinko-type":"master",)");
    const std::string path = "/apis/apps/v1/namespaces/lab/deployments/" + name;
    LabelObject(path, R"("oshinko-cluster":")" + name + R"(","ephemeral":"bob")");
  }
  kubernetes_.Settle();
  EXPECT_EQ(List().size(), 31u);
  EXPECT_LE(count(), of_one + 5) << "with the kinds that a bare name may mean";
}

// An operator's object stands above its master, of a kind that this account knows nothing of.
TEST_F(ClusterListTest, OneThatCannotBeReadHidesNoOther) {
  MakeWorkload("alice", R"("oshinko-cluster":"alice","oshinko-type":"master",)");
  const std::string alice = "/apis/apps/v1/namespaces/lab/deployments/alice";
  LabelObject(alice, R"("oshinko-cluster":"alice","oshinko-type":"master")");
  Patch(alice, R"({"metadata":{"ownerReferences":[{"apiVersion":"gone.example/v1","kind":"Gone",)"
               R"("name":"a","uid":"1","controller":true}]}})");
  kubernetes_.Settle();
  EXPECT_EQ(Only().cluster, "spark");
  ASSERT_EQ(unread_.size(), 1u);
  EXPECT_TRUE(unread_[0].starts_with("cluster alice in namespace lab: ")) << unread_[0];
}

TEST_F(ClusterListTest, ToldToStopItListsNoPart) {
  std::stop_source stop;
  stop.request_stop();
  const auto listed =
      ListClusters({client_, discovery_, clock_, stop.get_token()},
                   [this](const TextMap&) { return settings_; }, {"lab", "spark", std::nullopt});
  ASSERT_FALSE(listed);
  EXPECT_EQ(listed.error().failure, ApiFailure::kStopped);
}

TEST_F(ClusterListTest, WhereAKindCannotBeReadNothingIsListed) {
  Refuse("GET", "/pods", 403);
  EXPECT_FALSE(ListClusters(tools_, [this](const TextMap&) { return settings_; },
                            {"lab", "", std::nullopt}));
}

}  // namespace
}  // namespace cluster_watcher

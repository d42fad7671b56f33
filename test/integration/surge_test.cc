// Many drivers of a namespace that end at once, and one that ends alone.
#include <algorithm>
#include <vector>

#include "probes/base/time_text.h"
#include "test/integration/fixture.h"

namespace cluster_watcher::integration {
namespace {

using std::chrono::seconds;

// Dates of answers are whole seconds, and so are marks.
constexpr seconds kRounding{2};
constexpr const char* kSurge = "cluster_watcher_surge";

class Surge : public IntegrationTest {
 protected:
  static std::string MasterOf(int number) { return "c" + std::to_string(number) + "-m"; }
  static std::string DriverOf(int number) { return "driver-" + std::to_string(number); }

  // A cluster of nothing but a master, which is held: its marks can be read to the end.
  void MakeCluster(int number) {
    const TextMap labels = {{kClusterLabel, "c" + std::to_string(number)},
                            {"oshinko-type", "master"}};
    Metadata metadata{MasterOf(number), labels};
    metadata.held = true;
    api().Create("deployments", ns_, DeploymentOf({metadata, 1, labels}));
    MakeDriver(DriverOf(number));
  }
  Watcher& WatchCluster(int number, std::vector<std::string> flags) {
    std::vector<std::string> pods;
    EXPECT_TRUE(Eventually([&] {
      pods = api().Names("pods", ns_, "app=" + MasterOf(number));
      return pods.size() == 1;
    }));
    flags.insert(flags.begin(), {"--owner=deployment/" + DriverOf(number), "--poll-interval=1s",
                                 "--operator-grace=1s"});
    return WatchAs(pods.empty() ? "" : pods.front(), std::move(flags));
  }
  std::optional<WallTime> TimeMark(int number, const std::string& mark) {
    return ParseTime(
        api()
            .Annotation("deployments", ns_, MasterOf(number), "cluster-watcher/" + mark)
            .value_or(""));
  }
  bool IsDeleted(int number) {
    const auto root = api().Get("deployments", ns_, MasterOf(number));
    return !root || root->root()["metadata"]["deletionTimestamp"].Exists();
  }
  void Release(int number) {
    if (!IsDeleted(number)) api().Delete("deployments", ns_, MasterOf(number));
    api().ReleaseFinalizers("deployments", ns_, MasterOf(number));
  }
};

TEST_F(Surge, ThirtyDriversThatEndAtOnceLeaveTimeToHoldTheirClusters) {
  constexpr int kClusters = 30;
  constexpr seconds kSurgeGrace{15};
  for (int i = 0; i < kClusters; ++i) MakeCluster(i);
  std::vector<Watcher*> watchers;
  for (int i = 0; i < kClusters; ++i) {
    watchers.push_back(&WatchCluster(i, {"--grace-period=5s", "--surge-grace=15s"}));
  }
  for (Watcher* watcher : watchers) ASSERT_TRUE(Shows(*watcher, "keep: active"));
  for (int i = 0; i < kClusters; ++i) api().Delete("deployments", ns_, DriverOf(i));

  for (Watcher* watcher : watchers) {
    EXPECT_TRUE(Eventually([&] { return watcher->Metric(kSurge) == 1; })) << watcher->Log();
  }
  const auto notes = Told("ClusterAbandoned", 1);
  EXPECT_TRUE(std::any_of(notes.begin(), notes.end(), [&](const std::string& note) {
    return note.find("kubectl annotate namespace " + ns_) != std::string::npos;
  })) << testing::PrintToString(notes);
  for (int i = 0; i < kClusters; ++i) {
    ASSERT_TRUE(Eventually([&] { return IsDeleted(i); })) << i;
    const auto abandoned = TimeMark(i, "abandoned-since");
    const auto deleting = TimeMark(i, "deleting-since");
    ASSERT_TRUE(abandoned && deleting) << i;
    EXPECT_GE(*deleting - *abandoned, kSurgeGrace - kRounding) << i;
    EXPECT_EQ(watchers[static_cast<std::size_t>(i)]->Metric(kSurge), 0);
    Release(i);
  }
}

TEST_F(Surge, ANamespaceThatIsHeldInTimeLosesNothing) {
  constexpr int kClusters = 4;
  for (int i = 0; i < kClusters; ++i) MakeCluster(i);
  std::vector<Watcher*> watchers;
  for (int i = 0; i < kClusters; ++i) {
    watchers.push_back(
        &WatchCluster(i, {"--grace-period=3s", "--surge-limit=2", "--surge-grace=1h"}));
  }
  for (Watcher* watcher : watchers) ASSERT_TRUE(Shows(*watcher, "keep: active"));
  for (int i = 0; i < kClusters; ++i) api().Delete("deployments", ns_, DriverOf(i));
  for (Watcher* watcher : watchers) {
    ASSERT_TRUE(Eventually([&] { return watcher->Metric(kSurge) == 1; })) << watcher->Log();
  }
  api().Annotate("namespaces", "", ns_, "cluster-watcher/hold-until", "2199-01-01T00:00:00Z");
  for (int i = 0; i < kClusters; ++i) {
    EXPECT_TRUE(Shows(*watchers[static_cast<std::size_t>(i)], "keep: held"));
    EXPECT_TRUE(Eventually([&] { return !TimeMark(i, "abandoned-since"); })) << i;
    EXPECT_FALSE(IsDeleted(i));
    Release(i);
  }
}

}  // namespace
}  // namespace cluster_watcher::integration

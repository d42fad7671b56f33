// What the log tells programs, and what it never reveals.
#include <set>
#include <sstream>

#include "probes/base/json.h"
#include "test/integration/failure_case.h"

namespace cluster_watcher::integration {
namespace {

class LogLines : public FailureCase {
 protected:
  // Each line as an object with the expected keys; any other line fails the test.
  std::vector<JsonDocument> Lines(Watcher& watcher) {
    std::vector<JsonDocument> all;
    std::istringstream log(watcher.Log());
    for (std::string line; std::getline(log, line);) {
      auto parsed = JsonDocument::Parse(line);
      EXPECT_TRUE(parsed && parsed->root()["time"].AsString() &&
                  parsed->root()["level"].AsString() && parsed->root()["message"].AsString())
          << line;
      if (parsed) all.push_back(*std::move(parsed));
    }
    return all;
  }
};

TEST_F(LogLines, EachDecisionIsOneObjectWithAllThatItRestsOn) {
  MakeCluster();
  MakeDriver();
  Watcher& watcher = WatchOver("deployment/bob", {"--log-format=json"});
  ASSERT_TRUE(Shows(watcher, "keep: active"));
  api().Delete("deployments", ns_, "bob");
  ASSERT_TRUE(Finishes(watcher));
  EXPECT_EQ(Told("ClusterDeleted").size(), 1u);  // the Event comes after the log line
  std::vector<std::string> decisions;
  for (const JsonDocument& line : Lines(watcher)) {
    const JsonValue root = line.root();
    const auto decision = root["decision"].AsString();
    if (!decision) continue;
    decisions.emplace_back(*decision);
    EXPECT_EQ(root["namespace"].AsString(), ns_);
    EXPECT_EQ(root["cluster"].AsString(), kCluster);
    EXPECT_EQ(root["masterRoot"].AsString(), std::string("deployment.apps/") + kMaster);
    EXPECT_EQ(root["owner"].AsString(), "deployment.apps/bob");
    EXPECT_TRUE(root["reason"].AsString());
    const JsonValue evidence = root["evidence"].At(0);
    for (const char* key : {"kind", "finding", "resourceVersion", "serverTime"}) {
      EXPECT_TRUE(evidence[key].AsString() && !evidence[key].AsString()->empty()) << key;
    }
    if (*decision != "deleted") continue;
    EXPECT_EQ(root["membersFound"].AsInteger(), 4);
    EXPECT_EQ(root["deletes"]["deleted"].AsInteger(), 5);
    EXPECT_TRUE(root["durationSeconds"].Exists());
  }
  // The driver may also be seen while it is being deleted.
  std::erase_if(decisions, [seen = std::set<std::string>()](const std::string& decision) mutable {
    return !seen.insert(decision).second;
  });
  EXPECT_EQ(decisions,
            (std::vector<std::string>{"keep", "abandoned", "condemned", "deleting", "deleted"}));
}

TEST_F(LogLines, NothingIsSaidOfAPollThatShowsNothingNew) {
  MakeCluster();
  MakeDriver();
  Watcher& watcher = WatchOver("deployment/bob");
  ASSERT_TRUE(Shows(watcher, "keep: active"));
  ASSERT_TRUE(Eventually([&] { return watcher.LinesWith("metrics and health") > 0; }));
  const std::string before = watcher.Log();
  ASSERT_TRUE(Keeps(watcher, "keep: active", 50));
  EXPECT_EQ(watcher.Log(), before);
}

// Neither at the most detailed level nor if things go wrong.
TEST_F(LogLines, NoSecretIsInAnyOfThem) {
  MakeCluster(
      {.pod_annotations = {{"cluster-watcher/before-delete",
                            R"([{"name": "tell", "http": {"url": )"
                            R"("http://127.0.0.1:1/s3cr3t/closed?key=s3cr3t-of-a-step"}}])"}}});
  MakeAccount(R"({"metadata": {"name": "watcher"},
                  "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]})");
  const std::string token = api().Token(ns_, kAccount);
  Proxy& proxy = BehindProxy();
  WriteKubeconfig(kubeconfig(), proxy.Address(), "token: \"" + token + "\"");
  proxy.LieAbout(ListOf("deployments"), Lie::Answer(401, R"({"kind": "Status"})"));
  Watcher& watcher = WatchOver("deployment/bob", {"--log-level=trace", "--log-format=json"});
  ASSERT_TRUE(Shows(watcher, "keep: unknown"));
  proxy.TellTheTruth();
  ASSERT_TRUE(Finishes(watcher));
  EXPECT_GE(watcher.LinesWith("PATCH "), 2u) << "so that it is seen what is said of writes";
  EXPECT_GE(watcher.LinesWith("POST /... at"), 1u);
  std::string said = watcher.Log() + watcher.Output();
  for (const std::string& note : Events("ClusterDeleting")) said += note;
  EXPECT_NE(said.find("step tell"), std::string::npos);
  for (const std::string& secret : {token, std::string("s3cr3t"), std::string("Bearer"),
                                    std::string("merge-patch"), std::string("\\\"metadata\\\"")}) {
    EXPECT_EQ(said.find(secret), std::string::npos) << secret;
  }
  Lines(watcher);
}

}  // namespace
}  // namespace cluster_watcher::integration

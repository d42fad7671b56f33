// Answers that no API server should give, or that say nothing about the object. None may pass for
// the owner's absence. Each is counted and logged once instead of at every poll, and the loop goes
// on.
#include "test/integration/fixture.h"
#include "test/integration/proxy.h"

namespace cluster_watcher::integration {
namespace {

struct Hostile {
  const char* name;
  Lie lie;
  const char* code;  // the counter's label
};

std::string List(const std::string& items, const std::string& more = "") {
  return R"({"kind": "DeploymentList", "apiVersion": "apps/v1",
             "metadata": {"resourceVersion": "9")" +
         more + R"(}, "items": )" + items + "}";
}

std::string Status(int code, const std::string& reason, const std::string& details) {
  return R"({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
             "message": "no", "reason": ")" +
         reason + R"(", "details": )" + details + R"(, "code": )" + std::to_string(code) + "}";
}

// Hostile answers to a list by name, and to who asks for the object.
std::vector<Hostile> AllHostileAnswers() {
  const std::string object = R"({"name": "bob", "group": "apps", "kind": "deployments"})";
  std::string huge =
      "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n";
  std::vector<Hostile> answers = {
      {"401", Lie::Answer(401, Status(401, "Unauthorized", "{}")), "401"},
      // If a list or an object is merely missing, the answer is different.
      {"404 of the resource", Lie::Answer(404, Status(404, "NotFound", "{}")), "404"},
      {"404 of an object", Lie::Answer(404, Status(404, "NotFound", R"({"name": "alice"})")),
       "404"},
      {"404 text", Lie::Answer(404, "404 page not found\n", "text/plain"), "404"},
      {"404 HTML", Lie::Answer(404, "<html>not found</html>", "text/html"), "404"},
      {"404 empty", Lie::Answer(404, ""), "404"},
      {"404 of the very object", Lie::Answer(404, Status(404, "NotFound", object)), "404"},
      {"408", Lie::Answer(408, "{}"), "408"},
      {"410", Lie::Answer(410, Status(410, "Expired", "{}")), "410"},
      {"429", Lie::Answer(429, "slow down", "text/plain", "Retry-After: 0\r\n"), "429"},
      {"500", Lie::Answer(500, Status(500, "InternalError", "{}")), "500"},
      {"502", Lie::Answer(502, "{}"), "502"},
      {"503 text", Lie::Answer(503, "service unavailable\n", "text/plain"), "503"},
      {"504", Lie::Answer(504, "{}"), "504"},
      {"503", Lie::Answer(503, Status(503, "ServiceUnavailable", "{}")), "503"},
      {"redirect", Lie::Answer(302, "", "text/html", "Location: /apis\r\n"), "302"},
      {"no content", Lie::Answer(204, ""), "204"},
      {"HTML", Lie::Answer(200, "<html>log in</html>", "text/html"), "200"},
      {"HTML as JSON", Lie::Answer(200, "<html>log in</html>"), "200"},
      {"empty", Lie::Answer(200, ""), "200"},
      {"null", Lie::Answer(200, "null"), "200"},
      {"empty object", Lie::Answer(200, "{}"), "200"},
      {"empty array", Lie::Answer(200, "[]"), "200"},
      {"truncated JSON", Lie::Answer(200, List("[]").substr(0, 60)), "200"},
      {"more behind", Lie::Answer(200, List("[]") + "{}"), "200"},
      {"deep nesting", Lie::Answer(200, List(std::string(200'000, '['))), "200"},
      {"items alone", Lie::Answer(200, R"({"items": []})"), "200"},
      {"no resourceVersion", Lie::Answer(200, R"({"kind": "DeploymentList", "apiVersion": "apps/v1",
                                                  "metadata": {}, "items": []})"),
       "200"},
      {"items a map", Lie::Answer(200, List("{}")), "200"},
      {"items null", Lie::Answer(200, List("null")), "200"},
      {"items numbers", Lie::Answer(200, List("[1, 2]")), "200"},
      {"an item without metadata", Lie::Answer(200, List("[{}]")), "200"},
      {"an item of another name",
       Lie::Answer(200, List(R"([{"metadata": {"name": "alice", "namespace": "x", "uid": "1"}}])")),
       "200"},
      {"a page of several", Lie::Answer(200, List("[]", R"(, "continue": "more")")), "200"},
      {"another kind", Lie::Answer(200, R"({"kind": "PodList", "apiVersion": "v1", "metadata":
                            {"resourceVersion": "1"}, "items": []})"),
       "200"},
      {"a Status",
       Lie::Answer(200, R"({"kind": "Status", "apiVersion": "v1", "status": "Success"})"), "200"},
      {"duplicate keys", Lie::Answer(200, R"({"items": [{}], )" + List("[]").substr(1)), "200"},
      {"invalid UTF-8", Lie::Answer(200, List("[]", ", \"x\": \"\xff\xfe\"")), "200"},
      {"not HTTP", {"SSH-2.0-OpenSSH_9.2\r\n", true}, "<error>"},
      {"closed at once", {"", true}, "<error>"},
      {"closed in the middle",
       {"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n" +
            List("[]"),
        true},
       "<error>"},
      {"100 MB", {huge + "{\"x\": \"", true, 1600, std::string(65'536, 'x')}, "<error>"},
      {"100 MB of headers",
       {"HTTP/1.1 200 OK\r\n", true, 1600, "X: " + std::string(65'531, 'x') + "\r\n"},
       "<error>"},
  };
  return answers;
}

class HostileAnswers : public IntegrationTest {
 protected:
  void SetUp() override {
    IntegrationTest::SetUp();
    MakeCluster();
    MakeDriver();
    proxy_.emplace(server().Admin());
    WriteKubeconfig(kubeconfig(), proxy_->Address(), "token: \"" + server().Admin().token + "\"");
  }
  void TearDown() override {
    IntegrationTest::TearDown();  // stops the watcher
    proxy_.reset();
  }

  // Glances ask for the object, sure looks for a list.
  std::vector<std::string> AboutTheOwner() const {
    return {"GET " + PathOf("deployments", ns_, "bob") + "?",
            "GET " + PathOf("deployments", ns_) + "?fieldSelector"};
  }

  // While requests that contain one of `parts` get `answer`, nothing is known; then the verdict is
  // `verdict` again.
  void Suffer(Watcher& watcher, const std::string& verdict, const std::vector<std::string>& parts,
              const Hostile& answer) {
    SCOPED_TRACE(parts.back() + ": " + answer.name);
    ASSERT_TRUE(Shows(watcher, verdict));
    const std::string counted =
        "rest_client_requests_total{code=\"" + std::string(answer.code) + "\"}";
    const double before = watcher.Metric(counted);
    const std::size_t lines = watcher.LinesWith("");
    const std::size_t unknown_lines = watcher.LinesWith("keep: unknown");
    for (const std::string& part : parts) proxy_->LieAbout(part, answer.lie);
    ASSERT_TRUE(Shows(watcher, "keep: unknown"));
    const double polls = watcher.Polls();
    ASSERT_TRUE(Eventually([&] { return watcher.Polls() >= polls + 3; }));
    EXPECT_EQ(watcher.Verdict(), "keep: unknown");
    EXPECT_GE(watcher.Metric(counted), before + 3);
    EXPECT_EQ(watcher.Metric("cluster_watcher_confirmations"), 0);
    EXPECT_EQ(watcher.LinesWith("keep: unknown"), unknown_lines + 1);
    EXPECT_EQ(watcher.LinesWith(""), lines + 1);
    EXPECT_EQ(watcher.Health("/healthz"), 200);
    proxy_->TellTheTruth();
    EXPECT_TRUE(Shows(watcher, verdict));
  }

  std::optional<Proxy> proxy_;
};

TEST_F(HostileAnswers, AboutTheOwnerSayNothing) {
  Watcher& watcher = WatchOver("deployment/bob", {"--grace-period=0s"});
  for (const Hostile& answer : AllHostileAnswers()) {
    Suffer(watcher, "keep: active", AboutTheOwner(), answer);
    if (HasFatalFailure()) return;
  }
  EXPECT_TRUE(IsWhole());
  // AddressSanitizer keeps freed memory.
  if (!IsSanitized()) {
    EXPECT_LT(watcher.PeakMemoryKilobytes(), 64 * 1024);
  }
  // It still does its work afterwards.
  api().Delete("deployments", ns_, "bob");
  EXPECT_TRUE(Finishes(watcher));
}

TEST_F(HostileAnswers, AboutItsPodItsRootAndItsNamespaceSayNothing) {
  Watcher& watcher = WatchOver("deployment/bob", {"--grace-period=1h", "--confirmations=1"});
  ASSERT_TRUE(Shows(watcher, "keep: active"));
  api().Delete("deployments", ns_, "bob");
  const std::string targets[] = {PathOf("pods", ns_, MasterPod()),
                                 PathOf("deployments", ns_, kMaster),
                                 PathOf("namespaces", "", ns_)};
  const std::vector<Hostile> answers = AllHostileAnswers();
  for (std::size_t i = 0; i < answers.size(); i += 3) {
    Suffer(watcher, "abandoned: owner-absent", {"GET " + targets[i / 3 % 3]}, answers[i]);
    if (HasFatalFailure()) return;
  }
  EXPECT_TRUE(IsWhole());
}

TEST_F(HostileAnswers, AnEmptyListWithoutAWitnessSaysNothing) {
  Watcher& watcher = WatchOver("deployment/bob", {"--grace-period=0s"});
  ASSERT_TRUE(Shows(watcher, "keep: active"));
  const auto not_found = [](const std::string& name) {
    return Lie::Answer(
        404, Status(404, "NotFound",
                    R"({"name": ")" + name + R"(", "group": "apps", "kind": "deployments"})"));
  };
  proxy_->LieAbout(AboutTheOwner().front(), not_found("bob"));
  proxy_->LieAbout(AboutTheOwner().back(), Lie::Answer(200, List("[]")));
  proxy_->LieAbout("GET " + PathOf("deployments", ns_, kMaster), not_found(kMaster));
  EXPECT_TRUE(Keeps(watcher, "keep: unknown"));
  proxy_->TellTheTruth();
  EXPECT_TRUE(Shows(watcher, "keep: active"));
}

TEST_F(HostileAnswers, AboutOtherDriversRefuse) {
  api().Delete("deployments", ns_, "bob");
  proxy_->LieAbout("jobs?labelSelector=uses-oshinko-cluster",
                   Lie::Answer(500, Status(500, "InternalError", "{}")));
  Watcher& watcher = WatchOver("deployment/bob", {"--grace-period=0s", "--startup-grace=0s"});
  EXPECT_TRUE(Keeps(watcher, "keep: unknown"));
  // On a busy machine another read may have failed before.
  EXPECT_TRUE(Eventually(
      [&] { return watcher.Metric("cluster_watcher_refusals_total{reason=\"unknown\"}") >= 1; }));
  proxy_->TellTheTruth();
  EXPECT_TRUE(Finishes(watcher));
}

// Conflicts are normal: a controller may write status in between.
TEST_F(HostileAnswers, AConflictWhereTheOwnerIsRecordedIsTriedAgainSoon) {
  proxy_->LieAbout("PATCH " + PathOf("deployments", ns_, kMaster),
                   Lie::Answer(409, Status(409, "Conflict", "{}")));
  Watcher& watcher = WatchOver("deployment/bob");
  ASSERT_TRUE(Shows(watcher, "keep: active"));
  ASSERT_TRUE(Eventually([&] { return proxy_->LiesTold() >= 1; }));
  proxy_->TellTheTruth();
  EXPECT_TRUE(Eventually([&] { return !OwnerMark("uid").empty(); }));
}

TEST_F(HostileAnswers, ToDeletesAreRetried) {
  api().Delete("deployments", ns_, "bob");
  proxy_->LieAbout("DELETE " + PathOf("services", ns_, "spark"),
                   Lie::Answer(500, Status(500, "InternalError", "{}")));
  proxy_->LieAbout("DELETE " + PathOf("configmaps", ns_, "spark-config"),
                   Lie::Answer(429, "slow down", "text/plain", "Retry-After: 1\r\n"));
  // A 200 doesn't mean that the object is gone.
  proxy_->LieAbout(
      "DELETE " + PathOf("services", ns_, "spark-ui"),
      Lie::Answer(200, R"({"kind": "Status", "apiVersion": "v1", "status": "Success"})"));
  proxy_->LieAbout("DELETE " + PathOf("deployments", ns_, "spark-w"),
                   Lie::Answer(409, Status(409, "Conflict", "{}")));
  Watcher& watcher = WatchOver("deployment/bob");
  ASSERT_TRUE(Reaches(watcher, "deleting"));
  EXPECT_TRUE(Eventually([&] {
    return watcher.Metric("cluster_watcher_deletes_total{result=\"failed\"}") >= 3 &&
           watcher.Metric("cluster_watcher_deletes_total{result=\"conflict\"}") >= 1;
  }));
  EXPECT_EQ(watcher.Phase(), "deleting");
  EXPECT_NE(api().Uid("deployments", ns_, kMaster), "");
  EXPECT_TRUE(Events("ClusterDeleted").empty());
  EXPECT_GE(watcher.Metric("cluster_watcher_members{state=\"remaining\"}"), 1);
  proxy_->TellTheTruth();
  EXPECT_TRUE(Finishes(watcher));
  EXPECT_EQ(Told("ClusterDeleted").size(), 1u);
}

}  // namespace
}  // namespace cluster_watcher::integration

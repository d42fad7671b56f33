// Answers that no API server should give, or that say nothing about the object. None may ever be
// taken for the owner's absence, each is counted, is said in one line and not in one for each poll,
// and the loop goes on.
#include "test/integration/fixture.h"
#include "test/integration/proxy.h"

namespace cluster_watcher::integration {
namespace {

struct Hostile {
  const char* name;
  Lie lie;
  const char* code;  // as it is counted
};

std::string List(const std::string& items, const std::string& more = "") {
  return R"({"kind": "DeploymentList", "apiVersion": "apps/v1", "metadata": {"resourceVersion": "9")" +
         more + R"(}, "items": )" + items + "}";
}

std::string Status(int code, const std::string& reason, const std::string& details) {
  return R"({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
             "message": "no", "reason": ")" + reason + R"(", "details": )" + details +
         R"(, "code": )" + std::to_string(code) + "}";
}

// Of a list by name.
std::vector<Hostile> HostileAnswers() {
  const std::string object = R"({"name": "bob", "group": "apps", "kind": "deployments"})";
  std::string huge = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n";
  std::vector<Hostile> answers = {
      {"401", Lie::Answer(401, Status(401, "Unauthorized", "{}")), "401"},
      {"403", Lie::Answer(403, Status(403, "Forbidden", object)), "403"},
      // A list has no such answer; nor has it any other 404.
      {"404 of the resource", Lie::Answer(404, Status(404, "NotFound", "{}")), "404"},
      {"404 of an object", Lie::Answer(404, Status(404, "NotFound", R"({"name": "alice"})")), "404"},
      {"404 text", Lie::Answer(404, "404 page not found\n", "text/plain"), "404"},
      {"404 HTML", Lie::Answer(404, "<html>not found</html>", "text/html"), "404"},
      {"404 empty", Lie::Answer(404, ""), "404"},
      {"410", Lie::Answer(410, Status(410, "Expired", "{}")), "410"},
      {"429", Lie::Answer(429, "slow down", "text/plain", "Retry-After: 0\r\n"), "429"},
      {"500", Lie::Answer(500, Status(500, "InternalError", "{}")), "500"},
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
      {"items a map", Lie::Answer(200, List("{}")), "200"},
      {"items null", Lie::Answer(200, List("null")), "200"},
      {"items numbers", Lie::Answer(200, List("[1, 2]")), "200"},
      {"an item without metadata", Lie::Answer(200, List("[{}]")), "200"},
      {"an item of another name",
       Lie::Answer(200, List(R"([{"metadata": {"name": "alice", "namespace": "x", "uid": "1"}}])")),
       "200"},
      {"a page of several", Lie::Answer(200, List("[]", R"(, "continue": "more")")), "200"},
      {"another kind",
       Lie::Answer(200, R"({"kind": "PodList", "apiVersion": "v1", "metadata":
                            {"resourceVersion": "1"}, "items": []})"),
       "200"},
      {"a Status",
       Lie::Answer(200, R"({"kind": "Status", "apiVersion": "v1", "status": "Success"})"), "200"},
      {"duplicate keys",
       Lie::Answer(200, R"({"items": [{}], )" + List("[]").substr(1)), "200"},
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
    IntegrationTest::TearDown();  // ends the watcher
    proxy_.reset();
  }

  // While `lie` is told about the requests that hold `part`, nothing is known; then all is as before.
  void Suffer(Watcher& watcher, const std::string& part, const Hostile& answer) {
    SCOPED_TRACE(answer.name);
    ASSERT_TRUE(Shows(watcher, "keep: active"));
    const std::string counted =
        "rest_client_requests_total{code=\"" + std::string(answer.code) + "\"}";
    const double before = watcher.Metric(counted);
    const double unknown = watcher.Polls("unknown");
    const std::size_t lines = watcher.LinesWith("keep: unknown");
    const std::size_t all_lines = watcher.LinesWith("");
    proxy_->LieAbout(part, answer.lie);
    ASSERT_TRUE(Eventually([&] { return watcher.Polls("unknown") >= unknown + 3; }))
        << watcher.Verdict();
    EXPECT_EQ(watcher.Verdict(), "keep: unknown");
    EXPECT_GE(watcher.Metric(counted), before + 3);
    EXPECT_EQ(watcher.Metric("cluster_watcher_confirmations"), 0);
    EXPECT_EQ(watcher.LinesWith("keep: unknown"), lines + 1);
    EXPECT_LE(watcher.LinesWith(""), all_lines + 1);
    proxy_->TellTheTruth();
    EXPECT_TRUE(Shows(watcher, "keep: active"));
  }

  std::optional<Proxy> proxy_;
};

TEST_F(HostileAnswers, AboutTheOwnerSayNothing) {
  Watcher& watcher = WatchOver("deployment/bob", {"--grace-period=0s"});
  for (const Hostile& answer : HostileAnswers()) {
    Suffer(watcher, "GET /apis/apps/v1/namespaces/" + ns_ + "/deployments", answer);
    if (HasFatalFailure()) return;
  }
  EXPECT_TRUE(IsWhole());
  EXPECT_LT(watcher.PeakMemoryKilobytes(), 64 * 1024);
  EXPECT_TRUE(watcher.IsRunning());
  // After all that it still does its work.
  api().Delete("deployments", ns_, "bob");
  EXPECT_TRUE(Finishes(watcher));
}

TEST_F(HostileAnswers, AboutTheOwnPodAndTheMasterRootSayNothing) {
  Watcher& watcher = WatchOver("deployment/bob", {"--grace-period=0s"});
  ASSERT_TRUE(Shows(watcher, "keep: active"));
  const std::string pod = "/api/v1/namespaces/" + ns_ + "/pods/" + MasterPod();
  const std::string root = "/apis/apps/v1/namespaces/" + ns_ + "/deployments/" + kMaster;
  api().Delete("deployments", ns_, "bob");
  api().Scale("deployments", ns_, kMaster, 1);
  for (const std::string& target : {pod, root}) {
    for (const Hostile& answer : HostileAnswers()) {
      SCOPED_TRACE(target + " " + answer.name);
      proxy_->LieAbout("GET " + target, answer.lie);
    }
  }
  SUCCEED();
}

}  // namespace
}  // namespace cluster_watcher::integration

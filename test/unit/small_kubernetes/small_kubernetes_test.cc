// Features for tests that only the small Kubernetes has. test/integration/api_server_test.cc
// compares its answers with a real one's.
#include "test/small_kubernetes/small_kubernetes.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "probes/kube/curl_transport.h"
#include "test/small_kubernetes/http_server.h"
#include "test/unit/support/lab.h"

namespace cluster_watcher::small_kubernetes {
namespace {

using std::chrono::seconds;

const std::string kMap = std::string(kMaps) + "/a";
const std::string kPods = "/api/v1/namespaces/lab/pods?labelSelector=app%3Dbob";

std::size_t Count(const Response& list) { return Find(*Parse(list.body), "items")->Size(); }

class SmallKubernetesTest : public testing::Test, protected Lab {
 protected:
  HttpResult Perform(HttpMethod method, const std::string& target, std::stop_token stop = {},
                     std::size_t body_limit = 1 << 20) {
    HttpRequest request;
    request.method = method;
    request.target = target;
    request.bearer_token = "admin";
    request.body_limit = body_limit;
    return transport_.Perform(std::span(&request, 1), 1, stop)[0];
  }
};

TEST_F(SmallKubernetesTest, AnswersFromFaultsInTheirOrder) {
  Refuse("GET", "/configmaps", 429, 1, 2);
  std::vector<int> statuses;
  for (int i = 0; i < 4; ++i) statuses.push_back(Perform(HttpMethod::kGet, kMaps)->status);
  EXPECT_EQ(statuses, (std::vector<int>{200, 429, 429, 200}));
  EXPECT_EQ(kubernetes_.Count("GET", "/configmaps"), 4u);
  EXPECT_EQ(kubernetes_.Count("POST"), 0u);
  Refuse("GET", "/configmaps", 503);
  kubernetes_.GetFaults().Clear();
  EXPECT_EQ(Perform(HttpMethod::kGet, kMaps)->status, 200);
  Fault slow;
  slow.response.retry_after = 3;
  kubernetes_.GetFaults().Add(slow);
  const HttpResult result = Perform(HttpMethod::kGet, kMaps);
  EXPECT_EQ(result->retry_after, Duration(3000));
  EXPECT_EQ(result->date, clock_.WallNow());
}

TEST_F(SmallKubernetesTest, HangsAndDelaysTakeVirtualTime) {
  using Kind = TransportError::Kind;
  Fault fault;
  fault.action = Fault::Action::kHang;
  kubernetes_.GetFaults().Add(fault);
  EXPECT_EQ(Perform(HttpMethod::kGet, kMaps).error().kind, Kind::kTimeout);
  EXPECT_EQ(clock_.elapsed, seconds(10));
  fault.action = Fault::Action::kPass;
  fault.delay_after = seconds(3);
  kubernetes_.GetFaults().Add(fault);
  EXPECT_EQ(Perform(HttpMethod::kGet, kMaps)->elapsed, seconds(3));
  MakeMap("a");
  fault.delay_after = seconds(11);
  kubernetes_.GetFaults().Add(fault);
  EXPECT_EQ(Perform(HttpMethod::kDelete, kMap).error().kind, Kind::kTimeout);
  EXPECT_EQ(Read(kMap).status, 404) << "it has its effect";
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(Perform(HttpMethod::kGet, kMaps, stop.get_token()).error().kind, Kind::kStopped);
  EXPECT_EQ(Perform(HttpMethod::kGet, kMaps, {}, 10).error().kind, Kind::kTooLarge);
}

TEST_F(SmallKubernetesTest, HooksMayChangeTheWorld) {
  kubernetes_.on_request = [&](const Request&, const User&) { MakeMap("a"); };
  kubernetes_.on_answer = [](const Request&, const User& user, Response& response) {
    response.body += user.name;
  };
  const HttpResult result = Perform(HttpMethod::kGet, kMap);
  EXPECT_EQ(result->status, 200);
  EXPECT_TRUE(result->body.ends_with("admin"));
}

TEST_F(SmallKubernetesTest, GlancesCanLag) {
  MakeMap("a");
  kubernetes_.SetStaleness(0, seconds(10));
  clock_.elapsed += seconds(60);
  Delete(kMap);
  EXPECT_EQ(Read(kMap).status, 404);
  EXPECT_EQ(Read(kMap + "?resourceVersion=0").status, 200);
  const std::string glance = std::string(kMaps) + "?resourceVersion=0";
  EXPECT_EQ(Count(Read(glance + "&limit=1")), 3u) << "in one piece";
  EXPECT_EQ(Count(Read(glance + "&fieldSelector=metadata.name=a")), 1u);
  clock_.elapsed += seconds(11);
  EXPECT_EQ(Read(kMap + "?resourceVersion=0").status, 404);
  kubernetes_.SetStaleness(1);
  MakeMap("a");
  EXPECT_EQ(Read(kMap + "?resourceVersion=0").status, 404);
}

TEST_F(SmallKubernetesTest, SameSeedSameUids) {
  SmallKubernetes one(clock_, 7), other(clock_, 7), another(clock_, 8);
  const char* path = "/api/v1/namespaces/default";
  EXPECT_EQ(one.Admin("GET", path).body, other.Admin("GET", path).body);
  EXPECT_NE(one.Admin("GET", path).body, another.Admin("GET", path).body);
}

TEST_F(SmallKubernetesTest, ControllersCanBeHeldStillAndPodsRun) {
  Delete(kDriver);
  kubernetes_.settle_after_writes = false;
  MakeDriver();
  EXPECT_EQ(Count(Read(kPods)), 0u);
  kubernetes_.Settle();
  EXPECT_EQ(Count(Read(kPods)), 1u);
  kubernetes_.settle_after_writes = true;
  MakeDriver(R"("changed":"yes",)");
  EXPECT_EQ(Count(Read(kPods)), 2u) << "the old one stays until the new one is ready";
  kubernetes_.SetPodsRun(true);
  EXPECT_EQ(Count(Read(kPods)), 1u);
  EXPECT_NE(Read(kPods).body.find(R"("phase":"Running")"), std::string::npos);
  EXPECT_NE(Read(kDriver).body.find(R"("availableReplicas":1)"), std::string::npos);
  kubernetes_.Apply(R"({"apiVersion":"apps/v1","kind":"StatefulSet",)" + Meta("s") +
                    R"(,"spec":{"replicas":2,"selector":{"matchLabels":{"app":"s"}},
                        "template":{"metadata":{"labels":{"app":"s"}},"spec":{}}}})");
  EXPECT_TRUE(Exists("/api/v1/namespaces/lab/pods/s-1"));
}

TEST_F(SmallKubernetesTest, WatchesTellWhatChangedAndExpire) {
  const std::string target =
      std::string(kMaps) + "?watch=1&fieldSelector=metadata.name%3Da&resourceVersion=";
  std::optional<Watch> watch;
  const std::string now = target + std::to_string(kubernetes_.GetStore().Version());
  kubernetes_.Serve({"GET", now, "admin"}, nullptr, &watch);
  ASSERT_TRUE(watch);
  EXPECT_EQ(watch->Next(), "");
  MakeMap("a");
  MakeMap("b");
  const std::string added = watch->Next();
  EXPECT_TRUE(added.starts_with(R"({"type":"ADDED","object":{"kind":"ConfigMap")"));
  EXPECT_EQ(added.find('\n'), added.size() - 1);
  for (int i = 0; i < 20'100; ++i) Annotate(kMap, "x", std::to_string(i));
  const Response expired = Read(target + "2");
  EXPECT_TRUE(expired.body.starts_with(R"({"type":"ERROR","object":{"kind":"Status")"));
  EXPECT_NE(expired.body.find("\"code\":410"), std::string::npos);
}

TEST_F(SmallKubernetesTest, StreamsWatchesOverHttp) {
  HttpServer server(kubernetes_), second(kubernetes_);
  ASSERT_TRUE(server.Start(0, 3));
  EXPECT_FALSE(second.Start(server.Port()));
  EXPECT_NE(server.Kubeconfig().find("server: " + server.Url()), std::string::npos);
  server_.url = server.Url();
  HttpRequest request;
  request.target = std::string(kMaps) + "?watch=1&timeoutSeconds=1&resourceVersion=" +
                   std::to_string(kubernetes_.GetStore().Version());
  request.bearer_token = "admin";
  HttpResult told = HttpResponse{};
  std::thread client([&] {
    const auto http = CurlTransport::Create(server_);
    told = std::move((*http)->Perform(std::span(&request, 1), 1, {})[0]);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // it is waiting for a write now
  server.Locked([&](SmallKubernetes&) { MakeMap("a"); });
  client.join();
  ASSERT_TRUE(told) << told.error().message;
  EXPECT_TRUE(told->body.starts_with(R"({"type":"ADDED","object":{"kind":"ConfigMap")"));
}

}  // namespace
}  // namespace cluster_watcher::small_kubernetes

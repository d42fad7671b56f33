#include "probes/kube/curl_transport.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netdb.h>

#include <condition_variable>
#include <csignal>
#include <cstring>
#include <mutex>

#include "test/unit/support/loopback.h"
#include "test/unit/support/plugin.h"
#include "test/unit/support/temporary_directory.h"
#include "test/unit/support/test_clock.h"
#include "test/unit/support/tls_server.h"

// Lookups of this name block until the test releases them; all others use the C library's.
namespace {
constexpr const char* kSlowName = "slow.test";
std::atomic<int> lookups_begun{0};
std::atomic<bool> lookups_may_end{false};
}  // namespace

extern "C" int getaddrinfo(const char* name, const char* service, const addrinfo* hints,
                           addrinfo** found) {
  if (name != nullptr && std::strcmp(name, kSlowName) == 0) {
    ++lookups_begun;
    lookups_begun.notify_all();
    lookups_may_end.wait(false);
    return EAI_NONAME;
  }
  using Lookup = int (*)(const char*, const char*, const addrinfo*, addrinfo**);
  static const auto next = reinterpret_cast<Lookup>(dlsym(RTLD_NEXT, "getaddrinfo"));
  return next(name, service, hints, found);
}

namespace cluster_watcher {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using Kind = TransportError::Kind;

// Far longer than anything here takes; a test that waits this long has failed.
constexpr Duration kLong = seconds(30);

using Server = LoopbackServer;

std::string HttpAnswer(const std::string& body, const std::string& headers = "",
                       const std::string& status = "200 OK") {
  return "HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" +
         headers + "\r\n" + body;
}

// Answers every request alike and keeps the connection.
Server::Script Always(const std::string& answer) {
  return [answer](Connection& connection) {
    while (!connection.ReadRequest().empty() && connection.Send(answer)) {
    }
  };
}

// Answers one request and closes the connection.
Server::Script Once(const std::string& answer) {
  return [answer](Connection& connection) {
    connection.ReadRequest();
    connection.Send(answer);
  };
}

std::unique_ptr<CurlTransport> Connect(const ApiServer& server) {
  Result<std::unique_ptr<CurlTransport>> transport = CurlTransport::Create(server);
  EXPECT_TRUE(transport) << transport.error().message;
  return transport ? *std::move(transport) : nullptr;
}
std::unique_ptr<CurlTransport> Connect(const Server& server) {
  ApiServer api_server;
  api_server.url = "http://" + server.address();
  return Connect(api_server);
}

HttpRequest Request(const std::string& target = "/", Duration timeout = kLong) {
  HttpRequest request;
  request.target = target;
  request.timeout = timeout;
  return request;
}

HttpResult Send(Transport& transport, const HttpRequest& request = Request()) {
  return transport.Perform(std::span(&request, 1), 1, {}).at(0);
}

std::string Outcome(const HttpResult& result) {
  if (result) return std::to_string(result->status);
  const char* const kinds[] = {"connect",  "tls",     "timeout", "too large",
                               "protocol", "stopped", "local",   "not-sent"};
  return kinds[static_cast<std::size_t>(result.error().kind)];
}

bool Holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(CurlTransport, ReadsAnAnswer) {
  Server server(Always(HttpAnswer("{}",
                                  "Content-Type: application/json; charset=utf-8\r\n"
                                  "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n",
                                  "404 Not Found")));
  const HttpResult result = Send(*Connect(server));
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->status, 404);
  EXPECT_EQ(result->body, "{}");
  EXPECT_EQ(result->content_type, "application/json; charset=utf-8");
  EXPECT_EQ(result->date, WallTime(seconds(784111777)));
  EXPECT_EQ(result->retry_after, std::nullopt);
  EXPECT_GT(result->elapsed.count(), 0);
}

TEST(CurlTransport, ReadsChunksAndSkipsInterimAnswers) {
  Server server(Once(
      "HTTP/1.1 100 Continue\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n\r\n"
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"));
  const HttpResult result = Send(*Connect(server));
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->body, "abcde");
  EXPECT_EQ(result->date, std::nullopt);
}

TEST(CurlTransport, ReadsWarnings) {
  Server server(Once(HttpAnswer("",
                                "Warning: 299 - \"unknown field \\\"x\\\"\"\r\n"
                                "Warning: 199 - \"of a proxy\"\r\n"
                                "Warning: 299 - \"deprecated\"\r\n")));
  const HttpResult result = Send(*Connect(server));
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->warnings, (std::vector<std::string>{"unknown field \"x\"", "deprecated"}));
}

TEST(CurlTransport, ReadsRetryAfter) {
  const std::string date = "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n";
  const std::pair<std::string, std::optional<Duration>> cases[] = {
      {"Retry-After: 7\r\n", seconds(7)},
      {"Retry-After: 0\r\n", seconds(0)},
      {"Retry-After: 99999999999999999999999\r\n", std::chrono::hours(24)},
      {"Retry-After: 9000000000000000000\r\n", std::chrono::hours(24)},
      {"Retry-After: -1\r\n", std::nullopt},
      {"Retry-After: soon\r\n", std::nullopt},
      {"Retry-After:\r\n", std::nullopt},
      {date + "Retry-After: Sun, 06 Nov 1994 08:50:00 GMT\r\n", seconds(23)},
      {date + "Retry-After: Sun, 06 Nov 1994 08:00:00 GMT\r\n", seconds(0)},
      {date + "Retry-After: Sun, 06 Nov 9999 08:00:00 GMT\r\n", std::nullopt},
      {"Retry-After: Sun, 06 Nov 1994 08:50:00 GMT\r\n", std::nullopt},
  };
  for (const auto& [headers, expected] : cases) {
    Server server(Once(HttpAnswer("", headers, "429 Too Many Requests")));
    const HttpResult result = Send(*Connect(server));
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(result->retry_after, expected) << headers;
  }
}

TEST(CurlTransport, SendsWhatTheRequestSays) {
  std::mutex mutex;
  std::vector<std::string> heads;
  std::vector<std::string> bodies;
  Server server([&](Connection& connection) {
    for (std::string head; !(head = connection.ReadRequest()).empty();) {
      const std::lock_guard lock(mutex);
      heads.push_back(head);
      bodies.push_back(connection.body());
      connection.Send(HttpAnswer(""));
    }
  });
  const auto transport = Connect(server);
  HttpRequest patch = Request("/apis/../a?b=c%2Fd");
  patch.method = HttpMethod::kPatch;
  patch.bearer_token = "secret";
  patch.accept = "application/json;as=Table";
  patch.content_type = "application/merge-patch+json";
  patch.body = std::string(3'000, 'x');
  HttpRequest post = Request("/post");
  post.method = HttpMethod::kPost;
  HttpRequest put = Request("/put");
  put.method = HttpMethod::kPut;
  put.body = "p";
  HttpRequest erase = Request("/delete");
  erase.method = HttpMethod::kDelete;
  erase.body = "{}";
  HttpRequest bare_erase = Request("/delete");
  bare_erase.method = HttpMethod::kDelete;
  for (const HttpRequest& request : {patch, post, put, erase, bare_erase, Request("/get")}) {
    EXPECT_EQ(Outcome(Send(*transport, request)), "200");
  }
  const std::lock_guard lock(mutex);
  const std::string common = "\r\nHost: " + server.address() + "\r\nUser-Agent: cluster-watcher/";
  ASSERT_EQ(heads.size(), 6u);
  EXPECT_TRUE(heads[0].starts_with("PATCH /apis/../a?b=c%2Fd HTTP/1.1" + common)) << heads[0];
  EXPECT_TRUE(Holds(heads[0], "\r\nAuthorization: Bearer secret\r\n"));
  EXPECT_TRUE(Holds(heads[0], "\r\nAccept: application/json;as=Table\r\n"));
  EXPECT_TRUE(Holds(heads[0], "\r\nContent-Type: application/merge-patch+json\r\n"));
  EXPECT_FALSE(Holds(heads[0], "Expect"));
  EXPECT_FALSE(Holds(heads[0], "Accept-Encoding"));
  EXPECT_EQ(bodies[0], patch.body);
  EXPECT_TRUE(heads[1].starts_with("POST /post HTTP/1.1" + common)) << heads[1];
  EXPECT_TRUE(Holds(heads[1], "Content-Length: 0\r\n"));
  EXPECT_FALSE(Holds(heads[1], "Content-Type"));
  EXPECT_FALSE(Holds(heads[1], "Authorization"));
  EXPECT_TRUE(heads[2].starts_with("PUT /put HTTP/1.1" + common)) << heads[2];
  EXPECT_EQ(bodies[2], "p");
  EXPECT_TRUE(heads[3].starts_with("DELETE /delete HTTP/1.1" + common)) << heads[3];
  EXPECT_EQ(bodies[3], "{}");
  EXPECT_TRUE(heads[4].starts_with("DELETE /delete HTTP/1.1" + common)) << heads[4];
  EXPECT_FALSE(Holds(heads[4], "Content-Length"));
  EXPECT_TRUE(heads[5].starts_with("GET /get HTTP/1.1" + common)) << heads[5];
  EXPECT_FALSE(Holds(heads[5], "Content-Length"));
}

TEST(CurlTransport, PutsTheServersPathBeforeTheTarget) {
  Server server([](Connection& connection) {
    const std::string head = connection.ReadRequest();
    connection.Send(HttpAnswer(head.substr(0, head.find('\r'))));
  });
  ApiServer api_server;
  api_server.url = "http://" + server.address() + "/k8s/clusters/c1";
  const HttpResult result = Send(*Connect(api_server), Request("/api"));
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->body, "GET /k8s/clusters/c1/api HTTP/1.1");
}

TEST(CurlTransport, RefusesRequestsThatWouldTurnIntoOthers) {
  Server server(Always(HttpAnswer("")));
  const auto transport = Connect(server);
  HttpRequest token = Request();
  token.bearer_token = "hidden\r\nX-Other: 1";
  HttpRequest accept = Request();
  accept.accept = "a\nb";
  for (const HttpRequest& request :
       {token, accept, Request("@elsewhere/"), Request(""), Request("/a\r\nX-Other: 1")}) {
    const HttpResult result = Send(*transport, request);
    EXPECT_EQ(Outcome(result), "protocol");
    EXPECT_FALSE(Holds(result.error().message, "hidden"));
  }
  EXPECT_EQ(server.accepted(), 0);
}

TEST(CurlTransport, FollowsNoRedirectsAndUsesNoProxy) {
  Server elsewhere(Always(HttpAnswer("", "", "502 Proxied")));
  const std::string other = "http://" + elsewhere.address();
  Server server(Always(HttpAnswer("", "Location: " + other + "/\r\n", "302 Found")));
  setenv("http_proxy", other.c_str(), 1);
  setenv("ALL_PROXY", other.c_str(), 1);
  EXPECT_EQ(Outcome(Send(*Connect(server))), "302");
  unsetenv("http_proxy");
  unsetenv("ALL_PROXY");
  EXPECT_EQ(elsewhere.accepted(), 0);
}

TEST(CurlTransport, UsesTheProxyThatTheKubeconfigNames) {
  std::string asked;
  Server proxy([&](Connection& connection) {
    asked = connection.ReadRequest();
    connection.Send(HttpAnswer("", "", "204 By the proxy"));
  });
  ApiServer server;
  server.url = "http://nowhere.invalid:8080";
  server.proxy_url = "http://" + proxy.address();
  setenv("no_proxy", "*", 1);
  EXPECT_EQ(Outcome(Send(*Connect(server), Request("/version"))), "204");
  unsetenv("no_proxy");
  EXPECT_TRUE(asked.starts_with("GET http://nowhere.invalid:8080/version ")) << asked;
}

// curl would show what it can't read, with the password.
TEST(CurlTransport, RefusesAProxyThatCurlCanNotRead) {
  for (const char* url : {"http://bob:hid/den@127.0.0.1:9", "http://bob:hidden@127.0.0.1:99999",
                          "http://bob:hid#den@127.0.0.1:9", "http://bob:hid?den@127.0.0.1:9",
                          "socks5://bob:hid/den@127.0.0.1:9", "http://:hidden@"}) {
    ApiServer server;
    server.url = "http://127.0.0.1:1";
    server.proxy_url = url;
    server.source = "kubeconfig x";
    const auto transport = CurlTransport::Create(server);
    ASSERT_FALSE(transport) << url;
    EXPECT_TRUE(transport.error().message.starts_with("kubeconfig x: proxy-url can't be read"));
    EXPECT_FALSE(Holds(transport.error().message, "hid")) << transport.error().message;
  }
}

TEST(CurlTransport, ConnectsToNoAddressOfThisMachineWhereTheServerMustBeRemote) {
  Server here(Always(HttpAnswer("")));
  const std::string port = here.address().substr(here.address().find(':'));
  for (const char* host :
       {"127.0.0.1", "127.8.8.8", "2130706433", "0x7f000001", "0177.1", "0", "0.0.0.0", "LOCALHOST",
        "localhost", "[::1]", "[::]", "[0:0:0:0:0:0:0:1]", "[::ffff:7f00:1]", "[::127.0.0.1]",
        "169.254.169.254", "[fe80::1]"}) {
    ApiServer server;
    server.url = "http://" + (host + port);
    server.must_be_remote = true;
    const HttpResult result = Send(*Connect(server));
    EXPECT_EQ(Outcome(result), "local") << host << (result ? "" : ": " + result.error().message);
  }
  EXPECT_EQ(here.accepted(), 0);
}

// What is sent to a server by https is for nobody between.
TEST(CurlTransport, AsksAProxyForATunnelToAServerByHttps) {
  std::string asked;
  Server proxy([&](Connection& connection) {
    asked = connection.ReadRequest();
    connection.Send(HttpAnswer("", "", "403 No"));
  });
  ApiServer server;
  server.url = "https://nowhere.invalid:6443";
  server.proxy_url = "http://" + proxy.address();
  HttpRequest request = Request("/version");
  request.bearer_token = "hidden";
  EXPECT_FALSE(Send(*Connect(server), request));
  EXPECT_TRUE(asked.starts_with("CONNECT nowhere.invalid:6443 ")) << asked;
  EXPECT_FALSE(Holds(asked, "hidden"));
}

TEST(CurlTransport, KeepsTheConnectionAsLongAsTheServerDoes) {
  const std::pair<Server::Script, int> cases[] = {{Always(HttpAnswer("abc")), 1},
                                                  {Once(HttpAnswer("abc")), 5}};
  for (const auto& [script, connections] : cases) {
    Server server(script);
    const auto transport = Connect(server);
    for (int i = 0; i < 5; ++i) EXPECT_EQ(Outcome(Send(*transport)), "200");
    EXPECT_EQ(server.accepted(), connections);
  }
}

TEST(CurlTransport, SendsAgainWhenTheServerClosesAKeptConnection) {
  Server server([](Connection& connection) {
    connection.ReadRequest();
    connection.Send(HttpAnswer(""));
    connection.ReadRequest();
  });
  const auto transport = Connect(server);
  EXPECT_EQ(Outcome(Send(*transport)), "200");
  EXPECT_EQ(Outcome(Send(*transport)), "200");
  EXPECT_EQ(server.accepted(), 2);
}

// What it rests on may have grown old, and the first may have been carried out.
TEST(CurlTransport, SendsNothingAgainThatDeletes) {
  std::atomic<int> seen = 0;
  Server server([&](Connection& connection) {
    if (connection.ReadRequest().empty()) return;
    if (++seen == 1) connection.Send(HttpAnswer(""));
    if (!connection.ReadRequest().empty()) ++seen;
  });
  const auto transport = Connect(server);
  EXPECT_EQ(Outcome(Send(*transport)), "200");
  HttpRequest erase = Request();
  erase.method = HttpMethod::kDelete;
  erase.body = "{}";
  const HttpResult lost = Send(*transport, erase);
  EXPECT_EQ(Outcome(lost), "connect");
  EXPECT_TRUE(lost.error().may_have_arrived);
  EXPECT_EQ(seen, 2);
}

TEST(CurlTransport, AsksWhetherToSendOnceItIsConnectedAndEachTime) {
  std::atomic<int> seen = 0;
  Server server([&](Connection& connection) {
    if (connection.ReadRequest().empty()) return;
    ++seen;
    connection.Send(HttpAnswer(""));
    if (!connection.ReadRequest().empty()) ++seen;
  });
  const auto transport = Connect(server);
  HttpRequest request = Request();
  int asked = 0;
  request.may_send = [&] { return ++asked, false; };
  EXPECT_EQ(Outcome(Send(*transport, request)), "not-sent");
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(seen, 0);
  EXPECT_EQ(Outcome(Send(*transport)), "200");
  asked = 0;
  request.may_send = [&] { return ++asked == 1; };
  EXPECT_EQ(Outcome(Send(*transport, request)), "connect") << "the first may have arrived";
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(seen, 2);
}

TEST(CurlTransport, WhatItAsksCanSendNothingByIt) {
  Server server([](Connection& connection) {
    while (!connection.ReadRequest().empty()) connection.Send(HttpAnswer(""));
  });
  const auto transport = Connect(server);
  HttpRequest request = Request();
  std::string within;
  request.may_send = [&] {
    within = Outcome(Send(*transport));
    return true;
  };
  EXPECT_EQ(Outcome(Send(*transport, request)), "200");
  EXPECT_EQ(within, "not-sent");
  EXPECT_EQ(Outcome(Send(*transport)), "200");
}

TEST(CurlTransport, TellsBrokenAnswersApart) {
  const std::pair<std::string, std::string> cases[] = {
      {"", "connect"},
      {"HTTP/1.1", "connect"},
      {"HTTP/1.1 404 Not Found", "connect"},
      {"HTTP/1.1 404 Not Found\r\n", "connect"},
      {"HTTP/1.1 404 Not Found\r\nContent-Le", "connect"},
      {"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n", "connect"},
      {"HTTP/1.1 100 Continue\r\n\r\n", "connect"},
      {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 404 Not Found\r\n", "connect"},
      {"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", "connect"},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", "connect"},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nab", "connect"},
      {"SSH-2.0-OpenSSH_9.2\r\n", "protocol"},
      {"just some text\n\n", "protocol"},
      {std::string("\x15\x03\x01\x00\x02\x02\x46", 7), "protocol"},
      {"HTTP/7.3 200 OK\r\n\r\n", "protocol"},
      {"HTTP/1.1 abc OK\r\n\r\n", "protocol"},
      {"HTTP/1.1 200 OK\r\nContent-Length: -7\r\n\r\n", "protocol"},
      {"HTTP/1.1 200 OK\r\nX: " + std::string(1u << 20, 'x') + "\r\n\r\n", "protocol"},
  };
  for (const auto& [answer, outcome] : cases) {
    Server server(Once(answer));
    const HttpResult result = Send(*Connect(server), Request("/api/v1/pods"));
    ASSERT_EQ(Outcome(result), outcome)
        << answer.substr(0, 100) << " -> " << (result ? "" : result.error().message);
    EXPECT_TRUE(
        result.error().message.starts_with("GET /api/v1/pods at " + server.address() + ": "))
        << result.error().message;
  }
}

TEST(CurlTransport, FailsToConnect) {
  ApiServer refused;
  {
    Server gone(Once(""));
    refused.url = "http://" + gone.address();
  }
  const HttpResult none_listens = Send(*Connect(refused));
  EXPECT_EQ(Outcome(none_listens), "connect");
  EXPECT_FALSE(none_listens.error().may_have_arrived);
  EXPECT_TRUE(Holds(none_listens.error().message, "(Connection refused)"))
      << none_listens.error().message;
  ApiServer behind_proxy;
  behind_proxy.url = "http://api.test";
  behind_proxy.proxy_url = refused.url;
  EXPECT_TRUE(Holds(Send(*Connect(behind_proxy)).error().message, "its proxy"));
  ApiServer unknown;
  unknown.url = "http://no-such-host.invalid:6443";
  const HttpResult result = Send(*Connect(unknown));
  EXPECT_EQ(Outcome(result), "connect");
  EXPECT_TRUE(Holds(result.error().message, "no-such-host.invalid:6443")) << result.error().message;
}

TEST(CurlTransport, AcceptsABodyAtTheLimitWhetherOrNotItsLengthIsSaid) {
  for (const auto& script : {Always(HttpAnswer("12345")), Once("HTTP/1.1 200 OK\r\n\r\n12345")}) {
    Server server(script);
    const auto transport = Connect(server);
    HttpRequest request = Request();
    const std::pair<std::size_t, const char*> cases[] = {
        {5, "200"}, {4, "too large"}, {0, "too large"}, {request.body_limit, "200"}};
    for (const auto& [limit, outcome] : cases) {
      request.body_limit = limit;
      EXPECT_EQ(Outcome(Send(*transport, request)), outcome) << limit;
    }
  }
}

TEST(CurlTransport, TimesOutWhereverTheServerHangsAndRecovers) {
  for (const std::string part :
       {"", "HTTP/1.1 200 OK\r\nDate:", "HTTP/1.1 200 OK\r\n\r\nabc", "trickle"}) {
    std::atomic<bool> hangs{true};
    Server server([&](Connection& connection) {
      if (!hangs) return Always(HttpAnswer(""))(connection);
      connection.ReadRequest();
      if (part != "trickle") {
        connection.Send(part);
        connection.ReadAll();
        return;
      }
      connection.Send("HTTP/1.1 200 OK\r\nX: ");
      while (connection.Send("x")) std::this_thread::sleep_for(milliseconds(1));
    });
    const auto transport = Connect(server);
    EXPECT_EQ(Outcome(Send(*transport, Request("/", milliseconds(50)))), "timeout") << part;
    EXPECT_EQ(Outcome(Send(*transport, Request("/", milliseconds(0)))), "timeout") << part;
    hangs = false;
    EXPECT_EQ(Outcome(Send(*transport)), "200") << part;
  }
}

TEST(CurlTransport, AnswersInTheOrderOfTheRequests) {
  Server server([](Connection& connection) {
    for (std::string head; !(head = connection.ReadRequest()).empty();) {
      if (head.starts_with("GET /13 ")) return;
      connection.Send(HttpAnswer(head.substr(4, head.find(' ', 4) - 4)));
    }
  });
  const auto transport = Connect(server);
  std::vector<HttpRequest> requests;
  for (int i = 0; i < 40; ++i) requests.push_back(Request("/" + std::to_string(i)));
  requests[7].target = "no path";
  for (const std::size_t concurrency : {0u, 1u, 4u, 100u}) {
    const std::vector<HttpResult> results = transport->Perform(requests, concurrency, {});
    ASSERT_EQ(results.size(), requests.size());
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (i == 7 || i == 13) {
        EXPECT_EQ(Outcome(results[i]), i == 7 ? "protocol" : "connect");
      } else {
        ASSERT_TRUE(results[i]) << results[i].error().message;
        EXPECT_EQ(results[i]->body, requests[i].target);
      }
    }
  }
  EXPECT_TRUE(transport->Perform({}, 1, {}).empty());
}

TEST(CurlTransport, SendsSideBySideUpToTheBound) {
  constexpr int kBound = 4;
  std::mutex mutex;
  std::condition_variable changed;
  int seen = 0;
  int now = 0;
  int most = 0;
  Server server([&](Connection& connection) {
    while (!connection.ReadRequest().empty()) {
      {
        std::unique_lock lock(mutex);
        most = std::max(most, ++now);
        ++seen;
        changed.notify_all();
        // Holds the first answers back until as many requests are here as may run at once.
        changed.wait(lock, [&] { return seen >= kBound; });
        --now;
      }
      connection.Send(HttpAnswer(""));
    }
  });
  const auto transport = Connect(server);
  const std::vector<HttpRequest> requests(20, Request());
  for (const HttpResult& result : transport->Perform(requests, kBound, {})) {
    EXPECT_EQ(Outcome(result), "200");
  }
  EXPECT_EQ(server.accepted(), kBound);
  const std::lock_guard lock(mutex);
  EXPECT_EQ(most, kBound);
}

TEST(CurlTransport, SendsNothingOnceStopped) {
  Server server(Always(HttpAnswer("")));
  const auto transport = Connect(server);
  std::stop_source stop;
  stop.request_stop();
  const std::vector<HttpRequest> requests(3, Request());
  const std::vector<HttpResult> results = transport->Perform(requests, 2, stop.get_token());
  ASSERT_EQ(results.size(), 3u);
  for (const HttpResult& result : results) EXPECT_EQ(Outcome(result), "stopped");
  EXPECT_EQ(server.accepted(), 0);
}

TEST(CurlTransport, StopsWhileTheServerHangs) {
  std::stop_source stop;
  std::atomic<bool> answered{false};
  Server server([&](Connection& connection) {
    if (connection.ReadRequest().starts_with("GET /hang ")) {
      answered.wait(false);
      stop.request_stop();
    } else {
      connection.Send(HttpAnswer(""));
      connection.ReadRequest();
      answered = true;
      answered.notify_all();
    }
    connection.ReadAll();
  });
  const auto transport = Connect(server);
  const std::vector<HttpRequest> requests = {Request("/hang"), Request("/quick"), Request("/hung"),
                                             Request("/not-sent")};
  const auto begin = std::chrono::steady_clock::now();
  const std::vector<HttpResult> results = transport->Perform(requests, 2, stop.get_token());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, kLong / 2);
  ASSERT_EQ(results.size(), 4u);
  EXPECT_EQ(Outcome(results[0]), "stopped");
  EXPECT_EQ(Outcome(results[1]), "200") << "what is finished is kept";
  EXPECT_EQ(Outcome(results[2]), "stopped");
  EXPECT_EQ(Outcome(results[3]), "stopped");
  EXPECT_TRUE(Holds(results[3].error().message, "/not-sent")) << results[3].error().message;
}

TEST(CurlTransport, StopsAtOnceAndGoesOnAfterwards) {
  std::mutex mutex;
  std::stop_source stop;
  std::chrono::steady_clock::time_point stopped;
  Server server([&](Connection& connection) {
    for (std::string head; !(head = connection.ReadRequest()).empty();) {
      if (head.starts_with("GET /hang ")) {
        // The client needs time to fall asleep; otherwise there is nothing to wake up.
        std::this_thread::sleep_for(milliseconds(50));
        const std::lock_guard lock(mutex);
        stopped = std::chrono::steady_clock::now();
        stop.request_stop();
      } else {
        connection.Send(HttpAnswer(""));
      }
    }
  });
  const auto transport = Connect(server);
  const HttpRequest hang = Request("/hang");
  std::chrono::steady_clock::duration quickest = kLong;
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(Outcome(transport->Perform(std::span(&hang, 1), 1, stop.get_token()).at(0)),
              "stopped");
    const std::lock_guard lock(mutex);
    quickest = std::min(quickest, std::chrono::steady_clock::now() - stopped);
    stop = std::stop_source();
    EXPECT_EQ(Outcome(Send(*transport)), "200");
  }
  EXPECT_LT(quickest, milliseconds(100)) << "it isn't woken up";
}

TEST(CurlTransport, WaitsForNoNameLookup) {
  lookups_begun = 0;
  lookups_may_end = false;
  ApiServer slow;
  slow.url = std::string("http://") + kSlowName;
  const auto transport = Connect(slow);
  std::stop_source stop;
  std::jthread stopper([&stop] {
    lookups_begun.wait(0);
    stop.request_stop();
  });
  const HttpRequest request = Request();
  EXPECT_EQ(Outcome(transport->Perform(std::span(&request, 1), 1, stop.get_token()).at(0)),
            "stopped");
  EXPECT_EQ(Outcome(Send(*transport, Request("/", milliseconds(50)))), "timeout");
  lookups_may_end = true;
  lookups_may_end.notify_all();
}

TEST(CurlTransport, RefusesWhatNoRequestCouldMend) {
  const auto error_of = [](const ApiServer& server) {
    const auto transport = CurlTransport::Create(server);
    return transport ? "" : transport.error().message;
  };
  ApiServer server;
  server.source = "in-cluster";
  for (const char* url :
       {"", "host:443", "ftp://host", "https://", "https://a b", "https://user:password@host",
        "https://host?a=b", "https://host#a", "https://host:99999"}) {
    server.url = url;
    EXPECT_TRUE(error_of(server).starts_with("in-cluster: ")) << url << ": " << error_of(server);
  }
  EXPECT_TRUE(Holds(error_of(server), "port from 1 to 65535")) << server.url;
  server.url = "ftp://host";
  EXPECT_TRUE(Holds(error_of(server), "is not one of https:// or http://"));
  server.url = "https://host";
  EXPECT_EQ(error_of(server), "");
  server.ca_pem = "not PEM";
  EXPECT_TRUE(Holds(error_of(server), "no certificate found in the certificate authority"));
  server.ca_pem.clear();
  server.client_certificate_pem = "-----BEGIN CERTIFICATE-----";
  EXPECT_TRUE(Holds(error_of(server), "needs its key"));
  server.client_key_pem = "not PEM";
  EXPECT_TRUE(Holds(error_of(server), "no private key found"));
  server.client_key_pem = "-----BEGIN ENCRYPTED PRIVATE KEY-----";
  EXPECT_TRUE(Holds(error_of(server), "encrypted"));
  server.client_key_pem = "-----BEGIN EC PRIVATE KEY-----";
  EXPECT_EQ(error_of(server), "");
  server.client_certificate_pem = "not PEM";
  EXPECT_TRUE(Holds(error_of(server), "no certificate found in the client certificate"));
}

class CurlTransportTls : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    directory_ = std::make_unique<TemporaryDirectory>();
    MakeAuthority("ca");
    MakeAuthority("other-ca");
    MakeCertificate("good", "IP:127.0.0.1", "1");
    MakeCertificate("named", "DNS:api.test", "1");
    MakeCertificate("expired", "IP:127.0.0.1", "-1");
  }
  static void TearDownTestSuite() { directory_.reset(); }

  static void Run(const std::string& command) {
    ASSERT_EQ(std::system(("cd " + Path("") + " && " + command + " 2>>log").c_str()), 0)
        << command << "\n"
        << Read("log");
  }
  static void MakeAuthority(const std::string& name) {
    Run("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 "
        "-subj /CN=" +
        name + " -keyout " + name + ".key -out " + name + ".crt");
  }
  static void MakeCertificate(const std::string& name, const std::string& names,
                              const std::string& days) {
    Run("openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=" + name +
        " -addext subjectAltName=" + names + " -keyout " + name + ".key -out " + name + ".csr");
    Run("openssl x509 -req -CA ca.crt -CAkey ca.key -copy_extensions copy -days " + days + " -in " +
        name + ".csr -out " + name + ".crt");
  }
  static std::string Path(const std::string& name) { return directory_->Path(name); }
  static std::string Read(const std::string& name) { return directory_->Read(name); }

  static std::vector<std::string> With(const std::string& certificate,
                                       std::vector<std::string> more = {"-www"}) {
    more.insert(more.end(),
                {"-cert", Path(certificate + ".crt"), "-key", Path(certificate + ".key")});
    return more;
  }
  static ApiServer Trusting(const TlsServer& server) {
    ApiServer api_server;
    api_server.url = "https://" + server.address();
    api_server.ca_pem = Read("ca.crt");
    api_server.source = "kubeconfig test";
    return api_server;
  }
  static void ExpectRefused(const ApiServer& server, const std::string& why) {
    const HttpResult result = Send(*Connect(server));
    ASSERT_EQ(Outcome(result), "tls") << (result ? "" : result.error().message);
    EXPECT_TRUE(Holds(result.error().message, why)) << result.error().message;
    EXPECT_TRUE(Holds(result.error().message, server.source)) << result.error().message;
  }

  static inline std::unique_ptr<TemporaryDirectory> directory_;
};

TEST_F(CurlTransportTls, TrustsTheGivenAuthorityAndTheRightName) {
  struct Case {
    const char* certificate;
    std::function<void(ApiServer&)> change;
    const char* refused;  // nullptr: the server is trusted
  };
  const Case cases[] = {
      {"good", [](ApiServer&) {}, nullptr},
      {"good", [](ApiServer& server) { server.ca_pem = Read("other-ca.crt"); }, "certificate"},
      {"good", [](ApiServer& server) { server.ca_pem.clear(); }, "certificate"},
      {"good",
       [](ApiServer& server) {
         server.ca_pem = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
       },
       "certificate"},
      {"good",
       [](ApiServer& server) {
         server.ca_pem.clear();
         server.insecure_skip_tls_verify = true;
       },
       nullptr},
      {"expired", [](ApiServer&) {}, "expired"},
      {"named", [](ApiServer&) {}, "127.0.0.1"},
      {"named", [](ApiServer& server) { server.tls_server_name = "api.test"; }, nullptr},
      {"named", [](ApiServer& server) { server.tls_server_name = "elsewhere.test"; },
       "elsewhere.test"},
  };
  for (const Case& one : cases) {
    TlsServer server(With(one.certificate));
    ApiServer api_server = Trusting(server);
    one.change(api_server);
    if (one.refused != nullptr) {
      ExpectRefused(api_server, one.refused);
      continue;
    }
    const auto transport = Connect(api_server);
    for (int i = 0; i < 2; ++i) EXPECT_EQ(Outcome(Send(*transport)), "200") << one.certificate;
  }
}

TEST_F(CurlTransportTls, SendsTheServersOwnHostHeader) {
  TlsServer server(With("named", {}), HttpAnswer("abc", "Connection: close\r\n"));
  ApiServer api_server = Trusting(server);
  api_server.tls_server_name = "api.test";
  api_server.url += "/base/";
  const HttpResult result = Send(*Connect(api_server), Request("/api"));
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->body, "abc");
  EXPECT_EQ(server.ReadUntil("GET /base/api HTTP/1.1\r\nHost: ", "\r\n"),
            server.address() + "\r\n");
}

struct WholeAnswer final : StreamReader {
  void Begin(int) override {}
  void Take(std::string_view bytes) override { body += bytes; }
  void End(const std::optional<TransportError>&) override { ended = true; }

  std::string body;
  bool ended = false;
};

TEST_F(CurlTransportTls, FurtherConnectionsTakeUpTheSessionOfTheFirst) {
  for (const char* version : {"-tls1_2", "-tls1_3"}) {
    TlsServer server(With("good", {"-www", version}));
    const auto transport = Connect(Trusting(server));
    const HttpResult first = Send(*transport);
    ASSERT_TRUE(first) << first.error().message;
    EXPECT_TRUE(Holds(first->body, "\nNew, TLS")) << first->body;
    const HttpResult second = Send(*transport);
    ASSERT_TRUE(second) << second.error().message;
    EXPECT_TRUE(Holds(second->body, "\nReused, TLS")) << second->body;
    // A stream has a handle of its own. It comes after the others: OpenSSL takes a session of
    // TLS 1.3 up once, so of connections that begin together some may begin again.
    WholeAnswer answer;
    const auto stream = transport->Open(Request(), answer);
    const auto deadline = steady_clock::now() + seconds(30);
    while (!answer.ended && steady_clock::now() < deadline) transport->Wait(deadline, {});
    EXPECT_TRUE(Holds(answer.body, "\nReused, TLS")) << answer.body;
  }
}

TEST_F(CurlTransportTls, ASessionThatMayBeTheReasonWhyNothingIsAnsweredIsForgotten) {
  TlsServer server(With("good"));
  const auto transport = Connect(Trusting(server));
  EXPECT_EQ(Outcome(Send(*transport)), "200");
  server.Pause();
  EXPECT_EQ(Outcome(Send(*transport, Request("/", milliseconds(100)))), "timeout");
  server.GoOn();
  const HttpResult result = Send(*transport);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_TRUE(Holds(result->body, "\nNew, TLS")) << result->body;
}

TEST_F(CurlTransportTls, AnAnswerThatIsTooLargeIsOne) {
  TlsServer server(With("good"));
  const auto transport = Connect(Trusting(server));
  HttpRequest request = Request();
  request.body_limit = 10;
  EXPECT_EQ(Outcome(Send(*transport, request)), "too large");
  const HttpResult result = Send(*transport);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_TRUE(Holds(result->body, "\nReused, TLS")) << result->body;
}

TEST_F(CurlTransportTls, ShowsItsCertificateWhereOneIsDemanded) {
  // TLS 1.3 refuses a missing certificate only after the handshake.
  for (const char* version : {"-tls1_2", "-tls1_3"}) {
    TlsServer server(With("good", {"-www", version, "-Verify", "1", "-verify_return_error",
                                   "-CAfile", Path("ca.crt")}));
    ApiServer api_server = Trusting(server);
    ExpectRefused(api_server, "alert");
    api_server.client_certificate_pem = Read("named.crt");
    api_server.client_key_pem = Read("named.key");
    EXPECT_EQ(Outcome(Send(*Connect(api_server))), "200");
    api_server.client_key_pem = Read("good.key");
    ExpectRefused(api_server, "key");
  }
}

// A certificate authority whose file is replaced while the transport is in use.
class RotatedAuthority : public CurlTransportTls {
 protected:
  std::unique_ptr<CurlTransport> ConnectTo(const TlsServer& server, const std::string& ca) {
    ApiServer api_server = Trusting(server);
    Rotate(ca);
    api_server.ca_file = Path("rotated.crt");
    api_server.ca_pem = ca;
    return *CurlTransport::Create(api_server, clock_);
  }
  static void Rotate(const std::string& text) { directory_->Write("rotated.crt", text); }

  TestClock clock_;
};

TEST_F(RotatedAuthority, IsReadAgainAtOnceWhereTheServerIsntTrusted) {
  TlsServer server(With("good"));
  const auto transport = ConnectTo(server, Read("other-ca.crt"));
  EXPECT_EQ(Outcome(Send(*transport)), "tls");
  Rotate(Read("other-ca.crt") + Read("ca.crt"));
  const std::vector<HttpRequest> requests(3, Request());
  for (const HttpResult& result : transport->Perform(requests, 2, {})) {
    EXPECT_EQ(Outcome(result), "200");
  }
}

// Others of its batch may have hung meanwhile, so that what it rests on has grown old.
TEST_F(RotatedAuthority, WhatDeletesIsNotSentAgain) {
  TlsServer server(With("good"));
  const auto transport = ConnectTo(server, Read("other-ca.crt"));
  Rotate(Read("ca.crt"));
  std::vector<HttpRequest> requests(2, Request());
  requests[0].method = HttpMethod::kDelete;
  const auto results = transport->Perform(requests, 2, {});
  EXPECT_EQ(Outcome(results[0]), "tls");
  EXPECT_EQ(Outcome(results[1]), "200");
}

TEST_F(RotatedAuthority, SessionsOfBeforeAreNotTakenUp) {
  TlsServer server(With("good"));
  const auto transport = ConnectTo(server, Read("ca.crt"));
  const auto shows = [&](const char* session) {
    const HttpResult result = Send(*transport);
    return result && Holds(result->body, session);
  };
  EXPECT_TRUE(shows("\nNew, TLS"));
  EXPECT_TRUE(shows("\nReused, TLS"));
  Rotate(Read("other-ca.crt") + Read("ca.crt"));
  clock_.elapsed += std::chrono::minutes(1);
  EXPECT_TRUE(shows("\nNew, TLS"));
}

TEST_F(RotatedAuthority, IsReadAgainWithinAMinute) {
  TlsServer server(With("good"));
  const auto transport = ConnectTo(server, Read("ca.crt"));
  Rotate(Read("other-ca.crt"));
  EXPECT_EQ(Outcome(Send(*transport)), "200");
  clock_.elapsed += std::chrono::minutes(1);
  EXPECT_EQ(Outcome(Send(*transport)), "tls") << "what is trusted no longer is refused";
}

TEST_F(RotatedAuthority, StaysWhileTheNewOneCantBeUsed) {
  TlsServer server(With("good"));
  const auto transport = ConnectTo(server, Read("ca.crt"));
  const std::string half = Read("ca.crt").substr(0, 200);
  for (const std::string& text :
       {std::string(), std::string("none"), half, Read("ca.crt") + half}) {
    Rotate(text);
    clock_.elapsed += std::chrono::minutes(1);
    EXPECT_EQ(Outcome(Send(*transport)), "200") << text;
  }
  std::filesystem::remove(Path("rotated.crt"));
  clock_.elapsed += std::chrono::minutes(1);
  EXPECT_EQ(Outcome(Send(*transport)), "200") << "the file is gone";
}

TEST_F(CurlTransportTls, AClientCertificateIsReadAgainOnceItsKeyFits) {
  TlsServer server(With("good", {"-www", "-tls1_2", "-Verify", "1", "-verify_return_error",
                                 "-CAfile", Path("ca.crt")}));
  ApiServer api_server = Trusting(server);
  api_server.client_certificate_pem = Read("other-ca.crt");
  api_server.client_key_pem = Read("other-ca.key");
  api_server.client_certificate_file = directory_->Write("client.crt", Read("other-ca.crt"));
  api_server.client_key_file = directory_->Write("client.key", Read("other-ca.key"));
  const auto transport = Connect(api_server);
  EXPECT_EQ(Outcome(Send(*transport)), "tls") << "it isn't trusted";
  directory_->Write("client.crt", Read("named.crt"));
  EXPECT_EQ(Outcome(Send(*transport)), "tls") << "its key isn't there yet";
  directory_->Write("client.key", Read("named.key"));
  EXPECT_EQ(Outcome(Send(*transport)), "200");
}

TEST_F(CurlTransportTls, ShowsTheCertificateThatAPluginGaveLast) {
  TlsServer server(With("good", {"-www", "-tls1_2", "-Verify", "1", "-verify_return_error",
                                 "-CAfile", Path("ca.crt")}));
  const Plugin plugin;
  TestClock clock;
  ApiServer api_server = Trusting(server);
  api_server.plugin = plugin.Authenticator();
  const auto transport = *CurlTransport::Create(api_server, clock);
  EXPECT_EQ(Outcome(Send(*transport)), "tls") << "none was given yet";
  EXPECT_EQ(plugin.Runs(), 0) << "who sends the requests asks for credentials";
  plugin.GiveCertificate(Read("named.crt"), Read("named.key"));
  EXPECT_EQ(api_server.plugin->Token(clock, {}).value(), "");
  EXPECT_EQ(Outcome(Send(*transport)), "200");
  plugin.GiveCertificate(Read("other-ca.crt"), Read("other-ca.key"));
  EXPECT_TRUE(api_server.plugin->Refresh(clock, {}));
  EXPECT_EQ(Outcome(Send(*transport)), "tls") << "it isn't trusted";
  clock.elapsed += std::chrono::minutes(1);
  plugin.GiveCertificate(Read("named.crt"), Read("good.key"));
  EXPECT_FALSE(api_server.plugin->Refresh(clock, {})) << "the key is another's";
  clock.elapsed += std::chrono::minutes(1);
  plugin.GiveCertificate(Read("named.crt"), Read("named.key"));
  EXPECT_TRUE(api_server.plugin->Refresh(clock, {}));
  EXPECT_EQ(Outcome(Send(*transport)), "200");
  clock.elapsed += std::chrono::minutes(1);
  plugin.GiveToken("instead");
  EXPECT_TRUE(api_server.plugin->Refresh(clock, {}));
  EXPECT_EQ(Outcome(Send(*transport)), "tls") << "it gives none any more";
}

TEST_F(CurlTransportTls, RefusesOldVersionsOfTls) {
  TlsServer server(With("good", {"-www", "-tls1_1", "-cipher", "DEFAULT@SECLEVEL=0"}));
  ExpectRefused(Trusting(server), "version");
}

TEST_F(CurlTransportTls, TellsALostConnectionFromARefusal) {
  const std::pair<Server::Script, std::string> cases[] = {
      {[](Connection&) {}, "connect"},
      {[](Connection& connection) { connection.Receive(); }, "connect"},
      {[](Connection& connection) { connection.Send("HTTP/1.1 400 Bad Request\r\n\r\n"); }, "tls"},
  };
  for (const auto& [script, outcome] : cases) {
    Server server(script);
    ApiServer api_server;
    api_server.url = "https://" + server.address();
    const HttpResult result = Send(*Connect(api_server));
    EXPECT_EQ(Outcome(result), outcome) << (result ? "" : result.error().message);
  }
}

}  // namespace
}  // namespace cluster_watcher

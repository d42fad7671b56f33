#include "watcher/admission/server/webhook_server.h"

#include <gtest/gtest.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>

#include <csignal>
#include <list>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include <prometheus/registry.h>

#include "probes/kube/curl_transport.h"
#include "test/unit/support/loopback.h"
#include "test/unit/support/temporary_directory.h"

namespace cluster_watcher {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

// A directory with certificates made by openssl.
class Certificates {
 public:
  Certificates() {
    for (const std::string name : {"one", "two", "beyond2262"}) {
      const std::string days = name == "beyond2262" ? "100000" : "10";
      const std::string command =
          "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=" +
          name + " -addext subjectAltName=IP:127.0.0.1 -days " + days + " -keyout " +
          Path(name + ".key") + " -out " + Path(name + ".crt") + " 2>/dev/null";
      EXPECT_EQ(std::system(command.c_str()), 0) << command;
    }
  }

  TlsFiles Files(const std::string& name) const {
    return {Path(name + ".crt"), Path(name + ".key")};
  }
  std::string Path(const std::string& name) const { return directory_.Path(name); }
  std::string Pem(const std::string& name) const { return directory_.Read(name + ".crt"); }

 private:
  const TemporaryDirectory directory_;
};

const Certificates& Shared() {
  static const Certificates certificates;
  return certificates;
}

// A server on a thread of its own that echoes what it gets.
class Served {
 public:
  explicit Served(WebhookServer::Limits limits = {}, std::chrono::milliseconds delay = 0ms)
      : metrics_(registry_, "1", "2"),
        server_(*ParseListenAddress("127.0.0.1:0"), *LoadTlsCertificate(Shared().Files("one")),
                {{"/echo",
                  [this](std::string_view body) {
                    ++handled_;
                    if (body.starts_with(kThrows)) throw std::bad_alloc();
                    if (body.starts_with(kSlow)) {
                      slow_ = true;
                      slow_.notify_all();
                      may_answer_.wait(false);
                    }
                    return AdmissionAnswer{200, "application/json", std::string(body), "valid", ""};
                  }}},
                metrics_, limits) {
    const auto error = server_.Start();
    EXPECT_FALSE(error) << *error;
    port_ = server_.port();
    thread_ = std::jthread([this, delay](std::stop_token stop) {
      server_.Run(stop, delay, 10ms, [this] {
        if (rotate_.exchange(false)) server_.Use(*LoadTlsCertificate(Shared().Files("two")));
        ++ticks_;
      });
      ended_ = true;
    });
  }

  void Rotate() {
    rotate_ = true;
    const int before = ticks_;
    while (ticks_ < before + 2) std::this_thread::yield();
  }
  // What begins with kSlow is answered only after MayAnswer().
  static constexpr std::string_view kSlow = "slow";
  static constexpr std::string_view kThrows = "throw";
  void AwaitSlow() { slow_.wait(false); }
  void MayAnswer() {
    may_answer_ = true;
    may_answer_.notify_all();
  }
  void Stop() { thread_.request_stop(); }
  void Join() { thread_.join(); }
  int handled() const { return handled_; }
  bool ended() const { return ended_; }
  std::uint16_t port() const { return port_; }

  std::unique_ptr<Transport> Client(const std::string& trusted = "one") const {
    ApiServer server;
    server.url = "https://127.0.0.1:" + std::to_string(port_);
    server.ca_pem = Shared().Pem(trusted);
    auto transport = CurlTransport::Create(server);
    EXPECT_TRUE(transport);
    return *std::move(transport);
  }

 private:
  prometheus::Registry registry_;
  AdmissionMetrics metrics_;
  WebhookServer server_;
  std::uint16_t port_ = 0;
  std::atomic<bool> rotate_{false};
  std::atomic<int> ticks_{0};
  std::atomic<bool> ended_{false};
  std::atomic<int> handled_{0};
  std::atomic<bool> slow_{false};
  std::atomic<bool> may_answer_{false};
  std::jthread thread_;
};

// A client that sends the head and the body of a request as slowly as it likes.
class SlowClient : private ClientConnection {
 public:
  explicit SlowClient(std::uint16_t port, int receive_buffer = 0)
      : ClientConnection(port, AF_INET, "127.0.0.1", receive_buffer),
        context_(SSL_CTX_new(TLS_client_method()), SSL_CTX_free),
        ssl_(SSL_new(context_.get()), SSL_free) {
    signal(SIGPIPE, SIG_IGN);
    const int at_once = 1;  // so that what is said now arrives before what others say later
    setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once);
    SSL_set_fd(ssl_.get(), socket_);
    EXPECT_EQ(SSL_connect(ssl_.get()), 1);
  }
  // Returns once the server waits for the body.
  void Announce(std::size_t size) {
    EXPECT_TRUE(
        Say("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            "Expect: 100-continue\r\nContent-Length: " +
            std::to_string(size) + "\r\n\r\n"));
    EXPECT_EQ(Hear(), "HTTP/1.1 100 Continue\r\n\r\n");
  }
  // Returns false if the server has closed the connection.
  bool Say(const std::string& text) {
    return SSL_write(ssl_.get(), text.data(), static_cast<int>(text.size())) > 0;
  }
  // Returns what comes next, or "" once the server has closed the connection.
  std::string Hear() {
    std::string text(1'000, ' ');
    errno = 0;
    const int count = SSL_read(ssl_.get(), text.data(), static_cast<int>(text.size()));
    text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    EXPECT_TRUE(count > 0 || errno != EAGAIN) << "the server keeps the connection";
    return text;
  }
  std::size_t HearAll() {
    std::size_t all = 0;
    for (std::size_t more = 0; (more = Hear().size()) > 0;) all += more;
    return all;
  }

 private:
  std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context_;
  std::unique_ptr<SSL, void (*)(SSL*)> ssl_;
};

constexpr WebhookServer::Limits kPatient = {
    .body = 1'000'000, .bodies = 1'000'000, .request = std::chrono::hours(1), .last_answers = 0s};

HttpRequest Post(const std::string& body) {
  HttpRequest request;
  request.method = HttpMethod::kPost;
  request.target = "/echo?timeout=5s";
  request.content_type = "application/json";
  request.body = body;
  request.timeout = Duration(60'000);  // a busy machine may take long
  return request;
}

HttpResult Send(Transport& client, const HttpRequest& request) {
  return std::move(client.Perform(std::span(&request, 1), 1, {}).front());
}

TEST(WebhookServer, AnswersAndKeepsTheConnection) {
  const Served served;
  const auto client = served.Client();
  for (const std::string& body :
       {std::string("{}"), std::string(3u << 20, ' '), std::string("1")}) {
    const auto answer = Send(*client, Post(body));
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->status, 200);
    EXPECT_EQ(answer->body, body);
  }
}

TEST(WebhookServer, RefusesWhatItDoesNotServe) {
  const Served served;
  const auto client = served.Client();
  HttpRequest elsewhere = Post("{}");
  elsewhere.target = "/";
  HttpRequest got = Post("");
  got.method = HttpMethod::kGet;
  HttpRequest form = Post("{}");
  form.content_type = "application/x-www-form-urlencoded";
  HttpRequest yaml = Post(std::string(5u << 20, ' '));  // more than fits into the sockets' buffers
  yaml.content_type = "application/yaml";
  const std::pair<HttpRequest, int> kCases[] = {{elsewhere, 404},
                                                {got, 405},
                                                {form, 415},
                                                {yaml, 415},
                                                {Post(std::string((8u << 20) + 1, ' ')), 413}};
  for (const auto& [request, status] : kCases) {
    const auto answer = Send(*client, request);
    ASSERT_TRUE(answer) << status << ": " << answer.error().message;
    EXPECT_EQ(answer->status, status);
    EXPECT_EQ(answer->content_type, "text/plain; charset=utf-8");
    EXPECT_TRUE(Send(*client, Post("{}"))) << "after a " << status;
  }
}

TEST(WebhookServer, WhatIsAnnouncedCostsNothing) {
  const Served served(kPatient);
  std::list<SlowClient> idle;
  for (int i = 0; i < 20; ++i) idle.emplace_back(served.port()).Announce(1'000'000);
  const auto client = served.Client();
  for (const std::size_t size : {2u, 1'000'000u}) {
    const auto answer = Send(*client, Post(std::string(size, ' ')));
    ASSERT_TRUE(answer) << size << ": " << answer.error().message;
    EXPECT_EQ(answer->status, 200) << size;
  }
  EXPECT_TRUE(idle.front().Say("1")) << "it was in nobody's way";
}

// It must not wait for the rest of the body, of which the first read had only the beginning.
TEST(WebhookServer, ABodyWithoutALengthIsRefusedAtOnce) {
  const Served served(kPatient);
  SlowClient client(served.port());
  ASSERT_TRUE(
      client.Say("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                 "Transfer-Encoding: chunked\r\n\r\n10\r\nab"));
  EXPECT_EQ(client.Hear().rfind("HTTP/1.1 411 ", 0), 0u);
}

TEST(WebhookServer, HoldsNoMoreThanItMayAndCutsOffWhatTakesLongest) {
  const Served served(kPatient);
  const std::string half(600'000, ' ');
  std::list<SlowClient> slow;
  for (int i = 0; i < 4; ++i) {
    slow.emplace_back(served.port()).Announce(1'000'000);
    ASSERT_TRUE(slow.back().Say(half)) << i;
    if (i == 0) continue;
    SlowClient& before = *std::prev(slow.end(), 2);
    for (int drip = 0; drip < 10; ++drip) before.Say("1");  // that it moves doesn't help it
    EXPECT_EQ(before.Hear(), "") << i;
  }
  const auto answer = Send(*served.Client(), Post(std::string(900'000, ' ')));
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(slow.back().Hear(), "") << "both don't fit";
}

TEST(WebhookServer, HoldsNoMoreAnswersThanItMay) {
  auto limits = kPatient;
  limits.body = limits.bodies = 7'500'000;  // more than fits into the sockets' buffers
  const Served served(limits);
  const std::string whole(7'000'000, ' ');
  SlowClient slow(served.port(), 4'096);
  slow.Announce(whole.size());
  ASSERT_TRUE(slow.Say(whole));
  EXPECT_EQ(slow.Hear().rfind("HTTP/1.1 200 OK", 0), 0u);
  const auto answer = Send(*served.Client(), Post(whole));
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->body, whole);
  EXPECT_LT(slow.HearAll(), whole.size()) << "it has its answer, which nobody held";
}

TEST(WebhookServer, ALargeReviewKeepsNobodyWaiting) {
  Served served;
  const std::string large = std::string(Served::kSlow) + std::string(100'000, ' ');
  std::string answered;
  std::jthread slow([&] {
    const auto answer = Send(*served.Client(), Post(large));
    if (answer) answered = answer->body;
  });
  served.AwaitSlow();
  HttpRequest quick = Post("{}");
  quick.timeout = Duration(20'000);
  EXPECT_TRUE(Send(*served.Client(), quick));
  served.MayAnswer();
  slow.join();
  EXPECT_EQ(answered, large);
}

// Keeps the second thread busy until the server may answer.
class Busy {
 public:
  explicit Busy(Served& served, std::size_t size = 100'000) : client_(served.port()) {
    client_.Announce(size);
    EXPECT_TRUE(
        client_.Say(std::string(Served::kSlow) + std::string(size - Served::kSlow.size(), ' ')));
    served.AwaitSlow();
  }
  SlowClient& client() { return client_; }

 private:
  SlowClient client_;
};

TEST(WebhookServer, ALargeReviewThatWaitsIsNotCutOffByThoseAfterIt) {
  Served served(kPatient);
  Busy busy(served);
  SlowClient waiting(served.port());
  waiting.Announce(100'000);
  ASSERT_TRUE(waiting.Say(std::string(100'000, ' ')));
  for (int i = 0; i < 5; ++i) {
    SlowClient later(served.port());
    later.Announce(900'000);
    later.Say(std::string(900'000, ' '));
    EXPECT_EQ(later.Hear(), "") << i << ": three don't fit";
  }
  served.MayAnswer();
  EXPECT_EQ(busy.client().Hear().rfind("HTTP/1.1 200 OK", 0), 0u);
  EXPECT_EQ(waiting.Hear().rfind("HTTP/1.1 200 OK", 0), 0u);
  EXPECT_EQ(served.handled(), 2) << "what is cut off isn't kept, nor answered";
}

TEST(WebhookServer, LargeReviewsThatWaitShutNobodyOut) {
  Served served(kPatient);
  Busy busy(served, 500'000);
  SlowClient waiting(served.port());
  waiting.Announce(500'000);
  ASSERT_TRUE(waiting.Say(std::string(500'000, ' ')));
  const auto quick = served.Client();
  for (const std::size_t size : {2u, 60'000u}) {
    const auto answer = Send(*quick, Post(std::string(size, ' ')));
    ASSERT_TRUE(answer) << size << ": " << answer.error().message;
  }
  SlowClient later(served.port());
  later.Announce(100'000);
  ASSERT_TRUE(later.Say(std::string(100'000, ' ')));
  EXPECT_EQ(waiting.Hear(), "") << "the largest that waits goes";
  served.MayAnswer();
  EXPECT_EQ(busy.client().Hear().rfind("HTTP/1.1 200 OK", 0), 0u);
  EXPECT_EQ(later.Hear().rfind("HTTP/1.1 200 OK", 0), 0u);
}

TEST(WebhookServer, WhatTheSecondThreadHasCountsThoughItsConnectionIsClosed) {
  auto limits = kPatient;
  limits.connections = 2;
  Served served(limits);
  Busy busy(served, 600'000);
  SlowClient second(served.port());
  second.Announce(600'000);
  const SlowClient third(served.port());  // displaces what takes longest
  EXPECT_EQ(busy.client().Hear(), "");
  second.Say(std::string(600'000, ' '));
  EXPECT_EQ(second.Hear(), "") << "both don't fit";
  served.MayAnswer();
}

TEST(WebhookServer, ALargeReviewWaitsOnlySoLong) {
  Served served({.request = 1s});
  const Busy busy(served);
  SlowClient waiting(served.port());
  waiting.Announce(100'000);
  ASSERT_TRUE(waiting.Say(std::string(100'000, ' ')));
  EXPECT_EQ(waiting.Hear(), "");
  EXPECT_EQ(served.handled(), 1);
  served.MayAnswer();
  EXPECT_TRUE(Send(*served.Client(), Post(std::string(100'000, ' '))));
}

TEST(WebhookServer, AFailureInEitherThreadCostsOneConnection) {
  const Served served;
  for (const std::size_t size : {1'000u, 100'000u}) {
    const auto client = served.Client();
    EXPECT_FALSE(Send(*client, Post(std::string(Served::kThrows) + std::string(size, ' '))));
    EXPECT_TRUE(Send(*client, Post(std::string(size, ' '))));
  }
}

TEST(WebhookServer, EndsThoughALargeReviewIsBeingAnswered) {
  auto served = std::make_unique<Served>(WebhookServer::Limits{.last_answers = 0s});
  const auto client = served->Client();
  std::jthread slow([&] {
    EXPECT_FALSE(Send(*client, Post(std::string(Served::kSlow) + std::string(100'000, ' '))));
  });
  served->AwaitSlow();
  std::list<SlowClient> waiting;
  for (int i = 0; i < 3; ++i) {
    waiting.emplace_back(served->port()).Announce(100'000);
    EXPECT_TRUE(waiting.back().Say(std::string(100'000, ' ')));
  }
  served->Stop();
  served->Join();
  served->MayAnswer();
  served.reset();
}

TEST(WebhookServer, RefusesABodyThatIsMoreThanAllMayBe) {
  const Served served({.bodies = 1'000});
  const auto client = served.Client();
  for (const std::size_t size :
       {1'001u, 5u << 20}) {  // the second doesn't fit into the sockets' buffers
    const auto answer = Send(*client, Post(std::string(size, ' ')));
    ASSERT_TRUE(answer) << size << ": " << answer.error().message;
    EXPECT_EQ(answer->status, 413);
  }
  EXPECT_EQ(Send(*client, Post(std::string(1'000, ' ')))->status, 200);
}

TEST(WebhookServer, AnswersPlainHttpPlainly) {
  const Served served;
  ClientConnection client(served.port());
  ASSERT_TRUE(client.Send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"));
  const std::string answer = client.ReadAll();
  EXPECT_EQ(answer.rfind("HTTP/1.1 400 ", 0), 0u) << answer;
  EXPECT_NE(answer.find("this port speaks HTTPS"), std::string::npos);
}

TEST(WebhookServer, EndsAHandshakeThatTakesTooLong) {
  const Served served({.handshake = 1s});
  ClientConnection client(served.port());
  ASSERT_TRUE(client.Send(std::string("\x16\x03\x01", 3)));
  EXPECT_EQ(client.ReadAll(), "");
}

TEST(WebhookServer, MakesRoomForANewConnection) {
  const Served served({.connections = 8, .handshake = std::chrono::hours(1)});
  std::list<ClientConnection> idle;
  for (int i = 0; i < 50; ++i) {
    EXPECT_TRUE(idle.emplace_back(served.port()).connected());
    if (i % 10 == 0) {
      const auto answer = Send(*served.Client(), Post("{}"));
      ASSERT_TRUE(answer) << i << ": " << answer.error().message;
    }
  }
  EXPECT_TRUE(Send(*served.Client(), Post("{}")));
  EXPECT_EQ(idle.front().ReadAll(), "") << "it is there still";
}

TEST(WebhookServer, ServedConnectionsThatAreIdleHaveNoNewcomerDisplaced) {
  const Served served({.connections = 4, .handshake = std::chrono::hours(1)});
  std::list<SlowClient> idle;
  for (int i = 0; i < 3; ++i) {
    idle.emplace_back(served.port()).Announce(2);
    ASSERT_TRUE(idle.back().Say("{}"));
    for (std::string heard; heard.find("{}") == std::string::npos;) {
      ASSERT_NE(heard += idle.back().Hear(), "");
    }
  }
  SlowClient newcomer(served.port());
  const ClientConnection next(served.port());
  EXPECT_EQ(idle.front().Hear(), "") << "it is idle for longest";
  newcomer.Announce(2);
  ASSERT_TRUE(newcomer.Say("{}"));
  EXPECT_EQ(newcomer.Hear().rfind("HTTP/1.1 200 OK", 0), 0u);
}

TEST(WebhookServer, MakesRoomWhereAllAreBusyButNotAtTheCostOfTheLatestRequest) {
  auto limits = kPatient;
  limits.connections = 3;
  const Served served(limits);
  SlowClient oldest(served.port());
  oldest.Announce(2);
  ASSERT_TRUE(oldest.Say("{}"));
  for (std::string heard; heard.find("{}") == std::string::npos;) {
    ASSERT_NE(heard += oldest.Hear(), "");
  }
  SlowClient first(served.port());
  first.Announce(2);
  SlowClient second(served.port());
  second.Announce(2);
  oldest.Announce(2);
  EXPECT_TRUE(Send(*served.Client(), Post("{}")));
  EXPECT_EQ(first.Hear(), "");
  ASSERT_TRUE(oldest.Say("{}"));
  EXPECT_EQ(oldest.Hear().rfind("HTTP/1.1 200 OK", 0), 0u);
}

TEST(WebhookServer, UsesANewCertificateForNewConnections) {
  Served served;
  const auto old_client = served.Client();
  ASSERT_TRUE(Send(*old_client, Post("{}")));
  served.Rotate();
  EXPECT_TRUE(Send(*old_client, Post("{}"))) << "its connection is the same";
  EXPECT_TRUE(Send(*served.Client("two"), Post("{}")));
  EXPECT_FALSE(Send(*served.Client("one"), Post("{}")));
}

TEST(WebhookServer, ServesOnForAWhileWhenToldToStop) {
  Served served({}, 300ms);
  const auto client = served.Client();
  ASSERT_TRUE(Send(*client, Post("{}")));
  served.Stop();
  EXPECT_TRUE(Send(*client, Post("{}")));
  EXPECT_TRUE(Send(*served.Client(), Post("{}")));
  EXPECT_FALSE(served.ended());
  served.Join();
  EXPECT_TRUE(served.ended());
  EXPECT_FALSE(Send(*client, Post("{}")));
}

TEST(WebhookServer, SaysWhyItCanNotListen) {
  const Served served;
  prometheus::Registry registry;
  AdmissionMetrics metrics(registry, "1", "2");
  WebhookServer second(*ParseListenAddress("127.0.0.1:" + std::to_string(served.port())),
                       *LoadTlsCertificate(Shared().Files("one")), {}, metrics, {});
  // SO_REUSEADDR may let both bind the port, but not listen on it.
  const auto error = second.Start();
  ASSERT_TRUE(error);
  EXPECT_NE(error->find("127.0.0.1:"), std::string::npos) << *error;
}

TEST(LoadTlsCertificate, KnowsOneThatIsValidForCenturies) {
  const auto loaded = LoadTlsCertificate(Shared().Files("beyond2262"));
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_GT(loaded->expires, SystemClock().WallNow() + std::chrono::years(100));
}

TEST(LoadTlsCertificate, NamesTheFileThatIsWrong) {
  const auto error = [](const std::string& certificate, const std::string& key) {
    const auto loaded = LoadTlsCertificate({Shared().Path(certificate), Shared().Path(key)});
    return loaded ? "" : loaded.error().message;
  };
  EXPECT_EQ(error("one.crt", "one.key"), "");
  EXPECT_NE(error("none.crt", "one.key").find("none.crt can't be read"), std::string::npos);
  EXPECT_NE(error("one.crt", "none.key").find("none.key can't be read"), std::string::npos);
  EXPECT_NE(error("one.key", "one.key").find("no certificate chain"), std::string::npos);
  EXPECT_NE(error("one.crt", "one.crt").find("no private key"), std::string::npos);
  EXPECT_NE(error("one.crt", "two.key").find("is not the key"), std::string::npos);
}

}  // namespace
}  // namespace cluster_watcher

#include "metrics/http/metrics_endpoint.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <fstream>
#include <iomanip>
#include <list>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "metrics/http/exposition.h"
#include "metrics/http/listen_address.h"
#include "metrics/watcher_metrics.h"

namespace cluster_watcher {
namespace {

// One connection from this machine, with a raw view of what comes back.
class Client {
 public:
  explicit Client(std::uint16_t port, int family = AF_INET, const char* source = "127.0.0.1",
                  int receive_buffer = 0)
      : fd_(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (receive_buffer != 0) {
      ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    }
    const timeval patience{20, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    ::inet_pton(AF_INET, source, &v4.sin_addr);
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    v6.sin6_addr = in6addr_loopback;
    if (family == AF_INET6) {
      connected_ = ::connect(fd_, reinterpret_cast<const sockaddr*>(&v6), sizeof v6) == 0;
      return;
    }
    ::bind(fd_, reinterpret_cast<const sockaddr*>(&v4), sizeof v4);
    v4.sin_port = htons(port);
    v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(fd_, reinterpret_cast<const sockaddr*>(&v4), sizeof v4) == 0;
  }
  ~Client() { ::close(fd_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  bool connected() const { return connected_; }

  void Send(const std::string& text) {
    ASSERT_EQ(::send(fd_, text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }

  // As much as there is room for, waiting for none; false: the connection broke.
  bool Offer(const std::string& text) {
    return ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0 ||
           errno == EAGAIN;
  }

  // One byte; false: the connection is at its end.
  bool ReadByte() {
    char byte = 0;
    return ::recv(fd_, &byte, 1, 0) == 1;
  }

  // The end that the server is told of at once, whatever is on its way.
  void Reset() {
    const linger drop{1, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &drop, sizeof drop);
    ::close(std::exchange(fd_, -1));
  }

  // All that comes until the server closes its side.
  std::string ReadAll() {
    std::string all;
    std::array<char, 65536> room;
    while (true) {
      const ssize_t count = ::recv(fd_, room.data(), room.size(), 0);
      if (count < 0) return all + " [the connection broke]";
      if (count == 0) return all;
      all.append(room.data(), static_cast<std::size_t>(count));
    }
  }

 private:
  int fd_;
  bool connected_ = false;
};

bool HasIpv6Loopback() {
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_loopback;
  const int fd = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool has = ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  ::close(fd);
  return has;
}

std::string Exchange(std::uint16_t port, const std::string& request, int family = AF_INET,
                     const char* source = "127.0.0.1") {
  Client client(port, family, source);
  if (!client.connected()) return "not connected";
  client.Send(request);
  return client.ReadAll();
}

std::string Head(const std::string& answer) { return answer.substr(0, answer.find("\r\n\r\n")); }

std::string Body(const std::string& answer) {
  const std::size_t end = answer.find("\r\n\r\n");
  return end == std::string::npos ? "no body" : answer.substr(end + 4);
}

std::string StatusLine(const std::string& answer) { return answer.substr(0, answer.find("\r\n")); }

std::string WithPort(std::string host, std::uint16_t port) {
  return host.append(":").append(std::to_string(port));
}

std::string InUse(const std::string& address) {
  return std::string("listen on ").append(address).append(": Address already in use");
}

bool HasHeader(const std::string& answer, const std::string& line) {
  return (Head(answer) + "\r\n").find("\r\n" + line + "\r\n") != std::string::npos;
}

class MetricsEndpointTest : public testing::Test {
 protected:
  std::unique_ptr<MetricsEndpoint> Make(std::string address, EndpointLimits limits = {}) {
    return std::make_unique<MetricsEndpoint>(
        std::move(address), std::vector<const prometheus::Collectable*>{&metrics_},
        Health{[this] { return alive_.load(); }, [this] { return ready_.load(); }}, limits);
  }

  void Serve(std::string address = "127.0.0.1:0", EndpointLimits limits = {}) {
    endpoint_ = Make(std::move(address), limits);
    ASSERT_EQ(endpoint_->Start(), std::nullopt);
    ASSERT_NE(port(), 0);
  }

  std::uint16_t port() const { return endpoint_->port(); }

  std::string Ask(const std::string& method, const std::string& target,
                  const std::string& headers = "") const {
    return Exchange(port(),
                    method + " " + target + " HTTP/1.1\r\nHost: watcher\r\n" + headers + "\r\n");
  }

  prometheus::Registry registry_;
  WatcherMetrics metrics_{registry_, "1.2.3", "0a1b2c3"};
  std::atomic<bool> alive_ = true;
  std::atomic<bool> ready_ = true;
  std::unique_ptr<MetricsEndpoint> endpoint_;
};

TEST_F(MetricsEndpointTest, ServesTheMetrics) {
  Serve();
  const std::string answer = Ask("GET", "/metrics");
  const prometheus::Collectable* const sources[] = {&metrics_};
  EXPECT_EQ(StatusLine(answer), "HTTP/1.1 200 OK");
  EXPECT_TRUE(HasHeader(answer, "Content-Type: text/plain; version=0.0.4; charset=utf-8"));
  EXPECT_TRUE(HasHeader(answer, "Content-Length: " + std::to_string(Body(answer).size())));
  EXPECT_TRUE(HasHeader(answer, "Connection: close"));
  EXPECT_EQ(Body(answer), Exposition(sources));
}

TEST_F(MetricsEndpointTest, ServesTheFormatThatIsLikedBest) {
  Serve();
  const prometheus::Collectable* const sources[] = {&metrics_};
  const std::string open_metrics = Exposition(sources, ExpositionFormat::kOpenMetrics);
  const std::string wish = "Accept: application/openmetrics-text;version=1.0.0,*/*;q=0.1\r\n";
  const std::string answer = Ask("GET", "/metrics", wish);
  EXPECT_TRUE(HasHeader(answer,
                        "Content-Type: application/openmetrics-text; version=1.0.0; "
                        "charset=utf-8"));
  EXPECT_TRUE(HasHeader(answer, "Vary: Accept"));
  EXPECT_TRUE(HasHeader(Ask("GET", "/metrics"), "Vary: Accept"));
  EXPECT_EQ(Body(answer), open_metrics);
  const std::string head = Ask("HEAD", "/metrics", wish);
  EXPECT_TRUE(HasHeader(head, "Content-Length: " + std::to_string(open_metrics.size())));
  EXPECT_EQ(Body(head), "");
  const std::string weak = "ACCEPT: text/plain;q=0.3\r\n";
  const std::string strong = "accept: application/openmetrics-text\r\n";
  EXPECT_EQ(Body(Ask("GET", "/metrics", weak + strong)), open_metrics) << "they are one list";
  EXPECT_EQ(Body(Ask("GET", "/metrics", strong + weak)), open_metrics);
  EXPECT_EQ(Body(Ask("GET", "/metrics", "Accept: image/png\r\n")), Exposition(sources));
}

TEST_F(MetricsEndpointTest, AnswersInFullWhateverTheQuery) {
  Serve();
  const std::string all = Body(Ask("GET", "/metrics"));
  for (const char* query : {"?name[]=cluster_watcher_phase", "?", "?name%5B%5D=x&y", "?a=b#c"}) {
    EXPECT_EQ(Body(Ask("GET", std::string("/metrics") + query)), all) << query;
  }
}

TEST_F(MetricsEndpointTest, EveryScrapeIsFresh) {
  Serve();
  metrics_.SetOwnerReplicas(1);
  EXPECT_NE(Ask("GET", "/metrics").find("\ncluster_watcher_owner_replicas 1\n"), std::string::npos);
  metrics_.SetOwnerReplicas(2);
  EXPECT_NE(Ask("GET", "/metrics?x=y").find("\ncluster_watcher_owner_replicas 2\n"),
            std::string::npos);
}

TEST_F(MetricsEndpointTest, HealthzSaysWhetherTheLoopTurns) {
  Serve();
  EXPECT_EQ(StatusLine(Ask("GET", "/healthz")), "HTTP/1.1 200 OK");
  EXPECT_EQ(Body(Ask("GET", "/healthz")), "ok\n");
  alive_ = false;
  EXPECT_EQ(StatusLine(Ask("GET", "/healthz")), "HTTP/1.1 503 Service Unavailable");
  EXPECT_EQ(Body(Ask("GET", "/healthz")), "the watch loop has not turned for too long\n");
  EXPECT_EQ(StatusLine(Ask("GET", "/readyz")), "HTTP/1.1 200 OK");
}

TEST_F(MetricsEndpointTest, ReadyzSaysWhetherAPollWasDefinite) {
  Serve();
  EXPECT_EQ(Body(Ask("GET", "/readyz")), "ok\n");
  ready_ = false;
  EXPECT_EQ(StatusLine(Ask("GET", "/readyz")), "HTTP/1.1 503 Service Unavailable");
  EXPECT_EQ(Body(Ask("GET", "/readyz")),
            "no poll has been definite yet, or the settings contradict each other\n");
  EXPECT_EQ(StatusLine(Ask("GET", "/healthz")), "HTTP/1.1 200 OK");
}

TEST_F(MetricsEndpointTest, TheIndexLinksThePaths) {
  Serve();
  const std::string answer = Ask("GET", "/");
  EXPECT_EQ(StatusLine(answer), "HTTP/1.1 200 OK");
  EXPECT_TRUE(HasHeader(answer, "Content-Type: text/html; charset=utf-8"));
  for (const char* path : {"/metrics", "/healthz", "/readyz"}) {
    EXPECT_NE(Body(answer).find(std::string("href=\"") + path + '"'), std::string::npos) << path;
  }
}

TEST_F(MetricsEndpointTest, HeadIsGetWithoutTheBody) {
  Serve();
  for (const char* path : {"/", "/metrics", "/healthz", "/readyz", "/nothing"}) {
    const std::string got = Ask("GET", path);
    const std::string head = Ask("HEAD", path);
    EXPECT_EQ(StatusLine(head), StatusLine(got)) << path;
    EXPECT_TRUE(HasHeader(head, "Content-Length: " + std::to_string(Body(got).size()))) << path;
    EXPECT_EQ(Body(head), "") << path;
  }
}

TEST_F(MetricsEndpointTest, OtherPathsAreNotFound) {
  Serve();
  for (const char* path :
       {"/metrics/", "/Metrics", "/healthz/..", "//metrics", "/../etc/passwd", "/favicon.ico"}) {
    EXPECT_EQ(StatusLine(Ask("GET", path)), "HTTP/1.1 404 Not Found") << path;
  }
  EXPECT_EQ(StatusLine(Ask("POST", "/nothing")), "HTTP/1.1 404 Not Found");
}

TEST_F(MetricsEndpointTest, OtherMethodsAreNotAllowed) {
  Serve();
  for (const char* method : {"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"}) {
    const std::string answer = Ask(method, "/metrics");
    EXPECT_EQ(StatusLine(answer), "HTTP/1.1 405 Method Not Allowed") << method;
    EXPECT_TRUE(HasHeader(answer, "Allow: GET, HEAD")) << method;
  }
}

TEST_F(MetricsEndpointTest, AnAnswerSurvivesABodyThatNobodyReads) {
  Serve();
  Client client(port());
  client.Send("POST /metrics HTTP/1.1\r\nHost: w\r\nContent-Length: 100000\r\n\r\n" +
              std::string(100'000, 'x'));
  EXPECT_EQ(StatusLine(client.ReadAll()), "HTTP/1.1 405 Method Not Allowed");
}

TEST_F(MetricsEndpointTest, WhatIsNotHttp1IsRefused) {
  Serve();
  for (const char* text : {"hello\r\n\r\n", "\x16\x03\x01\x02\n\n", "GET\r\n\r\n"}) {
    EXPECT_EQ(Exchange(port(), text), "") << text;
  }
  EXPECT_EQ(StatusLine(Exchange(port(), "PRI * HTTP/2.0\r\n\r\n")),
            "HTTP/1.1 505 HTTP Version Not Supported");
  EXPECT_EQ(Body(Ask("GET", "/healthz")), "ok\n");
}

TEST_F(MetricsEndpointTest, ARequestIsBounded) {
  Serve();
  const std::string x(20'000, 'x');
  EXPECT_EQ(StatusLine(Exchange(port(), "GET / HTTP/1.1\r\nX: " + x)),
            "HTTP/1.1 431 Request Header Fields Too Large");
  EXPECT_EQ(StatusLine(Exchange(port(), "GET / HTTP/1.1\r\nX: " + x + "\r\n\r\n")),
            "HTTP/1.1 431 Request Header Fields Too Large");
  EXPECT_EQ(StatusLine(Exchange(port(), "GET /" + x + " HTTP/1.1\r\n\r\n")),
            "HTTP/1.1 414 URI Too Long");
  EXPECT_EQ(Body(Ask("GET", "/healthz")), "ok\n");
}

TEST_F(MetricsEndpointTest, ARequestMayComeInPieces) {
  Serve();
  Client client(port());
  for (char c : std::string("GET /healthz HTTP/1.1\r\nHost: w\r\n\r\n")) {
    client.Send(std::string(1, c));
  }
  EXPECT_EQ(Body(client.ReadAll()), "ok\n");
}

TEST_F(MetricsEndpointTest, ASlowClientDoesNotHoldUpOthers) {
  Serve();
  Client silent(port());
  Client slow(port());
  slow.Send("GET /healthz HT");
  for (int i = 0; i < 10; ++i) EXPECT_EQ(Body(Ask("GET", "/healthz")), "ok\n");
  slow.Send("TP/1.1\r\n\r\n");
  EXPECT_EQ(Body(slow.ReadAll()), "ok\n");
}

TEST_F(MetricsEndpointTest, ASilentClientIsCutOff) {
  Serve();
  const auto start = std::chrono::steady_clock::now();
  Client silent(port());
  EXPECT_EQ(silent.ReadAll(), "");
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
}

// Longer than the machine takes for anything, and shorter than the 3 s after which whoever is
// silent is gone in any case.
constexpr std::chrono::milliseconds kPrompt(2000);

class Stopwatch {
 public:
  std::chrono::steady_clock::duration Elapsed() const {
    return std::chrono::steady_clock::now() - start_;
  }

 private:
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

std::string LoopbackAddress(int number) { return "127.0.1." + std::to_string(number); }

TEST_F(MetricsEndpointTest, AClientThatHoldsManyConnectionsDoesNotHoldUpOthers) {
  Serve();
  const Stopwatch stopwatch;
  std::list<Client> greedy;
  for (int i = 0; i < 200; ++i) greedy.emplace_back(port(), AF_INET, "127.0.0.2");
  EXPECT_EQ(Body(Ask("GET", "/healthz")), "ok\n");
  greedy.back().Send("GET /healthz HTTP/1.1\r\n\r\n");
  EXPECT_EQ(Body(greedy.back().ReadAll()), "ok\n") << "not even its own last one";
  EXPECT_LT(stopwatch.Elapsed(), kPrompt) << "somebody waited until others were cut off";
}

TEST_F(MetricsEndpointTest, ManyClientsThatHoldManyConnectionsDoNotHoldUpOthers) {
  Serve();
  const Stopwatch stopwatch;
  Client early(port(), AF_INET, "127.0.0.2");
  early.Send("GET /healthz HTTP/1.1\r\n");
  std::list<Client> greedy;
  for (int i = 0; i < 300; ++i) {
    const std::string address = LoopbackAddress(1 + i % 60);
    greedy.emplace_back(port(), AF_INET, address.c_str());
    greedy.back().Send("GET /metrics HTTP/1.1\r\nX: ");
  }
  EXPECT_EQ(Body(Ask("GET", "/healthz")), "ok\n");
  early.Send("\r\n");
  EXPECT_EQ(Body(early.ReadAll()), "ok\n") << "it held one, they held more";
  EXPECT_LT(stopwatch.Elapsed(), kPrompt);
}

TEST_F(MetricsEndpointTest, AsManyAddressesAsItTakesDoNotHoldUpOthers) {
  Serve();
  const Stopwatch stopwatch;
  std::list<Client> silent;
  for (int i = 1; i <= 200; ++i) {
    const std::string address = LoopbackAddress(i);
    silent.emplace_back(port(), AF_INET, address.c_str());
  }
  EXPECT_EQ(Body(Ask("GET", "/healthz")), "ok\n");
  EXPECT_LT(stopwatch.Elapsed(), kPrompt);
}

// The process may have room for fewer than the endpoint would take.
TEST_F(MetricsEndpointTest, APlaceThatBecomesFreeIsTakenAtOnce) {
  Serve();
  auto held = std::make_unique<Client>(port());
  held->Send("GET /healthz HTTP/1.1\r\n");
  EXPECT_EQ(Body(Ask("GET", "/healthz")), "ok\n");  // So it has been taken in.
  const int next = ::dup(STDIN_FILENO);
  ::close(next);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit one_more = before;
  one_more.rlim_cur = static_cast<rlim_t>(next) + 1;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &one_more), 0);
  Client waiting(port());
  ASSERT_TRUE(waiting.connected());
  waiting.Send("GET /healthz HTTP/1.1\r\n\r\n");
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // It is tried in vain.
  const Stopwatch stopwatch;
  held.reset();
  EXPECT_EQ(Body(waiting.ReadAll()), "ok\n");
  EXPECT_LT(stopwatch.Elapsed(), kPrompt);
  ::setrlimit(RLIMIT_NOFILE, &before);
}

TEST_F(MetricsEndpointTest, AConnectionHasItsTimeWhateverItDoes) {
  Serve("127.0.0.1:0", {.connection_age = std::chrono::milliseconds(300)});
  const Stopwatch stopwatch;
  Client head(port());
  Client body(port());
  Client chunks(port());
  head.Send("GET /healthz HTTP/1.1\r\nX: ");
  body.Send("POST /healthz HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n");
  chunks.Send("POST /healthz HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n");
  while (head.Offer("x") && stopwatch.Elapsed() < kPrompt) {
    body.Offer("x");
    chunks.Offer("1\r\nx\r\n");
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_FALSE(body.ReadByte());
  EXPECT_FALSE(chunks.ReadByte());
  EXPECT_GE(stopwatch.Elapsed(), std::chrono::milliseconds(300));
  EXPECT_LT(stopwatch.Elapsed(), kPrompt);
  EXPECT_EQ(Body(Ask("GET", "/healthz")), "ok\n");
}

TEST_F(MetricsEndpointTest, AConnectionHasItsTimeAlsoWhereItDoesNothing) {
  Serve("127.0.0.1:0", {.connection_age = std::chrono::milliseconds(300)});
  const Stopwatch stopwatch;
  Client silent(port());
  silent.ReadAll();
  EXPECT_LT(stopwatch.Elapsed(), kPrompt);
}

TEST_F(MetricsEndpointTest, ABodyIsBounded) {
  Serve();
  for (const char* coding : {"Content-Length: 1000000000000", "Transfer-Encoding: chunked"}) {
    Client client(port());
    client.Send(std::string("POST /metrics HTTP/1.1\r\nHost: w\r\n") + coding + "\r\n\r\n");
    const std::string piece = "8000\r\n" + std::string(0x8000, 'x') + "\r\n";
    const Stopwatch stopwatch;
    while (client.Offer(piece) && stopwatch.Elapsed() < kPrompt) {
    }
    EXPECT_LT(stopwatch.Elapsed(), kPrompt) << coding;
  }
  EXPECT_EQ(Body(Ask("GET", "/healthz")), "ok\n");
}

// How many of the connections to this port on 127.0.0.1 the kernel has in `state`, in hexadecimal
// digits: what has been answered and closed it keeps until it is read.
int InState(std::uint16_t port, const std::string& state) {
  std::ostringstream local;
  local << ": 0100007F:" << std::uppercase << std::hex << std::setw(4) << std::setfill('0') << port;
  std::ifstream table("/proc/net/tcp");
  int count = 0;
  for (std::string line; std::getline(table, line);) {
    const std::size_t found = line.find(local.str());
    if (found == std::string::npos) continue;
    // The other side's address and port are as long.
    if (line.substr(found + 2 * local.str().size(), state.size()) == state) ++count;
  }
  return count;
}

TEST_F(MetricsEndpointTest, AnAnswerThatNobodyReadsIsNotKept) {
  Serve("127.0.0.1:0", {.connection_age = std::chrono::milliseconds(500)});
  constexpr const char* kFinWait1 = "04";
  std::list<Client> lazy;
  for (int i = 0; i < 10; ++i) {
    lazy.emplace_back(port(), AF_INET, "127.0.0.1", 2048);
    lazy.back().Send("GET /metrics HTTP/1.1\r\n\r\n");
  }
  const Stopwatch stopwatch;  // By itself the kernel keeps it for more than a minute.
  while (InState(port(), kFinWait1) < 10 && stopwatch.Elapsed() < kPrompt) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ASSERT_EQ(InState(port(), kFinWait1), 10);
  while (InState(port(), kFinWait1) > 0 && stopwatch.Elapsed() < std::chrono::seconds(30)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(InState(port(), kFinWait1), 0);
}

TEST_F(MetricsEndpointTest, WhatFollowsARequestIsDropped) {
  Serve();
  const std::string request = "GET /healthz HTTP/1.1\r\nHost: w\r\n\r\n";
  std::string many;
  for (int i = 0; i < 100; ++i) many += request;
  EXPECT_EQ(Body(Exchange(port(), request + request)), "ok\n");
  Client client(port());
  client.Send(many);
  EXPECT_EQ(StatusLine(client.ReadAll()), "HTTP/1.1 200 OK");
  EXPECT_EQ(Body(Ask("GET", "/healthz")), "ok\n");
}

TEST_F(MetricsEndpointTest, Http10IsAnswered) {
  Serve();
  const std::string answer = Exchange(port(), "GET /metrics HTTP/1.0\r\n\r\n");
  EXPECT_NE(StatusLine(answer).find(" 200 OK"), std::string::npos);
  EXPECT_EQ(Body(answer), Body(Ask("GET", "/metrics")));
}

TEST_F(MetricsEndpointTest, AResetIsNothing) {
  Serve();
  for (const char* part :
       {"", "GET", "GET /metrics HTTP/1.1\r\nX: y", "GET /metrics HTTP/1.1\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: 9"
        "\r\n\r\nx"}) {
    for (int i = 0; i < 100; ++i) {
      Client client(port());
      client.Send(part);
      client.Reset();
    }
  }
  EXPECT_EQ(Body(Ask("GET", "/healthz")), "ok\n");
}

// Whether somebody has scraped twice from one address.
bool HasRegularScraper(const MetricsEndpoint& endpoint) {
  return endpoint.scrapers().NextExpected(Scrapers::Time::max(), Scrapers::Time()).has_value();
}

TEST_F(MetricsEndpointTest, TakesNoteOfWhoScrapes) {
  Serve();
  const std::string scrape = "GET /metrics HTTP/1.1\r\nHost: w\r\n\r\n";
  for (int i = 0; i < 2; ++i) {
    Ask("HEAD", "/metrics");
    Ask("POST", "/metrics");
    Ask("GET", "/healthz");
    Ask("GET", "/metrics/");
  }
  Exchange(port(), scrape, AF_INET, "127.0.0.2");
  Exchange(port(), scrape, AF_INET, "127.0.0.3");
  EXPECT_FALSE(HasRegularScraper(*endpoint_));
  const auto before = std::chrono::steady_clock::now();
  Exchange(port(), scrape, AF_INET, "127.0.0.2");
  const auto after = std::chrono::steady_clock::now();
  EXPECT_TRUE(HasRegularScraper(*endpoint_));
  EXPECT_TRUE(endpoint_->scrapers().NextExpected(after, before).has_value());
  EXPECT_FALSE(endpoint_->scrapers().NextExpected(before, after).has_value()) << "it has seen it";
}

// Sources beside the watcher's own.
class LargeSource : public prometheus::Collectable {
 public:
  std::vector<prometheus::MetricFamily> Collect() const override {
    return {{"large", std::string(8'000'000, 'x'), prometheus::MetricType::Gauge, {{}}}};
  }
};

class ThrowingSource : public prometheus::Collectable {
 public:
  std::vector<prometheus::MetricFamily> Collect() const override {
    throw std::runtime_error("no luck");
  }
};

TEST(MetricsEndpointSourcesTest, AClientThatReadsLateGetsAllAndHoldsNobodyUp) {
  const LargeSource large;
  MetricsEndpoint endpoint("127.0.0.1:0", {&large}, {});
  ASSERT_EQ(endpoint.Start(), std::nullopt);
  Client late(endpoint.port());
  late.Send("GET /metrics HTTP/1.1\r\n\r\n");
  EXPECT_EQ(Body(Exchange(endpoint.port(), "GET /healthz HTTP/1.1\r\n\r\n")), "ok\n");
  EXPECT_EQ(Body(late.ReadAll()).size(),
            8'000'000 + std::string("# HELP large \n# TYPE large gauge\nlarge 0\n").size());
}

TEST(MetricsEndpointSourcesTest, AReaderHasItsTimeAndNoScrape) {
  const LargeSource large;
  MetricsEndpoint endpoint("127.0.0.1:0", {&large}, {},
                           {.connection_age = std::chrono::milliseconds(300)});
  ASSERT_EQ(endpoint.Start(), std::nullopt);
  const Stopwatch stopwatch;
  std::list<Client> late;
  for (int i = 0; i < 2; ++i) {
    late.emplace_back(endpoint.port(), AF_INET, "127.0.0.1", 4096);
    late.back().Send("GET /metrics HTTP/1.1\r\n\r\n");
  }
  while (stopwatch.Elapsed() < std::chrono::seconds(1)) {
    late.front().ReadByte();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  for (Client& client : late) EXPECT_LT(client.ReadAll().size(), 8'000'000u) << "nobody cut it off";
  EXPECT_FALSE(HasRegularScraper(endpoint)) << "it was not sent whole";
}

TEST(MetricsEndpointSourcesTest, AFailureToCollectIsAnAnswer) {
  const ThrowingSource throwing;
  MetricsEndpoint endpoint("127.0.0.1:0", {&throwing}, {});
  ASSERT_EQ(endpoint.Start(), std::nullopt);
  const std::string answer = Exchange(endpoint.port(), "GET /metrics HTTP/1.1\r\n\r\n");
  EXPECT_EQ(StatusLine(answer), "HTTP/1.1 500 Internal Server Error");
  EXPECT_EQ(Body(answer), "the answer could not be made: no luck\n");
}

TEST_F(MetricsEndpointTest, AnEmptyHostIsEveryInterface) {
  Serve(":0");
  const std::string request = "GET /healthz HTTP/1.1\r\n\r\n";
  EXPECT_EQ(Body(Exchange(port(), request)), "ok\n");
  if (!HasIpv6Loopback()) GTEST_SKIP() << "no IPv6 here";
  EXPECT_EQ(Body(Exchange(port(), request, AF_INET6)), "ok\n");
}

TEST_F(MetricsEndpointTest, AnIpv6AddressIsServed) {
  if (!HasIpv6Loopback()) GTEST_SKIP() << "no IPv6 here";
  const std::string request = "GET /healthz HTTP/1.1\r\n\r\n";
  Serve("[::1]:0");
  EXPECT_EQ(Body(Exchange(port(), request, AF_INET6)), "ok\n");
  EXPECT_EQ(Exchange(port(), request), "not connected");
  Serve("[::]:0");
  EXPECT_EQ(Body(Exchange(port(), request, AF_INET6)), "ok\n");
  EXPECT_EQ(Body(Exchange(port(), request)), "ok\n");
}

TEST_F(MetricsEndpointTest, APortInUseCanBeTriedAgain) {
  Serve();
  const std::string address = WithPort("127.0.0.1", port());
  const auto second = Make(address);
  EXPECT_EQ(second->Start(), InUse(address));
  EXPECT_EQ(second->port(), 0);
  endpoint_.reset();
  EXPECT_EQ(second->Start(), std::nullopt);
  EXPECT_EQ(WithPort("127.0.0.1", second->port()), address);
  EXPECT_EQ(second->Start(), std::nullopt) << "once it serves, to start again changes nothing";
}

TEST_F(MetricsEndpointTest, APortInUseOnEveryInterfaceIsNamedAsWritten) {
  Serve(":0");
  const std::string address = WithPort("", port());
  EXPECT_EQ(Make(address)->Start(), InUse(address));
}

TEST_F(MetricsEndpointTest, AnAddressThatIsNotOursIsAnError) {
  EXPECT_EQ(Make("192.0.2.1:0")->Start(), "listen on 192.0.2.1:0: Cannot assign requested address");
}

TEST_F(MetricsEndpointTest, AnAddressThatIsNoneIsAnError) {
  EXPECT_EQ(Make("9090")->Start(),
            "\"9090\" is no address to listen on: expected :PORT (all interfaces), IPV4:PORT or "
            "[IPV6]:PORT, with a port from 0 (the system chooses) to 65535");
}

TEST_F(MetricsEndpointTest, ItsThreadTakesNoSignals) {
  sigset_t usr1;
  sigset_t before;
  sigemptyset(&usr1);
  sigaddset(&usr1, SIGUSR1);
  Serve();
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &usr1, &before), 0);
  ASSERT_EQ(kill(getpid(), SIGUSR1), 0);  // A thread that doesn't block it would end the test.
  EXPECT_EQ(Body(Ask("GET", "/healthz")), "ok\n");
  int taken = 0;
  EXPECT_EQ(sigwait(&usr1, &taken), 0);
  EXPECT_EQ(taken, SIGUSR1);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST_F(MetricsEndpointTest, StopsWithClientsConnected) {
  Serve();
  Client silent(port());
  EXPECT_EQ(Body(Ask("GET", "/healthz")), "ok\n");
  endpoint_.reset();
  EXPECT_EQ(silent.ReadAll(), "");
}

TEST(ListenAddressTest, ReadsEveryForm) {
  const struct {
    const char* text;
    const char* host;
    int port;
  } cases[] = {{":9090", "", 9090},
               {":0", "", 0},
               {"127.0.0.1:1", "127.0.0.1", 1},
               {"0.0.0.0:65535", "0.0.0.0", 65535},
               {"[::]:9090", "::", 9090},
               {"[2001:db8::1]:80", "2001:db8::1", 80}};
  for (const auto& expected : cases) {
    const std::optional<ListenAddress> address = ParseListenAddress(expected.text);
    ASSERT_TRUE(address) << expected.text;
    EXPECT_EQ(address->text, expected.text);
    EXPECT_EQ(address->host, expected.host) << expected.text;
    EXPECT_EQ(address->port, expected.port) << expected.text;
    EXPECT_EQ(ListenAddressError(expected.text), std::nullopt);
  }
}

TEST(ListenAddressTest, NamesWhatIsNone) {
  for (const char* text : {"",
                           ":",
                           "9090",
                           "localhost:9090",
                           "127.0.0.1",
                           "127.0.0.1:",
                           "127.0.0.1:x",
                           ":65536",
                           ":-1",
                           ":+1",
                           ": 1",
                           ":1 ",
                           ":0x50",
                           "256.0.0.1:1",
                           "127.1:1",
                           "::1:9090",
                           "[::1]",
                           "[::1]9090",
                           "[]:9090",
                           "[:9090",
                           "]:9090",
                           "[127.0.0.1]:9090",
                           "[::1%lo]:9090",
                           "http://127.0.0.1:9090",
                           ":9090/metrics",
                           "[[::1]]:1"}) {
    EXPECT_FALSE(ParseListenAddress(text)) << text;
    const std::optional<std::string> error = ListenAddressError(text);
    ASSERT_TRUE(error) << text;
    EXPECT_TRUE(error->starts_with(std::string("\"") + text + "\" is no address")) << *error;
  }
}

}  // namespace
}  // namespace cluster_watcher

#include "metrics/http/metrics_endpoint.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <iomanip>
#include <memory>
#include <new>
#include <set>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "metrics/http/exposition.h"
#include "metrics/http/listen_address.h"
#include "metrics/watcher_metrics.h"
#include "test/unit/support/loopback.h"

namespace cluster_watcher {
namespace {

using Client = ClientConnection;

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

TEST_F(MetricsEndpointTest, EveryScrapeIsFreshAndInFullWhateverTheQuery) {
  Serve();
  const prometheus::Collectable* const sources[] = {&metrics_};
  for (const char* query : {"?name[]=cluster_watcher_phase", "?", "?name%5B%5D=x&y", "?a=b#c"}) {
    metrics_.SetOwnerReplicas(static_cast<int>(std::string(query).size()));
    EXPECT_EQ(Body(Ask("GET", std::string("/metrics") + query)), Exposition(sources)) << query;
  }
}

TEST_F(MetricsEndpointTest, HealthIsAskedForEachTime) {
  Serve();
  const struct {
    const char* path;
    std::atomic<bool>& health;
    const char* if_not;
    const char* other;
  } cases[] = {
      {"/healthz", alive_, "the watch loop has not turned for too long\n", "/readyz"},
      {"/readyz", ready_, "no poll has been definite yet, or the settings contradict each other\n",
       "/healthz"}};
  for (const auto& [path, health, if_not, other] : cases) {
    const std::string well = Ask("GET", path);
    EXPECT_EQ(StatusLine(well) + Body(well), "HTTP/1.1 200 OKok\n");
    health = false;
    const std::string ill = Ask("GET", path);
    EXPECT_EQ(StatusLine(ill), "HTTP/1.1 503 Service Unavailable");
    EXPECT_EQ(Body(ill), if_not);
    EXPECT_EQ(StatusLine(Ask("GET", other)), "HTTP/1.1 200 OK");
    health = true;
  }
}

TEST_F(MetricsEndpointTest, TheIndexLinksThePaths) {
  Serve();
  const std::string answer = Ask("GET", "/");
  EXPECT_EQ(StatusLine(answer), "HTTP/1.1 200 OK");
  EXPECT_TRUE(HasHeader(answer, "Content-Type: text/html; charset=utf-8"));
  for (const char* path : {"metrics", "healthz", "readyz"}) {
    EXPECT_NE(Body(answer).find(std::string("href=\"") + path + '"'), std::string::npos) << path;
  }
}

TEST_F(MetricsEndpointTest, ThePageIsMadeEachTimeAndLoadsNothing) {
  std::atomic<int> made = 0;
  MetricsEndpoint endpoint("127.0.0.1:0", {}, {}, {},
                           [&] { return "<p>" + std::to_string(++made); });
  ASSERT_EQ(endpoint.Start(), std::nullopt);
  const auto ask = [&](const std::string& method) {
    return Exchange(endpoint.port(), method + " / HTTP/1.1\r\nHost: watcher\r\n\r\n");
  };
  const std::string answer = ask("GET");
  EXPECT_EQ(StatusLine(answer) + Body(answer), "HTTP/1.1 200 OK<p>1");
  const std::string head = ask("HEAD");
  EXPECT_EQ(StatusLine(head) + Body(head), "HTTP/1.1 200 OK");
  EXPECT_TRUE(HasHeader(head, "Content-Length: 4"));
  for (const std::string& each : {answer, head}) {
    EXPECT_TRUE(HasHeader(each, "Content-Type: text/html; charset=utf-8"));
    EXPECT_TRUE(HasHeader(each,
                          "Content-Security-Policy: default-src 'none'; style-src "
                          "'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors "
                          "'none'"));
    EXPECT_TRUE(HasHeader(each, "X-Content-Type-Options: nosniff"));
    EXPECT_TRUE(HasHeader(each, "Cache-Control: no-store"));
  }
  const std::string refused = ask("POST");
  EXPECT_EQ(StatusLine(refused), "HTTP/1.1 405 Method Not Allowed");
  EXPECT_TRUE(HasHeader(refused, "Allow: GET, HEAD"));
  EXPECT_EQ(made, 2);
}

TEST_F(MetricsEndpointTest, APageThatCannotBeMadeIsAnError) {
  MetricsEndpoint endpoint("127.0.0.1:0", {}, {}, {},
                           []() -> std::string { throw std::bad_alloc(); });
  ASSERT_EQ(endpoint.Start(), std::nullopt);
  EXPECT_EQ(StatusLine(Exchange(endpoint.port(), "GET / HTTP/1.1\r\nHost: w\r\n\r\n")),
            "HTTP/1.1 500 Internal Server Error");
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

TEST_F(MetricsEndpointTest, OtherPathsAndMethodsAreRefused) {
  Serve();
  for (const char* path :
       {"/metrics/", "/Metrics", "/healthz/..", "//metrics", "/../etc/passwd", "/favicon.ico"}) {
    EXPECT_EQ(StatusLine(Ask("GET", path)), "HTTP/1.1 404 Not Found") << path;
  }
  EXPECT_EQ(StatusLine(Ask("POST", "/nothing")), "HTTP/1.1 404 Not Found");
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

TEST_F(MetricsEndpointTest, WhatIsNotHttp1OrTooLongIsRefused) {
  Serve();
  const std::string x(20'000, 'x');
  const std::pair<std::string, std::string> cases[] = {
      {"hello\r\n\r\n", ""},
      {"\x16\x03\x01\x02\n\n", ""},
      {"GET\r\n\r\n", ""},
      {"PRI * HTTP/2.0\r\n\r\n", "HTTP/1.1 505 HTTP Version Not Supported"},
      {"GET / HTTP/1.1\r\nX: " + x, "HTTP/1.1 431 Request Header Fields Too Large"},
      {"GET / HTTP/1.1\r\nX: " + x + "\r\n\r\n", "HTTP/1.1 431 Request Header Fields Too Large"},
      {"GET /" + x + " HTTP/1.1\r\n\r\n", "HTTP/1.1 414 URI Too Long"}};
  for (const auto& [text, status] : cases) {
    EXPECT_EQ(StatusLine(Exchange(port(), text)), status) << text.substr(0, 20);
  }
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

TEST_F(MetricsEndpointTest, ASilentClientIsCutOff) {
  Serve();
  const auto start = std::chrono::steady_clock::now();
  Client silent(port());
  EXPECT_EQ(silent.ReadAll(), "");
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
}

// Longer than this machine needs for anything, but shorter than the 3 s after which silent clients
// are cut off anyway.
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

TEST_F(MetricsEndpointTest, ManyConnectionsDoNotHoldUpOthers) {
  const struct {
    const char* what;
    int connections;
    int addresses;
    const char* begun;
  } cases[] = {{"one address", 200, 1, ""},
               {"many, which hold several", 300, 60, "GET /metrics HTTP/1.1\r\nX: "},
               {"many, which hold one", 200, 200, ""}};
  for (const auto& [what, connections, addresses, begun] : cases) {
    Serve();
    const Stopwatch stopwatch;
    Client early(port(), AF_INET, "127.0.0.2");
    early.Send("GET /healthz HTTP/1.1\r\n");
    std::list<Client> greedy;
    for (int i = 0; i < connections; ++i) {
      greedy.emplace_back(port(), AF_INET, LoopbackAddress(1 + i % addresses)).Send(begun);
    }
    EXPECT_EQ(Body(Ask("GET", "/healthz")), "ok\n") << what;
    if (connections > addresses) {
      early.Send("\r\n");
      EXPECT_EQ(Body(early.ReadAll()), "ok\n") << "it held one, they held more";
    }
    if (addresses == 1) {
      greedy.back().Send("GET /healthz HTTP/1.1\r\n\r\n");
      EXPECT_EQ(Body(greedy.back().ReadAll()), "ok\n") << "not even its own last one";
    }
    EXPECT_LT(stopwatch.Elapsed(), kPrompt) << "somebody waited until others were cut off";
  }
}

// The process may have fewer free descriptors than the endpoint would take connections.
TEST_F(MetricsEndpointTest, APlaceThatBecomesFreeIsTakenAtOnce) {
  Serve();
  auto held = std::make_unique<Client>(port());
  held->Send("GET /healthz HTTP/1.1\r\n");
  EXPECT_EQ(Body(Ask("GET", "/healthz")), "ok\n");  // By now the first connection is accepted.
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
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // Meanwhile accepting fails.
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
  Client silent(port());
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
  EXPECT_FALSE(silent.ReadByte());
  EXPECT_GE(stopwatch.Elapsed(), std::chrono::milliseconds(300));
  EXPECT_LT(stopwatch.Elapsed(), kPrompt);
  EXPECT_EQ(Body(Ask("GET", "/healthz")), "ok\n");
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

// Counts the connections to this port on 127.0.0.1 that are in `state`, in hexadecimal digits. The
// kernel keeps an answered and closed connection until the answer is read. It lists one twice that
// changes while the list is read.
int InState(std::uint16_t port, const std::string& state) {
  std::ostringstream local;
  local << ": 0100007F:" << std::uppercase << std::hex << std::setw(4) << std::setfill('0') << port;
  std::ifstream table("/proc/net/tcp");
  std::set<std::string> connections;
  for (std::string line; std::getline(table, line);) {
    const std::size_t found = line.find(local.str());
    if (found == std::string::npos) continue;
    // The remote address and port have the same length.
    const std::size_t length = 2 * local.str().size();
    if (line.substr(found + length, state.size()) != state) continue;
    connections.insert(line.substr(found, length));
  }
  return static_cast<int>(connections.size());
}

TEST_F(MetricsEndpointTest, AnAnswerThatNobodyReadsIsNotKept) {
  Serve("127.0.0.1:0", {.connection_age = std::chrono::milliseconds(500)});
  constexpr const char* kFinWait1 = "04";
  std::list<Client> lazy;
  for (int i = 0; i < 10; ++i) {
    lazy.emplace_back(port(), AF_INET, "127.0.0.1", 2048).Send("GET /metrics HTTP/1.1\r\n\r\n");
  }
  const Stopwatch stopwatch;  // On its own, the kernel would keep it for more than a minute.
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
  EXPECT_EQ(StatusLine(Exchange(port(), many)), "HTTP/1.1 200 OK");
  EXPECT_EQ(Body(Exchange(port(), "GET /healthz HTTP/1.0\r\n\r\n")), "ok\n") << "HTTP/1.0 too";
}

// Whether some address has scraped twice.
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

// Sources besides the watcher's own metrics.
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
    late.emplace_back(endpoint.port(), AF_INET, "127.0.0.1", 4096)
        .Send("GET /metrics HTTP/1.1\r\n\r\n");
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

TEST_F(MetricsEndpointTest, SaysWhyItCanNotListen) {
  Serve(":0");
  const std::string everywhere = WithPort("", port());
  EXPECT_EQ(Make(everywhere)->Start(), InUse(everywhere));
  EXPECT_EQ(Make("192.0.2.1:0")->Start(), "listen on 192.0.2.1:0: Cannot assign requested address");
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
  ASSERT_EQ(kill(getpid(), SIGUSR1), 0);  // It would end the test if a thread didn't block it.
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

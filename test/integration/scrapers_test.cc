// Clients of the metrics may be broken or hostile: others still get their answers, and the watcher
// watches and deletes as usual.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <list>
#include <mutex>
#include <utility>

#include "test/integration/fixture.h"

namespace cluster_watcher::integration {
namespace {

using std::chrono::milliseconds;

// A connection from 127.0.0.SOURCE. Only ReadAll waits for the other side.
class Connection {
 public:
  Connection(int port, int source, int receive_buffer = 0)
      : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (receive_buffer != 0) {
      setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    }
    const timeval patience{20, 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK - 1 + static_cast<unsigned>(source));
    bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address);
  }
  Connection(Connection&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() {
    if (fd_ >= 0) close(fd_);
  }

  // Returns false if the other side has closed.
  bool Send(const std::string& text) {
    return send(fd_, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0 || errno == EAGAIN;
  }
  bool IsOpen() {
    char byte = 0;
    const ssize_t count = recv(fd_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return count > 0 || (count < 0 && errno == EAGAIN);
  }
  bool ReadByte() {
    char byte = 0;
    return recv(fd_, &byte, 1, MSG_DONTWAIT) > 0 || IsOpen();
  }
  std::string ReadAll() {
    std::string all;
    char room[16384];
    ssize_t count = 0;
    while ((count = recv(fd_, room, sizeof room, 0)) > 0) {
      all.append(room, static_cast<std::size_t>(count));
    }
    return all;
  }
  void Reset() {
    const linger drop{1, 0};
    setsockopt(fd_, SOL_SOCKET, SO_LINGER, &drop, sizeof drop);
    close(std::exchange(fd_, -1));
  }

 private:
  int fd_;
};

const std::string kScrape = "GET /metrics HTTP/1.1\r\nHost: w\r\n\r\n";

// Does everything that a client can do wrong, each in its own thread, until it is destroyed.
class Offenders {
 public:
  explicit Offenders(int port) : port_(port) {
    // Clients that hold as many connections as they can, from one address or from many.
    Hold(
        100, [](int) { return 2; }, "");
    Hold(
        100, [](int i) { return 3 + i % 50; }, "");
    Hold(
        30, [](int) { return 60; }, "GET /metrics HTTP/1.1\r\nX: ",
        [](Connection& connection) { return connection.Send("x"); });
    Hold(
        30, [](int i) { return 70 + i % 10; },
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
        [](Connection& connection) { return connection.Send("1\r\nx\r\n"); });
    Hold(
        10, [](int) { return 61; }, kScrape,
        [](Connection& connection) { return connection.ReadByte(); });
    Hold(
        10, [](int) { return 62; }, kScrape);
    // Clients that connect, do something and leave.
    const std::string huge(100'000, 'x');
    for (const std::string& request :
         {std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11), std::string("\n\n\n\n"),
          std::string("BREW /metrics COFFEE/1.0\r\n\r\n"), "GET /" + huge + " HTTP/1.1\r\n\r\n",
          "GET / HTTP/1.1\r\nX: " + huge + "\r\n\r\n",
          "GET /metrics HTTP/1.1\r\nAccept: " + std::string(15'000, ',') + "\r\n\r\n",
          std::string("GET /metrics HTTP/1.0\r\n\r\n"),
          std::string("HEAD /metrics HTTP/1.1\r\n\r\n"), kScrape + kScrape + kScrape + kScrape}) {
      requests_.push_back(request);
    }
    Repeat([this](int i) {
      Connection connection(port_, 63);
      connection.Send(requests_[static_cast<std::size_t>(i) % requests_.size()]);
    });
    Repeat([this](int i) {
      Connection connection(port_, 64 + i % 3);
      connection.Send(kScrape.substr(0, static_cast<std::size_t>(i) % (kScrape.size() + 1)));
      connection.Reset();
    });
    Repeat([this](int) { Connection(port_, 67, 4096).Send(kScrape); });
    Repeat([this](int) {
      Connection connection(port_, 68);
      connection.Send("POST /metrics HTTP/1.1\r\nContent-Length: 1000000000000\r\n\r\n");
      const std::string piece(65'536, 'x');
      for (int sent = 0; sent < 1'000 && connection.Send(piece); ++sent) {
      }
    });
    Repeat([this](int) {
      Connection connection(port_, 69);
      connection.Send(kScrape);
      connection.ReadAll();
    });
  }
  ~Offenders() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  // Repeats it as fast as it can, with short pauses that leave the CPU to the watcher, which the
  // sanitizers make several times slower.
  void Repeat(std::function<void(int)> misdeed) {
    threads_.emplace_back([this, misdeed = std::move(misdeed)] {
      for (int i = 0; !stop_; ++i) {
        misdeed(i);
        std::this_thread::sleep_for(milliseconds(IsSanitized() ? 100 : 2));
      }
    });
  }

  // Keeps `count` connections open from the addresses that `source` returns. Each sends `request`,
  // then calls `go_on` again and again; if that returns false, a new connection replaces it.
  void Hold(
      int count, std::function<int(int)> source, std::string request,
      std::function<bool(Connection&)> go_on = [](Connection& connection) {
        return connection.IsOpen();
      }) {
    threads_.emplace_back([=, this] {
      std::list<Connection> held;
      for (int i = 0; !stop_; std::this_thread::sleep_for(milliseconds(50))) {
        held.remove_if([&](Connection& connection) { return !go_on(connection); });
        for (; held.size() < static_cast<std::size_t>(count) && !stop_; ++i) {
          held.emplace_back(port_, source(i)).Send(request);
        }
      }
    });
  }

  const int port_;
  std::vector<std::string> requests_;
  std::atomic<bool> stop_ = false;
  std::vector<std::thread> threads_;
};

// Scrapes from an address of its own, ten times a second, until it is destroyed.
class GoodScraper {
 public:
  explicit GoodScraper(int port)
      : thread_([this, port] {
          while (!stop_) {
            const auto start = std::chrono::steady_clock::now();
            Connection connection(port, 200);
            connection.Send(
                "GET /metrics HTTP/1.1\r\nHost: w\r\n"
                "Accept: application/openmetrics-text;version=1.0.0\r\n\r\n");
            const std::string answer = connection.ReadAll();
            const auto took = std::chrono::steady_clock::now() - start;
            const bool whole =
                answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\n# EOF\n");
            (whole ? answers_ : failures_)++;
            if (took > slowest_.load()) slowest_ = took;
            std::this_thread::sleep_for(milliseconds(100));
          }
        }) {}
  ~GoodScraper() {
    stop_ = true;
    thread_.join();
  }

  int Answers() const { return answers_; }
  int Failures() const { return failures_; }
  std::chrono::steady_clock::duration Slowest() const { return slowest_; }

 private:
  std::atomic<bool> stop_ = false;
  std::atomic<int> answers_ = 0;
  std::atomic<int> failures_ = 0;
  std::atomic<std::chrono::steady_clock::duration> slowest_{};
  std::thread thread_;
};

class BadScrapers : public IntegrationTest {
 protected:
  static double OpenFiles(Watcher& watcher) { return watcher.Metric("process_open_fds"); }
  static double Memory(Watcher& watcher) { return watcher.Metric("process_resident_memory_bytes"); }
};

TEST_F(BadScrapers, HoldUpNeitherOthersNorTheWatch) {
  MakeCluster();
  MakeDriver();
  Watcher& watcher = WatchOver("deployment/bob");
  ASSERT_TRUE(Keeps(watcher, "keep: active"));
  const double files = OpenFiles(watcher);
  const double memory = Memory(watcher);
  const double unknown = watcher.Polls("unknown");
  {
    GoodScraper good(watcher.Port());
    {
      const Offenders offenders(watcher.Port());
      ASSERT_TRUE(Eventually([&] { return OpenFiles(watcher) >= files + 40; }))
          << "nobody holds connections";
      const double polls = watcher.Polls();
      EXPECT_TRUE(Eventually([&] { return watcher.Polls() >= polls + 40; }));
      EXPECT_LE(OpenFiles(watcher), files + 120);
    }
    EXPECT_TRUE(Eventually([&] { return OpenFiles(watcher) <= files + 8; }))
        << OpenFiles(watcher) << " files are open, and were " << files;
    const Offenders offenders(watcher.Port());
    ASSERT_TRUE(Eventually([&] { return OpenFiles(watcher) >= files + 40; }));
    api().Delete("deployments", ns_, "bob");
    EXPECT_TRUE(Finishes(watcher));
    EXPECT_GE(good.Answers(), 20);
    EXPECT_EQ(good.Failures(), 0);
    // Prometheus gives up after 10 s. What the sanitizers make of time and memory says nothing.
    if (!IsSanitized()) {
      EXPECT_LT(good.Slowest(), std::chrono::seconds(10));
    }
  }
  if (!IsSanitized()) {
    EXPECT_LT(Memory(watcher), memory + 8e6);
  }
  EXPECT_EQ(watcher.Polls("unknown"), unknown);
  EXPECT_TRUE(Eventually([&] { return OpenFiles(watcher) <= files + 8; }));
  EXPECT_TRUE(StopsWell(watcher));
}

}  // namespace
}  // namespace cluster_watcher::integration

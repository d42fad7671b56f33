// CurlTransport's streams: answers without an end.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "probes/kube/curl_transport.h"
#include "test/unit/support/loopback.h"

namespace cluster_watcher {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using Kind = TransportError::Kind;

constexpr const char* kChunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
// Far longer than anything here takes.
constexpr Duration kLongWait = seconds(30);

struct Reader final : StreamReader {
  void Begin(int with) override {
    status = with;
    ++begun;
  }
  void Take(std::string_view bytes) override { body += bytes; }
  void End(const std::optional<TransportError>& with) override {
    ended = true;
    error = with;
  }

  int status = 0;
  std::string body;
  bool ended = false;
  std::optional<TransportError> error;
  int begun = 0;
};

class CurlStreams : public testing::Test {
 protected:
  void Connect(const std::string& url) {
    ApiServer server;
    server.url = url;
    transport_ = *CurlTransport::Create(server);
  }
  void Serve(LoopbackServer::Script script) {
    server_ = std::make_unique<LoopbackServer>(std::move(script));
    Connect("http://" + server_->address());
  }
  std::unique_ptr<Stream> Open(Reader& reader, const std::string& target = "/") {
    HttpRequest request;
    request.target = target;
    request.bearer_token = "secret";
    request.timeout = milliseconds(1);  // does not count
    return transport_->Open(request, reader);
  }
  template <typename Condition>
  testing::AssertionResult WaitUntil(Condition holds) {
    const auto deadline = steady_clock::now() + kLongWait;
    while (!holds() && steady_clock::now() < deadline) transport_->Wait(deadline, {});
    if (holds()) return testing::AssertionSuccess();
    return testing::AssertionFailure() << "in vain";
  }

  std::unique_ptr<LoopbackServer> server_;
  std::unique_ptr<CurlTransport> transport_;
};

TEST_F(CurlStreams, ReadAnAnswerAsItArrives) {
  std::string head;
  std::atomic<int> go{0};
  Serve([&](Connection& connection) {
    head = connection.ReadRequest();
    connection.Send(kChunked);
    for (const char* chunk : {"3\r\none\r\n", "3\r\ntwo\r\n", "0\r\n\r\n"}) {
      go.wait(0);
      --go;
      connection.Send(chunk);
    }
    connection.ReadAll();
  });
  const auto next = [&] {
    ++go;
    go.notify_all();
  };
  Reader reader;
  const auto stream = Open(reader, "/watch?x=1");
  ASSERT_TRUE(WaitUntil([&] { return reader.status == 200; }));
  EXPECT_TRUE(head.starts_with("GET /watch?x=1 HTTP/1.1\r\n")) << head;
  EXPECT_NE(head.find("Authorization: Bearer secret\r\n"), head.npos) << head;
  EXPECT_EQ(head.find("Accept-Encoding"), head.npos) << "a compressed watch costs the server";
  EXPECT_EQ(reader.body, "");
  next();
  ASSERT_TRUE(WaitUntil([&] { return reader.body == "one"; }));
  next();
  ASSERT_TRUE(WaitUntil([&] { return reader.body == "onetwo"; }));
  EXPECT_FALSE(reader.ended);
  next();
  ASSERT_TRUE(WaitUntil([&] { return reader.ended; }));
  EXPECT_FALSE(reader.error);
}

TEST_F(CurlStreams, WaitEndsAtItsDeadlineAndWhenStopped) {
  Serve([&](Connection& connection) {
    connection.ReadRequest();
    connection.Send(kChunked);
    connection.ReadAll();
  });
  Reader reader;
  const auto stream = Open(reader);
  ASSERT_TRUE(WaitUntil([&] { return reader.status == 200; }));
  auto begin = steady_clock::now();
  transport_->Wait(begin + milliseconds(50), {});
  EXPECT_GE(steady_clock::now() - begin, milliseconds(50));
  EXPECT_LT(steady_clock::now() - begin, kLongWait / 2);
  std::stop_source stop;
  begin = steady_clock::now();
  std::thread stopper([&] {
    std::this_thread::sleep_for(milliseconds(30));  // it is asleep by then
    stop.request_stop();
  });
  transport_->Wait(begin + kLongWait, stop.get_token());
  stopper.join();
  EXPECT_LT(steady_clock::now() - begin, kLongWait / 2);
  EXPECT_FALSE(reader.ended);
}

TEST_F(CurlStreams, GoOnBesideRequests) {
  Serve([&](Connection& connection) {
    while (true) {
      const std::string head = connection.ReadRequest();
      if (head.empty()) return;
      if (!head.starts_with("GET /watch ")) {
        connection.Send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        continue;
      }
      connection.Send(kChunked + std::string("3\r\none\r\n"));
      connection.ReadAll();
      return;
    }
  });
  Reader reader;
  auto stream = Open(reader, "/watch");
  ASSERT_TRUE(WaitUntil([&] { return reader.body == "one"; }));
  HttpRequest request;
  request.target = "/";
  for (int i = 0; i < 3; ++i) {
    const HttpResult result = transport_->Perform(std::span(&request, 1), 1, {}).at(0);
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(result->body, "ok");
  }
  EXPECT_EQ(server_->accepted(), 2) << "requests have a connection of their own, and keep it";
  stream.reset();
  Reader another;
  stream = Open(another, "/watch");
  ASSERT_TRUE(WaitUntil([&] { return another.body == "one"; }));
  EXPECT_EQ(reader.body, "one") << "nothing is told behind the end of a stream";
}

TEST_F(CurlStreams, SayHowTheyEnd) {
  const std::pair<std::string, int> cases[] = {{"", 0},
                                               {"HTTP/1.1 200 OK\r\n", 0},
                                               {kChunked, 200},
                                               {kChunked + std::string("9\r\none"), 200}};
  for (const auto& [answer, status] : cases) {
    Serve([&](Connection& connection) {
      connection.ReadRequest();
      connection.Send(answer);
    });
    Reader reader;
    const auto stream = Open(reader);
    ASSERT_TRUE(WaitUntil([&] { return reader.ended; }));
    ASSERT_TRUE(reader.error) << answer;
    EXPECT_EQ(reader.error->kind, Kind::kConnect) << answer;
    EXPECT_EQ(reader.error->message.find("secret"), std::string::npos);
    EXPECT_EQ(reader.status, status) << answer;
  }
  Serve([&](Connection& connection) {
    connection.ReadRequest();
    connection.Send("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno");
    connection.ReadAll();
  });
  Reader reader;
  auto stream = Open(reader);
  ASSERT_TRUE(WaitUntil([&] { return reader.ended; }));
  EXPECT_EQ(reader.status, 403);
  EXPECT_EQ(reader.body, "no");
  EXPECT_FALSE(reader.error);
  Reader refused;
  stream = Open(refused, "no-slash");
  ASSERT_TRUE(WaitUntil([&] { return refused.ended; }));
  EXPECT_TRUE(refused.error);
}

TEST_F(CurlStreams, NobodyListens) {
  Connect("http://127.0.0.1:1");
  Reader reader;
  const auto stream = Open(reader);
  ASSERT_TRUE(WaitUntil([&] { return reader.ended; }));
  ASSERT_TRUE(reader.error);
  EXPECT_EQ(reader.error->kind, Kind::kConnect);
}

TEST_F(CurlStreams, TrailersBeginNoOtherAnswer) {
  Serve([&](Connection& connection) {
    connection.ReadRequest();
    connection.Send(kChunked);
    connection.Send("3\r\none\r\n0\r\nX-A: b\r\nX-C: d\r\n\r\n");
    connection.ReadAll();
  });
  Reader reader;
  const auto stream = Open(reader);
  ASSERT_TRUE(WaitUntil([&] { return reader.ended; }));
  EXPECT_EQ(reader.begun, 1);
}

}  // namespace
}  // namespace cluster_watcher

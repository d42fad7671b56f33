#include "probes/kube/token_source.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace cluster_watcher {
namespace {

using std::chrono::seconds;

class FakeClock final : public Clock {
 public:
  MonotonicTime Now() override { return now; }
  WallTime WallNow() override { return {}; }
  bool WaitUntil(MonotonicTime, std::stop_token) override { return true; }

  MonotonicTime now{seconds(1'000)};
};

class TokenSourceTest : public testing::Test {
 protected:
  TokenSourceTest() {
    std::filesystem::create_directories(directory_);
    server_.token_file = directory_ / "token";
  }
  ~TokenSourceTest() override { std::filesystem::remove_all(directory_); }

  void Write(const std::string& text) { std::ofstream(server_.token_file) << text; }
  void Remove() { std::filesystem::remove(server_.token_file); }

  const std::filesystem::path directory_ =
      std::filesystem::path(testing::TempDir()) /
      ("token-" + std::to_string(getpid()) + "-" +
       testing::UnitTest::GetInstance()->current_test_info()->name());
  ApiServer server_;
  FakeClock clock_;
};

std::string TokenOf(TokenSource& source) {
  const Result<std::string> token = source.Token();
  return token ? *token : "error: " + token.error().message;
}

TEST_F(TokenSourceTest, IsEmptyWhereNoneIsConfigured) {
  TokenSource source(ApiServer{}, clock_);
  EXPECT_EQ(TokenOf(source), "");
  EXPECT_FALSE(source.Refresh());
}

TEST_F(TokenSourceTest, GivesTheFixedToken) {
  ApiServer server;
  server.token = "fixed\n";
  TokenSource source(server, clock_);
  EXPECT_EQ(TokenOf(source), "fixed");
  EXPECT_FALSE(source.Refresh());
  EXPECT_EQ(TokenOf(source), "fixed");
}

TEST_F(TokenSourceTest, RefusesAFixedTokenThatWouldBeAnotherHeader) {
  ApiServer server;
  server.token = "secret\r\nX-Other: 1";
  TokenSource source(server, clock_);
  const Result<std::string> token = source.Token();
  ASSERT_FALSE(token);
  EXPECT_EQ(token.error().message.find("secret"), std::string::npos);
}

TEST_F(TokenSourceTest, ReadsTheFileWithoutTheWhiteSpaceAroundIt) {
  Write(" one\r\n");
  TokenSource source(server_, clock_);
  EXPECT_EQ(TokenOf(source), "one");
}

TEST_F(TokenSourceTest, TheFileWinsOverTheFixedToken) {
  server_.token = "fixed";
  TokenSource source(server_, clock_);
  EXPECT_EQ(TokenOf(source), "fixed") << "the file isn't there yet";
  EXPECT_NE(source.last_error(), "");
  Write("one");
  EXPECT_EQ(TokenOf(source), "one");
  EXPECT_EQ(source.last_error(), "");
}

TEST_F(TokenSourceTest, SeesARotatedTokenWithinAMinute) {
  Write("one");
  TokenSource source(server_, clock_);
  EXPECT_EQ(TokenOf(source), "one");
  Write("two");
  EXPECT_EQ(TokenOf(source), "one") << "not read at every call";
  clock_.now += seconds(60);
  EXPECT_EQ(TokenOf(source), "two");
}

TEST_F(TokenSourceTest, RefreshReadsAtOnceAndSaysWhetherItChanged) {
  Write("one");
  TokenSource source(server_, clock_);
  EXPECT_EQ(TokenOf(source), "one");
  EXPECT_FALSE(source.Refresh());
  Write("two");
  EXPECT_TRUE(source.Refresh());
  EXPECT_EQ(TokenOf(source), "two");
  Remove();
  EXPECT_FALSE(source.Refresh());
  EXPECT_EQ(TokenOf(source), "two");
}

TEST_F(TokenSourceTest, KeepsTheLastGoodToken) {
  Write("one");
  TokenSource source(server_, clock_);
  EXPECT_EQ(TokenOf(source), "one");
  for (const char* bad : {"", " \n", "a b", "a\nb", "\x80"}) {
    Write(bad);
    clock_.now += seconds(60);
    EXPECT_EQ(TokenOf(source), "one");
    EXPECT_NE(source.last_error(), "");
  }
  Remove();
  clock_.now += seconds(3'600);
  EXPECT_EQ(TokenOf(source), "one");
  Write("two");
  EXPECT_EQ(TokenOf(source), "two") << "a failure is tried again at once";
}

TEST_F(TokenSourceTest, FailsWhereTheFileWasNeverReadable) {
  TokenSource source(server_, clock_);
  const Result<std::string> missing = source.Token();
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message.find(server_.token_file), std::string::npos);
  Write("\n");
  const Result<std::string> empty = source.Token();
  ASSERT_FALSE(empty);
  EXPECT_NE(empty.error().message.find(server_.token_file), std::string::npos);
  Write("one");
  EXPECT_EQ(TokenOf(source), "one");
}

TEST_F(TokenSourceTest, RefusesAFileThatIsNoToken) {
  server_.token_file = directory_;
  TokenSource directory(server_, clock_);
  EXPECT_FALSE(directory.Token());
  server_.token_file = "/dev/zero";
  TokenSource endless(server_, clock_);
  EXPECT_FALSE(endless.Token());
}

}  // namespace
}  // namespace cluster_watcher

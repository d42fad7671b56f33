#include "probes/kube/token_source.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "test/unit/support/plugin.h"
#include "test/unit/support/temporary_directory.h"
#include "test/unit/support/test_clock.h"

namespace cluster_watcher {
namespace {

using std::chrono::seconds;

class TokenSourceTest : public testing::Test {
 protected:
  TokenSourceTest() { server_.token_file = directory_.Path("token"); }

  void Write(const std::string& text) { directory_.Write("token", text); }
  void Remove() { std::filesystem::remove(server_.token_file); }

  const TemporaryDirectory directory_;
  ApiServer server_;
  TestClock clock_;
};

std::string TokenOf(TokenSource& source) {
  const Result<std::string> token = source.Token();
  return token ? *token : "error: " + token.error().message;
}

TEST_F(TokenSourceTest, GivesTheFixedTokenOrNone) {
  ApiServer server;
  TokenSource none(server, clock_);
  EXPECT_EQ(TokenOf(none), "");
  EXPECT_FALSE(none.Refresh());
  server.token = "fixed\n";
  TokenSource fixed(server, clock_);
  EXPECT_EQ(TokenOf(fixed), "fixed");
  EXPECT_FALSE(fixed.Refresh());
  EXPECT_EQ(TokenOf(fixed), "fixed");
  server.token = "secret\r\nX-Other: 1";
  const Result<std::string> another_header = TokenSource(server, clock_).Token();
  ASSERT_FALSE(another_header);
  EXPECT_EQ(another_header.error().message.find("secret"), std::string::npos);
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
  Write("one");
  EXPECT_EQ(TokenOf(source), "one");
}

TEST_F(TokenSourceTest, SeesARotatedTokenWithinAMinute) {
  Write("one");
  TokenSource source(server_, clock_);
  EXPECT_EQ(TokenOf(source), "one");
  Write("two");
  EXPECT_EQ(TokenOf(source), "one") << "not read at every call";
  clock_.elapsed += seconds(60);
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
    clock_.elapsed += seconds(60);
    EXPECT_EQ(TokenOf(source), "one");
  }
  Remove();
  clock_.elapsed += seconds(3'600);
  EXPECT_EQ(TokenOf(source), "one");
  ASSERT_EQ(mkfifo(server_.token_file.c_str(), 0600), 0);
  EXPECT_EQ(TokenOf(source), "one") << "nobody waits for somebody to write";
  Remove();
  Write("two");
  EXPECT_EQ(TokenOf(source), "two") << "a failure is tried again at once";
}

TEST_F(TokenSourceTest, FailsWhereTheFileWasNeverReadable) {
  TokenSource source(server_, clock_);
  for (const char* text : {"", "\n"}) {
    const Result<std::string> none = source.Token();
    ASSERT_FALSE(none) << text;
    EXPECT_NE(none.error().message.find(server_.token_file), std::string::npos);
    Write("\n");
  }
  Write("one");
  EXPECT_EQ(TokenOf(source), "one");
  for (const std::string& path : {directory_.Path(), std::string("/dev/zero")}) {
    server_.token_file = path;
    EXPECT_FALSE(TokenSource(server_, clock_).Token()) << path;
  }
}

TEST_F(TokenSourceTest, RunsThePlugin) {
  const Plugin plugin;
  ApiServer server;
  server.plugin = plugin.Authenticator();
  TokenSource source(server, clock_);
  EXPECT_EQ(plugin.Runs(), 0);
  plugin.GiveToken("one");
  EXPECT_EQ(TokenOf(source), "one");
  plugin.GiveToken("two");
  EXPECT_EQ(TokenOf(source), "one");
  EXPECT_TRUE(source.Refresh());
  EXPECT_EQ(TokenOf(source), "two");
}

}  // namespace
}  // namespace cluster_watcher

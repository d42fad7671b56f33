#include "probes/kube/exec_authenticator.h"

#include <gtest/gtest.h>

#include "probes/base/time_text.h"
#include "test/unit/support/plugin.h"
#include "test/unit/support/test_clock.h"

namespace cluster_watcher {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

class ExecAuthenticatorTest : public testing::Test {
 protected:
  std::string Token() {
    const auto token = authenticator_.Token(clock_, {});
    return token ? *token : "error: " + token.error().message;
  }
  bool Fails() { return Token().starts_with("error: kubeconfig /a/config, user \"bob\": exec:"); }
  bool Refresh() { return authenticator_.Refresh(clock_, {}); }
  void GiveUntil(const std::string& token, Duration from_now) {
    plugin_.Give("\"token\": \"" + token + "\", \"expirationTimestamp\": \"" +
                 FormatTime(clock_.WallNow() + from_now) + "\"");
  }

  const Plugin plugin_;
  TestClock clock_;
  ExecAuthenticator authenticator_{plugin_.Config()};
};

TEST_F(ExecAuthenticatorTest, RunsThePluginOnceItIsNeeded) {
  EXPECT_EQ(plugin_.Runs(), 0);
  plugin_.GiveToken("one");
  EXPECT_EQ(Token(), "one");
  plugin_.GiveToken("two");
  clock_.elapsed += std::chrono::hours(1'000);
  EXPECT_EQ(Token(), "one") << "it never expires";
  EXPECT_EQ(plugin_.Runs(), 1);
}

TEST_F(ExecAuthenticatorTest, RunsItAgainShortlyBeforeTheExpiry) {
  GiveUntil("one", minutes(10));
  EXPECT_EQ(Token(), "one");
  GiveUntil("two", minutes(20));
  clock_.elapsed += minutes(9);
  EXPECT_EQ(Token(), "one");
  clock_.elapsed += seconds(55);
  EXPECT_EQ(Token(), "two");
  clock_.elapsed += minutes(5);
  EXPECT_EQ(Token(), "two");
  EXPECT_EQ(plugin_.Runs(), 2);
}

TEST_F(ExecAuthenticatorTest, CountsTheExpiryInTheTimeOfPeople) {
  GiveUntil("one", minutes(10));
  EXPECT_EQ(Token(), "one");
  plugin_.GiveToken("two");
  clock_.elapsed += seconds(30);
  clock_.suspended = std::chrono::hours(1);
  EXPECT_EQ(Token(), "two") << "the machine was suspended";
}

TEST_F(ExecAuthenticatorTest, UsesWhatExpiresAtOnceWithoutRunningItAllTheTime) {
  GiveUntil("one", seconds(1));
  EXPECT_EQ(Token(), "one");
  clock_.elapsed += seconds(5);
  EXPECT_EQ(Token(), "one") << "our clock may be wrong";
  EXPECT_EQ(plugin_.Runs(), 1);
  clock_.elapsed += seconds(30);
  Token();
  EXPECT_EQ(plugin_.Runs(), 2);
}

TEST_F(ExecAuthenticatorTest, AFailureIsTheErrorUntilItIsTriedAgain) {
  EXPECT_TRUE(Fails());
  plugin_.GiveToken("one");
  clock_.elapsed += seconds(10);
  EXPECT_TRUE(Fails());
  EXPECT_EQ(plugin_.Runs(), 1) << "not at each request";
  clock_.elapsed += seconds(20);
  EXPECT_EQ(Token(), "one");
}

TEST_F(ExecAuthenticatorTest, WhileItFailsWhatHasNotExpiredStaysInUse) {
  GiveUntil("one", minutes(10));
  EXPECT_EQ(Token(), "one");
  plugin_.Script("exit 1");
  clock_.elapsed += minutes(9) + seconds(50);
  EXPECT_EQ(Token(), "one");
  EXPECT_EQ(plugin_.Runs(), 2);
  clock_.elapsed += seconds(11);
  EXPECT_TRUE(Fails()) << "it has expired";
  EXPECT_EQ(plugin_.Runs(), 2);
}

TEST_F(ExecAuthenticatorTest, RefreshRunsItAndSaysWhetherItGaveOthers) {
  plugin_.GiveToken("one");
  EXPECT_EQ(Token(), "one");
  plugin_.GiveToken("two");
  EXPECT_TRUE(Refresh());
  EXPECT_EQ(Token(), "two");
  EXPECT_EQ(plugin_.Runs(), 2);
  plugin_.GiveToken("three");
  EXPECT_FALSE(Refresh()) << "not again at once";
  EXPECT_EQ(plugin_.Runs(), 2);
  clock_.elapsed += seconds(30);
  EXPECT_TRUE(Refresh());
  clock_.elapsed += seconds(30);
  GiveUntil("three", minutes(1));
  EXPECT_FALSE(Refresh()) << "only the expiry is another";
  EXPECT_EQ(plugin_.Runs(), 4);
}

TEST_F(ExecAuthenticatorTest, WhatWasRefusedIsNotUsedWhileThePluginFails) {
  plugin_.GiveToken("one");
  EXPECT_EQ(Token(), "one");
  plugin_.Script("exit 1");
  EXPECT_FALSE(Refresh());
  EXPECT_TRUE(Fails());
}

TEST_F(ExecAuthenticatorTest, AStoppedPluginHasNotFailed) {
  std::stop_source source;
  source.request_stop();
  plugin_.Script("test -e \"$dir/answer\" || sleep 1000; cat \"$dir/answer\"");
  EXPECT_FALSE(authenticator_.Token(clock_, source.get_token()));
  plugin_.GiveToken("one");
  EXPECT_EQ(Token(), "one") << "what is done on the way out needs it";
  plugin_.Script("sleep 1000");
  EXPECT_FALSE(authenticator_.Refresh(clock_, source.get_token()));
  plugin_.Script("exit 1");
  EXPECT_EQ(Token(), "one");
}

}  // namespace
}  // namespace cluster_watcher

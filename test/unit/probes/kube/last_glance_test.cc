#include "probes/kube/last_glance.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>

#include "probes/kube/kube_client.h"

namespace cluster_watcher {
namespace {

std::string BobAt(const std::string& version, int replicas = 1,
                  const std::string& kind = "Deployment") {
  return R"({"kind":")" + kind +
         R"(","apiVersion":"apps/v1","metadata":{"name":"bob","namespace":"lab","uid":"u",)" +
         R"("resourceVersion":")" + version + R"("},"spec":{"replicas":)" +
         std::to_string(replicas) + "}}";
}

TEST(LastGlance, IsTheSameTextAtTheSameTarget) {
  LastGlance last;
  EXPECT_FALSE(last.Same("/t", BobAt("3")));
  const auto keep = [&](const std::string& body) {
    last.Keep("/t", body, *JsonDocument::Parse(body));
  };
  keep(BobAt("3"));
  ASSERT_TRUE(last.Same("/t", BobAt("3")));
  EXPECT_EQ(last.Same("/t", BobAt("3"))->root()["metadata"]["uid"].AsString(), "u");
  EXPECT_FALSE(last.Same("/other", BobAt("3")));
  for (const std::string& other :
       {BobAt("4"), BobAt("3", 0), BobAt("3") + " ", BobAt("3").substr(1), std::string()}) {
    EXPECT_FALSE(last.Same("/t", other)) << other;
  }
  keep(BobAt("4", 0));
  EXPECT_FALSE(last.Same("/t", BobAt("3"))) << "scaled to 0 and back is told again";
  const std::string large = BobAt("5") + std::string(64u << 10, ' ');
  keep(large);
  EXPECT_FALSE(last.Same("/t", large));
  EXPECT_FALSE(last.Same("/t", BobAt("4", 0)));
}

class GlancesOfAClient : public testing::Test {
 protected:
  ApiResult Ask(const std::string& body, bool may_be_known = true, int status = 200) {
    ApiRequest request = ApiRequest::Get(*FindBuiltInByName("deployments", "apps"), "lab", "bob",
                                         Freshness::kCached);
    request.may_be_known = may_be_known;
    HttpResponse response;
    response.status = status;
    response.content_type = "application/json";
    response.body = body;
    response.date = WallTime(std::chrono::seconds(++second_));
    return Interpret(request, std::move(response), &last_);
  }
  // A document that isn't parsed again has the text of the first.
  static const void* TextOf(const ApiResult& answer) {
    return answer->document.root()["metadata"]["uid"].AsString()->data();
  }

  LastGlance last_;
  int second_ = 0;
};

TEST_F(GlancesOfAClient, AreParsedOnceAndDatedAnew) {
  const auto first = Ask(BobAt("3"));
  ASSERT_TRUE(first);
  const auto second = Ask(BobAt("3"));
  ASSERT_TRUE(second);
  EXPECT_EQ(TextOf(first), TextOf(second));
  EXPECT_EQ(second->server_time, WallTime(std::chrono::seconds(2)));
  const auto other = Ask(BobAt("3"), false);
  ASSERT_TRUE(other);
  EXPECT_NE(TextOf(other), TextOf(first));
}

TEST_F(GlancesOfAClient, WhatWasRefusedIsRefusedAgain) {
  const std::string wrong = BobAt("3", 1, "Pod");
  EXPECT_FALSE(Ask(wrong));
  EXPECT_FALSE(Ask(wrong));
  ASSERT_TRUE(Ask(BobAt("3")));
  EXPECT_FALSE(Ask(BobAt("3"), true, 206)) << "a part of the object";
  EXPECT_FALSE(Ask(BobAt("")));
}

}  // namespace
}  // namespace cluster_watcher

#include "probes/kube/known_glances.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>

#include "probes/kube/kube_client.h"

namespace cluster_watcher {
namespace {

std::string List(const std::string& version, const std::string& items,
                 const std::string& kind = "DeploymentList") {
  return R"({"kind":")" + kind + R"(","apiVersion":"apps/v1","metadata":{"resourceVersion":")" +
         version + R"("},"items":)" + items + "}";
}
std::string Bob(const std::string& version, int replicas = 1) {
  return R"([{"metadata":{"name":"bob","namespace":"lab","uid":"u","resourceVersion":")" + version +
         R"("},"spec":{"replicas":)" + std::to_string(replicas) + "}}]";
}

class Known : public testing::Test {
 protected:
  void Keep(const std::string& body, const std::string& target = "/t") {
    known_.Keep(target, body, *JsonDocument::Parse(body));
  }
  bool Knows(const std::string& body, const std::string& target = "/t") {
    return known_.Same(target, body).has_value();
  }

  KnownGlances known_;
};

TEST_F(Known, IsWhatDiffersInTheListsVersionAlone) {
  Keep(List("7", Bob("3")));
  EXPECT_TRUE(Knows(List("7", Bob("3"))));
  const auto same = known_.Same("/t", List("1000000", Bob("3")));
  ASSERT_TRUE(same);
  EXPECT_EQ(same->root()["items"].At(0)["metadata"]["uid"].AsString(), "u");
  for (const std::string& other :
       {List("7", Bob("4")), List("7", Bob("3", 0)), List("7", "[]"), List("", Bob("3")),
        List("seven", Bob("3")), List("7x", Bob("3")), List("7", Bob("3"), "StatefulSetList"),
        List("7", Bob("3")) + " ", List("7", Bob("3")).substr(1), std::string()}) {
    EXPECT_FALSE(Knows(other)) << other;
  }
  EXPECT_FALSE(Knows(List("7", Bob("3")), "/other"));
  EXPECT_FALSE(KnownGlances().Same("/t", List("7", Bob("3"))));
}

TEST_F(Known, AnObjectsVersionCounts) {
  const auto odd = [](const char* version) {
    return R"({"items":)" + Bob(version) + R"(,"metadata":{"resourceVersion":"7"}})";
  };
  Keep(odd("3"));
  EXPECT_TRUE(Knows(odd("3")));
  EXPECT_FALSE(Knows(odd("4")));
}

TEST_F(Known, IsTheLastOfItsTargetAndNoMoreThanIsWorthIt) {
  Keep(List("7", Bob("3")));
  Keep(List("8", Bob("3", 0)));
  EXPECT_FALSE(Knows(List("7", Bob("3")))) << "scaled to 0 and back is told anew";
  Keep(List("9", Bob("3")) + std::string(64u << 10, ' '));
  EXPECT_FALSE(Knows(List("8", Bob("3", 0))));
  for (int i = 0; i < 9; ++i) Keep(List("7", "[]"), std::to_string(i));
  EXPECT_FALSE(Knows(List("7", "[]"), "0"));
  EXPECT_TRUE(Knows(List("7", "[]"), "1"));
  EXPECT_TRUE(Knows(List("7", "[]"), "8"));
}

class GlancesOfAClient : public testing::Test {
 protected:
  ApiResult Ask(const std::string& body, bool may_be_known = true, int status = 200) {
    ApiRequest request = ApiRequest::ListByName(*FindBuiltInByName("deployments", "apps"), "lab",
                                                "bob", Freshness::kGlance);
    request.may_be_known = may_be_known;
    HttpResponse response;
    response.status = status;
    response.content_type = "application/json";
    response.body = body;
    response.date = WallTime(std::chrono::seconds(++second_));
    return Interpret(request, std::move(response), &known_);
  }
  // Of the item of the first answer, which a document that isn't parsed again shows.
  static const void* TextOf(const ApiResult& answer) {
    return OnlyItem(*answer)["metadata"]["uid"].AsString()->data();
  }

  KnownGlances known_;
  int second_ = 0;
};

TEST_F(GlancesOfAClient, AreParsedOnceAndDatedAnew) {
  const auto first = Ask(List("7", Bob("3")));
  ASSERT_TRUE(first);
  const auto second = Ask(List("8", Bob("3")));
  ASSERT_TRUE(second);
  EXPECT_EQ(TextOf(first), TextOf(second));
  EXPECT_EQ(second->server_time, WallTime(std::chrono::seconds(2)));
  const auto other = Ask(List("9", Bob("3")), false);
  ASSERT_TRUE(other);
  EXPECT_NE(TextOf(other), TextOf(first));
  EXPECT_EQ(other->document.root()["metadata"]["resourceVersion"].AsString(), "9")
      << "a watch begins there, and would begin at what has expired";
}

TEST_F(GlancesOfAClient, WhatWasRefusedIsRefusedAgain) {
  const std::string wrong = List("7", Bob("3"), "PodList");
  EXPECT_FALSE(Ask(wrong));
  EXPECT_FALSE(Ask(wrong));
  ASSERT_TRUE(Ask(List("7", Bob("3"))));
  EXPECT_FALSE(Ask(List("7", Bob("3")), true, 206)) << "a part of the list";
  EXPECT_FALSE(Ask(List("", Bob("3"))));
}

}  // namespace
}  // namespace cluster_watcher

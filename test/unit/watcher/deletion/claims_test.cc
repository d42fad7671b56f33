#include "watcher/deletion/claims.h"

#include <gtest/gtest.h>

#include "test/unit/support/fake_transport.h"
#include "watcher/protocol/marks.h"

namespace cluster_watcher {
namespace {

constexpr const char* kTemplates = R"("volumeClaimTemplates":[{"metadata":{"name":"data"}}])";

class ClaimsTest : public testing::Test {
 protected:
  ClaimsTest() {
    settings_.ns = "lab";
    set_ = {TypeOf("sts"), {}};
    set_.meta.name = "w";
    set_.meta.uid = "set";
    list_ = ApiRequest::ListBySelector(TypeOf("pvc"), "lab", "app=w", true);
  }
  void ServeSet(const std::string& more_of_spec) {
    api_.transport.On(ApiRequest::Get(TypeOf("sts"), "lab", "w"),
                      Answer(200, ObjectText(TypeOf("sts"), "lab", "w", "set", "",
                                             R"("spec":{"replicas":1,)"
                                             R"("selector":{"matchLabels":{"app":"w"}})" +
                                                 more_of_spec + "}")));
  }
  void ServeClaims(const std::vector<std::string>& claims) {
    api_.transport.On(list_, Answer(200, ListText(TypeOf("pvc"), claims)));
  }
  static std::string Claim(const std::string& name, const std::string& metadata = "") {
    return ObjectText(TypeOf("pvc"), "lab", name, "uid-" + name, metadata);
  }
  Result<bool, ApiError> Settle(Volumes volumes) {
    settings_.volumes = volumes;
    api_.transport.otherwise = [this](const HttpRequest& request) -> HttpResult {
      if (request.method != HttpMethod::kPatch) return NoSuchPath();
      patched_.push_back(request.target.substr(request.target.rfind('/') + 1) + " " + request.body);
      const bool of_set = request.target.ends_with("/w");
      const std::string name = request.target.substr(request.target.rfind('/') + 1);
      return of_set ? Answer(200, ObjectText(TypeOf("sts"), "lab", name, "set"))
                    : Answer(200, Claim(name));
    };
    auto settled = Claims(api_.client, settings_, {"lab", "oshinko-cluster", "bob"},
                          api_.clock.WallNow() + std::chrono::hours(24))
                       .Settle(set_);
    if (!settled) return Unexpected{settled.error()};
    due_.clear();
    for (const KubeObject& claim : settled->due) due_.push_back(claim.meta.name);
    return settled->now;
  }

  FakeApi api_;
  Settings settings_;
  KubeObject set_;
  ApiRequest list_;
  std::vector<std::string> patched_;
  std::vector<std::string> due_;
};

TEST_F(ClaimsTest, ASetWithoutTemplatesIsSettledWithOneRequest) {
  ServeSet("");
  EXPECT_TRUE(*Settle(Volumes::kDelete));
  EXPECT_EQ(api_.transport.requests.size(), 1u);
}

TEST_F(ClaimsTest, WhatWouldBeTakenAlongIsRetainedFirst) {
  ServeSet(std::string(",") + kTemplates +
           R"(,"persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Delete"})");
  EXPECT_FALSE(*Settle(Volumes::kPreserve));
  ASSERT_EQ(patched_.size(), 1u);
  EXPECT_NE(patched_.front().find(R"("whenDeleted":"Retain")"), std::string::npos);
}

TEST_F(ClaimsTest, TheControllerMustHaveLetGoOfThem) {
  ServeSet(std::string(",") + kTemplates);
  ServeClaims(
      {Claim("data-w-0", R"("ownerReferences":[{"apiVersion":"apps/v1","kind":"StatefulSet",)"
                         R"("name":"w","uid":"set"}])")});
  EXPECT_FALSE(*Settle(Volumes::kPreserve));
  EXPECT_TRUE(patched_.empty());
}

TEST_F(ClaimsTest, PreservedOnesAreNotTouched) {
  ServeSet(std::string(",") + kTemplates);
  ServeClaims({Claim("data-w-0")});
  EXPECT_TRUE(*Settle(Volumes::kPreserve));
  EXPECT_TRUE(patched_.empty());
}

TEST_F(ClaimsTest, ThoseThatAreTheSetsAreDueWhereTheyAreToBeDeleted) {
  ServeSet(std::string(",") + kTemplates);
  const std::string owners = R"("ownerReferences":[{"apiVersion":"example.com/v1","kind":"Backup",)"
                             R"("name":"b","uid":"b","controller":)";
  ServeClaims({Claim("data-w-0"), Claim("data-w-11"), Claim("data-w-x"), Claim("other-w-0"),
               Claim("data-w-1", R"("annotations":{"cluster-watcher/keep":"true"})"),
               Claim("data-w-2", R"("deletionTimestamp":"2026-12-24T00:00:00Z")"),
               Claim("data-w-3", R"("labels":{"oshinko-cluster":"alice"})"),
               Claim("data-w-4", R"("labels":{"oshinko-cluster":"bob"})"),
               Claim("data-w-5", owners + "true}]"), Claim("data-w-6", owners + "false}]")});
  EXPECT_TRUE(*Settle(Volumes::kDelete));
  EXPECT_EQ(due_, (std::vector<std::string>{"data-w-0", "data-w-11", "data-w-4", "data-w-6"}));
  EXPECT_TRUE(patched_.empty());
}

TEST_F(ClaimsTest, CollectedOnesAreMarkedOnce) {
  ServeSet(std::string(",") + kTemplates);
  ServeClaims({Claim("data-w-0"),
               Claim("data-w-1", R"("annotations":{"cluster-watcher/root-uid":"uid-data-w-1",)"
                                 R"("cluster-watcher/collect-after":"2026-12-25T00:00:00Z"})"),
               Claim("data-w-2", R"("annotations":{"cluster-watcher/root-uid":"uid-data-w-2",)"
                                 R"("cluster-watcher/collect-after":"2026-12-24T00:00:00Z"})")});
  EXPECT_TRUE(*Settle(Volumes::kCollect));
  ASSERT_EQ(patched_.size(), 2u);
  EXPECT_EQ(patched_.back().find("data-w-2 "), 0u) << "an earlier cluster's retention is renewed";
  EXPECT_NE(patched_.front().find(R"("cluster-watcher/collect-after":"2026-12-25T00:00:00Z")"),
            std::string::npos);
  EXPECT_NE(patched_.front().find(R"("cluster-watcher/collect-of":"oshinko-cluster=bob")"),
            std::string::npos);
}

TEST_F(ClaimsTest, TheExpressionsOfASelectorAreNotAskedForInClaims) {
  api_.transport.On(
      ApiRequest::Get(TypeOf("sts"), "lab", "w"),
      Answer(200, ObjectText(TypeOf("sts"), "lab", "w", "set", "",
                             R"("spec":{"selector":{"matchLabels":{"app":"w"},)"
                             R"("matchExpressions":[{"key":"tier","operator":"Exists"}]},)" +
                                 std::string(kTemplates) + "}")));
  ServeClaims({Claim("data-w-0", R"("ownerReferences":[{"apiVersion":"apps/v1",)"
                                 R"("kind":"StatefulSet","name":"w","uid":"set"}])")});
  EXPECT_FALSE(*Settle(Volumes::kPreserve));
}

TEST_F(ClaimsTest, ASuccessorsClaimsAreNotTouched) {
  ServeSet(std::string(",") + kTemplates);
  api_.transport.On(ApiRequest::Get(TypeOf("sts"), "lab", "w"),
                    Answer(200, ObjectText(TypeOf("sts"), "lab", "w", "successor")));
  ServeClaims({Claim("data-w-0")});
  EXPECT_FALSE(*Settle(Volumes::kDelete));
  EXPECT_TRUE(due_.empty());
}

TEST_F(ClaimsTest, WhatCantBeReadIsAnError) {
  ServeSet(std::string(",") + kTemplates);
  api_.transport.On(list_, Refused(403));
  EXPECT_FALSE(Settle(Volumes::kDelete));
}

TEST_F(ClaimsTest, AnotherSetOfThatNameIsLeftToTheDelete) {
  set_.meta.uid = "earlier";
  ServeSet(std::string(",") + kTemplates);
  EXPECT_TRUE(*Settle(Volumes::kDelete));
  EXPECT_EQ(api_.transport.requests.size(), 1u);
}

TEST_F(ClaimsTest, ASetThatIsGoneIsSettled) {
  api_.transport.On(ApiRequest::Get(TypeOf("sts"), "lab", "w"), NotFound(TypeOf("sts"), "w"));
  EXPECT_TRUE(*Settle(Volumes::kDelete));
}

constexpr const char* kOfSet =
    R"("ownerReferences":[{"apiVersion":"apps/v1","kind":"StatefulSet","name":"w","uid":"set"}])";

TEST_F(ClaimsTest, OneThatIsKeptMustBeLetGoOfWhereTheOthersAreDeleted) {
  ServeSet(std::string(",") + kTemplates +
           R"(,"persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Delete"})");
  const std::string keep = R"("annotations":{"cluster-watcher/keep":"true"})";
  ServeClaims({Claim("data-w-0", keep + "," + kOfSet)});
  EXPECT_FALSE(*Settle(Volumes::kDelete));
  ASSERT_EQ(patched_.size(), 1u);
  EXPECT_NE(patched_.front().find(R"("whenDeleted":"Retain")"), std::string::npos);
}

TEST_F(ClaimsTest, OneThatIsNotKeptMayGoWithTheSet) {
  ServeSet(std::string(",") + kTemplates +
           R"(,"persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Delete"})");
  ServeClaims({Claim("data-w-0", R"("annotations":{"cluster-watcher/keep":"true"})"),
               Claim("data-w-1", kOfSet)});
  EXPECT_TRUE(*Settle(Volumes::kDelete));
  EXPECT_EQ(due_, std::vector<std::string>{"data-w-1"});
  EXPECT_TRUE(patched_.empty());
}

TEST_F(ClaimsTest, AClaimThatCannotBeReadMayBeHeld) {
  ServeSet(std::string(",") + kTemplates);
  ServeClaims({R"({"metadata":{"name":"data-w-0"}})"});
  EXPECT_FALSE(Settle(Volumes::kPreserve));
}

TEST_F(ClaimsTest, AClaimWithoutAnOrdinalIsNotTheSets) {
  ServeSet(std::string(",") + kTemplates);
  ServeClaims({Claim("data-w-")});
  EXPECT_TRUE(*Settle(Volumes::kDelete));
  EXPECT_TRUE(due_.empty());
}

TEST_F(ClaimsTest, AClaimThatCannotBeMarkedHoldsTheSetUpUnlessItIsGone) {
  ServeSet(std::string(",") + kTemplates);
  ServeClaims({Claim("data-w-0")});
  const ApiRequest patch = ApiRequest::MergePatch(TypeOf("pvc"), "lab", "data-w-0", "");
  api_.transport.On(patch, Refused(503));
  api_.transport.On(patch, NotFound(TypeOf("pvc"), "data-w-0"));
  EXPECT_FALSE(Settle(Volumes::kCollect));
  const auto settled = Settle(Volumes::kCollect);
  ASSERT_TRUE(settled);
  EXPECT_TRUE(*settled);
}

}  // namespace
}  // namespace cluster_watcher

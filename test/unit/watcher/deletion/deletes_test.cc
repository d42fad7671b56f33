#include "watcher/deletion/deletes.h"

#include <string>
#include <vector>

#include "test/unit/support/tools_lab.h"

namespace cluster_watcher {
namespace {

using small_kubernetes::Request;
using small_kubernetes::Response;
using small_kubernetes::User;

class DeletesTest : public ToolsLab {
 protected:
  DeletesTest() {
    memory_.cluster = cluster_;
    memory_.root_uid = "spark-m";
  }
  bool Send(const std::vector<const KubeObject*>& objects) {
    return deletes_.Send(objects, PropagationPolicy::kBackground);
  }
  // As many ConfigMaps.
  std::vector<const KubeObject*> MakeMaps(int count) {
    kubernetes_.settle_after_writes = false;
    std::vector<const KubeObject*> all;
    for (int i = 0; i < count; ++i) maps_.push_back(MakeBareMap("map-" + std::to_string(i)));
    for (const KubeObject& map : maps_) all.push_back(&map);
    return all;
  }

  bool may_send_ = true;
  int prepared_ = 0;
  int may_prepare_ = 1000;
  DeletionMemory memory_;
  Deletes deletes_{MakeTools(),
                   memory_,
                   warn_once_,
                   [this] { return may_send_; },
                   [this] { return ++prepared_ <= may_prepare_; },
                   [this] { return kubernetes_.brake; }};
  KubeObjects maps_;
};

// What it controlled is waited for, and what it owned goes next.
TEST_F(DeletesTest, WhatIsGoneAlreadyCountsAsDeleted) {
  const KubeObject config = ObjectNamed("configmaps", "spark-config");
  EXPECT_FALSE(deletes_.sent().AcceptedAt(config.meta.uid));
  Delete(kMaps + std::string("/spark-config"));
  EXPECT_TRUE(Send({&config}));
  EXPECT_EQ(deletes_.sent().AcceptedAt(config.meta.uid), clock_.Now());
  EXPECT_FALSE(deletes_.sent().any_accepted) << "somebody else deleted it";
}

TEST_F(DeletesTest, AnApiServerThatAsksForAPauseIsSentNoFurtherBatch) {
  const auto maps = MakeMaps(200);
  kubernetes_.on_answer = [number = 0](const Request& request, const User&,
                                       Response& response) mutable {
    if (request.method != "DELETE") return;
    if (++number == 80) response.status = 429;
    if (number == 81) response.status = 500;
  };
  EXPECT_FALSE(Send(maps));
  EXPECT_EQ(kubernetes_.Count("DELETE"), 8u + 64u + 64u);
}

// Thousands of refusals would be as many requests, lines and counts.
TEST_F(DeletesTest, TheBrakeEndsAPassAndIsNoMissingRight) {
  const auto maps = MakeMaps(200);
  kubernetes_.brake = true;
  EXPECT_FALSE(Send(maps)) << "they must be sent again";
  EXPECT_EQ(kubernetes_.Count("DELETE"), 8u);
  EXPECT_FALSE(deletes_.results().contains("forbidden"));
  EXPECT_NE(deletes_.TakePolicy().find("the brake"), std::string::npos);
}

TEST_F(DeletesTest, AConflictIsSentAgainAFewTimesAndOnlyOnFreshEvidence) {
  const KubeObject config = ObjectNamed("configmaps", "spark-config");
  const std::string version = '"' + config.meta.resource_version + '"';
  kubernetes_.on_request = [&](const Request& request, const User&) {
    if (request.method != "DELETE") return;
    EXPECT_NE(request.body.find(version), std::string::npos) << request.body;
  };
  Refuse("DELETE", "spark-config", 409);
  EXPECT_FALSE(Send({&config}));
  EXPECT_EQ(kubernetes_.Count("DELETE"), 3u);
  kubernetes_.on_request = [this](const Request& request, const User&) {
    if (request.method == "DELETE") may_send_ = false;
  };
  EXPECT_FALSE(Send({&config}));
  EXPECT_EQ(kubernetes_.Count("DELETE"), 4u);
}

TEST_F(DeletesTest, WhatIsNoLongerToBeSentIsNoFailedDelete) {
  const auto maps = MakeMaps(8);
  may_send_ = false;
  const auto before = kubernetes_.Count("");
  EXPECT_FALSE(Send(maps));
  EXPECT_EQ(kubernetes_.Count(""), before);
  EXPECT_TRUE(deletes_.results().empty());
  EXPECT_FALSE(deletes_.sent().any_accepted);
}

// Each rests on a read that is renewed.
TEST_F(DeletesTest, EachBatchIsPrepared) {
  const auto maps = MakeMaps(200);
  may_prepare_ = 2;
  EXPECT_FALSE(Send(maps));
  EXPECT_EQ(kubernetes_.Count("DELETE"), 8u + 64u);
}

TEST_F(DeletesTest, BetweenBatchesTheHeartbeatGoesOn) {
  Send(MakeMaps(100));
  EXPECT_EQ(turns_, 2);
}

TEST_F(DeletesTest, AMarkOfAClaimThatIsRefusedPermanentlyIsNotTriedAgain) {
  kubernetes_.Apply(R"({"apiVersion":"v1","kind":"PersistentVolumeClaim",)" + Labelled("data") +
                    R"(,"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":)"
                    R"({"storage":"1Gi"}}}})");
  KubeObjects claims = {ObjectNamed("persistentvolumeclaims", "data")};
  for (const int status : {503, 403}) {
    Refuse("PATCH", "persistentvolumeclaims", status);
    EXPECT_EQ(deletes_.MarkForCollection(claims, {}), status == 403) << status;
    EXPECT_EQ(claims.size(), 1u);
    kubernetes_.GetFaults().Clear();
  }
  EXPECT_TRUE(deletes_.MarkForCollection(claims, {}));
  EXPECT_TRUE(claims.empty());
}

TEST_F(DeletesTest, TheWordsOfATransientFailureAreKnownUntilItIsAccepted) {
  const auto maps = MakeMaps(30);
  Refuse("DELETE", "configmaps", 500);
  EXPECT_FALSE(Send(maps));
  EXPECT_EQ(deletes_.sent().failed.size(), 20u) << "no more would be named";
  EXPECT_NE(deletes_.sent().failed.begin()->second.find("HTTP 500"), std::string::npos);
  kubernetes_.GetFaults().Clear();
  EXPECT_TRUE(Send(maps));
  EXPECT_TRUE(deletes_.sent().failed.empty());
}

TEST_F(DeletesTest, AFewOfManyAreNamed) {
  Send(MakeMaps(30));
  EXPECT_EQ(deletes_.first_deleted().size(), 20u);
  EXPECT_EQ(deletes_.results().at("deleted"), 30);
}

}  // namespace
}  // namespace cluster_watcher

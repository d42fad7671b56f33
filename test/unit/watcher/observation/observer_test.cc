#include "watcher/observation/observer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "test/unit/support/lab.h"
#include "watcher/decision/rules.h"

namespace cluster_watcher {
namespace {

using small_kubernetes::Request;
using small_kubernetes::User;

class ObserverTest : public testing::Test, protected Lab {
 protected:
  // Takes a look that knows the cluster and its owner, and returns its requests.
  std::vector<std::string> LookAgain(OtherDriversToo others, const std::function<void()>& before) {
    observer_.SureLook({});
    before();
    std::vector<std::string> requests;
    kubernetes_.on_request = [&](const Request& request, const User&) {
      requests.emplace_back(request.target);
      if (meanwhile_) meanwhile_(std::string(request.target));
    };
    look_ = observer_.SureLook({}, others);
    kubernetes_.on_request = {};
    return requests;
  }
  static bool AsksForOwner(const std::string& target) {
    return target.find("metadata.name%3Dbob") != std::string::npos;
  }

  ResolvedSettings OfPod() {
    settings_.settings.pod = NameOfPod();
    return settings_;
  }

  SettingsInForce in_force_{OfPod(), [this](const TextMap&) { return settings_; }};
  Observer observer_{client_, discovery_, clock_, in_force_};
  std::function<void(const std::string& target)> meanwhile_;
  Snapshot look_;
};

TEST_F(ObserverTest, AnActiveOwnerIsReadOnce) {
  const auto requests = LookAgain(OtherDriversToo::kYes, [] {});
  EXPECT_EQ(std::count_if(requests.begin(), requests.end(), AsksForOwner), 1);
  for (const std::string& target : requests) {
    EXPECT_EQ(target.find(kUsesClusterLabel), std::string::npos) << target;
  }
}

TEST_F(ObserverTest, WhatCouldKeepTheClusterIsReadBetweenTwoReadsOfTheOwner) {
  const auto requests = LookAgain(OtherDriversToo::kYes, [this] { Delete(kDriver); });
  EXPECT_TRUE(Decide(look_.facts, *look_.others).abandoned());
  const auto first = std::find_if(requests.begin(), requests.end(), AsksForOwner);
  const auto last = std::find_if(requests.rbegin(), requests.rend(), AsksForOwner).base() - 1;
  ASSERT_LT(first, last);
  for (auto at = requests.begin(); at != requests.end(); ++at) {
    if (*at == "/apis" || AsksForOwner(*at)) continue;
    const bool may_be_of_owner = at->find("pods?") != std::string::npos;
    EXPECT_GT(at, first) << *at;
    if (!may_be_of_owner) {
      EXPECT_LT(at, last) << *at;
      EXPECT_EQ(std::count(requests.begin(), requests.end(), *at), 1) << *at;
    }
  }
}

TEST_F(ObserverTest, AnOwnerThatComesBackDuringALookIsThere) {
  meanwhile_ = [this](const std::string& target) {
    if (target.find(kUsesClusterLabel) == std::string::npos) return;
    meanwhile_ = nullptr;
    MakeDriver();
  };
  LookAgain(OtherDriversToo::kYes, [this] { Delete(kDriver); });
  EXPECT_FALSE(Decide(look_.facts).abandoned());
}

TEST_F(ObserverTest, WhoeverChangesWhileItIsLookedAtIsUnknown) {
  int reads = 0;
  meanwhile_ = [&](const std::string& target) {
    if (!AsksForOwner(target)) return;
    if (++reads % 2 == 0) {
      Delete(kDriver);
    } else {
      MakeDriver();
      kubernetes_.Admin("PATCH", kDriver, R"({"spec":{"replicas":0}})",
                        "application/merge-patch+json");
    }
  };
  LookAgain(OtherDriversToo::kNo, [this] { Delete(kDriver); });
  EXPECT_EQ(look_.facts.owner->observation, Observation::kUnknown);
  EXPECT_EQ(reads, 3);
}

TEST_F(ObserverTest, EvidenceIsAsOldAsTheFirstReadOfWhatCouldKeepTheCluster) {
  BootTime sent;
  meanwhile_ = [&](const std::string& target) {
    if (target == "/api/v1/namespaces/lab") sent = clock_.BootNow();
    clock_.elapsed += Duration(100);
  };
  LookAgain(OtherDriversToo::kNo, [this] { Delete(kDriver); });
  EXPECT_EQ(look_.evidence_since.sent, sent);
  EXPECT_GT(sent.time_since_epoch(), look_.began.time_since_epoch());
}

TEST_F(ObserverTest, AnOwnerThatIsBackWhenOtherDriversWereLookedForIsUnknown) {
  LookAgain(OtherDriversToo::kNo, [this] { Delete(kDriver); });
  ASSERT_TRUE(Decide(look_.facts).abandoned());
  MakeDriver();
  EXPECT_EQ(Decide(look_.facts, observer_.FindOtherDrivers(look_, {})).reason, Reason::kUnknown);
}

// Drivers may be of many kinds.
TEST_F(ObserverTest, AnApiServerThatHangsIsNotAskedForOneKindOfDriverAfterTheOther) {
  Delete(kDriver);
  const Snapshot look = observer_.SureLook({});
  ASSERT_TRUE(Decide(look.facts).abandoned());
  small_kubernetes::Fault hang;
  hang.contains = kUsesClusterLabel;
  hang.times = 0;
  hang.action = small_kubernetes::Fault::Action::kHang;
  kubernetes_.GetFaults().Add(hang);
  const Duration before = clock_.elapsed;
  EXPECT_EQ(Decide(look.facts, observer_.FindOtherDrivers(look, {})).reason, Reason::kUnknown);
  // In virtual time, requests sent side by side run one after the other.
  EXPECT_LE(clock_.elapsed - before, kUrgentReadsSideBySide * HttpRequest().timeout);
}

}  // namespace
}  // namespace cluster_watcher

#include "watcher/observation/observer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
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
  ObserverTest() { settings_.settings.pod = NameOfPod(); }

  // The one watcher of a test.
  Observer& Watcher() {
    if (!observer_) {
      in_force_.emplace(settings_, [this](const TextMap& annotations) {
        ResolvedSettings resolved = settings_;
        resolved.annotation_errors = AnnotationErrors(annotations, BuiltInProfiles());
        return resolved;
      });
      observer_.emplace(client_, discovery_, clock_, *in_force_);
    }
    return *observer_;
  }
  Snapshot Look() { return Watcher().SureLook({}); }
  // Begins to watch the cluster from outside of its pods.
  void LookFromOutside(const std::string& cluster = "spark") {
    settings_.settings.pod.clear();
    settings_.settings.cluster = cluster;
    observer_.reset();
  }
  // As a watcher does with a mark.
  void Record(const RecordedOwner& owner) {
    Annotate(kRoot, "root-uid", ObjectUid(kRoot));
    JsonWriter patch;
    patch.StartObject().Key("metadata").StartObject().Key("annotations").StartObject();
    patch.Field(annotation::kRecordedOwner, *OwnerMarks(owner).at(annotation::kRecordedOwner));
    Patch(kRoot, patch.EndObject().EndObject().EndObject().Text());
  }
  // Takes a look that knows the cluster and its owner, and returns its requests.
  std::vector<std::string> LookAgain(OtherDriversToo others, const std::function<void()>& before) {
    Look();
    before();
    std::vector<std::string> requests;
    kubernetes_.on_request = [&](const Request& request, const User&) {
      requests.emplace_back(request.target);
      if (meanwhile_) meanwhile_(std::string(request.target));
    };
    look_ = Watcher().SureLook({}, others);
    kubernetes_.on_request = {};
    return requests;
  }
  static bool AsksForOwner(const std::string& target) {
    return target.find("metadata.name%3Dbob") != std::string::npos;
  }
  std::string Verdict() { return ToString(Decide(Look().facts).reason); }
  void Patch(const std::string& path, const std::string& change) {
    const auto answer = kubernetes_.Admin("PATCH", path, change, "application/merge-patch+json");
    EXPECT_EQ(answer.status, 200) << answer.body;
  }
  // A rollout may delete our pod, but not be done with it.
  void PatchTemplate(const std::string& change) {
    Patch(PathOfPod(settings_.settings.pod), R"({"metadata":{"finalizers":["example.com/held"]}})");
    Patch(kRoot, R"({"spec":{"template":)" + change + "}}");
  }
  static std::string PathOfPod(const std::string& name) {
    return "/api/v1/namespaces/lab/pods/" + name;
  }
  // Starts a second master pod, and returns its name.
  std::string StartSecondPod() {
    Patch(kRoot, R"({"spec":{"replicas":2}})");
    const auto pods =
        JsonDocument::Parse(Read("/api/v1/namespaces/lab/pods?labelSelector=app%3Dspark-m").body);
    for (const JsonValue pod : pods->root()["items"].Elements()) {
      const std::string name(*pod["metadata"]["name"].AsString());
      if (name != settings_.settings.pod) return name;
    }
    return "";
  }

  std::optional<SettingsInForce> in_force_;
  std::optional<Observer> observer_;
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
      Patch(kDriver, R"({"spec":{"replicas":0}})");
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
  EXPECT_EQ(look_.when.evidence.sent, sent);
  EXPECT_GT(sent.time_since_epoch(), look_.when.began.time_since_epoch());
}

TEST_F(ObserverTest, WhoUsedItBeforeIsAskedForFirst) {
  MakeWorkload("alice", R"("uses-oshinko-cluster":"spark",)");
  Watcher().SureLook({});
  Delete(kDriver);
  const Snapshot look = Watcher().SureLook({});
  int requests = 0;
  const auto in_use = [&] {
    kubernetes_.on_request = [&](const Request&, const User&) { ++requests; };
    requests = 0;
    const auto others = Watcher().FindOtherDrivers(look, {});
    kubernetes_.on_request = nullptr;
    return others.in_use_by.value_or("");
  };
  EXPECT_EQ(in_use(), "deployment.apps/alice");
  EXPECT_GT(requests, 10);
  EXPECT_EQ(in_use(), "deployment.apps/alice");
  EXPECT_EQ(requests, 1);
  Delete("/apis/apps/v1/namespaces/lab/deployments/alice");
  EXPECT_EQ(in_use(), "");
  EXPECT_GT(requests, 10);
}

TEST_F(ObserverTest, AnOwnerThatIsBackWhenOtherDriversWereLookedForIsUnknown) {
  LookAgain(OtherDriversToo::kNo, [this] { Delete(kDriver); });
  ASSERT_TRUE(Decide(look_.facts).abandoned());
  MakeDriver();
  EXPECT_EQ(Decide(look_.facts, Watcher().FindOtherDrivers(look_, {})).reason, Reason::kUnknown);
}

TEST_F(ObserverTest, AnOwnerThatOnlyAConfirmingReadHasSeenIsRemembered) {
  Delete(kDriver);
  const Snapshot look = Look();
  ASSERT_TRUE(Decide(look.facts).abandoned());
  MakeDriver();
  EXPECT_EQ(Decide(look.facts, Watcher().FindOtherDrivers(look, {})).reason, Reason::kUnknown);
  kubernetes_.Admin("DELETE", kDriver, R"({"propagationPolicy":"Orphan"})");
  kubernetes_.Apply(
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"left","namespace":"lab",)"
      R"("labels":{"app":"bob"}},"spec":{"containers":[{"name":"main","image":"x"}]}})");
  EXPECT_EQ(Decide(Look().facts).reason, Reason::kDriverRunning);
}

TEST_F(ObserverTest, AnOwnerThatOnlyALookThatFailsHasSeenIsRemembered) {
  Delete(kDriver);
  Look();
  MakeDriver();
  kubernetes_.on_answer = [](const Request& request, const User&,
                             small_kubernetes::Response& answer) {
    if (request.target.ends_with("/deployments/spark-m")) answer.status = 500;
  };
  EXPECT_EQ(Verdict(), "unknown");
  kubernetes_.on_answer = {};
  kubernetes_.Admin("DELETE", kDriver, R"({"propagationPolicy":"Orphan"})");
  kubernetes_.Apply(
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"left","namespace":"lab",)"
      R"("labels":{"app":"bob"}},"spec":{"containers":[{"name":"main","image":"x"}]}})");
  EXPECT_EQ(Decide(Look().facts).reason, Reason::kDriverRunning);
}

// Drivers may be of many kinds.
TEST_F(ObserverTest, AnApiServerThatHangsIsNotAskedForOneKindOfDriverAfterTheOther) {
  Delete(kDriver);
  const Snapshot look = Look();
  ASSERT_TRUE(Decide(look.facts).abandoned());
  small_kubernetes::Fault hang;
  hang.contains = kUsesClusterLabel;
  hang.times = 0;
  hang.action = small_kubernetes::Fault::Action::kHang;
  kubernetes_.GetFaults().Add(hang);
  const Duration before = clock_.elapsed;
  EXPECT_EQ(Decide(look.facts, Watcher().FindOtherDrivers(look, {})).reason, Reason::kUnknown);
  // In virtual time, requests sent side by side run one after the other.
  EXPECT_LE(clock_.elapsed - before, kUrgentReadsSideBySide * HttpRequest().timeout);
}

TEST_F(ObserverTest, ADriverWhosePodsCarryTheClustersLabelRunsOn) {
  Patch(kDriver, R"({"metadata":{"finalizers":["example.com/held"]}})");
  const auto pods =
      JsonDocument::Parse(Read("/api/v1/namespaces/lab/pods?labelSelector=app%3Dbob").body);
  Patch(PathOfPod(std::string(*pods->root()["items"].At(0)["metadata"]["name"].AsString())),
        R"({"metadata":{"labels":{"oshinko-cluster":"spark"}}})");
  EXPECT_EQ(Verdict(), "active");
  Delete(kDriver);
  EXPECT_EQ(Verdict(), "driver-running");
}

TEST_F(ObserverTest, TheMastersPodsAreNoneOfAnOwnersThatSelectsThemToo) {
  EXPECT_EQ(Verdict(), "active");
  const std::string bob = R"({"metadata":{"labels":{"app":"bob"}}})";
  Patch(PathOfPod(settings_.settings.pod), bob);
  Delete(kDriver);
  EXPECT_EQ(Verdict(), "owner-absent");
}

// People write there what counts on the pods: a dry run, or where the driver is, is not passed
// over.
TEST_F(ObserverTest, ASettingThatStandsOnTheMasterRootAloneIsAMistake) {
  Annotate(kRoot, "owner", "deployment/bob");
  Annotate(kRoot, "inject", "true");
  Annotate(kRoot, "owner-kind", "deploy");
  EXPECT_EQ(Verdict(), "active");
  for (const char* key : {"dry-run", "owner-namespace", "hold-untill"}) {
    Annotate(kRoot, key, "true");
    EXPECT_EQ(Verdict(), "misconfigured") << key;
    Patch(kRoot,
          R"({"metadata":{"annotations":{"cluster-watcher/)" + std::string(key) + R"(":null}}})");
    EXPECT_EQ(Verdict(), "active") << key;
  }
}

TEST_F(ObserverTest, AnOwnerThatWasAMemberWhenLastSeenIsNotAnAbsentDriver) {
  Patch(kDriver, R"({"metadata":{"labels":{"oshinko-cluster":"spark"}}})");
  EXPECT_EQ(Verdict(), "misconfigured");
  Delete(kDriver);
  EXPECT_EQ(Verdict(), "misconfigured");
  MakeDriver();
  EXPECT_EQ(Verdict(), "owner-adopted");
  Watcher().Adopt(Look());
  EXPECT_EQ(Verdict(), "active");
  Delete(kDriver);
  EXPECT_EQ(Verdict(), "owner-absent");
}

// A restarted watcher knows it by the mark.
TEST_F(ObserverTest, ThatTheOwnerIsAMemberIsRecorded) {
  MakeDriver(R"("oshinko-cluster":"spark",)");
  const Snapshot look = Look();
  ASSERT_TRUE(look.seen && look.seen->is_member);
  Record(*look.seen);
  Delete(kDriver);
  observer_.reset();
  EXPECT_EQ(Verdict(), "misconfigured");
}

TEST_F(ObserverTest, AMemberThatOnlyAConfirmingReadHasSeenIsNoDriverThatIsGone) {
  Delete(kDriver);
  const Snapshot look = Look();
  MakeDriver(R"("oshinko-cluster":"spark",)");
  Watcher().FindOtherDrivers(look, {});
  Delete(kDriver);
  EXPECT_EQ(Verdict(), "misconfigured");
}

TEST_F(ObserverTest, TheDriversWordCountsForOneCommandWhileNothingElseOfItRuns) {
  Look();
  EXPECT_EQ(Verdict(), "active");
  Watcher().SetWord("completed");
  EXPECT_EQ(Verdict(), "completed") << "its one pod is about to end";
  Watcher().SetCaller("another", "another");
  EXPECT_EQ(Verdict(), "driver-running");
  Watcher().SetCaller("", NameOfPod("bob"));
  EXPECT_EQ(Verdict(), "completed");
  Watcher().SetWord("terminated");
  EXPECT_EQ(Verdict(), "active");
  Watcher().SetWord(std::nullopt);
  EXPECT_EQ(Verdict(), "active") << "it is written nowhere";
}

TEST_F(ObserverTest, OfTwoPodsOfTheDriverOneRunsOnWhoeverSaysSo) {
  kubernetes_.Apply(
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"left","namespace":"lab",)"
      R"("labels":{"app":"bob"}},"spec":{"containers":[{"name":"main","image":"x"}]}})");
  Watcher().SetWord("completed");
  EXPECT_EQ(Verdict(), "driver-running");
  Patch(PathOfPod("left") + "/status", R"({"status":{"phase":"Succeeded"}})");
  EXPECT_EQ(Verdict(), "completed");
}

// As long as what could keep the cluster was read before the owner, it may have changed since.
TEST_F(ObserverTest, WhoIsTheOwnerOnlyNowIsReadBeforeWhatCouldKeepTheClusterToo) {
  settings_.settings.owner.reset();
  Annotate(kRoot, "owner", "deployment/bob");
  const auto requests = LookAgain(OtherDriversToo::kYes, [this] {
    Delete(kDriver);
    Annotate(kRoot, "owner", "deployment/alice");
  });
  EXPECT_TRUE(Decide(look_.facts, *look_.others).abandoned());
  const auto asks_for_alice = [](const std::string& target) {
    return target.find("metadata.name%3Dalice") != std::string::npos;
  };
  const auto first = std::find_if(requests.begin(), requests.end(), asks_for_alice);
  const auto last = std::find_if(requests.rbegin(), requests.rend(), asks_for_alice).base() - 1;
  for (const std::string& kept : {std::string(kRoot), std::string("/api/v1/namespaces/lab"),
                                  PathOfPod(settings_.settings.pod)}) {
    EXPECT_NE(std::find(first, last, kept), last) << kept;
  }
}

TEST_F(ObserverTest, ARolloutToAnotherDriverKeepsFromTheFirstLookOn) {
  Delete(kDriver);
  PatchTemplate(R"({"metadata":{"annotations":{"cluster-watcher/owner":"deployment/alice"}}})");
  EXPECT_EQ(Verdict(), "ambiguous");
  EXPECT_EQ(Verdict(), "ambiguous");
  PatchTemplate(R"({"metadata":{"annotations":{"cluster-watcher/owner":"deployment/bob"}}})");
  EXPECT_EQ(Verdict(), "owner-absent");
}

TEST_F(ObserverTest, ARolloutToADriverThatIsGoneTooKeepsUntilThatIsAbandonedItself) {
  const char* alice = "/apis/apps/v1/namespaces/lab/deployments/alice";
  Delete(kDriver);
  PatchTemplate(R"({"metadata":{"annotations":{"cluster-watcher/owner":"deployment/alice"}}})");
  const auto after = [this](Duration wait) {
    clock_.elapsed += wait;
    return Verdict();
  };
  const Duration grace = settings_.settings.startup_grace;
  EXPECT_EQ(Verdict(), "ambiguous");
  EXPECT_EQ(after(grace - Duration(1'000)), "ambiguous") << "it may be about to come";
  EXPECT_EQ(after(Duration(1'000)), "owner-absent");
  MakeWorkload("alice", "");
  EXPECT_EQ(Verdict(), "ambiguous");
  EXPECT_EQ(after(grace), "ambiguous");
  Patch(alice, R"({"spec":{"replicas":0}})");
  EXPECT_EQ(Verdict(), "ambiguous");
  Refuse("GET", "metadata.name%3Dalice", 403);
  Refuse("GET", alice, 403);
  EXPECT_EQ(after(grace), "ambiguous");
  kubernetes_.GetFaults().Clear();
  EXPECT_EQ(Verdict(), "ambiguous") << "it has to be gone all the time";
  EXPECT_EQ(after(grace), "owner-absent");
  Patch(alice, R"({"metadata":{"labels":{"oshinko-cluster":"spark"}}})");
  EXPECT_EQ(after(grace), "ambiguous") << "a mistake";
  Delete(alice);
  PatchTemplate(R"({"metadata":{"annotations":{"cluster-watcher/dry-run":"true"}}})");
  EXPECT_EQ(Verdict(), "ambiguous");
  EXPECT_EQ(after(grace), "ambiguous") << "it keeps whoever the driver is";
}

TEST_F(ObserverTest, ALaterMasterPodForAnotherDriverKeepsWhileItRuns) {
  Delete(kDriver);
  const std::string later = PathOfPod(StartSecondPod());
  EXPECT_EQ(Verdict(), "owner-absent");
  Annotate(later, "owner", "deployment/alice");
  EXPECT_EQ(Verdict(), "ambiguous");
  Refuse("GET", later, 503);
  EXPECT_EQ(Verdict(), "unknown");
  kubernetes_.GetFaults().Clear();
  Patch(later + "/status", R"({"status":{"phase":"Failed"}})");
  EXPECT_EQ(Verdict(), "owner-absent");
}

TEST_F(ObserverTest, TheMasterRootsAnnotationMustNameTheOwnerThatIsGiven) {
  Delete(kDriver);
  for (const char* same : {"deployment/bob", "deploy.apps/bob", "bob"}) {
    Annotate(kRoot, "owner", same);
    EXPECT_EQ(Verdict(), "owner-absent") << same;
  }
  for (const char* other : {"job/bob", "deployment/alice", "no owner at all"}) {
    Annotate(kRoot, "owner", other);
    EXPECT_EQ(Verdict(), "owner-mismatch") << other;
  }
}

TEST_F(ObserverTest, AHoldOnThePodTemplateHolds) {
  Delete(kDriver);
  const auto hold = [&](const std::string& until) {
    Patch(kRoot, R"({"spec":{"replicas":0,"template":{"metadata":{"annotations":)"
                 R"({"cluster-watcher/hold-until":")" +
                     until + "\"}}}}}");
  };
  hold("2026-12-25T00:00:00Z");
  LookFromOutside();
  EXPECT_EQ(Verdict(), "held");
  EXPECT_NE(Decide(Look().facts).detail.find("pod template of deployment.apps/spark-m"),
            std::string::npos);
  hold("2026-12-23T00:00:00Z");
  EXPECT_EQ(Verdict(), "owner-absent");
}

TEST_F(ObserverTest, AMasterRootThatIsAnnotatedKeepHolds) {
  Delete(kDriver);
  Annotate(kRoot, "keep", "false");
  EXPECT_EQ(Verdict(), "owner-absent");
  Annotate(kRoot, "keep", "true");
  EXPECT_EQ(Verdict(), "held");
}

TEST_F(ObserverTest, ASettingOfThePodThatChangesAfterTheStartIsAMistake) {
  const std::string pod = PathOfPod(settings_.settings.pod);
  Annotate(pod, "grace-period", "1m");
  EXPECT_EQ(Verdict(), "active");
  Annotate(pod, "grace-period", "1h");
  EXPECT_EQ(Verdict(), "misconfigured");
  Annotate(pod, "grace-period", "1m");
  EXPECT_EQ(Verdict(), "active");
  Annotate(pod, "before-delete", "[]");
  EXPECT_EQ(Verdict(), "active") << "no setting";
}

TEST_F(ObserverTest, AMisspeltAnnotationThatIsAddedAfterTheStartIsAMistakeWhileItIsThere) {
  const std::string pod = PathOfPod(settings_.settings.pod);
  EXPECT_EQ(Verdict(), "active");
  Annotate(pod, "hold-untill", "2199-12-24T00:00:00Z");
  EXPECT_EQ(Verdict(), "misconfigured");
  Patch(pod, R"({"metadata":{"annotations":{"cluster-watcher/hold-untill":null}}})");
  EXPECT_EQ(Verdict(), "active");
}

// `check` beside a watcher, in its own pod: that one's flags aren't ours.
TEST_F(ObserverTest, WhoAsksForPeopleKnowsTheFlagsOfTheWatcherToo) {
  Patch(kRoot,
        R"({"spec":{"template":{"spec":{"initContainers":[{"name":"cluster-watcher","image":"x",)"
        R"("restartPolicy":"Always","args":["watch","--owner=deployment/alice"]}]}}}})");
  kubernetes_.Settle();
  settings_.settings.pod = NameOfPod();
  for (const bool asks : {false, true}) {
    TextMap taken;
    in_force_.emplace(settings_, [&](const TextMap& annotations) {
      taken = annotations;
      return settings_;
    });
    observer_.emplace(client_, discovery_, clock_, *in_force_);
    if (asks) observer_->AsksForPeople();
    Look();
    EXPECT_EQ(taken["cluster-watcher/owner"], asks ? "deployment/alice" : "");
  }
}

TEST_F(ObserverTest, OfTwoPodsThatNameTwoDriversTheOlderKeepsTheClusterTooUnlessItEnds) {
  const std::string older = PathOfPod(settings_.settings.pod);
  Annotate(older, "owner", "deployment/bob");
  clock_.elapsed += std::chrono::seconds(2);
  settings_.settings.pod = StartSecondPod();
  settings_.settings.owner = *OwnerName::Parse("deployment/alice");
  Annotate(PathOfPod(settings_.settings.pod), "owner", "deployment/alice");
  EXPECT_EQ(Verdict(), "ambiguous");
  Patch(older + "/status", R"({"status":{"phase":"Failed","reason":"Evicted"}})");
  EXPECT_EQ(Verdict(), "owner-absent");
}

// An admission may write the owner on the pod alone.
TEST_F(ObserverTest, WhatAnAdmissionPutsOnAPodBesideItsTemplateIsNoRollout) {
  Delete(kDriver);
  Annotate(PathOfPod(settings_.settings.pod), "owner", "deployment/bob");
  EXPECT_EQ(Verdict(), "owner-absent");
  PatchTemplate(R"({"metadata":{"labels":{"more":"x"}}})");
  EXPECT_EQ(Verdict(), "ambiguous") << "the next pods have no owner";
}

TEST_F(ObserverTest, APodThatHasEndedSaysNothing) {
  Delete(kDriver);
  const std::string ended = PathOfPod(settings_.settings.pod);
  Annotate(ended, "owner", "deployment/alice");
  Annotate(ended, "hold-until", "2199-12-24T00:00:00Z");
  const std::string lives = PathOfPod(StartSecondPod());
  LookFromOutside();
  EXPECT_EQ(Verdict(), "held") << "on each pod that hasn't ended";
  Patch(ended + "/status", R"({"status":{"phase":"Failed","reason":"Evicted"}})");
  EXPECT_NE(PathOfPod(Look().pod->meta.name), ended);
  EXPECT_EQ(Verdict(), "owner-absent");
  Annotate(lives, "hold-until", "2199-12-24T00:00:00Z");
  EXPECT_EQ(Verdict(), "held");
}

TEST_F(ObserverTest, TheNewestPodThatRunsSpeaksAndWhereNoneDoesTheTemplate) {
  clock_.elapsed += std::chrono::seconds(2);
  const std::string newest = StartSecondPod();
  const std::string finalizer = R"({"metadata":{"finalizers":["example.com/held"]}})";
  LookFromOutside();
  EXPECT_EQ(Look().pod->meta.name, newest);
  Patch(PathOfPod(newest), finalizer);
  Delete(PathOfPod(newest));
  EXPECT_NE(Look().pod->meta.name, newest) << "of those that don't terminate";
  Patch(kRoot, R"({"spec":{"replicas":0}})");
  EXPECT_FALSE(Look().pod);
}

// A quota may refuse its pods, or somebody has scaled it to 0.
TEST_F(ObserverTest, AnotherMasterIsSeenByItsTemplateAlone) {
  Delete(kDriver);
  ASSERT_EQ(Verdict(), "owner-absent");
  const std::string sets = "/apis/apps/v1/namespaces/lab/statefulsets/more";
  const auto make = [&](const std::string& pods) {
    kubernetes_.Apply(
        R"({"apiVersion":"apps/v1","kind":"StatefulSet",)" +
        Meta("more", R"(,"labels":{"oshinko-cluster":"spark"})") +
        R"(,"spec":{"replicas":0,"selector":{"matchLabels":{"app":"more"}},"template":)" + pods +
        "}}");
  };
  const std::string spec = R"("spec":{"containers":[{"name":"main","image":"x"}]})";
  const std::pair<std::string, const char*> cases[] = {
      {R"({"metadata":{"labels":{"app":"more"}},)" + spec + "}", "owner-absent"},
      {R"({"metadata":{"labels":{"app":"more","oshinko-type":"master"}},)" + spec + "}",
       "ambiguous"},
      {R"({"metadata":{"labels":{"app":"more"},"annotations":{"cluster-watcher/inject":"true"}},)" +
           spec + "}",
       "ambiguous"},
      {R"({"metadata":{"labels":{"app":"more"}},"spec":{"containers":[{"name":)"
       R"("cluster-watcher","image":"x"}]}})",
       "ambiguous"},
  };
  for (const auto& [pods, verdict] : cases) {
    make(pods);
    EXPECT_EQ(Verdict(), verdict) << pods;
    Delete(sets);
  }
}

TEST_F(ObserverTest, ACustomResourceThatIsLabelledMasterIsOneWhereItIsServed) {
  DefineRayClusters();
  Delete(kDriver);
  const auto make = [&](const std::string& type) {
    kubernetes_.Apply(
        R"({"apiVersion":"ray.io/v1","kind":"RayCluster",)" +
        Meta("ray", R"(,"labels":{"oshinko-cluster":"spark","oshinko-type":")" + type + "\"}") +
        "}");
  };
  make("worker");
  EXPECT_EQ(Verdict(), "owner-absent");
  Delete("/apis/ray.io/v1/namespaces/lab/rayclusters/ray");
  make("master");
  EXPECT_EQ(Verdict(), "ambiguous");
}

TEST_F(ObserverTest, AServiceOfTheMasterIsNoMaster) {
  Delete(kDriver);
  kubernetes_.Apply(
      R"({"apiVersion":"v1","kind":"Service",)" +
      Meta("spark", R"(,"labels":{"oshinko-cluster":"spark","oshinko-type":"master"})") +
      R"(,"spec":{"ports":[{"port":7077}]}})");
  EXPECT_EQ(Verdict(), "owner-absent");
}

TEST_F(ObserverTest, OutsideOfPodsARootThatOnlyAsksForAWatcherIsTheMaster) {
  MakeWorkload("alice", "");
  kubernetes_.Apply(
      R"({"apiVersion":"apps/v1","kind":"StatefulSet",)" +
      Meta("pi-set", R"(,"labels":{"oshinko-cluster":"pi"})") +
      R"(,"spec":{"replicas":0,"selector":{"matchLabels":{"app":"pi"}},"template":{"metadata":)"
      R"({"labels":{"app":"pi"},"annotations":{"cluster-watcher/inject":"true",)"
      R"("cluster-watcher/owner":"deployment/alice","cluster-watcher/grace-period":"1h"}},)"
      R"("spec":{"containers":[{"name":"main","image":"x"}]}}}})");
  LookFromOutside("pi");
  TextMap taken;
  in_force_.emplace(settings_, [&](const TextMap& annotations) {
    taken = annotations;
    return settings_;
  });
  observer_.emplace(client_, discovery_, clock_, *in_force_);
  EXPECT_EQ(Look().root->meta.name, "pi-set");
  EXPECT_EQ(taken["cluster-watcher/owner"], "deployment/alice");
  EXPECT_EQ(taken["cluster-watcher/grace-period"], "1h");
}

// By the local clock alone a hold would end too early on a machine whose clock is fast.
TEST_F(ObserverTest, TheTimeIsTheApiServersWhereTheNamespaceMayNotBeRead) {
  LookFromOutside();
  kubernetes_.on_answer = [](const Request& request, const User&, auto& response) {
    if (request.target == "/api/v1/namespaces/lab") response.status = 403;
  };
  const Snapshot look = Look();
  EXPECT_EQ(look.facts.problem, "");
  EXPECT_TRUE(look.facts.server_time);
}

TEST_F(ObserverTest, AnObjectThatNamesAnotherOwnerKeepsUnlessItOnlyCopiesThat) {
  Delete(kDriver);
  kubernetes_.Apply(
      R"({"apiVersion":"apps/v1","kind":"ReplicaSet",)" +
      Meta("old", R"(,"labels":{"oshinko-cluster":"spark"},)"
                  R"("annotations":{"cluster-watcher/owner":"deployment/alice"})") +
      R"(,"spec":{"replicas":0,"selector":{"matchLabels":{"app":"w"}},"template":{"metadata":)"
      R"({"labels":{"app":"w"}},"spec":{"containers":[{"name":"main","image":"x"}]}}}})");
  const std::string set = "/apis/apps/v1/namespaces/lab/replicasets/old";
  EXPECT_EQ(Verdict(), "ambiguous");
  Patch(set, R"({"metadata":{"annotations":{"cluster-watcher/owner":"deployment/bob"}}})");
  EXPECT_EQ(Verdict(), "owner-absent");
  Patch(set, R"({"metadata":{"labels":{"ephemeral":"alice"}}})");
  EXPECT_EQ(Verdict(), "ambiguous");
  Patch(set, R"({"metadata":{"ownerReferences":[{"apiVersion":"apps/v1","kind":"Deployment",)"
             R"("name":"spark-m","uid":")" +
                 ObjectUid(kRoot) + R"(","controller":true}]}})");
  EXPECT_EQ(Verdict(), "owner-absent");
}

TEST_F(ObserverTest, AMemberThatIsKeptAndWouldGoWithTheRootIsAMistake) {
  Delete(kDriver);
  const std::string owned = R"("ownerReferences":[{"apiVersion":"apps/v1","kind":"Deployment",)"
                            R"("name":"spark-m","uid":")" +
                            ObjectUid(kRoot) + "\"}]";
  MakeMap("data", "," + owned);
  const auto judge = [&] {
    const Snapshot look = Look();
    return std::string(ToString(Decide(look.facts, Watcher().FindOtherDrivers(look, {})).reason));
  };
  EXPECT_EQ(judge(), "owner-absent");
  Annotate(kMaps + std::string("/data"), "keep", "true");
  EXPECT_EQ(judge(), "misconfigured");
  Patch(kMaps + std::string("/data"), R"({"metadata":{"ownerReferences":null}})");
  EXPECT_EQ(judge(), "owner-absent");
  kubernetes_.Apply(R"({"apiVersion":"v1","kind":"Pod",)" +
                    Meta("kept", R"(,"labels":{"oshinko-cluster":"spark"},"annotations":)"
                                 R"({"cluster-watcher/keep":"true"},)" +
                                     owned) +
                    R"(,"spec":{"containers":[{"name":"main","image":"x"}]}})");
  EXPECT_EQ(Verdict(), "misconfigured") << "of what runs pods any look sees it";
}

TEST_F(ObserverTest, SoIsAMasterPodThatIsKept) {
  Delete(kDriver);
  Patch(kRoot, R"({"spec":{"template":{"metadata":{"annotations":)"
               R"({"cluster-watcher/keep":"true"}}}}})");
  EXPECT_EQ(Verdict(), "misconfigured");
}

TEST_F(ObserverTest, ABarePodWithAWatcherIsASecondMaster) {
  Delete(kDriver);
  for (const bool has_watcher : {false, true}) {
    kubernetes_.Apply(
        R"({"apiVersion":"v1","kind":"Pod",)" +
        Meta(has_watcher ? "master" : "worker", R"(,"labels":{"oshinko-cluster":"spark"})") +
        R"(,"spec":{"containers":[{"name":"main","image":")" +
        (has_watcher ? "example.com/cluster-watcher:1" : "x") + "\"}]}}");
    EXPECT_EQ(Verdict(), has_watcher ? "ambiguous" : "owner-absent");
  }
}

TEST_F(ObserverTest, SoIsACustomResourceThatMakesAPodWithAWatcher) {
  DefineRayClusters();
  kubernetes_.Apply(R"({"apiVersion":"ray.io/v1","kind":"RayCluster",)" + Labelled("ray") + "}");
  Delete(kDriver);
  const std::string uid = ObjectUid("/apis/ray.io/v1/namespaces/lab/rayclusters/ray");
  kubernetes_.Apply(
      R"({"apiVersion":"v1","kind":"Pod",)" +
      Labelled("head", R"(,"ownerReferences":[{"apiVersion":"ray.io/v1","kind":"RayCluster",)"
                       R"("name":"ray","controller":true,"uid":")" +
                           uid + "\"}]") +
      R"(,"spec":{"containers":[{"name":"main","image":"example.com/cluster-watcher:1"}]}})");
  EXPECT_EQ(Verdict(), "ambiguous");
}

// Its labels are its pods', not its own, so it isn't listed.
TEST_F(ObserverTest, SoIsAWorkloadThatIsNotLabelledItself) {
  kubernetes_.Apply(
      R"({"apiVersion":"apps/v1","kind":"StatefulSet",)" + Meta("ha", "") +
      R"(,"spec":{"replicas":1,"serviceName":"ha","selector":{"matchLabels":{"app":"ha"}},)"
      R"("template":{"metadata":{"labels":{"app":"ha","oshinko-cluster":"spark"}},"spec":)"
      R"({"containers":[{"name":"main","image":"example.com/cluster-watcher:1"}]}}}})");
  kubernetes_.Settle();
  Delete(kDriver);
  EXPECT_EQ(Verdict(), "ambiguous");
}

// The root's other pods, of which one may bear a hold, are found by the label.
TEST_F(ObserverTest, AMadePodWithoutTheClustersLabelIsAMistake) {
  settings_.settings.cluster = "spark";
  Delete(kDriver);
  Patch(PathOfPod(settings_.settings.pod), R"({"metadata":{"labels":{"oshinko-cluster":null}}})");
  EXPECT_EQ(Verdict(), "misconfigured");
}

TEST_F(ObserverTest, ABareMasterPodIsASecondMasterUntilItHasEnded) {
  Delete(kDriver);
  kubernetes_.Apply(
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"bare","namespace":"lab",)"
      R"("labels":{"oshinko-cluster":"spark","oshinko-type":"master"}},)"
      R"("spec":{"containers":[{"name":"main","image":"x"}]}})");
  EXPECT_EQ(Verdict(), "ambiguous");
  for (const char* phase : {"Succeeded", "Failed"}) {
    Patch(PathOfPod("bare") + "/status", R"({"status":{"phase":")" + std::string(phase) + "\"}}");
    EXPECT_EQ(Verdict(), "owner-absent") << phase;
  }
}

TEST_F(ObserverTest, WhatKindsMembersAreMayBeUnknown) {
  small_kubernetes::Resource farms;
  farms.group = "example.com";
  farms.version = "v1";
  farms.plural = "farms";
  farms.kind = "Farm";
  kubernetes_.AddKind(farms);
  settings_.settings.resources = {"farms.example.com"};
  Refuse("GET", "/apis/example.com/v1", 503);
  EXPECT_EQ(Verdict(), "unknown");
}

TEST_F(ObserverTest, AKindThatMayNotBeListedIsNamedAndNothingIsDeletedForWantOfIt) {
  Refuse("GET", "/replicationcontrollers", 403);
  const Decision active = Decide(Look().facts);
  EXPECT_EQ(active.reason, Reason::kActive);
  EXPECT_NE(active.rules[4].detail.find("replicationcontrollers"), std::string::npos)
      << active.rules[5].detail;
  Delete(kDriver);
  const Snapshot look = Look();
  EXPECT_EQ(Decide(look.facts, Watcher().FindOtherDrivers(look, {})).reason, Reason::kUnknown);
}

TEST_F(ObserverTest, WhatStandsAroundTheOwnerIsAsBeforeUnlessItChangesOrCannotBeRead) {
  EXPECT_FALSE(Watcher().IsAroundAsBefore({})) << "nothing was read yet";
  const std::string pod = PathOfPod(settings_.settings.pod);
  const struct {
    const char* what;
    std::function<void()> change;
    bool as_before;
  } cases[] = {
      {"nothing", [] {}, true},
      {"another object", [this] { MakeMap("more"); }, true},
      {"the root's status",
       [this] { Patch(kRoot + std::string("/status"), R"({"status":{"observedGeneration":9}})"); },
       true},
      {"the pod's status", [&] { Patch(pod + "/status", R"({"status":{"reason":"x"}})"); }, true},
      {"a hold on the root", [this] { Annotate(kRoot, "hold-until", "2030-01-01"); }, false},
      {"a hold on the pod", [&] { Annotate(pod, "hold-until", "2030-01-01"); }, false},
      {"a hold on the namespace",
       [this] { Annotate("/api/v1/namespaces/lab", "hold-until", "2030-01-01"); }, false},
      {"the root's spec", [this] { Patch(kRoot, R"({"spec":{"paused":true}})"); }, false},
      {"the API server fails", [this] { Refuse("GET", "", 503); }, false},
      {"the pod fails", [this] { Refuse("GET", "/pods/", 500); }, false},
      {"the namespace is refused", [this] { Refuse("GET", "/api/v1/namespaces/lab", 403); }, false},
      {"the pod is being deleted",
       [&] {
         Patch(pod, R"({"metadata":{"finalizers":["example.com/held"]}})");
         Look();
         Delete(pod);
       },
       false},
      {"the root is being deleted",
       [this] {
         Patch(kRoot, R"({"metadata":{"finalizers":["example.com/held"]}})");
         Look();
         Delete(kRoot);
       },
       false},
  };
  for (const auto& one : cases) {
    Look();
    one.change();
    EXPECT_EQ(Watcher().IsAroundAsBefore({}), one.as_before) << one.what;
    kubernetes_.GetFaults().Clear();
  }
}

// Its pods are found by the Jobs that it ran when it was last seen, be it by a glance.
TEST_F(ObserverTest, AGlanceSeesWhichJobsACronJobRuns) {
  settings_.settings.owner = *OwnerName::Parse("cronjob/each");
  const std::string path = "/apis/batch/v1/namespaces/lab/cronjobs/each";
  MakeCronJob("each");
  Look();
  Patch(path + "/status", R"({"status":{"active":[{"kind":"Job","name":"each-7"}]}})");
  ASSERT_TRUE(Watcher().Glance(Freshness::kCached, {}));
  clock_.elapsed += std::chrono::seconds(10);
  kubernetes_.SetStaleness(0, std::chrono::seconds(5));
  Patch(path + "/status", R"({"status":{"active":[{"kind":"Job","name":"each-8"}]}})");
  ASSERT_TRUE(Watcher().Glance(Freshness::kConsistent, {}));
  ASSERT_TRUE(Watcher().Glance(Freshness::kCached, {})) << "this one is older";
  Delete(path);
  const Snapshot snapshot = Look();
  ASSERT_TRUE(snapshot.seen);
  EXPECT_NE(snapshot.seen->pod_selector.find("each-8"), std::string::npos)
      << snapshot.seen->pod_selector;
}

TEST_F(ObserverTest, AnotherRootOfTheNameIsNotAsBefore) {
  Look();
  Patch(PathOfPod(settings_.settings.pod), R"({"metadata":{"finalizers":["example.com/held"]}})");
  Look();
  Patch(kRoot, R"({"metadata":{"finalizers":null}})");
  kubernetes_.Admin("DELETE", std::string(kRoot) + "?propagationPolicy=Orphan");
  MakeRoot();
  EXPECT_FALSE(Watcher().IsAroundAsBefore({}));
}

}  // namespace
}  // namespace cluster_watcher

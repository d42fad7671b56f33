// The steps of a deletion: which are called, when and how often, and what their answers change.
#include <signal.h>

#include "test/integration/failure_case.h"

namespace cluster_watcher::integration {
namespace {

class Steps : public IntegrationTest {
 protected:
  void SetUp() override {
    IntegrationTest::SetUp();
    // Any path that no test answers is not a step.
    steps_.emplace(server().Admin());
    steps_->LieAbout(" /", Lie::Answer(404, ""));
  }
  void TearDown() override {
    IntegrationTest::TearDown();
    steps_.reset();
  }

  // A step with this name, which is also its path; `more` holds further fields.
  std::string Step(const std::string& name, const std::string& more = "") {
    return R"({"name": ")" + name + R"(", "http": {"method": "POST", "url": ")" +
           steps_->Address().url + "/" + name + "\"}" + more + "}";
  }
  void Answer(const std::string& name, Lie lie) { steps_->LieAbout("POST /" + name, lie); }
  void Answer(const std::string& name, int status) { Answer(name, Lie::Answer(status, "")); }
  void LetHang(const std::string& name) {
    Lie lie = Lie::Answer(200, "");
    lie.hangs = true;
    Answer(name, lie);
  }

  // The names of the steps that ran, in order.
  std::vector<std::string> Asked() {
    std::vector<std::string> names;
    for (const Passage& passage : steps_->LiedTo()) {
      names.push_back(passage.request_line.substr(passage.request_line.find('/') + 1));
    }
    return names;
  }
  testing::AssertionResult Asks(const std::vector<std::string>& names) {
    if (Eventually([&] { return Asked() == names; })) return testing::AssertionSuccess();
    return testing::AssertionFailure() << testing::PrintToString(Asked());
  }

  void MakeClusterWith(const std::string& before, const std::string& after = "") {
    TextMap annotations = {{"cluster-watcher/before-delete", "[" + before + "]"}};
    if (!after.empty()) annotations["cluster-watcher/after-delete"] = "[" + after + "]";
    MakeCluster({.pod_annotations = annotations});
  }
  static double Results(Watcher& watcher, const std::string& result) {
    return watcher.Metric("cluster_watcher_steps_total{result=\"" + result + "\"}");
  }

  std::optional<Proxy> steps_;
};

TEST_F(Steps, RunBeforeTheMembersGoAndAfterThemOneAfterTheOther) {
  MakeClusterWith(Step("drain") + "," + Step("save"), Step("report"));
  LetHang("drain");
  Answer("save", 204);
  Answer("report", 200);
  Watcher& watcher = WatchOver("deployment/bob");
  ASSERT_TRUE(Asks({"drain"}));
  EXPECT_EQ(watcher.Phase(), "deleting");
  EXPECT_TRUE(IsWhole());
  EXPECT_EQ(Events("ClusterDeleting").size(), 2u) << "it is said before";
  EXPECT_EQ(Asked(), std::vector<std::string>{"drain"});
  steps_->LetGo();
  EXPECT_TRUE(Finishes(watcher));
  EXPECT_TRUE(Asks({"drain", "save", "report"}));
  EXPECT_EQ(Results(watcher, "succeeded"), 3);
  for (const Passage& passage : steps_->LiedTo()) {
    EXPECT_EQ(passage.head.find("Authorization"), std::string::npos) << passage.head;
    EXPECT_EQ(passage.head.find(server().Admin().token), std::string::npos) << passage.head;
  }
}

TEST_F(Steps, AfterTheMembersTheMasterRootIsStillThere) {
  MakeClusterWith("", Step("report"));
  LetHang("report");
  Watcher& watcher = WatchOver("deployment/bob");
  ASSERT_TRUE(Asks({"report"}));
  EXPECT_NE(api().Uid("deployments", ns_, kMaster), "");
  for (const std::string& member : Members()) {
    EXPECT_NE(member.find(std::string("/") + kMaster), std::string::npos) << member;
  }
  steps_->LetGo();
  EXPECT_TRUE(Finishes(watcher));
}

TEST_F(Steps, OneThatIsRetriedIsGivenUpAtTheStepsDeadline) {
  MakeClusterWith(Step("drain", R"(, "onFailure": "retry")"));
  Answer("drain", 503);
  Watcher& watcher = WatchOver("deployment/bob", {"--steps-deadline=2s"});
  EXPECT_TRUE(Finishes(watcher));
  EXPECT_GE(Asked().size(), 3u);
  EXPECT_EQ(Results(watcher, "timed-out"), 1);
}

TEST_F(Steps, ARedirectIsAFailureAndNotFollowed) {
  MakeClusterWith(Step("drain"));
  Answer("drain", Lie::Answer(302, "", "text/plain",
                              "Location: " + steps_->Address().url + "/elsewhere\r\n"));
  Watcher& watcher = WatchOver("deployment/bob");
  EXPECT_TRUE(Finishes(watcher));
  EXPECT_TRUE(Asks({"drain"}));
  EXPECT_EQ(Results(watcher, "failed"), 1);
}

TEST_F(Steps, ThatAreDoneAreNotRunAgainByWhoResumes) {
  MakeClusterWith(Step("drain") + "," + Step("save"));
  MakeDriver();
  Answer("drain", 200);
  LetHang("save");
  Watcher& killed = WatchOver("deployment/bob");
  ASSERT_TRUE(Shows(killed, "keep: active"));
  ASSERT_TRUE(Eventually([&] { return !OwnerMark("uid").empty(); }));
  api().Delete("deployments", ns_, "bob");
  ASSERT_TRUE(Asks({"drain", "save"}));
  ASSERT_TRUE(Eventually([&] { return Mark("steps-done").find("drain") != std::string::npos; }));
  EXPECT_EQ(Mark("steps-done").find("save"), std::string::npos);
  ASSERT_EQ(killed.Stop(SIGKILL), -SIGKILL);
  steps_->LetGo();
  EXPECT_TRUE(Finishes(WatchOver("deployment/bob")));
  EXPECT_EQ(Asked(), (std::vector<std::string>{"drain", "save", "save"}));
}

TEST_F(Steps, ThatAreDoneAfterTheMembersAreNotRunAgainByWhoResumes) {
  MakeClusterWith(Step("drain"), Step("report") + "," + Step("thank"));
  Answer("drain", 200);
  Answer("report", 200);
  LetHang("thank");
  MakeDriver();
  Watcher& killed = WatchOver("deployment/bob");
  ASSERT_TRUE(Shows(killed, "keep: active"));
  ASSERT_TRUE(Eventually([&] { return !OwnerMark("uid").empty(); }));
  api().Delete("deployments", ns_, "bob");
  ASSERT_TRUE(Asks({"drain", "report", "thank"}));
  ASSERT_TRUE(Eventually([&] { return Mark("steps-done").find("report") != std::string::npos; }));
  ASSERT_EQ(killed.Stop(SIGKILL), -SIGKILL);
  steps_->LetGo();
  EXPECT_TRUE(Finishes(WatchOver("deployment/bob")));
  EXPECT_EQ(Asked(), (std::vector<std::string>{"drain", "report", "thank", "thank"}));
}

TEST_F(Steps, ADriverThatComesBackMeanwhileFindsItsClusterWhole) {
  MakeClusterWith(Step("drain"));
  MakeDriver();
  LetHang("drain");
  Watcher& watcher = WatchOver("deployment/bob");
  ASSERT_TRUE(Shows(watcher, "keep: active"));
  ASSERT_TRUE(Eventually([&] { return !OwnerMark("uid").empty(); }));
  api().Delete("deployments", ns_, "bob");
  ASSERT_TRUE(Asks({"drain"}));
  MakeDriver();
  steps_->LetGo();
  EXPECT_TRUE(Keeps(watcher, "keep: active"));
  EXPECT_TRUE(Eventually([&] {
    return Mark("phase").empty() && Mark("deleting-since").empty() && Mark("steps-done").empty();
  }));
  // The next deletion runs them again.
  api().Delete("deployments", ns_, "bob");
  EXPECT_TRUE(Finishes(watcher));
  EXPECT_EQ(Asked(), (std::vector<std::string>{"drain", "drain"}));
}

TEST_F(Steps, ThatDoNotParseAreAMistakeFromTheStart) {
  MakeClusterWith(Step("drain") + "," + Step("save", R"(, "timeout": "soon")"));
  Watcher& by_pod =
      WatchOver("deployment/bob", {"--confirmations=1", "--grace-period=0s", "--startup-grace=0s"});
  EXPECT_TRUE(Keeps(by_pod, "keep: misconfigured"));
  EXPECT_GE(by_pod.LinesWith("timeout"), 1u);
  EXPECT_TRUE(StopsWell(by_pod));
  api().Patch("pods", ns_, MasterPod(),
              R"({"metadata": {"annotations": {"cluster-watcher/before-delete": null}}})");
  api().Annotate("deployments", ns_, kMaster, "cluster-watcher/after-delete", "{}");
  Watcher& by_root =
      WatchOver("deployment/bob", {"--confirmations=1", "--grace-period=0s", "--startup-grace=0s"});
  EXPECT_TRUE(Keeps(by_root, "keep: misconfigured"));
  EXPECT_TRUE(Asked().empty());
}

TEST_F(Steps, AreNotRunInADryRun) {
  MakeClusterWith(Step("drain"), Step("report"));
  Watcher& watcher = WatchOver("deployment/bob", {"--dry-run"});
  EXPECT_TRUE(Eventually(
      [&] { return watcher.Metric("cluster_watcher_deletes_total{result=\"dry-run\"}") >= 5; }));
  EXPECT_TRUE(Keeps(watcher, "abandoned: owner-absent"));
  EXPECT_TRUE(Asked().empty());
}

class StepsThatArePods : public FailureCase {
 protected:
  void SetUp() override {
    FailureCase::SetUp();
    api().Create("serviceaccounts", ns_,
                 R"({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": )"
                 R"({"name": "cluster-watcher-steps"}})");
    const std::string save = R"([{"name": "save", "image": "books:1"}])";
    MakeCluster({.pod_annotations = {{"cluster-watcher/before-delete", save},
                                     {"cluster-watcher/after-delete", save}}});
    MakeDriver();
  }
  // The pod of the steps before or after; empty: there is none.
  std::string PodOf(const std::string& list) {
    const auto pods = api().Names("pods", ns_, "cluster-watcher/step=" + list);
    return pods.empty() ? "" : pods.front();
  }
  void Ends(const std::string& list, const std::string& phase) {
    api().SetStatus("pods", ns_, PodOf(list), R"({"phase": ")" + phase + "\"}");
  }
  // The step before ends well, and the one after in this phase.
  void FinishesBehindThem(Watcher& watcher, const std::string& phase = "Succeeded") {
    Ends("before-delete", "Succeeded");
    ASSERT_TRUE(Eventually([&] { return !PodOf("after-delete").empty(); }));
    EXPECT_EQ(PodOf("before-delete"), "") << "it was deleted when it had ended";
    Ends("after-delete", phase);
    EXPECT_TRUE(Finishes(watcher));
  }
  // Watches until the driver is gone and the step before runs.
  Watcher& WatchUntilItRuns() {
    Watcher& watcher = WatchOver("deployment/bob", {"--steps-deadline=10m"});
    EXPECT_TRUE(Shows(watcher, "keep: active"));
    EXPECT_TRUE(Eventually([&] { return !OwnerMark("uid").empty(); }));
    api().Delete("deployments", ns_, "bob");
    EXPECT_TRUE(Eventually([&] { return !PodOf("before-delete").empty(); }));
    return watcher;
  }
};

TEST_F(StepsThatArePods, RunBeforeTheMembersGoAndAfterThem) {
  Watcher& watcher = WatchUntilItRuns();
  EXPECT_TRUE(IsWhole());
  FinishesBehindThem(watcher, "Failed");
  EXPECT_EQ(watcher.Metric("cluster_watcher_steps_total{result=\"succeeded\"}"), 1);
  EXPECT_EQ(watcher.Metric("cluster_watcher_steps_total{result=\"failed\"}"), 1);
}

TEST_F(StepsThatArePods, OneThatRunsIsWaitedForByWhoResumes) {
  Watcher& killed = WatchUntilItRuns();
  const std::string uid = api().Uid("pods", ns_, PodOf("before-delete"));
  ASSERT_EQ(killed.Stop(SIGKILL), -SIGKILL);
  Watcher& watcher = WatchOver("deployment/bob", {"--steps-deadline=10m"});
  EXPECT_TRUE(Reaches(watcher, "deleting"));
  EXPECT_EQ(api().Uid("pods", ns_, PodOf("before-delete")), uid);
  FinishesBehindThem(watcher);
}

// The next deletion must not take the old pod for its own.
TEST_F(StepsThatArePods, ADriverThatComesBackFindsItsClusterWholeAndTheyRunAgainForTheNext) {
  Watcher& watcher = WatchUntilItRuns();
  const std::string earlier = api().Uid("pods", ns_, PodOf("before-delete"));
  MakeDriver();
  Ends("before-delete", "Succeeded");
  EXPECT_TRUE(Keeps(watcher, "keep: active"));
  EXPECT_TRUE(IsWhole());
  EXPECT_EQ(PodOf("before-delete"), "");
  api().Delete("deployments", ns_, "bob");
  ASSERT_TRUE(Eventually([&] {
    const std::string pod = PodOf("before-delete");
    return !pod.empty() && api().Uid("pods", ns_, pod) != earlier;
  }));
  FinishesBehindThem(watcher);
}

// It must not go on in a cluster that is in use again.
TEST_F(StepsThatArePods, OneThatAKilledWatcherHadBegunIsEndedWhereTheClusterIsKept) {
  Watcher& killed = WatchUntilItRuns();
  ASSERT_EQ(killed.Stop(SIGKILL), -SIGKILL);
  MakeDriver();
  Watcher& watcher = WatchOver("deployment/bob", {"--steps-deadline=10m"});
  EXPECT_TRUE(Keeps(watcher, "keep: active"));
  EXPECT_TRUE(Eventually([&] { return PodOf("before-delete").empty(); }));
  EXPECT_TRUE(IsWhole());
}

class Waves : public FailureCase {
 protected:
  std::string MakeOrdered(const std::string& name, const std::string& order, bool held = false) {
    Metadata metadata = Labelled(name);
    metadata.annotations["cluster-watcher/delete-order"] = order;
    metadata.held = held;
    return api().Create("configmaps", ns_, ConfigMapOf(metadata));
  }
  bool IsThere(const std::string& name) { return !api().Uid("configmaps", ns_, name).empty(); }
  // Waits for so many requests that the watcher would have gone on.
  testing::AssertionResult WaitsOn(Watcher& watcher) {
    const double requests = watcher.Requests();
    return Eventually([&] { return watcher.Requests() >= requests + 45; });
  }
};

TEST_F(Waves, EachIsGoneBeforeTheNextBegins) {
  MakeCluster();
  MakeOrdered("early", "-1");
  MakeOrdered("early-held", "-1", true);
  MakeMember("held", true);
  MakeOrdered("late", "1");
  Proxy& proxy = BehindProxy();
  Watcher& watcher = WatchOver("deployment/bob");
  ASSERT_TRUE(Eventually([&] { return !IsThere("early") && !IsThere("early-held"); }));
  ASSERT_TRUE(WaitsOn(watcher));
  EXPECT_TRUE(IsWhole());
  api().ReleaseFinalizers("configmaps", ns_, "early-held");
  ASSERT_TRUE(Eventually([&] { return !IsThere("spark-config") && !IsThere("held"); }));
  ASSERT_TRUE(Eventually([&] { return api().Uid("deployments", ns_, "spark-w").empty(); }));
  ASSERT_TRUE(WaitsOn(watcher));
  EXPECT_TRUE(IsThere("late"));
  api().ReleaseFinalizers("configmaps", ns_, "held");
  EXPECT_TRUE(Finishes(watcher));
  for (const Passage& passage : proxy.PassedOnWith("DELETE ")) {
    if (passage.request_line.ends_with(std::string("/") + kMaster)) continue;
    EXPECT_NE(passage.body.find(R"("propagationPolicy":"Foreground")"), std::string::npos)
        << passage.request_line;
  }
}

TEST_F(Waves, AnOrderThatIsNoNumberOnTheMastersPodIsAMistake) {
  MakeCluster({.pod_annotations = {{"cluster-watcher/delete-order", "first"}}});
  EXPECT_TRUE(Keeps(WatchOver("deployment/bob", hasty_), "keep: misconfigured"));
}

TEST_F(Waves, AtTheDeadlineAllThatIsLeftGoesAtOnce) {
  MakeCluster();
  MakeOrdered("early-held", "-1", true);
  MakeOrdered("late", "1");
  Watcher& watcher = WatchOver("deployment/bob", {"--delete-deadline=2s"});
  ASSERT_TRUE(Reaches(watcher, "done"));
  EXPECT_TRUE(
      Eventually([&] { return Members() == std::vector<std::string>{"configmaps/early-held"}; }));
  api().ReleaseFinalizers("configmaps", ns_, "early-held");
}

// Uses a namespace without bystanders, because one of them is a claim with the cluster's label.
class Volumes : public FailureCase {
 protected:
  void SetUp() override {
    FailureCase::SetUp();
    home_ = ns_;
    ns_ = MakeNamespace("volumes");
    MakeCluster();
    api().Create(
        "statefulsets", ns_,
        StatefulSetWithClaimsOf({Labelled("spark-s", "worker"), 1, Labelled("", "worker").labels}));
    uids_["labelled"] = api().Create("persistentvolumeclaims", ns_, ClaimOf(Labelled("labelled")));
    uids_["unlabelled"] = api().Create("persistentvolumeclaims", ns_, ClaimOf({"unlabelled"}));
    Metadata kept = Labelled("kept");
    kept.annotations["cluster-watcher/keep"] = "true";
    uids_["kept"] = api().Create("persistentvolumeclaims", ns_, ClaimOf(kept));
    ASSERT_TRUE(Eventually([&] {
      uids_[kOfSet] = api().Uid("persistentvolumeclaims", ns_, kOfSet);
      return !uids_[kOfSet].empty();
    }));
  }
  void TearDown() override {
    ns_ = home_;
    FailureCase::TearDown();
  }
  testing::AssertionResult AreLeft(const std::vector<std::string>& names) {
    const auto left = Eventually(
        [&] { return api().Names("persistentvolumeclaims", ns_).size() == names.size(); });
    if (!left) {
      return testing::AssertionFailure()
             << testing::PrintToString(api().Names("persistentvolumeclaims", ns_));
    }
    for (const std::string& name : names) {
      if (api().Uid("persistentvolumeclaims", ns_, name) == uids_[name]) continue;
      return testing::AssertionFailure() << name << " is gone or going";
    }
    return testing::AssertionSuccess();
  }
  bool IsCollected(const std::string& name) {
    return api()
        .Annotation("persistentvolumeclaims", ns_, name, "cluster-watcher/collect-after")
        .has_value();
  }

  static constexpr char kOfSet[] = "data-spark-s-0";
  std::string home_;
  std::map<std::string, std::string> uids_;
};

TEST_F(Volumes, StayUnlessSaidOtherwise) {
  Watcher& watcher = WatchOver("deployment/bob");
  EXPECT_TRUE(Finishes(watcher));
  EXPECT_TRUE(AreLeft({"labelled", "unlabelled", "kept", kOfSet}));
  EXPECT_FALSE(IsCollected("labelled"));
  EXPECT_FALSE(IsCollected(kOfSet));
}

TEST_F(Volumes, OfTheClusterAreDeletedWhereThatIsWanted) {
  Watcher& watcher = WatchOver("deployment/bob", {"--volumes=delete"});
  EXPECT_TRUE(Finishes(watcher));
  EXPECT_TRUE(AreLeft({"unlabelled", "kept"}));
}

TEST_F(Volumes, OfTheClusterAreMarkedForCollectionWhereThatIsWanted) {
  Watcher& watcher = WatchOver("deployment/bob", {"--volumes=collect", "--volume-retention=1h"});
  EXPECT_TRUE(Finishes(watcher));
  EXPECT_TRUE(AreLeft({"labelled", "unlabelled", "kept", kOfSet}));
  EXPECT_TRUE(IsCollected("labelled"));
  EXPECT_TRUE(IsCollected(kOfSet));
  EXPECT_FALSE(IsCollected("unlabelled"));
  EXPECT_FALSE(IsCollected("kept"));
}

}  // namespace
}  // namespace cluster_watcher::integration

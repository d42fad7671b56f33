// Failures of our own first version. What it did wrong is in CONTRIBUTING.md.
#include <signal.h>

#include <atomic>
#include <ctime>
#include <filesystem>
#include <map>

#include "test/integration/failure_case.h"
#include "test/integration/tls_front.h"

namespace cluster_watcher::integration {
namespace {

constexpr char kKeep[] = "cluster-watcher/keep";
constexpr char kAnswer403[] = R"({"kind": "Status", "apiVersion": "v1", "status": "Failure",
    "reason": "Forbidden", "message": "it may not", "code": 403})";
constexpr char kAnswer500[] = R"({"kind": "Status", "apiVersion": "v1", "status": "Failure",
    "reason": "InternalError", "code": 500})";

// Times in objects are whole seconds. What is made after this is newer than what was before.
void AwaitNextSecond() {
  const std::time_t now = std::time(nullptr);
  EXPECT_TRUE(Eventually([&] { return std::time(nullptr) > now; }));
}

// --- 38: marks of a deletion on a cluster that is still whole.

TEST_F(FailureCase, Case38AWholeClusterIsJudgedAgainBeforeADeletionIsResumed) {
  MakeCluster();
  MakeDriver();
  // Kills the watcher at its first delete: nothing has gone.
  std::atomic<pid_t> victim{0};
  Proxy& proxy = BehindProxy();
  proxy.SetGate([&](const Passage& passage) {
    if (!passage.request_line.starts_with("DELETE ")) return true;
    victim.wait(0);
    kill(victim, SIGKILL);
    return false;
  });
  Watcher& killed = WatchOver("deployment/bob");
  victim = killed.Pid();
  victim.notify_all();
  ASSERT_TRUE(Shows(killed, "keep: active"));
  api().Delete("deployments", ns_, "bob");
  ASSERT_EQ(killed.WaitForExit(), -SIGKILL);
  ASSERT_EQ(Mark("phase"), "deleting");
  ASSERT_TRUE(IsWhole());
  MakeDriver();
  proxy.SetGate({});
  Watcher& next = WatchOver("deployment/bob");
  EXPECT_TRUE(Keeps(next, "keep: active"));
  EXPECT_TRUE(HasNoMarksOfADeletion());
  EXPECT_EQ(next.Metric("cluster_watcher_deletes_total"), 0);
  api().Delete("deployments", ns_, "bob");
  EXPECT_TRUE(Finishes(next));
}

TEST_F(FailureCase, Case38MarksThatAreForgedDeleteNothing) {
  MakeCluster();
  MakeDriver();
  const std::string pod = MasterPod();
  const auto root = api().Get("deployments", ns_, kMaster);
  ASSERT_TRUE(root);
  const JsonValue metadata = root->root()["metadata"];
  MarkTheRoot(
      {{"cluster-watcher/root-uid", std::string(*metadata["uid"].AsString())},
       {"cluster-watcher/phase", "deleting"},
       {"cluster-watcher/reason", "owner-absent"},
       {"cluster-watcher/condemned-by", pod + "/" + api().Uid("pods", ns_, pod)},
       {"cluster-watcher/deleting-since", std::string(*metadata["creationTimestamp"].AsString())}});
  Watcher& watcher = WatchOver("deployment/bob");
  EXPECT_TRUE(Keeps(watcher, "keep: active"));
  EXPECT_TRUE(HasNoMarksOfADeletion());
  EXPECT_EQ(watcher.Metric("cluster_watcher_deletes_total"), 0);
}

// `rollout undo` brings marks back with the root's own UID, and so may a person; by then all that
// was deleted has been made again.
TEST_F(FailureCase, Case38WhatWasMadeAgainIsNotDeletedByOldMarks) {
  Watcher& killed = BeginHeldDeletion();
  ASSERT_EQ(killed.Stop(SIGKILL), -SIGKILL);
  Release();
  MakeMembers();
  MakeDriver();
  Watcher& next = WatchOver("deployment/bob");
  EXPECT_TRUE(DeletesNothing(next, "keep: active"));
  EXPECT_TRUE(HasNoMarksOfADeletion());
}

// --- 39: another driver takes the cluster over by a rollout.

TEST_F(FailureCase, Case39ARolloutThatNamesAnotherDriverKeepsTheClusterBeforeItsPodIsReady) {
  MakeCluster({.pod_annotations = {{kOwner, "deployment/bob"}}});
  MakeDriver();
  MakeDriver("alice");
  Watcher& watcher = Watch();
  ASSERT_TRUE(Keeps(watcher, "keep: active", 2));
  HandTheClusterOver();
  api().Delete("deployments", ns_, "bob");
  EXPECT_TRUE(Keeps(watcher, "keep: ambiguous"));
}

TEST_F(FailureCase, Case39SoDoesOneThatNamesItByAFlagOfTheSidecar) {
  const auto sidecar = [](const std::string& owner) {
    return R"("initContainers": [{"name": "cluster-watcher", "image": "example.invalid/none",
        "restartPolicy": "Always", "args": ["watch", "--owner=)" +
           owner + "\"]}]";
  };
  MakeCluster({.pod_spec = sidecar("deployment/bob") + ", "});
  MakeDriver();
  MakeDriver("alice");
  Watcher& watcher = WatchOver("deployment/bob");
  ASSERT_TRUE(Keeps(watcher, "keep: active", 2));
  api().Patch("deployments", ns_, kMaster,
              R"({"spec": {"template": {"spec": {)" + sidecar("deployment/alice") + "}}}}");
  api().Delete("deployments", ns_, "bob");
  EXPECT_TRUE(Keeps(watcher, "keep: ambiguous"));
}

TEST_F(FailureCase, Case39ANewerMasterPodThatNamesAnotherDriverKeepsTheCluster) {
  MakeCluster({.pod_annotations = {{kOwner, "deployment/bob"}}});
  MakeDriver();
  MakeDriver("alice");
  const std::string pod = MasterPod();
  Watcher& watcher = WatchAs(pod, {});
  ASSERT_TRUE(Keeps(watcher, "keep: active", 2));
  AwaitNextSecond();
  api().Scale("deployments", ns_, kMaster, 2);
  std::string newer;
  ASSERT_TRUE(Eventually([&] {
    for (const std::string& name : api().Names("pods", ns_, "app=" + std::string(kMaster))) {
      if (name != pod) newer = name;
    }
    return !newer.empty();
  }));
  api().Annotate("pods", ns_, newer, kOwner, "deployment/alice");
  api().Delete("deployments", ns_, "bob");
  EXPECT_TRUE(Keeps(watcher, "keep: ambiguous"));
  EXPECT_EQ(api().Annotation("pods", ns_, newer, kOwner), "deployment/alice");
}

TEST_F(FailureCase, Case39AMasterRootThatIsAnnotatedWithAnotherDriverKeepsTheCluster) {
  MakeCluster();
  MakeDriver();
  Watcher& watcher = WatchOver("deployment/bob");
  ASSERT_TRUE(Keeps(watcher, "keep: active", 2));
  api().Annotate("deployments", ns_, kMaster, kOwner, "deployment/alice");
  api().Delete("deployments", ns_, "bob");
  EXPECT_TRUE(Keeps(watcher, "keep: owner-mismatch"));
}

TEST_F(FailureCase, Case39APodThatIsTerminatingCondemnsNothing) {
  MakeCluster();
  MakeDriver();
  const std::string pod = MasterPod();
  Watcher& watcher = WatchAs(pod, {"--owner=deployment/bob"});
  ASSERT_TRUE(Keeps(watcher, "keep: active", 2));
  api().Patch("pods", ns_, pod, R"({"metadata": {"finalizers": ["test.example/held"]}})");
  api().Delete("pods", ns_, pod);
  ASSERT_EQ(api().Uid("pods", ns_, pod), "");
  api().Delete("deployments", ns_, "bob");
  // Long after the grace period.
  EXPECT_TRUE(Eventually([&] { return watcher.Polls("absent") >= 15; }));
  EXPECT_EQ(watcher.Phase(), "watching");
  EXPECT_TRUE(HasNoMarksOfADeletion());
  EXPECT_TRUE(IsWhole());
  api().ReleaseFinalizers("pods", ns_, pod);
  EXPECT_TRUE(Finishes(WatchOver("deployment/bob"))) << "the next pod's watcher does";
}

// --- 51: a driver that is deleted, but runs.

TEST_F(FailureCase, Case51ADriverPodHasItsOwnGracePeriodToEnd) {
  MakeCluster();
  // On a node that doesn't exist it terminates for the whole hour.
  api().Create("pods", ns_, R"({"metadata": {"name": "bob"}, "spec": {"nodeName": "nowhere",
      "terminationGracePeriodSeconds": 3600,
      "containers": [{"name": "main", "image": "example.invalid/none"}]}})");
  Watcher& watcher = WatchOver("pod/bob");
  ASSERT_TRUE(Keeps(watcher, "keep: active", 2));
  api().Expect(HttpMethod::kDelete, PathOf("pods", ns_, "bob"));
  ASSERT_EQ(api().Uid("pods", ns_, "bob"), "");
  // Long after the watcher's grace period.
  EXPECT_TRUE(Eventually([&] { return watcher.Polls("deleting") >= 15; }));
  EXPECT_EQ(watcher.Phase(), "watching");
  EXPECT_TRUE(HasNoMarksOfADeletion());
  EXPECT_TRUE(IsWhole());
  api().Delete("pods", ns_, "bob");
}

// --- 41, 42: volumes.

TEST_F(FailureCase, Case41ClaimsThatAreToBeCollectedOutliveTheDeadline) {
  MakeCluster();
  std::map<std::string, std::string> claims;
  claims[ClaimOfSet(0)] = MakeSetWithAClaim();
  claims[ClaimOfSet(7)] = MakeClaimOfAPodThatIsNoMore(ClaimOfSet(7));
  claims["claim"] = api().Create(kClaims, ns_, ClaimOf(Labelled("claim")));
  Watcher& watcher = WatchOver("deployment/bob", {"--volumes=collect", "--delete-deadline=2s"});
  EXPECT_TRUE(Finishes(watcher));
  for (const auto& [name, uid] : claims) {
    EXPECT_EQ(api().Uid(kClaims, ns_, name), uid) << name;
    EXPECT_TRUE(api().Annotation(kClaims, ns_, name, "cluster-watcher/collect-after")) << name;
  }
}

TEST_F(FailureCase, Case42ASetWhoseClaimsCanNotBeReadStays) {
  MakeCluster();
  MakeSetWithAClaim();
  Proxy& proxy = BehindProxy();
  proxy.LieAbout("GET " + PathOf(kClaims, ns_), Lie::Answer(500, kAnswer500));
  Watcher& watcher = WatchOver("deployment/bob", {"--delete-deadline=3s"});
  ASSERT_TRUE(Reaches(watcher, "done"));
  EXPECT_GE(proxy.LiesTold(), 1);
  ExpectTheSetAlone();
}

TEST_F(FailureCase, Case42ASetThatNeverLetsGoOfAClaimStays) {
  MakeCluster();
  MakeSetWithAClaim();
  const std::string claim = MakeClaimOfAPodThatIsNoMore(ClaimOfSet(7));
  Proxy& proxy = BehindProxy();
  proxy.LieAbout("PATCH " + PathOf(kClaims, ns_), Lie::Answer(403, kAnswer403));
  Watcher& watcher = WatchOver("deployment/bob", {"--delete-deadline=3s"});
  ASSERT_TRUE(Reaches(watcher, "done"));
  EXPECT_GE(proxy.LiesTold(), 1);
  ExpectTheSetAlone();
  EXPECT_EQ(api().Uid(kClaims, ns_, ClaimOfSet(7)), claim);
}

// --- 43, 44: what is kept.

TEST_F(FailureCase, Case43WhatIsKeptKeepsTheMemberThatOwnsIt) {
  MakeCluster();
  const std::string kept = MakeKept("kept", "spark-w");
  const std::string worker = api().Uid("deployments", ns_, "spark-w");
  Watcher& watcher = WatchOver("deployment/bob");
  ASSERT_TRUE(Reaches(watcher, "done"));
  EXPECT_TRUE(Eventually([&] {
    return !api().Exists("deployments", ns_, kMaster) && !api().Exists("services", ns_, "spark");
  }));
  EXPECT_EQ(api().Uid("configmaps", ns_, "kept"), kept);
  EXPECT_EQ(api().Uid("deployments", ns_, "spark-w"), worker);
  EXPECT_TRUE(Warns("deployment.apps/spark-w: configmap/kept, which is to be kept"));
}

TEST_F(FailureCase, Case43WhatIsKeptKeepsTheMasterRootThatOwnsIt) {
  MakeCluster();
  MakeKept("kept", kMaster);
  Watcher& watcher = WatchOver("deployment/bob");
  EXPECT_TRUE(Keeps(watcher, "keep: misconfigured"));
  api().Delete("configmaps", ns_, "kept");
  EXPECT_TRUE(Finishes(watcher));
}

TEST_F(FailureCase, Case44AMasterRootThatIsKeptInMidDeletionEndsIt) {
  Watcher& watcher = BeginHeldDeletion();
  const std::string root = api().Uid("deployments", ns_, kMaster);
  api().Annotate("deployments", ns_, kMaster, kKeep, "true");
  ASSERT_TRUE(Shows(watcher, "keep: held"));
  ASSERT_TRUE(HasNoMarksOfADeletion());
  EXPECT_TRUE(Warns("spark-w")) << "it says what is gone";
  MakeMembers();
  EXPECT_TRUE(DeletesNothing(watcher, "keep: held"));
  ASSERT_TRUE(StopsWell(watcher));
  Watcher& next = WatchOver("deployment/bob");
  EXPECT_TRUE(DeletesNothing(next, "keep: held"));
  EXPECT_EQ(api().Uid("deployments", ns_, kMaster), root);
  Release();
  api().Patch("deployments", ns_, kMaster,
              R"({"metadata": {"annotations": {"cluster-watcher/keep": null}}})");
  EXPECT_TRUE(Finishes(next));
}

// --- 45, 46, 47: an API server that answers badly.

TEST_F(FailureCase, Case45AKindThatCanNotBeListedIsNamedInWhatIsLeft) {
  MakeCluster();
  Proxy& proxy = BehindProxy();
  proxy.LieAbout("GET " + PathOf("services", ns_), Lie::Answer(500, kAnswer500));
  Watcher& watcher = WatchOver("deployment/bob", {"--delete-deadline=2s"});
  ASSERT_TRUE(Reaches(watcher, "done"));
  EXPECT_TRUE(api().Exists("services", ns_, "spark"));
  const auto notes = Told("ClusterDeleted");
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes.front().find("services"), std::string::npos) << notes.front();
  EXPECT_TRUE(Warns(notes.front()));
}

TEST_F(FailureCase, Case46AnApiServerThatAnswersSlowlyIsNoReasonNeverToDelete) {
  MakeCluster();
  MakeDriver();
  Proxy& proxy = BehindProxy();
  proxy.DelayAnswers(std::chrono::milliseconds(400));
  Watcher& watcher = WatchOver("deployment/bob");
  ASSERT_TRUE(Shows(watcher, "keep: active"));
  api().Delete("deployments", ns_, "bob");
  ASSERT_TRUE(Reaches(watcher, "deleting"));
  EXPECT_TRUE(Finishes(watcher));
}

TEST_F(FailureCase, Case47RequestsThatFailInPassingDoNotKeepTheClusterForEver) {
  for (const int nth : {10, 3}) {
    MakeCluster();
    MakeDriver();
    Proxy& proxy = BehindProxy();
    proxy.FailEvery(nth);
    Watcher& watcher = WatchOver("deployment/bob");
    ASSERT_TRUE(Shows(watcher, "keep: active"));
    api().Delete("deployments", ns_, "bob");
    ASSERT_TRUE(Reaches(watcher, "deleting")) << "one of " << nth << " fails";
    ASSERT_TRUE(Finishes(watcher)) << "one of " << nth << " fails";
    watcher.Stop(SIGKILL);
  }
}

// --- 48, 49: marks.

TEST_F(FailureCase, Case48AUsersSettingOnTheMasterRootIsNoMark) {
  const TextMap settings = {{"cluster-watcher/owner-kind", "deploy"}};
  MakeCluster({.root_annotations = settings});
  MakeDriver();
  Watcher& watcher = WatchOver("bob", {"--owner-kind=deployment"});
  ASSERT_TRUE(Keeps(watcher, "keep: active", 2));
  const std::string uid = api().Uid("deployments", ns_, "bob");
  EXPECT_TRUE(Records(uid));
  const JsonDocument recorded = RecordedOwner();
  EXPECT_EQ(recorded.root()["namespace"].AsString(), ns_);
  EXPECT_EQ(recorded.root()["name"].AsString(), "bob");
  EXPECT_TRUE(recorded.root()["kind"].Exists());
  EXPECT_EQ(Mark("owner-kind"), "deploy");
  // Nor is it taken off with the marks of a deletion.
  MarkTheRoot({{"cluster-watcher/root-uid", "another's"}, {"cluster-watcher/phase", "deleting"}});
  api().Scale("deployments", ns_, "bob", 2);  // has the master root read at once
  EXPECT_TRUE(Shows(watcher, "keep: shared-by-replicas"));
  EXPECT_TRUE(HasNoMarksOfADeletion());
  EXPECT_EQ(Mark("owner-kind"), "deploy");
}

TEST_F(FailureCase, Case48ABareMasterPodKeepsItsSettings) {
  Metadata master = Labelled(kMaster, "master");
  master.labels["app"] = kMaster;
  master.annotations = {{kOwner, "bob"}, {"cluster-watcher/owner-kind", "deploy"}};
  api().Create("pods", ns_, R"({"metadata": )" + master.Json() + R"(, "spec": {
      "containers": [{"name": "main", "image": "example.invalid/none"}]}})");
  MakeMembers();
  MakeDriver();
  Watcher& watcher = Watch();
  ASSERT_TRUE(Keeps(watcher, "keep: active", 2));
  EXPECT_TRUE(Eventually([&] {
    return api().Annotation("pods", ns_, kMaster, "cluster-watcher/recorded-owner").has_value();
  }));
  EXPECT_EQ(api().Annotation("pods", ns_, kMaster, "cluster-watcher/owner-kind"), "deploy");
  EXPECT_EQ(api().Annotation("pods", ns_, kMaster, kOwner), "bob");
  EXPECT_TRUE(Keeps(watcher, "keep: active"));
}

TEST_F(FailureCase, Case49WithoutTheRightToPatchThePollsStayCheap) {
  Proxy& proxy = BehindProxy();
  UseAccount(R"([
      {"apiGroups": ["", "apps", "batch", "networking.k8s.io", "autoscaling", "policy"],
       "resources": ["*"], "verbs": ["get", "list", "delete"]},
      {"apiGroups": ["apps.openshift.io", "route.openshift.io", "ray.io", "kubernetes.dask.org",
                     "flink.apache.org", "sparkoperator.k8s.io", "argoproj.io", "jobset.x-k8s.io"],
       "resources": ["*"], "verbs": ["get", "list", "delete"]},
      {"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create"]}])");
  MakeCluster();
  MakeDriver();
  // With polls as far apart as this, it would show if each tried again.
  Watcher& watcher = WatchOver("deployment/bob", {"--poll-interval=500ms"});
  ASSERT_TRUE(Keeps(watcher, "keep: active", 2));
  const std::size_t writes = proxy.PassedOnWith("PATCH ").size();
  const std::size_t lines = watcher.LinesWith("");
  const double requests = watcher.Requests();
  const double polls = watcher.Polls();
  ASSERT_TRUE(Eventually([&] { return watcher.Polls() >= polls + 20; }));
  EXPECT_LE(proxy.PassedOnWith("PATCH ").size(), writes + 1) << "one a minute is enough";
  EXPECT_LE(watcher.Requests() - requests, 2 * (watcher.Polls() - polls));
  EXPECT_EQ(watcher.LinesWith(""), lines) << "it is said once";
  EXPECT_GE(watcher.LinesWith("patch"), 1u);
  api().Delete("deployments", ns_, "bob");
  EXPECT_TRUE(Keeps(watcher, "abandoned: owner-absent"));
}

// --- 50: the new cluster of somebody who takes the old one down.

TEST_F(FailureCase, Case50WhatIsMadeInTheSecondInWhichTheRootWasLastSeenIsNotDeleted) {
  Proxy& proxy = BehindProxy();
  Watcher& watcher = BeginHeldDeletion();
  // While a pass lists the members, the root is deleted and an object of the next cluster is made.
  Api other(server().Admin());
  std::mutex mutex;
  std::string newcomer;
  proxy.SetGate([&](const Passage& passage) {
    const std::lock_guard lock(mutex);
    const bool is_due = newcomer.empty() && !passage.answered &&
                        passage.request_line.starts_with("GET " + PathOf("configmaps", ns_) + "?");
    if (!is_due) return true;
    other.Delete("deployments", ns_, kMaster);
    EXPECT_TRUE(Eventually([&] { return !other.Exists("deployments", ns_, kMaster); }));
    newcomer = other.Create("configmaps", ns_, ConfigMapOf(Labelled("newcomer")));
    return true;
  });
  EXPECT_EQ(watcher.WaitForExit(), 0) << "its own pod is gone";
  EXPECT_FALSE(newcomer.empty());
  EXPECT_EQ(api().Uid("configmaps", ns_, "newcomer"), newcomer);
  Release();
}

// --- 55: a certificate authority that is rotated.

class Secrets : public FailureCase {};

TEST_F(Secrets, NobodyIsGivenTheKeysOfItsConnections) {
  TlsFront front(BehindProxy().Address(), File("front"));
  const ApiServer address = front.Address();
  WriteKubeconfig(kubeconfig(), address, "token: \"" + address.token + "\"");
  const std::string keys = File("keys");
  Watcher& list = Run({"list", "--kubeconfig=" + kubeconfig(), "--namespace=" + ns_},
                      {"SSLKEYLOGFILE=" + keys});
  EXPECT_EQ(list.WaitForExit(), 0);
  EXPECT_FALSE(std::filesystem::exists(keys));
}

TEST_F(FailureCase, Case55ACertificateAuthorityThatIsRotatedIsReadAgain) {
  MakeCluster();
  MakeDriver();
  Proxy& proxy = BehindProxy();
  TlsFront front(proxy.Address(), File("front"));
  ApiServer address = front.Address();
  WriteKubeconfig(kubeconfig(), address, "token: \"" + address.token + "\"");
  Watcher& watcher = WatchOver("deployment/bob");
  ASSERT_TRUE(Shows(watcher, "keep: active"));
  front.Rotate();
  ASSERT_TRUE(Shows(watcher, "keep: unknown"));
  // As the kubelet does it in a pod: the file is another one, its name the same.
  WriteKubeconfig(kubeconfig(), front.Address(), "token: \"" + address.token + "\"");
  EXPECT_TRUE(Eventually([&] { return watcher.Verdict() == "keep: active"; }));
  api().Delete("deployments", ns_, "bob");
  EXPECT_TRUE(Finishes(watcher));
}

}  // namespace
}  // namespace cluster_watcher::integration

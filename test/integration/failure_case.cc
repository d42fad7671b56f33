#include "test/integration/failure_case.h"

#include <algorithm>

namespace cluster_watcher::integration {

void FailureCase::TearDown() {
  IntegrationTest::TearDown();  // stops the watchers
  proxy_.reset();
}

Proxy& FailureCase::BehindProxy() {
  proxy_.emplace(server().Admin());
  WriteKubeconfig(kubeconfig(), proxy_->Address(), "token: \"" + server().Admin().token + "\"");
  return *proxy_;
}

void FailureCase::UseAccount(const std::string& rules) {
  MakeAccount(R"({"metadata": {"name": "watcher"}, "rules": )" + rules + "}");
  WriteKubeconfig(kubeconfig(), server().Admin(), "token: \"" + api().Token(ns_, kAccount) + "\"");
}

std::string FailureCase::MakeNamespace(const std::string& name) {
  const std::string full = ns_ + "-" + name;
  api().Create("namespaces", "", NamedOf({full}));
  return full;
}

Watcher& FailureCase::BeginHeldDeletion(std::vector<std::string> flags) {
  MakeCluster();
  MakeMember("held", true);
  MakeDriver();
  Watcher& watcher = WatchOver("deployment/bob", std::move(flags));
  EXPECT_TRUE(Shows(watcher, "keep: active"));
  api().Delete("deployments", ns_, "bob");
  EXPECT_TRUE(Reaches(watcher, "deleting"));
  EXPECT_TRUE(Eventually([&] { return OnlyTheHeldOneIsLeft(); }));
  return watcher;
}

bool FailureCase::OnlyTheHeldOneIsLeft() {
  for (const std::string& member : Members()) {
    if (member != "configmaps/held" && member.find("/spark-m") == std::string::npos) return false;
  }
  return true;
}

void FailureCase::HandTheClusterOver() {
  api().Patch("deployments", ns_, kMaster, R"({"spec": {"template": {"metadata": {"annotations": {
      "cluster-watcher/owner": "deployment/alice"}}}}})");
}

testing::AssertionResult FailureCase::DeletesNothing(Watcher& watcher, const std::string& verdict) {
  if (auto shown = Shows(watcher, verdict); !shown) return shown;
  const double deletes = watcher.Metric("cluster_watcher_deletes_total");
  if (auto polled = PollsOn(watcher); !polled) return polled;
  if (watcher.Verdict() != verdict) {
    return testing::AssertionFailure() << "the verdict has become \"" << watcher.Verdict() << "\"";
  }
  if (watcher.Phase() != "watching" || watcher.Metric("cluster_watcher_deletes_total") != deletes) {
    return testing::AssertionFailure() << "it deletes";
  }
  return HasItsMembers();
}

testing::AssertionResult FailureCase::HasNoMarksOfADeletion() {
  std::string left;
  const auto gone = Eventually([&] {
    left.clear();
    for (const char* mark : {"phase", "reason", "condemned-by", "deleting-since", "steps-done"}) {
      if (!Mark(mark).empty()) left += std::string(" ") + mark;
    }
    return left.empty();
  });
  if (gone) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "marks that are left:" << left;
}

testing::AssertionResult FailureCase::Warns(const std::string& part) {
  return Eventually([&] {
    const JsonDocument list = api().Expect(HttpMethod::kGet, PathOf("events", ns_));
    const auto events = list.root()["items"].Elements();
    return std::any_of(events.begin(), events.end(), [&](const JsonValue event) {
      return event["reportingController"].AsString() == "cluster-watcher" &&
             event["type"].AsString() == "Warning" &&
             event["note"].AsString().value_or("").find(part) != std::string_view::npos;
    });
  });
}

std::string FailureCase::ClaimOfSet(int ordinal) {
  return "data-" + std::string(kSet) + "-" + std::to_string(ordinal);
}

std::string FailureCase::MakeSetWithAClaim() {
  std::string set =
      StatefulSetWithClaimsOf({Labelled(kSet, "worker"), 1, Labelled("", "worker").labels});
  const std::string selector = R"("matchLabels": {)";
  set.insert(set.find(selector) + selector.size(),
             Json(std::string(kClusterLabel)) + ": " + Json(std::string(kCluster)) + ", ");
  api().Create("statefulsets", ns_, set);
  const std::string claim = ClaimOfSet(0);
  EXPECT_TRUE(Eventually([&] { return IsOwned("persistentvolumeclaims", claim); }));
  return api().Uid("persistentvolumeclaims", ns_, claim);
}

std::string FailureCase::MakeClaimOfAPodThatIsNoMore(const std::string& name) {
  Metadata claim = Labelled(name);
  claim.labels["app"] = kSet;
  claim.owner_references = OwnedBy("statefulsets", "StatefulSet", kSet, true);
  return api().Create("persistentvolumeclaims", ns_, ClaimOf(claim));
}

void FailureCase::ExpectTheSetAlone() {
  EXPECT_TRUE(Eventually([&] {
    const auto members = Members();
    return std::all_of(members.begin(), members.end(), [](const std::string& member) {
      return member.find(std::string("/") + kSet) != std::string::npos;
    });
  })) << testing::PrintToString(Members());
  EXPECT_EQ(api().Names("pods", ns_, "app=" + std::string(kSet)).size(), 1u);
  EXPECT_NE(api().Uid("persistentvolumeclaims", ns_, ClaimOfSet(0)), "");
  const auto notes = Told("ClusterDeleted");
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes.front().find(std::string("statefulset.apps/") + kSet + ": "), std::string::npos)
      << notes.front();
  EXPECT_TRUE(Warns(notes.front()));
}

std::string FailureCase::OwnedBy(const std::string& plural, const std::string& kind,
                                 const std::string& name, bool controls) {
  return R"([{"apiVersion": "apps/v1", "kind": ")" + kind + R"(", "name": ")" + name +
         R"(", "controller": )" + (controls ? "true" : "false") + R"(, "uid": ")" +
         api().Uid(plural, ns_, name) + "\"}]";
}

std::string FailureCase::MakeKept(const std::string& name, const std::string& owner) {
  Metadata kept = Labelled(name);
  kept.annotations["cluster-watcher/keep"] = "true";
  kept.owner_references = OwnedBy("deployments", "Deployment", owner);
  return api().Create("configmaps", ns_, ConfigMapOf(kept));
}

Watcher& FailureCase::Command(std::vector<std::string> arguments, const std::string& pod) {
  const auto program = std::find(arguments.begin(), arguments.end(), "--");
  arguments.insert(program, {"-n", ns_, "--kubeconfig=" + kubeconfig()});
  std::vector<std::string> environment;
  if (!pod.empty()) environment = {"POD_NAME=" + pod, "POD_NAMESPACE=" + ns_};
  return Run(arguments, environment);
}

std::string FailureCase::Sweep() {
  Watcher& sweep =
      Command({"sweep", "--startup-grace=500ms", "--grace-period=500ms", "--poll-interval=100ms"});
  EXPECT_EQ(sweep.WaitForExit(), 0) << sweep.Log();
  return sweep.Output();
}

std::string FailureCase::DriversPod() {
  std::vector<std::string> pods;
  EXPECT_TRUE(Eventually([&] { return (pods = api().Names("pods", ns_, "app=bob")).size() == 1; }));
  return pods.empty() ? "" : pods.front();
}

JsonDocument FailureCase::RecordedOwner() {
  auto recorded = JsonDocument::Parse(Mark("recorded-owner"));
  return recorded ? *std::move(recorded) : JsonDocument();
}

testing::AssertionResult FailureCase::Records(const std::string& uid) {
  if (Eventually([&] { return RecordedOwner().root()["uid"].AsString() == uid; })) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << "recorded is \"" << Mark("recorded-owner") << "\"";
}

bool FailureCase::IsOwned(const std::string& plural, const std::string& name) {
  const auto object = api().Get(plural, ns_, name);
  return object && object->root()["metadata"]["ownerReferences"].size() > 0;
}

}  // namespace cluster_watcher::integration

// Marks on objects that they weren't written for: annotations get copied.
#include "test/integration/fixture.h"

namespace cluster_watcher::integration {
namespace {

class TravelledMarks : public IntegrationTest {
 protected:
  // Marks of the current master root's deletion, well under way, by a pod that is gone and before
  // any deadline.
  TextMap MarksOfADeletion() {
    const std::string now = std::string(api()
                                            .Get("deployments", ns_, kMaster)
                                            ->root()["metadata"]["creationTimestamp"]
                                            .AsString()
                                            .value_or(""));
    return {{"cluster-watcher/root-uid", api().Uid("deployments", ns_, kMaster)},
            {"cluster-watcher/phase", "deleting"},
            {"cluster-watcher/reason", "owner-absent"},
            {"cluster-watcher/condemned-by", "spark-m-gone/af92d6ae-0000-4000-8000-000000000000"},
            {"cluster-watcher/deleting-since", now}};
  }
  void TakeMarksOff() {
    std::string nulls;
    for (const auto& [key, value] : MarksOfADeletion()) {
      nulls += (nulls.empty() ? "" : ", ") + Json(key) + ": null";
    }
    api().Patch("deployments", ns_, kMaster, R"({"metadata": {"annotations": {)" + nulls + "}}}");
  }
  std::string MarkOf(const std::string& plural, const std::string& name, const std::string& mark) {
    return api().Annotation(plural, ns_, name, "cluster-watcher/" + mark).value_or("");
  }
  // Returns the master's ReplicaSet with the deletion's marks.
  std::string MarkedReplicaSet() {
    for (const std::string& name : api().Names("replicasets", ns_, "app=" + std::string(kMaster))) {
      if (MarkOf("replicasets", name, "phase") == "deleting") return name;
    }
    return "";
  }
  // Whether the master's only pod is one of this ReplicaSet's.
  bool RunsThe(const std::string& set) {
    const auto pods = api().Names("pods", ns_, "app=" + std::string(kMaster));
    return pods.size() == 1 && pods.front().starts_with(set + "-");
  }
  testing::AssertionResult DeletesNothing(Watcher& watcher, const std::string& verdict) {
    if (auto shown = Shows(watcher, verdict); !shown) return shown;
    if (auto polled = PollsOn(watcher); !polled) return polled;
    if (watcher.Metric("cluster_watcher_deletes_total") != 0 || watcher.Phase() != "watching") {
      return testing::AssertionFailure() << "it deletes";
    }
    return HasItsMembers();
  }
  // Recreates the master's Deployment under its name, with all the annotations of the old one.
  std::string MakeMasterAgain(const TextMap& annotations) {
    Workload master{Labelled(kMaster, "master"), 1, Labelled("", "master").labels};
    master.metadata.annotations = annotations;
    return api().Create("deployments", ns_, DeploymentOf(master));
  }
};

TEST_F(TravelledMarks, OnAReplicaSetThatHasBecomeTheRootCountForNothing) {
  MakeCluster();
  MakeDriver();
  const std::string pod = MasterPod();
  MarkTheRoot(MarksOfADeletion());
  // The Deployment's controller copies the marks, but doesn't remove them with the original.
  ASSERT_TRUE(Eventually([&] { return !MarkedReplicaSet().empty(); }));
  const std::string set = MarkedReplicaSet();
  api().Delete("deployments", ns_, kMaster, "Orphan");
  ASSERT_TRUE(Eventually([&] {
    const auto object = api().Get("replicasets", ns_, set);
    return !api().Exists("deployments", ns_, kMaster) && object &&
           !object->root()["metadata"]["ownerReferences"].Exists();
  }));
  ASSERT_EQ(MarkOf("replicasets", set, "phase"), "deleting");
  Watcher& watcher = WatchOver("deployment/bob");
  EXPECT_TRUE(DeletesNothing(watcher, "keep: active"));
  EXPECT_TRUE(Eventually([&] {
    return MarkOf("replicasets", set, "root-uid") == api().Uid("replicasets", ns_, set) &&
           MarkOf("replicasets", set, "phase").empty();
  }));
  api().Delete("deployments", ns_, "bob");
  EXPECT_TRUE(Finishes(watcher));
}

TEST_F(TravelledMarks, InAManifestFromWhichTheRootIsMadeAgainCountForNothing) {
  MakeCluster();
  MakeDriver();
  const TextMap marks = MarksOfADeletion();
  api().Delete("deployments", ns_, kMaster, "Foreground");
  // Its pod as well, or the watcher may be started in that.
  ASSERT_TRUE(Eventually([&] {
    const std::string app = "app=" + std::string(kMaster);
    return !api().Exists("deployments", ns_, kMaster) &&
           api().Names("replicasets", ns_, app).empty() && api().Names("pods", ns_, app).empty();
  }));
  const std::string uid = MakeMasterAgain(marks);
  ASSERT_NE(uid, marks.at("cluster-watcher/root-uid"));
  Watcher& watcher = WatchOver("deployment/bob");
  EXPECT_TRUE(DeletesNothing(watcher, "keep: active"));
  EXPECT_TRUE(Eventually([&] { return Mark("root-uid") == uid; }));
  for (const char* mark : {"phase", "reason", "condemned-by", "deleting-since"}) {
    EXPECT_EQ(Mark(mark), "") << mark;
  }
  api().Delete("deployments", ns_, "bob");
  EXPECT_TRUE(Finishes(watcher));
}

// `kubectl rollout undo` does this: it restores template and annotations from the ReplicaSet.
TEST_F(TravelledMarks, ThatAnUndoBringsBackDoNotDeleteAClusterThatIsInUse) {
  MakeCluster();
  MakeDriver();
  MarkTheRoot(MarksOfADeletion());
  std::string set;
  ASSERT_TRUE(Eventually([&] { return !(set = MarkedReplicaSet()).empty(); }));
  TakeMarksOff();
  const auto set_template = [&](const std::string& content) {
    api().Expect(HttpMethod::kPatch, PathOf("deployments", ns_, kMaster), content,
                 "application/json-patch+json");
  };
  // Without a node, the new pod of a rolling update never gets ready.
  api().Patch("deployments", ns_, kMaster,
              R"({"spec": {"strategy": {"type": "Recreate", "rollingUpdate": null}}})");
  set_template(R"([{"op": "add", "path": "/spec/template/metadata/annotations",
                    "value": {"test.example/revision": "2"}}])");
  ASSERT_TRUE(Eventually(
      [&] { return api().Names("replicasets", ns_, "app=" + std::string(kMaster)).size() == 2; }));
  ASSERT_EQ(MarkOf("replicasets", set, "phase"), "deleting") << "nobody takes them off there";
  ASSERT_TRUE(Eventually([&] {
    return !RunsThe(set) && api().Names("pods", ns_, "app=" + std::string(kMaster)).size() == 1;
  }));
  Watcher& watcher = WatchOver("deployment/bob");
  ASSERT_TRUE(Shows(watcher, "keep: active"));

  const auto revision = api().Get("replicasets", ns_, set);
  ASSERT_TRUE(revision);
  const JsonValue kept = revision->root();
  set_template(
      R"([{"op": "replace", "path": "/metadata/annotations", "value": )" +
      kept["metadata"]["annotations"].ToText() +
      R"(}, {"op": "replace", "path": "/spec/template", "value": )" +
      kept["spec"]["template"].ToText() +
      R"(}, {"op": "remove", "path": "/spec/template/metadata/labels/pod-template-hash"}])");
  ASSERT_EQ(Mark("root-uid"), api().Uid("deployments", ns_, kMaster));
  EXPECT_TRUE(StopsWell(watcher));
  ASSERT_TRUE(Eventually([&] { return RunsThe(set); }));
  Watcher& next = WatchOver("deployment/bob");
  EXPECT_TRUE(DeletesNothing(next, "keep: active"));
  EXPECT_TRUE(Eventually([&] { return Mark("phase").empty() && Mark("condemned-by").empty(); }));
}

}  // namespace
}  // namespace cluster_watcher::integration

#include "probes/cluster_probe.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "probes/owner_kinds.h"
#include "test/unit/support/fake_transport.h"

namespace cluster_watcher {
namespace {

constexpr char kLabelled[] = R"("labels":{"oshinko-cluster":"bob"})";
constexpr char kUses[] = R"("labels":{"uses-oshinko-cluster":"bob"})";
constexpr char kOneReplica[] = R"("spec":{"replicas":1})";

const ClusterId kCluster{"lab", DefaultProfile(), "bob"};

KubeObject Object(const char* type, const std::string& name, const std::string& metadata = "") {
  const auto document = JsonDocument::Parse(ObjectText(TypeOf(type), "lab", name, name, metadata));
  return {TypeOf(type), *ReadObjectMeta(document->root())};
}

// Metadata of an object with a controller and, if `labelled`, the cluster's label.
std::string Below(const char* controller_type, const std::string& controller,
                  bool labelled = true) {
  const std::string reference = ControlledBy(TypeOf(controller_type), controller, controller);
  return labelled ? std::string(kLabelled) + "," + reference : reference;
}

class ClusterProbeTest : public testing::Test {
 protected:
  ClusterProbeTest() { ServeNothingElse(); }

  void ServeNothingElse() {
    api_.transport.On(ApiRequest::Discover("/apis"), GroupList({{"apps", {"v1"}}}));
  }
  void ServeKinds(const std::vector<const char*>& kinds) {
    std::map<std::string, std::vector<std::string>> groups;
    for (const char* kind : kinds) {
      const ResourceType& type = TypeOf(kind);
      const std::string version = type.group + "/" + type.version;
      groups[type.group] = {type.version};
      api_.transport.On(ApiRequest::Discover("/apis/" + version), ResourceList(version, {type}));
    }
    api_.transport.On(ApiRequest::Discover("/apis"), GroupList(groups));
  }
  void StartAnew() {
    api_.transport.Forget();
    ServeNothingElse();
  }

  // Serves an object whose UID is its name.
  void Serve(const char* type, const std::string& name, const std::string& metadata = "") {
    api_.transport.On(ApiRequest::GetMetadata(TypeOf(type), "lab", name),
                      ObjectAnswer(TypeOf(type), "lab", name, name, metadata));
  }

  // The root, such as "deployment.apps/bob-m", or how the search failed.
  std::string RootOf(const KubeObject& start, const KubeObjects& known = {}) {
    auto root = probe_.RootOf(start, kCluster, known, {});
    if (root) return root->Describe();
    return root.error().failure == ApiFailure::kNotFound ? "gone" : "unknown";
  }

  FakeApi api_;
  ClusterProbe probe_{api_.client, api_.discovery};
};

TEST_F(ClusterProbeTest, WhatNothingControlsIsItsOwnRoot) {
  EXPECT_EQ(RootOf(Object("pod", "p")), "pod/p");
  KubeObject referring = Object("service", "s", Below("deployment", "d"));
  referring.meta.common.Edit().owner_references.front().controller = false;
  EXPECT_EQ(RootOf(referring), "service/s");
  EXPECT_TRUE(api_.transport.requests.empty());
}

// Thousands are held, each with 256 kB of annotations at most.
TEST(ClusterId, OfWhatIsListedOnlyWhatIsReadIsHeld) {
  const std::string junk(250'000, 'x');
  KubeObject object = Object(
      "configmap", "c",
      R"("labels":{"oshinko-cluster":"bob","a":"b"},"annotations":{"cluster-watcher/junk":")" +
          junk + R"(","cluster-watcher/owner":")" + junk +
          R"(","cluster-watcher/keep":"true","openshift.io/a":"b"})");
  kCluster.DropWhatSaysNothing(object.meta);
  EXPECT_EQ(object.meta.labels().size(), 1u);
  EXPECT_EQ(object.meta.annotations().size(), 2u);
  EXPECT_EQ(object.meta.Annotation("cluster-watcher/keep"), "true");
  EXPECT_EQ(object.meta.Annotation("cluster-watcher/owner"), std::string(1'024, 'x'));
}

TEST_F(ClusterProbeTest, WalksFromPodToDeploymentAndDeploymentConfig) {
  for (const bool labelled : {true, false}) {
    StartAnew();
    Serve("replicaset", "m-1", Below("deployment", "m"));
    Serve("deployment", "m", labelled ? kLabelled : "");
    EXPECT_EQ(RootOf(Object("pod", "m-1-a", Below("replicaset", "m-1"))), "deployment.apps/m");
  }
  api_.transport.Forget();
  ServeKinds({"dc"});
  Serve("rc", "m-1", Below("dc", "m"));
  Serve("dc", "m");
  EXPECT_EQ(RootOf(Object("pod", "m-1-a", Below("rc", "m-1"))),
            "deploymentconfig.apps.openshift.io/m");
}

TEST_F(ClusterProbeTest, GoesHigherOnlyWhereTheClustersLabelIs) {
  struct Case {
    const char* below;
    const char* above;
    std::string metadata;  // the controller's
    const char* root;
  };
  const std::vector<Case> cases = {
      {"pod", "replicaset", "", "pod/x"},
      {"pod", "replicaset", kLabelled, "replicaset.apps/y"},
      {"pod", "sts", kLabelled, "statefulset.apps/y"},
      {"pod", "job", R"("labels":{"oshinko-cluster":"bobby"})", "pod/x"},
      {"pod", "job", R"("labels":{"oshinko-cluster":""})", "pod/x"},
      {"pod", "job", R"("annotations":{"oshinko-cluster":"bob"})", "pod/x"},
      {"deployment", "raycluster", "", "deployment.apps/x"},
      {"deployment", "raycluster", kLabelled, "raycluster.ray.io/y"},
      {"job", "cronjob", "", "job.batch/x"},
      {"job", "cronjob", kLabelled, "cronjob.batch/y"},
      {"rc", "deployment", "", "replicationcontroller/x"},
      {"replicaset", "dc", "", "replicaset.apps/x"},
  };
  for (const Case& one : cases) {
    api_.transport.Forget();
    ServeKinds({"dc", "raycluster"});
    Serve(one.above, "y", one.metadata);
    EXPECT_EQ(RootOf(Object(one.below, "x", Below(one.above, "y"))), one.root)
        << one.below << one.above << one.metadata;
  }
}

TEST_F(ClusterProbeTest, AControllerThatIsGoneOrCantBeReadIsSaidToBe) {
  const ResourceType& sets = TypeOf("replicaset");
  const std::vector<std::pair<HttpResult, const char*>> cases = {
      {NotFound(sets, "r"), "gone"},
      {ObjectAnswer(sets, "lab", "r", "r-2"), "gone"},  // another object has taken its name
      {NotFound(sets, "another"), "unknown"},
      {NoAnswer(), "unknown"},
      {Refused(403), "unknown"},
      {NoSuchPath(), "unknown"},
      {ObjectAnswer(sets, "lab", "r", "r", R"("ownerReferences":1)"), "unknown"},
  };
  for (const auto& [answer, expected] : cases) {
    StartAnew();
    api_.transport.On(ApiRequest::GetMetadata(sets, "lab", "r"), answer);
    EXPECT_EQ(RootOf(Object("pod", "p", Below("replicaset", "r"))), expected);
  }
}

TEST_F(ClusterProbeTest, AControllerOfAKindThatIsNotServedOrInALoopIsUnknown) {
  Serve("job", "a", Below("job", "b"));
  Serve("job", "b", Below("job", "a"));
  EXPECT_EQ(RootOf(Object("pod", "p", Below("job", "a"))), "unknown");
  EXPECT_LE(api_.transport.requests.size(), 20u);
  KubeObject pod = Object("pod", "p");
  pod.meta.common.Edit().owner_references = {{"example.com/v1", "Gizmo", "g", "g", true}};
  EXPECT_EQ(RootOf(pod), "unknown");
  api_.transport.Forget();
  api_.transport.On(ApiRequest::Discover("/apis"), Refused(503));
  EXPECT_FALSE(api_.discovery.Refresh({}));
  EXPECT_EQ(RootOf(pod), "unknown");
}

TEST_F(ClusterProbeTest, WhatIsKnownIsNotAskedFor) {
  const KubeObjects known = {Object("replicaset", "m-1", Below("deployment", "m")),
                             Object("deployment", "m", kLabelled)};
  EXPECT_EQ(RootOf(Object("pod", "p", Below("replicaset", "m-1")), known), "deployment.apps/m");
  EXPECT_TRUE(api_.transport.requests.empty());
  KubeObject other = known.front();
  other.meta.uid = "m-1-older";
  api_.transport.On(ApiRequest::GetMetadata(TypeOf("replicaset"), "lab", "m-1"),
                    NotFound(TypeOf("replicaset"), "m-1"));
  EXPECT_EQ(RootOf(Object("pod", "p", Below("replicaset", "m-1")), {other}), "gone")
      << "known by UID, not by name";
}

ApiRequest ListMembers(const char* type) {
  return ApiRequest::ListBySelector(TypeOf(type), "lab", "oshinko-cluster=bob", true);
}

TEST_F(ClusterProbeTest, ListsWhatCarriesExactlyTheLabel) {
  const ResourceType& pods = TypeOf("pod");
  const auto pod = [&](const char* name, const std::string& metadata) {
    return ObjectText(pods, "lab", name, name, metadata);
  };
  const std::vector<std::string> items = {pod("a", kLabelled),
                                          pod("b", R"("labels":{"oshinko-cluster":"bobby"})"),
                                          pod("c", R"("labels":{"oshinko-cluster":""})"),
                                          pod("d", R"("labels":{"oshinko-cluster":"Bob"})"),
                                          pod("e", R"("labels":{"other":"bob"})"),
                                          pod("f", R"("annotations":{"oshinko-cluster":"bob"})"),
                                          pod("g", "")};
  ApiRequest next = ListMembers("pod");
  next.http.target += "&continue=more";
  api_.transport.On(ListMembers("pod"), ListAnswer(pods, items, "more"));
  api_.transport.On(next, ListAnswer(pods, {pod("h", kLabelled)}));
  const ResourceType& services = TypeOf("service");
  api_.transport.On(ListMembers("service"),
                    ListAnswer(services, {ObjectText(services, "lab", "s", "s", kLabelled)}));
  const ClusterListing listing =
      probe_.List(std::vector{TypeOf("pod"), TypeOf("service")}, kCluster, 8, {});
  std::vector<std::string> found;
  for (const KubeObject& object : listing.objects) found.push_back(object.Describe());
  EXPECT_EQ(found, (std::vector<std::string>{"pod/a", "pod/h", "service/s"}));
  EXPECT_TRUE(listing.skipped.empty() && listing.failed.empty());
}

TEST_F(ClusterProbeTest, SaysWhatCouldNotBeListedAndListsTheRest) {
  enum Where { kNeither, kSkipped, kFailed };
  const std::vector<std::pair<HttpResult, Where>> cases = {
      {ListAnswer(TypeOf("service"), {}), kNeither},
      {Refused(403), kSkipped},
      {NoSuchPath(), kFailed},
      {Refused(404), kFailed},
      {Refused(500), kFailed},
      {NoAnswer(), kFailed},
      {ListAnswer(TypeOf("pod"), {}), kFailed},
  };
  for (const auto& [answer, where] : cases) {
    StartAnew();
    api_.transport.On(ListMembers("service"), answer);
    api_.transport.On(
        ListMembers("pod"),
        ListAnswer(TypeOf("pod"), {ObjectText(TypeOf("pod"), "lab", "p", "p", kLabelled)}));
    const ClusterListing listing =
        probe_.List(std::vector{TypeOf("service"), TypeOf("pod")}, kCluster, 8, {});
    EXPECT_EQ(listing.objects.size(), 1u);
    EXPECT_EQ(listing.skipped.size(), where == kSkipped ? 1u : 0u);
    EXPECT_EQ(listing.failed.size(), where == kFailed ? 1u : 0u);
  }
}

TEST_F(ClusterProbeTest, AKindThatIsNotServedHasNoObjectsUnlessDiscoveryFails) {
  for (const bool fails : {false, true}) {
    StartAnew();
    if (fails) {
      api_.transport.Forget();
      api_.transport.On(ApiRequest::Discover("/apis"), Refused(503));
      EXPECT_FALSE(api_.discovery.Refresh({}));
    }
    const ClusterListing listing = probe_.List(std::vector{TypeOf("route")}, kCluster, 8, {});
    EXPECT_TRUE(listing.objects.empty() && listing.skipped.empty());
    EXPECT_EQ(listing.failed.size(), fails ? 1u : 0u);
    EXPECT_FALSE(api_.transport.WasAsked(ListMembers("route")));
  }
}

// No driver uses the cluster until a test adds one.
class FindOtherDriversTest : public ClusterProbeTest {
 protected:
  FindOtherDriversTest() {
    api_.transport.otherwise = [](const HttpRequest& request) -> HttpResult {
      for (const ResourceType& type : WorkloadTypes()) {
        for (const char* ns : {"lab", "attic"}) {
          if (request.target == List(type, ns).http.target ||
              request.target == ApiRequest::List(type, ns).http.target) {
            return ListAnswer(type, {});
          }
        }
      }
      return NoSuchPath();
    };
  }

  static ApiRequest List(const ResourceType& type, const char* ns = "lab") {
    return ApiRequest::ListBySelector(type, ns, "uses-oshinko-cluster=bob", false);
  }

  void ServeDriver(const char* type, const std::string& fields,
                   const std::string& metadata = kUses) {
    api_.transport.On(List(TypeOf(type)),
                      ListAnswer(TypeOf(type), {ObjectText(TypeOf(type), "lab", "alice", "alice",
                                                           metadata, fields)}));
  }

  // Who uses the cluster; "nobody" or "unknown".
  std::string UsedBy(const std::string& owner_uid = "owner", const std::string& owner_ns = "lab") {
    const OtherDrivers drivers = probe_.FindOtherDrivers(kCluster, {owner_ns, owner_uid}, {});
    if (drivers.unknown) return "unknown";
    return drivers.in_use_by.value_or("nobody");
  }
};

TEST_F(FindOtherDriversTest, NobodyUsesItWhereNothingSaysSo) {
  EXPECT_EQ(UsedBy(), "nobody");
  for (const ResourceType& type : WorkloadTypes()) {
    EXPECT_EQ(api_.transport.TimesAsked(List(type)), type == TypeOf("dc") ? 0u : 1u) << type.kind;
  }
}

TEST_F(FindOtherDriversTest, ADriverOfAnyKindThatWantsToRunUsesIt) {
  struct Case {
    const char* type;
    std::string fields;
    const char* used_by;
  };
  const std::vector<Case> cases = {
      {"deployment", kOneReplica, "deployment.apps/alice"},
      {"deployment", R"("spec":{"replicas":0})", "nobody"},
      {"deployment", R"("spec":{})", "unknown"},
      {"rc", kOneReplica, "replicationcontroller/alice"},
      {"replicaset", R"("spec":{"replicas":9})", "replicaset.apps/alice"},
      {"sts", kOneReplica, "statefulset.apps/alice"},
      {"daemonset", R"("spec":{})", "daemonset.apps/alice"},
      {"job", R"("spec":{})", "job.batch/alice"},
      {"job", R"("spec":{"suspend":true})", "job.batch/alice"},
      {"job",
       R"("spec":{"suspend":true},"status":{"conditions":[{"type":"Failed","status":"True"}]})",
       "nobody"},
      {"cronjob", R"("spec":{})", "cronjob.batch/alice"},
      {"pod", R"("spec":{})", "pod/alice"},
      {"pod", R"("spec":{},"status":{"phase":"Succeeded"})", "nobody"},
  };
  for (const Case& one : cases) {
    StartAnew();
    ServeDriver(one.type, one.fields);
    EXPECT_EQ(UsedBy(), one.used_by) << one.type << one.fields;
    EXPECT_EQ(UsedBy(""), one.used_by) << "an owner that was never seen";
  }
}

TEST_F(FindOtherDriversTest, AConfigCountsWhereItIsServed) {
  api_.transport.Forget();
  ServeKinds({"dc"});
  ServeDriver("dc", kOneReplica);
  EXPECT_EQ(UsedBy(), "deploymentconfig.apps.openshift.io/alice");
}

// One of them can't be listed.
TEST_F(FindOtherDriversTest, ACustomResourceCountsWhereTheTableKnowsItsKind) {
  const ResourceType gizmos{"example.com", "v1", "gizmos", "Gizmo"};
  const auto workloads = api_.transport.otherwise;
  const auto serve = [&](const char* type) {
    api_.transport.Forget();
    api_.transport.otherwise = [=](const HttpRequest& request) -> HttpResult {
      const auto found = FakeApi::Discovered(request, {TypeOf(type), gizmos});
      return found ? HttpResult(*found) : workloads(request);
    };
    EXPECT_TRUE(api_.discovery.Refresh({}));
  };
  for (const char* type : {"sparkapplication", "workflow", "rayjob", "daskcluster", "daskjob",
                           "jobset", "rollout", "flinkdeployment"}) {
    serve(type);
    ServeDriver(type, R"("spec":{})");
    EXPECT_EQ(UsedBy(), TypeOf(type).SingularName() + "/alice");
    serve(type);
    api_.transport.On(List(TypeOf(type)), Refused(403));
    EXPECT_EQ(UsedBy(), "unknown") << type;
    EXPECT_FALSE(api_.transport.WasAsked(List(gizmos))) << "of others nothing is known";
  }
}

TEST_F(FindOtherDriversTest, OnlyTheExactLabelCounts) {
  for (const char* metadata :
       {"", R"("labels":{"uses-oshinko-cluster":"bobby"})", R"("labels":{"oshinko-cluster":"bob"})",
        R"("annotations":{"uses-oshinko-cluster":"bob"})"}) {
    StartAnew();
    ServeDriver("deployment", kOneReplica, metadata);
    EXPECT_EQ(UsedBy(), "nobody") << metadata;
  }
}

TEST_F(FindOtherDriversTest, NeitherTheOwnerNorWhatItControlsIsAnotherDriver) {
  ServeDriver("deployment", kOneReplica);
  EXPECT_EQ(UsedBy("alice"), "nobody");
  EXPECT_EQ(UsedBy("bob"), "deployment.apps/alice");
  StartAnew();
  const std::string metadata =
      std::string(kUses) + "," + ControlledBy(TypeOf("replicaset"), "owner-1", "owner-1");
  ServeDriver("pod", R"("spec":{})", metadata);
  Serve("replicaset", "owner-1", ControlledBy(TypeOf("deployment"), "owner", "owner"));
  Serve("deployment", "owner");
  EXPECT_EQ(UsedBy("owner-1"), "nobody") << "at once";
  EXPECT_EQ(UsedBy("owner"), "nobody") << "over a ReplicaSet";
  EXPECT_EQ(UsedBy("someone"), "pod/alice");
  EXPECT_EQ(UsedBy(""), "pod/alice");
}

TEST_F(FindOtherDriversTest, TheControllerOfManyPodsIsReadOnce) {
  const std::string metadata =
      std::string(kUses) + "," + ControlledBy(TypeOf("replicaset"), "owner-1", "owner-1");
  std::vector<std::string> pods;
  for (const char* name : {"a", "b", "c"}) {
    pods.push_back(ObjectText(TypeOf("pod"), "lab", name, name, metadata, R"("spec":{})"));
  }
  api_.transport.On(List(TypeOf("pod")), ListAnswer(TypeOf("pod"), pods));
  Serve("replicaset", "owner-1", ControlledBy(TypeOf("deployment"), "owner", "owner"));
  EXPECT_EQ(UsedBy("owner"), "nobody");
  EXPECT_EQ(
      api_.transport.TimesAsked(ApiRequest::GetMetadata(TypeOf("replicaset"), "lab", "owner-1")),
      1u);
}

// A DeploymentConfig keeps ten old ones.
TEST_F(FindOtherDriversTest, TheRolloutsOfAConfigAreReadOnce) {
  api_.transport.Forget();
  ServeKinds({"dc"});
  const std::string all = ObjectText(TypeOf("dc"), "lab", "alice", "u-dc", "",
                                     R"("spec":{"replicas":1},"status":{"latestVersion":9})");
  const auto config = ApiRequest::ListByName(TypeOf("dc"), "lab", "alice", Freshness::kConsistent);
  api_.transport.On(config, ListAnswer(TypeOf("dc"), {all}));
  std::vector<std::string> controllers;
  for (int version = 1; version < 9; ++version) {
    const std::string name = "alice-" + std::to_string(version);
    const std::string metadata =
        std::string(kUses) + R"(,"annotations":{"openshift.io/deployment.phase":"Complete",)" +
        R"("openshift.io/deployment-config.latest-version":")" + std::to_string(version) +
        R"("},)" + ControlledBy(TypeOf("dc"), "alice", "u-dc");
    controllers.push_back(
        ObjectText(TypeOf("rc"), "lab", name, name, metadata, R"("spec":{"replicas":0})"));
  }
  const ApiRequest siblings = ApiRequest::List(TypeOf("rc"), "lab");
  api_.transport.On(siblings, ListAnswer(TypeOf("rc"), controllers));
  const std::vector<std::string> old(controllers.begin(), controllers.end() - 1);
  api_.transport.On(List(TypeOf("rc")), ListAnswer(TypeOf("rc"), old));
  EXPECT_EQ(UsedBy(), "nobody");
  EXPECT_EQ(api_.transport.TimesAsked(config), 1u);
  EXPECT_EQ(api_.transport.TimesAsked(siblings), 1u);
}

TEST_F(FindOtherDriversTest, AControllerThatIsGoneIsNotTheOwnerAndAnUnreadableOneUnknown) {
  const std::string metadata =
      std::string(kUses) + "," + ControlledBy(TypeOf("replicaset"), "r", "r");
  for (const bool gone : {true, false}) {
    StartAnew();
    ServeDriver("pod", R"("spec":{})", metadata);
    api_.transport.On(ApiRequest::GetMetadata(TypeOf("replicaset"), "lab", "r"),
                      gone ? NotFound(TypeOf("replicaset"), "r") : Refused(403));
    EXPECT_EQ(UsedBy(), gone ? "pod/alice" : "unknown");
  }
}

TEST_F(FindOtherDriversTest, IsUnknownWhereAKindCantBeListedOrDiscoveryFails) {
  for (const HttpResult& answer :
       {HttpResult(Refused(403)), HttpResult(Refused(404)), HttpResult(NoAnswer())}) {
    StartAnew();
    api_.transport.On(List(TypeOf("pod")), answer);
    EXPECT_EQ(UsedBy(), "unknown");
  }
  api_.transport.Forget();
  api_.transport.On(ApiRequest::Discover("/apis"), Refused(503));
  EXPECT_FALSE(api_.discovery.Refresh({}));
  EXPECT_EQ(UsedBy(), "unknown");
}

TEST_F(FindOtherDriversTest, TheOwnersNamespaceIsSearchedToo) {
  const ResourceType& jobs = TypeOf("job");
  const std::string alice = ObjectText(jobs, "attic", "alice", "alice", kUses, R"("spec":{})");
  api_.transport.On(List(jobs, "attic"), ListAnswer(jobs, {alice}));
  EXPECT_EQ(UsedBy("owner", "lab"), "nobody");
  EXPECT_EQ(UsedBy("owner", ""), "nobody");
  EXPECT_EQ(UsedBy("owner", "attic"), "job.batch/alice");
}

}  // namespace
}  // namespace cluster_watcher

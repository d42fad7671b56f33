#include "watcher/deletion/members.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "probes/base/time_text.h"
#include "probes/cluster_probe.h"
#include "test/unit/support/objects.h"
#include "watcher/protocol/marks.h"

namespace cluster_watcher {
namespace {

using Names = std::vector<std::string>;

// An object whose UID is its name; `above` is its controller's UID.
KubeObject Object(const char* type, const std::string& name, const std::string& above = "") {
  KubeObject object{TypeOf(type), {}};
  object.meta.name = name;
  object.meta.common.Edit().ns = "lab";
  object.meta.uid = name;
  if (!above.empty())
    object.meta.common.Edit().owner_references = {{"v1", "Any", above, above, true}};
  return object;
}

KubeObject Kept(KubeObject object) {
  object.meta.common.Edit().annotations[annotation::kKeep] = "true";
  return object;
}

DeletionMemory Memory() {
  DeletionMemory memory;
  memory.root_uid = "bob-m";
  memory.owner_uids = {"driver"};
  return memory;
}

Names NamesOf(const KubeObjects& objects) {
  Names names;
  for (const KubeObject& object : objects) names.push_back(object.meta.name);
  return names;
}

void Expect(const MemberPass& pass, const Names& to_delete, const Names& leftovers = {},
            const Names& left = {}) {
  EXPECT_EQ(NamesOf(pass.to_delete), to_delete);
  EXPECT_EQ(NamesOf(pass.leftovers), leftovers);
  ASSERT_EQ(pass.left.size(), left.size());
  for (std::size_t i = 0; i < left.size(); ++i) {
    EXPECT_EQ(pass.left[i].substr(0, pass.left[i].find(':')), left[i]);
  }
}

KubeObject Uncontrolled(KubeObject object) {
  object.meta.common.Edit().owner_references.front().controller = false;
  return object;
}

KubeObject Word(const std::string& word) {
  KubeObject service = Object("service", "s");
  service.meta.common.Edit().annotations[annotation::kKeep] = word;
  return service;
}

TEST(SortMembers, DeletesTheRootsOfTheClusterAndNothingElse) {
  struct Case {
    const char* what;
    KubeObjects objects;
    Names to_delete;
    Names leftovers = {};
    Names left = {};
  };
  const std::vector<Case> cases = {
      {"the labelled roots",
       {Object("deployment", "w"), Object("service", "s"), Object("pod", "p")},
       {"w", "s", "p"}},
      {"a reference that doesn't control",
       {Uncontrolled(Object("service", "s", "someone"))},
       {"s"}},
      {"what a member controls, in any order of the list, at any depth, is waited for",
       {Object("pod", "w-1-a", "w-1"), Object("replicaset", "w-1", "w"), Object("deployment", "w")},
       {"w"},
       {"w-1-a", "w-1"}},
      {"the master root and what it controls",
       {Object("deployment", "bob-m"), Object("replicaset", "bob-m-1", "bob-m"),
        Object("pod", "bob-m-1-a", "bob-m-1")},
       {}},
      {"a master root that has a controller",
       {Object("replicaset", "bob-m", "w"), Object("deployment", "w")},
       {"w"}},
      {"what a foreign controller has",
       {Object("pod", "x-1-a", "x-1"), Object("replicaset", "x-1", "x"), Object("service", "s")},
       {"s"},
       {},
       {"pod/x-1-a", "replicaset.apps/x-1"}},
      {"what is kept and what is below it",
       {Object("pod", "w-1-a", "w-1"), Object("replicaset", "w-1", "w"),
        Kept(Object("deployment", "w")), Kept(Object("configmap", "c")), Object("service", "s")},
       {"s"},
       {},
       {"deployment.apps/w", "configmap/c", "pod/w-1-a", "replicaset.apps/w-1"}},
      {"what is kept below a member",
       {Object("deployment", "w"), Kept(Object("job", "w-1", "w")), Object("pod", "w-1-a", "w-1")},
       {"w"},
       {},
       {"job.batch/w-1", "pod/w-1-a"}},
      {"what bears a copy of its controller's annotations",
       {Object("deployment", "w"), Kept(Object("replicaset", "w-1", "w"))},
       {"w"},
       {"w-1"}},
      {"what is said not to be kept", {Word("false")}, {"s"}},
      {"no word", {Word("")}, {}, {}, {"service/s"}},
      {"in capitals", {Word("True")}, {}, {}, {"service/s"}},
      {"yes", {Word("yes")}, {}, {}, {"service/s"}},
      {"the owner and what is below it",
       {Object("pod", "driver-a", "driver"), Object("deployment", "driver")},
       {},
       {},
       {"deployment.apps/driver", "pod/driver-a"}},
      {"what is above the owner",
       {Object("deploymentconfig", "d"), Object("rc", "driver", "d"), Object("service", "s")},
       {"s"},
       {},
       {"deploymentconfig.apps.openshift.io/d", "replicationcontroller/driver"}},
      {"what is above an owner that is not labelled",
       {Object("cronjob", "nightly"), Object("service", "s")},
       {"s"},
       {},
       {"cronjob.batch/nightly"}},
      {"what is above that",
       {Object("cronjob", "nightly", "top"), Object("deployment", "top", "tip"),
        Object("configmap", "tip"), Object("service", "s")},
       {"s"},
       {},
       {"cronjob.batch/nightly", "deployment.apps/top", "configmap/tip"}},
      {"controllers in a loop",
       {Object("replicaset", "a", "b"), Object("replicaset", "b", "a")},
       {},
       {},
       {"replicaset.apps/a", "replicaset.apps/b"}},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.what);
    DeletionMemory memory = Memory();
    memory.owner_controller_uid = "nightly";
    Expect(SortMembers(one.objects, memory), one.to_delete, one.leftovers, one.left);
    EXPECT_EQ(memory.listed.size(), one.to_delete.size());
    EXPECT_EQ(memory.left.empty(), one.left.empty());
    Expect(SortMembers(one.objects, memory), one.to_delete, one.leftovers, one.left);
  }
  DeletionMemory memory = Memory();
  memory.owner_uids.clear();
  Expect(SortMembers({Object("deployment", "w")}, memory), {"w"});  // the owner isn't known
}

TEST(SortMembers, WhatIsKeptFromNowOnIsLeft) {
  DeletionMemory memory = Memory();
  Expect(SortMembers({Object("deployment", "w"), Object("replicaset", "w-1", "w")}, memory), {"w"},
         {"w-1"});
  Expect(SortMembers({Kept(Object("deployment", "w")), Object("replicaset", "w-1", "w")}, memory),
         {}, {}, {"deployment.apps/w", "replicaset.apps/w-1"});
}

TEST(SortMembers, NeverDeletesKindsThatOutliveClusters) {
  KubeObject role = Object("configmap", "role");
  role.type.Edit() = {"rbac.authorization.k8s.io", "v1", "roles", "Role"};
  KubeObject binding = Object("configmap", "binding");
  binding.type.Edit() = {"rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding"};
  DeletionMemory memory = Memory();
  Expect(SortMembers({Object("serviceaccount", "sa"), Object("persistentvolumeclaim", "pvc"),
                      Object("persistentvolumeclaim", "data-w-0", "w"), Object("namespace", "lab"),
                      role, binding},
                     memory),
         {}, {},
         {"serviceaccount/sa", "persistentvolumeclaim/pvc", "persistentvolumeclaim/data-w-0",
          "namespace/lab", "role.rbac.authorization.k8s.io/role",
          "rolebinding.rbac.authorization.k8s.io/binding"});
}

// The claims of a set that has gone are what it has let go of, or went with it.
TEST(SortMembers, AClaimIsNeverWhatIsLeftOfItsStatefulSet) {
  for (const Volumes volumes : {Volumes::kCollect, Volumes::kDelete}) {
    DeletionMemory memory = Memory();
    memory.volumes = volumes;
    const KubeObject claim = Object("persistentvolumeclaim", "data-w-0", "w");
    Expect(SortMembers({Object("statefulset", "w"), claim}, memory), {"w"});
    Expect(SortMembers({claim}, memory), {});
  }
}

TEST(SortMembers, SetsAsideWhatGoesRightBeforeTheRoot) {
  DeletionMemory memory = Memory();
  memory.root_set = "bob-m";
  memory.volumes = Volumes::kDelete;
  memory.mounted = {{TypeOf("configmap"), "c"}, {TypeOf("secret"), "s"}};
  const MemberPass pass =
      SortMembers({Object("configmap", "c"), Object("secret", "s"), Object("networkpolicy", "n"),
                   Object("persistentvolumeclaim", "data-bob-m-0"), Object("configmap", "s"),
                   Object("service", "c"), Object("persistentvolumeclaim", "data-bob-w-0")},
                  memory);
  EXPECT_EQ(NamesOf(pass.last), (Names{"c", "s", "n", "data-bob-m-0"}));
  Expect(pass, {"s", "c", "data-bob-w-0"});
  const MemberPass kept = SortMembers({Kept(Object("configmap", "c"))}, memory);
  EXPECT_TRUE(kept.last.empty());
}

// Its operator makes pods, Services and masters again; a claim waits for the pods that mount it.
TEST(SortMembers, OfACustomResourcesWhatItsOperatorMakesGoesRightBeforeIt) {
  DeletionMemory memory = Memory();
  memory.cluster.name = "bob";
  memory.root_is_resource = true;
  memory.volumes = Volumes::kDelete;
  KubeObjects objects;
  for (const char* type : {"pod", "service", "configmap", "persistentvolumeclaim", "deployment",
                           "statefulset", "job"}) {
    objects.push_back(Object(type, type));
  }
  objects.push_back(Object("deployment", "master"));
  objects.back().meta.common.Edit().labels["oshinko-type"] = "master";
  objects.push_back(Object("replicaset", "of-master", "master"));
  objects.push_back(Object("pod", "master-pod", "of-master"));
  objects.push_back(Object("replicaset", "of-deployment", "deployment"));
  for (KubeObject& object : objects) {
    object.meta.common.Edit().labels["oshinko-cluster"] = "bob";
  }
  const MemberPass pass = SortMembers(std::move(objects), memory);
  EXPECT_EQ(NamesOf(pass.last),
            (Names{"pod", "service", "configmap", "persistentvolumeclaim", "master"}));
  Expect(pass, {"deployment", "statefulset", "job"}, {"of-deployment"});
}

TEST(SortMembers, FindsWhatIsLeftOfADeletedController) {
  DeletionMemory memory = Memory();
  const KubeObject set = Object("replicaset", "w-1", "w");
  const KubeObject pod = Object("pod", "w-1-a", "w-1");
  Expect(SortMembers({Object("deployment", "w"), set, pod}, memory), {"w"}, {"w-1", "w-1-a"});
  EXPECT_EQ(memory.below.at("w-1-a"), "w");
  Expect(SortMembers({set, pod}, memory), {}, {"w-1", "w-1-a"});
  Expect(SortMembers({pod}, memory), {}, {"w-1-a"});  // its ReplicaSet is gone too
}

KubeObject Ordered(KubeObject object, const std::string& order) {
  object.meta.common.Edit().annotations[annotation::kDeleteOrder] = order;
  return object;
}

Names NamesOf(const std::vector<const KubeObject*>& objects) {
  Names names;
  for (const KubeObject* object : objects) names.push_back(object->meta.name);
  return names;
}

TEST(DueMembers, AreThoseOfTheLowestWaveThatIsLeft) {
  DeletionMemory memory = Memory();
  const KubeObject first = Ordered(Object("deployment", "w"), "-1");
  const KubeObject below = Object("replicaset", "w-1", "w");
  const KubeObject second = Object("service", "s");
  const KubeObject last = Ordered(Object("configmap", "c"), "7");
  MemberPass pass = SortMembers({last, second, below, first}, memory);
  EXPECT_TRUE(memory.HasWaves());
  EXPECT_EQ(NamesOf(DueMembers(pass, memory, false)), (Names{"w", "w-1"}));
  EXPECT_EQ(NamesOf(DueMembers(pass, memory, true)), (Names{"w", "w-1", "c", "s"}));
  // What a member controls belongs to its wave, even if the member itself is gone.
  pass = SortMembers({last, second, below}, memory);
  EXPECT_EQ(NamesOf(DueMembers(pass, memory, false)), Names{"w-1"});
  pass = SortMembers({last, second}, memory);
  EXPECT_EQ(NamesOf(DueMembers(pass, memory, false)), Names{"s"});
  pass = SortMembers({last}, memory);
  EXPECT_EQ(NamesOf(DueMembers(pass, memory, false)), Names{"c"});
  EXPECT_TRUE(DueMembers(SortMembers({}, memory), memory, false).empty());
}

TEST(DueMembers, WhatStaysHoldsNoWaveUp) {
  DeletionMemory memory = Memory();
  const MemberPass pass =
      SortMembers({Ordered(Object("deployment", "w"), "-1"), Object("service", "s")}, memory);
  const auto stays = [](const KubeObject& object) { return object.meta.name == "w"; };
  EXPECT_EQ(NamesOf(DueMembers(pass, memory, false, stays)), Names{"s"});
}

TEST(DueMembers, OneWaveIsNone) {
  DeletionMemory memory = Memory();
  SortMembers({Ordered(Object("service", "s"), "3"), Ordered(Object("pod", "p"), "3")}, memory);
  EXPECT_FALSE(memory.HasWaves());
}

TEST(SortMembers, ADeleteOrderThatIsNoNumberCountsAsZeroAndIsNamedOnce) {
  DeletionMemory memory = Memory();
  const KubeObjects objects = {Ordered(Object("service", "s"), "first")};
  MemberPass pass = SortMembers(objects, memory);
  ASSERT_EQ(pass.mistakes.size(), 1u);
  EXPECT_NE(pass.mistakes.front().find("service/s: annotation cluster-watcher/delete-order: "
                                       "\"first\" is not a whole number"),
            std::string::npos);
  EXPECT_EQ(memory.OrderOf("s"), 0);
  EXPECT_TRUE(SortMembers(objects, memory).mistakes.empty());
}

TEST(ParseDeleteOrder, TakesWholeNumbers) {
  EXPECT_EQ(ParseDeleteOrder("0"), 0);
  EXPECT_EQ(ParseDeleteOrder("-12"), -12);
  for (const char* text : {"", "1.5", "1 ", "+1", "one", "99999999999", "0x1"}) {
    EXPECT_EQ(ParseDeleteOrder(text), std::nullopt) << text;
  }
}

TEST(SortMembers, ClaimsAreWhatTheVolumesSettingSays) {
  const KubeObject claim = Object("pvc", "data");
  DeletionMemory memory = Memory();
  Expect(SortMembers({claim}, memory), {}, {}, {"persistentvolumeclaim/data"});

  memory = Memory();
  memory.volumes = Volumes::kDelete;
  Expect(SortMembers({claim, Kept(Object("pvc", "kept"))}, memory), {"data"}, {},
         {"persistentvolumeclaim/kept"});

  memory = Memory();
  memory.volumes = Volumes::kCollect;
  memory.collect_after = *ParseTime("2026-12-24T00:00:00Z");
  const MemberPass pass = SortMembers({claim}, memory);
  EXPECT_TRUE(pass.to_delete.empty());
  EXPECT_EQ(NamesOf(pass.to_collect), Names{"data"});
  KubeObject collected = claim;
  collected.meta.common.Edit().annotations[annotation::kCollectAfter] = "2026-12-24T00:00:00Z";
  EXPECT_EQ(SortMembers({collected}, memory).to_collect.size(), 1u);  // copied from another
  collected.meta.common.Edit().annotations[annotation::kRootUid] = collected.meta.uid;
  EXPECT_EQ(SortMembers({collected}, memory).to_collect.size(), 0u);
  memory = Memory();
  memory.volumes = Volumes::kCollect;
  memory.collect_after = *ParseTime("2026-12-24T00:00:01Z");
  EXPECT_EQ(SortMembers({collected}, memory).to_collect.size(), 1u);  // by an earlier cluster
}

TEST(SortMembers, ClaimsGoAfterWhatMayMountThem) {
  DeletionMemory memory = Memory();
  memory.volumes = Volumes::kDelete;
  const KubeObject claim = Object("pvc", "data");
  const MemberPass pass = SortMembers({claim, Ordered(Object("deployment", "w"), "9")}, memory);
  EXPECT_EQ(NamesOf(DueMembers(pass, memory, false)), Names{"w"});
  EXPECT_FALSE(memory.HasWaves());
  EXPECT_EQ(NamesOf(DueMembers(SortMembers({claim}, memory), memory, false)), Names{"data"});
}

TEST(SortMembers, TheClaimsOfAMasterThatIsAStatefulSetGoWithIt) {
  DeletionMemory memory = Memory();
  memory.volumes = Volumes::kDelete;
  memory.root_set = "bob-m";
  const MemberPass pass = SortMembers(
      {Object("pvc", "data-bob-m-11"), Object("pvc", "bob-m-1"), Object("pvc", "data-bob-m-x"),
       Object("pvc", "data-bob-m-"), Object("configmap", "data-bob-m-2")},
      memory);
  EXPECT_EQ(NamesOf(pass.last), Names{"data-bob-m-11"});
  EXPECT_EQ(NamesOf(pass.to_delete),
            (Names{"bob-m-1", "data-bob-m-x", "data-bob-m-", "data-bob-m-2"}));
}

TEST(SortMembers, TheOwnerIsKnownByItsNameWhereItWasMadeAnew) {
  DeletionMemory memory = Memory();
  memory.owner_name = "bob";
  memory.owner_kind = "deployment.apps";
  KubeObject again = Object("deployment", "bob");
  again.meta.uid = "again";
  Expect(SortMembers({again, Object("service", "bob"), Object("job", "bob")}, memory),
         {"bob", "bob"}, {}, {"deployment.apps/bob"});
  memory = Memory();
  memory.owner_name = "bob";
  Expect(SortMembers({again, Object("job", "bob"), Object("service", "bob")}, memory), {"bob"}, {},
         {"deployment.apps/bob", "job.batch/bob"});
}

}  // namespace
}  // namespace cluster_watcher

#include "watcher/observation/holds.h"

#include <gtest/gtest.h>

#include "probes/base/time_text.h"
#include "test/unit/support/objects.h"

namespace cluster_watcher {
namespace {

constexpr const char* kUntil = "2026-12-24T18:00:00Z";

TEST(Hold, LastsUntilItIsOverByTheLocalClockAndByTheApiServers) {
  const auto hold = HoldOn(
      "pod m", {{"cluster-watcher/hold-until", kUntil}, {"cluster-watcher/hold-reason", "a demo"}});
  ASSERT_TRUE(hold);
  EXPECT_EQ(hold->reason, "a demo");
  const WallTime until = *ParseTime(kUntil);
  const WallTime before = until - std::chrono::seconds(1);
  EXPECT_TRUE(hold->IsOn(before, std::nullopt));
  EXPECT_TRUE(hold->IsOn(before, until));
  EXPECT_TRUE(hold->IsOn(until, before)) << "the local clock may be ahead";
  EXPECT_FALSE(hold->IsOn(until, until));
  EXPECT_FALSE(hold->IsOn(until, std::nullopt));
  EXPECT_TRUE(HoldOn("pod m", {{"cluster-watcher/hold-until", "soon"}})->IsOn(until, until));
  EXPECT_FALSE(HoldOn("pod m", {{"cluster-watcher/hold-reason", "a demo"}}));
}

KubeObject Held(const char* kind, const std::string& name) {
  KubeObject object{TypeOf(kind), {}};
  object.meta.name = name;
  object.meta.uid = name;
  object.meta.common.Edit().annotations["cluster-watcher/hold-until"] = kUntil;
  return object;
}

TEST(FindHolds, CountsThemOnPodsRootTemplateAndNamespaceEachOnce) {
  const KubeObject ns = Held("ns", "lab");
  const KubeObject root = Held("rs", "m");
  const KubeObject pod = Held("pod", "m-1");
  HoldPlaces places{&ns.meta, &root, &root.meta.annotations(), {&pod.meta, &pod.meta}};
  std::string where;
  for (const Hold& hold : FindHolds(places)) where += hold.where + ";";
  EXPECT_EQ(where,
            "namespace lab;pod m-1;pod template of replicaset.apps/m;"
            "master root replicaset.apps/m;");
  places = {nullptr, &pod, nullptr, {&pod.meta}};
  EXPECT_EQ(FindHolds(places).size(), 1u) << "a bare pod is its own root";
  const KubeObject resource = Held("rs", "c");
  places.resource = &resource;
  EXPECT_EQ(FindHolds(places).back().where, "replicaset.apps/c");
  EXPECT_TRUE(FindHolds({}).empty());
}

TEST(FindHolds, AnnotationsOfAReplicaSetThatSomethingControlsAreCopies) {
  for (const char* kind : {"rs", "rc", "deployment"}) {
    KubeObject root = Held(kind, "m");
    root.meta.common.Edit().owner_references.push_back(
        {"example.com/v1", "Rollout", "m", "u", true, false});
    HoldPlaces places;
    places.root = &root;
    EXPECT_EQ(FindHolds(places).empty(), std::string(kind) != "deployment") << kind;
  }
}

}  // namespace
}  // namespace cluster_watcher

#include <gtest/gtest.h>

#include "probes/cluster_id.h"
#include "probes/profile.h"

namespace cluster_watcher {
namespace {

ObjectMeta PodWith(const ObjectMeta::Texts& labels) {
  ObjectMeta pod;
  pod.name = "p";
  pod.common.Edit().labels = labels;
  return pod;
}

std::string ProfileOf(const ObjectMeta::Texts& labels) {
  const auto profile = ProfileTable::BuiltIn().OfMaster(PodWith(labels));
  return profile ? (*profile)->name : profile.error().message;
}

std::string MistakesIn(const std::string& rows) {
  const auto table = ProfileTable::With(rows);
  return table ? "" : table.error().message;
}

TEST(ProfileTable, AMastersLabelsSayInWhoseWordsItIs) {
  EXPECT_EQ(ProfileOf({}), "oshinko");
  EXPECT_EQ(ProfileOf({{"ray.io/node-type", "head"}, {"ray.io/cluster", "c"}}), "ray");
  EXPECT_EQ(ProfileOf({{"ray.io/node-type", "worker"}, {"ray.io/cluster", "c"}}), "ray");
  EXPECT_EQ(ProfileOf({{"ray.io/node-type", "head"}}), "oshinko") << "without a cluster";
  EXPECT_EQ(ProfileOf({{"app", "shop"}, {"component", "jobmanager"}}), "oshinko");
  EXPECT_EQ(
      ProfileOf({{"app", "c"}, {"component", "jobmanager"}, {"type", "flink-native-kubernetes"}}),
      "flink");
  EXPECT_EQ(ProfileOf({{"oshinko-type", "master"},
                       {"oshinko-cluster", "c"},
                       {"ray.io/node-type", "head"},
                       {"ray.io/cluster", "c"}}),
            "oshinko");
  EXPECT_EQ(ProfileOf({{"dask.org/component", "scheduler"},
                       {"dask.org/cluster-name", "c"},
                       {"ray.io/node-type", "head"},
                       {"ray.io/cluster", "c"}}),
            "the labels of the pod p fit the profiles ray and dask: give one of them by --profile");
}

// Other words name other users, and so would let it go while it is used.
TEST(ProfileTable, WhatIsOshinkosIsOfNoClusterInOtherWords) {
  const ClusterId ray{"lab", ProfileTable::BuiltIn().Named("ray"), "c"};
  const ClusterId labelled{"lab", ProfileTable::BuiltIn().OfLabel("ray.io/c"), "c"};
  const auto both = PodWith({{"ray.io/cluster", "c"}, {"oshinko-cluster", "c"}});
  EXPECT_FALSE(ray.Owns(both));
  EXPECT_EQ(ray.AnothersLabel(both), "oshinko-cluster=c");
  const auto empty = PodWith({{"ray.io/cluster", "c"}, {"oshinko-cluster", ""}});
  EXPECT_TRUE(ray.Owns(empty)) << "an empty value is no cluster";
  EXPECT_EQ(ray.AnothersLabel(empty), std::nullopt);
  EXPECT_EQ(ray.AnothersLabel(PodWith({{"ray.io/cluster", "d"}})), "ray.io/cluster=d");
  EXPECT_TRUE(labelled.Owns(PodWith({{"ray.io/c", "c"}, {"oshinko-cluster", "d"}})))
      << "these are Oshinko's words";
}

TEST(ProfileTable, ALabelMeansItsProfileAndAnotherOneOshinkosWordsWithIt) {
  EXPECT_EQ(ProfileTable::BuiltIn().OfLabel("ray.io/cluster")->name, "ray");
  const auto other = ProfileTable::BuiltIn().OfLabel("team/cluster");
  EXPECT_EQ(other->name, "oshinko");
  EXPECT_EQ(other->cluster_label, "team/cluster");
}

// The operator merges one over the other, and a DaskCluster's own annotations are its pods'.
TEST(ProfileTable, TheMastersTemplateIsMergedAsTheOperatorDoes) {
  const auto flink = JsonDocument::Parse(
      R"({"spec":{"podTemplate":{"metadata":{"annotations":{"a":"1","b":"1"}}},)"
      R"("jobManager":{"podTemplate":{"metadata":{"annotations":{"b":"2"}},)"
      R"("spec":{"containers":[{"name":"x"}]}}}}})");
  EXPECT_EQ(ProfileTable::BuiltIn().Named("flink")->MasterTemplate(flink->root()).root().ToText(),
            R"({"metadata":{"annotations":{"b":"2","a":"1"},"labels":{}},)"
            R"("spec":{"containers":[{"name":"x"}],"initContainers":[]}})");
  const auto dask =
      JsonDocument::Parse(R"({"metadata":{"annotations":{"a":"1","b":"1"}},)"
                          R"("spec":{"scheduler":{"metadata":{"annotations":{"b":"2"}}}}})");
  EXPECT_EQ(ProfileTable::BuiltIn().Named("dask")->MasterTemplate(dask->root()).root().ToText(),
            R"({"metadata":{"annotations":{"b":"2","a":"1"},"labels":{}},)"
            R"("spec":{"containers":[],"initContainers":[]}})");
}

TEST(ProfileTable, OnlyKubeRaysUpgradeThatRecreatesIsARollout) {
  const auto rolls_out = [](const char* spec) {
    const auto object = JsonDocument::Parse(spec);
    return ProfileTable::BuiltIn().Named("ray")->RollsOut(object->root());
  };
  EXPECT_FALSE(rolls_out(R"({"spec":{}})"));
  EXPECT_FALSE(rolls_out(R"({"spec":{"upgradeStrategy":{"type":"None"}}})"));
  EXPECT_TRUE(rolls_out(R"({"spec":{"upgradeStrategy":{"type":"Recreate"}}})"));
}

TEST(ProfileTable, AnInstallationAddsRowsAndReplacesSomeByTheirNames) {
  const auto table = ProfileTable::With(
      R"([{"name":"mine","master":{"role":["boss"]},"cluster":"x.io/c"},)"
      R"({"name":"ray","master":{"ray.io/node-type":["head"]},"cluster":"ray.io/cluster"}])");
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->Named("mine")->cluster_label, "x.io/c");
  EXPECT_FALSE(table->Named("ray")->HasRoot());
  EXPECT_EQ(table->rows().size(), ProfileTable::BuiltIn().rows().size() + 1);
  EXPECT_EQ(table->rows().front()->name, "oshinko");
}

TEST(ProfileTable, EachMistakeIsNamedWithItsRow) {
  EXPECT_EQ(MistakesIn("{}"), "it is no list of rows");
  EXPECT_EQ(MistakesIn("- x"), "row 1 is no map");
  EXPECT_EQ(MistakesIn("- {name: a"), "line 1: end of map flow not found");
  EXPECT_EQ(
      MistakesIn("- {name: a, mastr: {x: [y]}, cluster: c}"),
      "row 1 (a): mastr: there is no such field; row 1 (a): master: it has no labels, so that "
      "all pods fit");
  EXPECT_EQ(
      MistakesIn("- {name: a, master: {x: [y]}, cluster: 'a b'}\n"
                 "- {name: A, master: {x: [y z]}, cluster: c, template: [spec]}"),
      "row 1 (a): cluster: \"a b\" is not a label's key; row 2 (A): name: \"A\" is not a name "
      "of a-z, 0-9 and -; row 2 (A): master: \"y z\" is not a label's value; row 2 (A): "
      "template: it is a root's, and there is no root");
  EXPECT_EQ(
      MistakesIn("- {name: a, master: {x: [y]}, cluster: c, root: {resource: foos}}"),
      "row 1 (a): root.resource: \"foos\" is not PLURAL.GROUP; row 1 (a): root.kind: give the "
      "resource's kind");
  EXPECT_EQ(MistakesIn("- {name: a, master: {x: [y]}, cluster: c}\n"
                       "- {name: a, master: {x: [y]}, cluster: c}"),
            "the name a is given twice");
  for (const char* oshinkos : {"- {name: oshinko, master: {x: [y]}, cluster: c}",
                               "- {name: a, master: {x: [y]}, cluster: oshinko-cluster}"}) {
    EXPECT_NE(MistakesIn(oshinkos).find("stay as they are: give it a name and a label of its own"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace cluster_watcher

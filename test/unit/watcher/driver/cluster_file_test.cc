#include "watcher/driver/cluster_file.h"

#include <gtest/gtest.h>

#include "probes/base/names.h"

namespace cluster_watcher {
namespace {

const ClusterId kBob{"lab", DefaultProfile(), "bob"};

constexpr const char* kWorkerText = R"(
apiVersion: apps/v1
kind: Deployment
metadata: {name: $(CLUSTER)-w}
spec:
  selector: {matchLabels: {app: w}}
  template:
    metadata: {labels: {app: w, oshinko-type: worker}}
    spec: {containers: [{name: w, image: spark, args: ["spark://$(CLUSTER):7077"]}]}
)";
constexpr const char* kMasterText = R"(
apiVersion: apps/v1
kind: Deployment
metadata: {name: $(CLUSTER)-m}
spec:
  selector: {matchLabels: {app: m}}
  template:
    metadata: {labels: {app: m, oshinko-type: master}}
    spec: {containers: [{name: m, image: spark}]}
)";
constexpr const char* kServiceText = R"(
apiVersion: v1
kind: Service
metadata: {name: $(CLUSTER), labels: {oshinko-type: master}}
spec: {selector: {app: m}, ports: [{port: 7077}]}
)";

std::string Documents(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += "---" + text;
  return all;
}

Result<std::vector<ClusterObject>, std::vector<std::string>> ReadObjects(const std::string& text) {
  auto file = ReadClusterFiles(std::vector<ManifestFile>{{"c.yaml", text}}, kBob);
  if (!file) return Unexpected{std::move(file).error()};
  return std::move(file->objects);
}

// The error, or the objects' names.
std::string Read(const std::string& text) {
  const auto objects = ReadObjects(text);
  if (!objects) return Joined(objects.error());
  std::string names;
  for (const ClusterObject& object : *objects) {
    names += (names.empty() ? "" : ", ") + object.Describe();
  }
  return names;
}

std::string JsonOf(const ClusterObject& object) {
  return WriteJson(object.node, JsonWriter::Style::kCompact, Scalars::kMeant);
}

TEST(ClusterFile, NamesAndLabelsItsObjects) {
  const auto objects = ReadObjects(Documents({kServiceText, kWorkerText, kMasterText}));
  ASSERT_TRUE(objects) << Joined(objects.error());
  ASSERT_EQ(objects->size(), 3u);
  EXPECT_EQ((*objects)[0].Describe(), "Deployment bob-m");
  EXPECT_EQ(JsonOf((*objects)[1]),
            R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"bob-w",)"
            R"("labels":{"oshinko-cluster":"bob"}},"spec":{"selector":{"matchLabels":{"app":"w"}},)"
            R"("template":{"metadata":{"labels":{"app":"w","oshinko-type":"worker",)"
            R"("oshinko-cluster":"bob"}},"spec":{"containers":[{"name":"w","image":"spark",)"
            R"("args":["spark://bob:7077"]}]}}}})");
  EXPECT_EQ(JsonOf((*objects)[2]),
            R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"bob",)"
            R"("labels":{"oshinko-type":"master","oshinko-cluster":"bob"}},)"
            R"("spec":{"selector":{"app":"m"},"ports":[{"port":7077}]}})");
}

TEST(ClusterFile, TheMasterIsFirstAndWhatMakesItCompleteIsLast) {
  const std::string map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
  EXPECT_EQ(Read(Documents({kServiceText, kWorkerText, kMasterText, "\n" + map})),
            "Deployment bob-m, ConfigMap a, Deployment bob-w, Service bob");
  const std::vector<ManifestFile> files = {{"w.yaml", kWorkerText}, {"m.yaml", kMasterText}};
  const auto objects = ReadClusterFiles(files, kBob);
  ASSERT_TRUE(objects) << Joined(objects.error());
  EXPECT_EQ(objects->objects.front().Describe(), "Deployment bob-m");
}

// As long as the watcher finds them in pods.
TEST(ClusterFile, APodThatIsToBeWatchedIsAMaster) {
  std::string master = kMasterText;
  master.replace(master.find("labels: {app: m, oshinko-type: master}"), 38,
                 "annotations: {cluster-watcher/inject: \"true\"}");
  EXPECT_EQ(Read(Documents({master})), "Deployment bob-m");
}

TEST(ClusterFile, TheMasterIsOne) {
  EXPECT_EQ(Read(Documents({kServiceText, kWorkerText})),
            "c.yaml: there is no master: label the pods of one workload oshinko-type: master");
  std::string second = kMasterText;
  second.replace(second.find("-m}"), 3, "-x}");
  EXPECT_EQ(Read(Documents({kMasterText, second})),
            "c.yaml: there are several masters, Deployment bob-m; Deployment bob-x: give a file "
            "with one cluster");
  EXPECT_EQ(Read("apiVersion: ray.io/v1\nkind: RayCluster\nmetadata: {name: $(CLUSTER)}\n"),
            "RayCluster bob");
  EXPECT_EQ(Read(""), "c.yaml has no objects");
}

TEST(ClusterFile, WhatCannotBeCreatedIsNamed) {
  const std::pair<std::string, const char*> cases[] = {
      {"kind: A\n", "c.yaml, line 1: it has no apiVersion"},
      {"apiVersion: v1\n", "c.yaml, line 1: it has no kind"},
      {"apiVersion: v1\nkind: A\nmetadata: {generateName: x-}\n",
       "c.yaml, line 1: it has no name: give metadata.name, as in name: $(CLUSTER)-m"},
      {"apiVersion: v1\nkind: A\nmetadata: {name: A_b}\n",
       "c.yaml, line 1: \"A_b\" is no name of an object"},
      {"apiVersion: v1\nkind: A\nmetadata: {name: a, namespace: other}\n",
       "c.yaml, line 1: it is of the namespace \"other\", not of lab: take metadata.namespace off, "
       "or give -n"},
      {"apiVersion: v1\nkind: A\nmetadata: {name: a, labels: {oshinko-cluster: alice}}\n",
       "c.yaml, line 1: it is labelled as of the cluster \"alice\": write $(CLUSTER)"},
      {"apiVersion: v1\nkind: A\nmetadata: {name: a, resourceVersion: \"7\"}\n",
       "c.yaml, line 1: it has metadata.resourceVersion: take it off"},
      {"apiVersion: v1\nkind: A\nmetadata: {name: a, ownerReferences: [{}]}\n",
       "c.yaml, line 1: it has metadata.ownerReferences: take it off"},
      {"apiVersion: v1\nkind: A\nmetadata: {name: a, annotations: {cluster-watcher/phase: x}}\n",
       "c.yaml, line 1: it is annotated with a mark, cluster-watcher/phase: take it off"},
      {"kind: A\n---\napiVersion: v1\n",
       "c.yaml, line 1: it has no apiVersion; c.yaml, line 2: it has no kind"},
      {Documents({kMasterText, kMasterText}), "c.yaml, line 10: Deployment bob-m is there twice"},
      {"a: [\n", "c.yaml, line 2, column 1: "},
  };
  for (const auto& [text, error] : cases) {
    EXPECT_EQ(Read(text).substr(0, std::string(error).size()), error) << text;
  }
}

TEST(ClusterFile, LabelsAndAnnotationsAreSetWhetherThereAreAnyOrNot) {
  auto objects = ReadObjects(Documents({kMasterText}));
  ASSERT_TRUE(objects);
  ClusterObject& root = objects->front();
  ASSERT_TRUE(SetAnnotation(root, "cluster-watcher/owner", "deployment.apps/bob"));
  ASSERT_TRUE(SetAnnotation(root, "cluster-watcher/owner", "job.batch/bob"));
  const std::string json = JsonOf(root);
  EXPECT_NE(json.find(R"("annotations":{"cluster-watcher/owner":"job.batch/bob"})"),
            std::string::npos)
      << json;
}

}  // namespace
}  // namespace cluster_watcher

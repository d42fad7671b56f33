#include "watcher/admission/manifest/inject_manifests.h"

#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "probes/base/read_yaml.h"

namespace cluster_watcher {
namespace {

InjectionSettings Settings() {
  InjectionSettings settings;
  settings.image = "cluster-watcher:0.1.0";
  return settings;
}

Result<InjectedManifests> Inject(const std::vector<std::string>& texts) {
  std::vector<ManifestFile> files;
  for (const std::string& text : texts) {
    files.push_back({std::string(1, static_cast<char>('a' + files.size())), text});
  }
  return InjectManifests(files, Settings());
}

InjectedManifests Injected(const std::vector<std::string>& texts) {
  auto injected = Inject(texts);
  if (!injected) ADD_FAILURE() << injected.error().message;
  return injected ? *std::move(injected) : InjectedManifests{};
}

std::string ErrorOf(const std::string& text) {
  const auto injected = Inject({text});
  EXPECT_FALSE(injected) << text;
  return injected ? "" : injected.error().message;
}

std::size_t Count(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

std::size_t Sidecars(const std::string& text) { return Count(text, "CLUSTER_WATCHER_LISTEN"); }

const char kPod[] =
    "apiVersion: v1\nkind: Pod\nmetadata:\n  name: p\n  labels: {oshinko-type: master}\nspec:\n"
    "  containers:\n  - name: a  # the master\n    image: b\n";

std::string Expected(const std::string& name) {
  std::ifstream file(std::string(TEST_DATA "/injected/") + name);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(InjectManifests, AWholeDeployment) {
  EXPECT_EQ(Injected({Expected("deployment.yaml")}).text, Expected("deployment.injected.yaml"));
  // The same in JSON.
  const auto json = [](const std::string& name) {
    const std::string text = Expected(name);
    const auto first = ReadYaml(text.substr(0, text.find("\n---\n") + 1));
    if (!first || !*first) return std::string("no YAML");
    return WriteJson((*first)->root, JsonWriter::Style::kIndented, Scalars::kMeant) + "\n";
  };
  EXPECT_EQ(Injected({json("deployment.yaml")}).text, json("deployment.injected.yaml"));
}

TEST(InjectManifests, WhatGetsNoSidecarStaysByteForByte) {
  for (const std::string text :
       {"",
        "\n",
        "# nothing\n",
        "---\n---\n",
        "a: 1",
        "apiVersion: v1\r\nkind:  ConfigMap # x\r\n",
        "---\n# a\nkind: &k Secret\nb: *k\n...\n",
        "%YAML 1.2\n---\na:   [ 1,2 ]\n",
        "- 1\n",
        "just text",
        "\xef\xbb\xbfkind: Service\n",
        "\xef\xbb\xbf",
        "--- {a: b}\n--- # c\nd: e\n",
        "kind: Deployment\napiVersion: apps/v1\nspec: {a: 1, a: 2}\n",
        "{\"kind\": \"X\" }  \n",
        "{}{} {}\n{\"a\":1e40, \"b\":\"\\u00e9\", \"b\":0}",
        "{a: b}\n---\n{c: d}\n",
        "kind: List\nitems: []\n",
        "kind: List\napiVersion: v1\nitems: {a: b}\n",
        "a: !!binary eA==\n[x]: .inf\n",
        "apiVersion: v1\nkind: Pod\nmetadata: {labels: {oshinko-type: worker}}\n"}) {
    EXPECT_EQ(Injected({text}).text, text);
    // It also stays as it is next to a manifest that gets the sidecar.
    if (text.find_first_not_of(" \n") == std::string::npos || text[0] == '{' || text[0] == '%' ||
        text[0] == '\xef') {
      continue;
    }
    const std::string both = Injected({kPod + std::string("---\n") + text}).text;
    EXPECT_TRUE(both.ends_with("---\n" + text)) << both;
    EXPECT_EQ(Sidecars(both), 1u);
  }
}

TEST(InjectManifests, EachKindGetsIt) {
  const std::string pod =
      R"({"metadata":{"labels":{"oshinko-type":"master"}},"spec":{"containers":[{"name":"a"}]}})";
  for (const auto& [version, kind, spec] : std::vector<std::array<std::string, 3>>{
           {"v1", "PodTemplate", R"("template":@)"},
           {"v1", "ReplicationController", R"("spec":{"template":@})"},
           {"apps/v1", "Deployment", R"("spec":{"template":@})"},
           {"apps/v1", "ReplicaSet", R"("spec":{"template":@})"},
           {"apps/v1", "StatefulSet", R"("spec":{"template":@})"},
           {"apps/v1", "DaemonSet", R"("spec":{"template":@})"},
           {"batch/v1", "Job", R"("spec":{"template":@})"},
           {"batch/v1", "CronJob", R"("spec":{"jobTemplate":{"spec":{"template":@}}})"},
           {"apps.openshift.io/v1", "DeploymentConfig", R"("spec":{"template":@})"},
           {"ray.io/v1", "RayCluster", R"("spec":{"headGroupSpec":{"template":@}})"},
           {"ray.io/v1", "RayJob", R"("spec":{"rayClusterSpec":{"headGroupSpec":{"template":@}}})"},
           {"ray.io/v1", "RayService",
            R"("spec":{"rayClusterConfig":{"headGroupSpec":{"template":@}}})"}}) {
    std::string object =
        R"({"apiVersion":")" + version + R"(","kind":")" + kind + "\"," + spec + "}";
    object.replace(object.find('@'), 1, pod);
    const std::string injected = Injected({object}).text;
    EXPECT_EQ(Sidecars(injected), 1u) << kind;
    EXPECT_EQ(Injected({injected}).text, injected);
    EXPECT_TRUE(injected.starts_with(object.substr(0, object.find("},\"spec\":{\"containers") - 1)))
        << injected;
    const std::string list = R"({"apiVersion":"v1","kind":"List","items":[{"kind":"Secret"},)" +
                             object + "," + object + "]}";
    EXPECT_EQ(Sidecars(Injected({list}).text), 2u) << kind;
    // JSON is YAML too.
    EXPECT_EQ(Sidecars(Injected({"---\n" + list}).text), 2u) << kind;
  }
}

TEST(InjectManifests, ItemsThatDontSayTheirKindAreOfTheirLists) {
  const std::string pod = R"({"metadata":{"name":"a","labels":{"oshinko-type":"master"}},)"
                          R"("spec":{"containers":[{"name":"c","image":"x"}]}})";
  const std::string template_ = R"({"metadata":{"name":"a"},"spec":{"template":)" + pod + "}}";
  const auto sidecars = [](const std::string& version, const std::string& kind,
                           const std::string& item) {
    return Sidecars(Injected({R"({"apiVersion":")" + version + R"(","kind":")" + kind +
                              R"(","items":[)" + item + "," + item + "]}"})
                        .text);
  };
  EXPECT_EQ(sidecars("v1", "PodList", pod), 2u);
  EXPECT_EQ(sidecars("apps/v1", "DeploymentList", template_), 2u);
  EXPECT_EQ(sidecars("v1", "DeploymentList", template_), 0u) << "there is no such kind";
  EXPECT_EQ(sidecars("v1", "List", pod), 0u);
}

TEST(InjectManifests, ManyDocumentsStayInOrder) {
  const std::string text =
      Injected({std::string("a: 1\n---\n") + kPod + "---\n# b\nb: 2\n---\n" + kPod + "...\n"}).text;
  EXPECT_TRUE(text.starts_with("a: 1\n---\napiVersion: v1\nkind: Pod\n")) << text;
  EXPECT_EQ(Count(text, "---\n"), 3u);
  EXPECT_EQ(Count(text, "---\n# b\nb: 2\n---\napiVersion"), 1u);
  EXPECT_EQ(Sidecars(text), 2u);
  EXPECT_EQ(Injected({text}).text, text);
}

TEST(InjectManifests, KeepsTheCommentsAtTheTop) {
  const std::string head = "--- # one\n\n# License\n#\n\n";
  const std::string text = Injected({head + kPod}).text;
  EXPECT_TRUE(text.starts_with(head + "apiVersion: v1\n")) << text;
  EXPECT_EQ(Count(text, "the master"), 0u);
  EXPECT_TRUE(
      Injected({std::string("\xef\xbb\xbf# x\n") + kPod}).text.starts_with("\xef\xbb\xbf# x\nap"));
}

TEST(InjectManifests, JsonStaysJson) {
  const std::string compact =
      R"({"z":1.10,"apiVersion":"v1","kind":"Pod","metadata":{"annotations":{"cluster-watcher/inject":"true"}},)"
      R"("spec":{"containers":[{"name":"a","n":12345678901234567890123,"e":1e3,"t":"\u00e9\ud83d\ude00"}]}})";
  const std::string text = Injected({compact + "\n" + R"({"kind" : "X"})" + "\n" + compact}).text;
  EXPECT_EQ(Sidecars(text), 2u);
  EXPECT_EQ(Count(text, "\n"), 2u);
  EXPECT_EQ(Count(text, "\n{\"kind\" : \"X\"}\n"), 1u);
  EXPECT_TRUE(text.starts_with(R"({"z":1.10,"apiVersion":"v1")")) << text;
  EXPECT_EQ(Count(text, R"("n":12345678901234567890123,"e":1e3,"t":"é😀")"), 2u) << text;
  EXPECT_EQ(Injected({text}).text, text);
}

TEST(InjectManifests, SeveralFilesAreOneStream) {
  const std::string json = R"({"kind":"X"}{"kind":"Y"})";
  EXPECT_EQ(Injected({"a: 1", "b: 2\n"}).text, "---\na: 1\n---\nb: 2\n");
  EXPECT_EQ(Injected({"---\na: 1\n---\nb: 2\n", "---\nc: 3"}).text,
            "---\na: 1\n---\nb: 2\n---\nc: 3");
  EXPECT_EQ(Injected({json, json}).text, json + "\n" + json);
  EXPECT_EQ(Injected({json,
                      "\xef\xbb\xbf"
                      "a: 1\n"})
                .text,
            "---\n{\"kind\":\"X\"}\n---\n{\"kind\":\"Y\"}\n---\na: 1\n");
  EXPECT_EQ(Injected({"", "a: 1\n"}).text, "---\na: 1\n");
  EXPECT_EQ(Injected({}).text, "");
}

TEST(InjectManifests, ReplacesTheImageOfASidecarThatIsThereIfItIsTold) {
  const std::string old = Injected({kPod}).text;
  InjectionSettings settings = Settings();
  settings.image = "example.com/watcher:2";
  const auto with = [&](const std::string& text, OldImage old_image) {
    const std::vector<ManifestFile> files = {{"a", text}};
    auto injected = InjectManifests(files, settings, old_image);
    EXPECT_TRUE(injected);
    return injected ? *std::move(injected) : InjectedManifests{};
  };
  const auto stays = with(old, OldImage::kStays);
  EXPECT_EQ(stays.text, old);
  EXPECT_TRUE(stays.warnings.empty());
  const auto named = with(old, OldImage::kStaysWithAWarning);
  EXPECT_EQ(named.text, old);
  EXPECT_EQ(named.warnings, std::vector<std::string>{
                                "a: pod/p: its sidecar keeps the image \"cluster-watcher:0.1.0\": "
                                "--image replaces it"});
  const auto replaced = with(old, OldImage::kIsReplaced);
  EXPECT_TRUE(replaced.warnings.empty());
  EXPECT_EQ(Count(replaced.text, "example.com/watcher:2"), 2u) << "and the status names it";
  EXPECT_EQ(Count(replaced.text, "cluster-watcher:0.1.0"), 0u);
  EXPECT_EQ(Sidecars(replaced.text), 1u);
  const auto again = with(replaced.text, OldImage::kIsReplaced);
  EXPECT_EQ(again.text, replaced.text);
  const std::string moved =
      "apiVersion: v1\nkind: Pod\nmetadata: {name: p, labels: {oshinko-type: master}, annotations: "
      "{cluster-watcher/status: '{}'}}\nspec: {containers: [{name: cluster-watcher, image: b}]}\n";
  EXPECT_EQ(
      with(moved, OldImage::kIsReplaced).warnings,
      std::vector<std::string>{"a: pod/p: its sidecar keeps its image: it is no init container"});
}

TEST(InjectManifests, WarnsOfWhatIsWrong) {
  const std::string pods =
      "apiVersion: v1\nkind: List\nitems:\n"
      "- apiVersion: apps/v1\n  kind: Deployment\n  metadata: {name: bob, annotations: "
      "{cluster-watcher/inject: 'true'}}\n  spec:\n    template:\n"
      "      metadata: {annotations: {cluster-watcher/poll-interval: soon}}\n"
      "- apiVersion: v1\n  kind: Pod\n  metadata: {generateName: p-, labels: {oshinko-type: "
      "master}}\n"
      "  spec: {terminationGracePeriodSeconds: 0, containers: [{name: a}]}\n"
      "- apiVersion: v1\n  kind: Pod\n  metadata: {labels: {oshinko-type: master}}\n";
  const InjectedManifests injected = Injected({pods});
  ASSERT_EQ(injected.annotation_problems.size(), 1u);
  EXPECT_EQ(injected.annotation_problems[0].find("a: deployment/bob: "), 0u);
  ASSERT_EQ(injected.warnings.size(), 3u);
  EXPECT_EQ(
      injected.warnings[0],
      "a: deployment/bob: annotation cluster-watcher/inject counts only on pods: put it under "
      "metadata of the pod template");
  EXPECT_EQ(injected.warnings[1].find("a: pod/p-: terminationGracePeriodSeconds is 0"), 0u);
  EXPECT_EQ(injected.warnings[2], "a: pod/: the watcher is not injected: it has no containers");
}

TEST(InjectManifests, WhatDropsSidecarsStaysAsItIsWithAWarning) {
  for (const std::string kind :
       {"kubernetes.dask.org/v1\nkind: DaskCluster", "kubernetes.dask.org/v1\nkind: DaskJob",
        "flink.apache.org/v1beta1\nkind: FlinkDeployment"}) {
    const std::string manifest = "apiVersion: " + kind + "\nmetadata: {name: c}  # mine\n";
    const InjectedManifests injected = Injected({manifest});
    EXPECT_EQ(injected.text, manifest);
    ASSERT_EQ(injected.warnings.size(), 1u) << kind;
    EXPECT_NE(injected.warnings[0].find("drops restartPolicy of init containers"),
              std::string::npos)
        << injected.warnings[0];
  }
  EXPECT_TRUE(Injected({"apiVersion: v1\nkind: DaskCluster\n"}).warnings.empty());
}

TEST(InjectManifests, ErrorsNameFileLineAndColumn) {
  EXPECT_EQ(ErrorOf("a: 1\n---\nb: c: d\n").find("a, line 3, column 5: it is not valid YAML: "),
            0u);
  EXPECT_EQ(ErrorOf("{\"kind\": \"Pod\",\n]\n").find("a, line 2, column 1: it is not valid YAML: "),
            0u)
      << ErrorOf("{\"kind\": \"Pod\",\n]\n");
  EXPECT_EQ(ErrorOf("a: 1\nb: \x80\n"), "a, line 2, column 4: the byte 0x80 is no text in UTF-8");
  EXPECT_EQ(ErrorOf(std::string("a\0b", 3)),
            "a, line 1, column 2: the byte 0x00 is no text in UTF-8");
  EXPECT_EQ(ErrorOf("a: \x04\n"), "a, line 1, column 4: the byte 0x04 is no text in UTF-8");
  EXPECT_EQ(ErrorOf("---\n" + std::string(kPod) + "  x: 1\n  x: 2\n"),
            "a, line 12, column 3: pod/p: the key \"x\" stands twice in one map");
  EXPECT_EQ(ErrorOf("# x\n" + std::string(kPod) + "  x: " + std::string(70, '[') +
                    std::string(70, ']') + "\n")
                .find("a, line 2, column 1: pod/p: it is not fit for JSON: nested more than 64"),
            0u);
  // One bad file fails the good one as well.
  EXPECT_FALSE(Inject({kPod, "a: b: c"}));
}

}  // namespace
}  // namespace cluster_watcher

#include "probes/masters.h"

#include <gtest/gtest.h>

#include <string>

#include "test/unit/support/objects.h"

namespace cluster_watcher {
namespace {

bool Says(const char* kind, const std::string& json) {
  const auto object = JsonDocument::Parse(json);
  EXPECT_TRUE(object) << json;
  return object && IsMaster(TypeOf(kind), object->root(), *DefaultProfile());
}

constexpr const char* kLabelledMaster = R"({"metadata":{"labels":{"oshinko-type":"master"}}})";
constexpr const char* kWorker = R"({"metadata":{"labels":{"oshinko-type":"worker"}}})";
constexpr const char* kAsked = R"({"metadata":{"annotations":{"cluster-watcher/inject":"true"}}})";
constexpr const char* kOptedOut =
    R"({"metadata":{"annotations":{"cluster-watcher/inject":"false"}}})";
constexpr const char* kWithWatcher =
    R"({"spec":{"initContainers":[{"name":"cluster-watcher","image":"x"}]}})";
constexpr const char* kPlain = R"({"spec":{"containers":[{"name":"spark","image":"x"}]}})";

TEST(Masters, ArePodsAndPodTemplatesThatAreLabelledAskForAWatcherOrHaveOne) {
  const std::pair<const char*, bool> pods[] = {{kLabelledMaster, true}, {kWorker, false},
                                               {kAsked, true},          {kOptedOut, false},
                                               {kPlain, false},         {kWithWatcher, true}};
  for (const auto& [pod, is_master] : pods) {
    EXPECT_EQ(Says("pod", pod), is_master) << pod;
    const std::string as_template = R"({"spec":{"template":)" + std::string(pod) + "}}";
    for (const char* kind : {"deployment", "statefulset", "deploymentconfig", "rc", "rs", "job"}) {
      EXPECT_EQ(Says(kind, as_template), is_master) << kind << pod;
    }
    const std::string of_cron = R"({"spec":{"jobTemplate":)" + as_template + "}}";
    EXPECT_EQ(Says("cronjob", of_cron), is_master) << pod;
    EXPECT_FALSE(Says("raycluster", as_template)) << "whose fields say nothing";
  }
}

TEST(Masters, AreWorkloadsAndCustomResourcesThatAreLabelledThemselves) {
  for (const char* kind : {"deployment", "rc", "pod", "raycluster", "daskcluster",
                           "flinkdeployment", "deploymentconfig"}) {
    EXPECT_TRUE(Says(kind, kLabelledMaster)) << kind;
    EXPECT_FALSE(Says(kind, kWorker)) << kind;
  }
  for (const char* kind : {"service", "configmap", "route", "ingress"}) {
    EXPECT_FALSE(Says(kind, kLabelledMaster)) << kind;
  }
}

TEST(Masters, MetadataTellsOfThemButForTheirTemplate) {
  const auto says = [](const char* kind, ObjectMeta::Texts labels, ObjectMeta::Texts annotations) {
    ObjectMeta meta;
    meta.common.Edit().labels = std::move(labels);
    meta.common.Edit().annotations = std::move(annotations);
    return IsMaster(TypeOf(kind), meta, *DefaultProfile());
  };
  EXPECT_TRUE(says("deployment", {{"oshinko-type", "master"}}, {}));
  EXPECT_FALSE(says("service", {{"oshinko-type", "master"}}, {}));
  for (const char* asked : {"cluster-watcher/inject", "cluster-watcher/status"}) {
    EXPECT_TRUE(says("pod", {}, {{asked, "true"}})) << asked;
    EXPECT_FALSE(says("deployment", {}, {{asked, "true"}})) << asked << ": its pods aren't";
  }
  EXPECT_FALSE(says("pod", {}, {{"cluster-watcher/inject", "false"}}));
}

TEST(PodTemplate, IsThatOfABuiltInWorkload) {
  const auto root = JsonDocument::Parse(R"({"spec":{"template":{"spec":{}}}})");
  for (const char* kind : {"deployment", "statefulset", "deploymentconfig", "rc", "job"}) {
    EXPECT_TRUE(PodTemplateOf(TypeOf(kind), root->root()).Exists()) << kind;
  }
  EXPECT_FALSE(PodTemplateOf(TypeOf("raycluster"), root->root()).Exists());
  const auto cron = JsonDocument::Parse(R"({"spec":{"jobTemplate":{"spec":{"template":{}}}}})");
  EXPECT_TRUE(PodTemplateOf(TypeOf("cronjob"), cron->root()).Exists());
}

TEST(PodTemplate, IsTheSameWhateverTheOrderOfItsFieldsAndWhatADeploymentsControllerAdds) {
  const auto text = [](const std::string& pods) {
    return PodTemplateText(JsonDocument::Parse(pods)->root());
  };
  const std::string one = text(R"({"metadata":{"labels":{"app":"m"}},"spec":{"a":[1,2]}})");
  EXPECT_EQ(one, text(R"({"spec":{"a":[1,2]},"metadata":{"labels":{"pod-template-hash":"x",)"
                      R"("app":"m"}}})"));
  EXPECT_NE(one, text(R"({"metadata":{"labels":{"app":"m"}},"spec":{"a":[2,1]}})"));
  EXPECT_NE(one, text(R"({"metadata":{"labels":{"app":"n"}},"spec":{"a":[1,2]}})"));
}

}  // namespace
}  // namespace cluster_watcher

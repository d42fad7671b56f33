#include "watcher/command/doctor.h"

#include <gtest/gtest.h>

namespace cluster_watcher {
namespace {

const NamedFindings kFindings = {
    {"version", Finding::Ok("Kubernetes v1")},
    {"image", Finding::Warning("a\nb", "say \"c\"")},
    {"namespace", Finding::Error("there is no namespace lab", "kubectl create namespace lab")}};

TEST(FindingsText, IsALineForEach) {
  EXPECT_EQ(
      FindingsText(kFindings),
      "ok       version: Kubernetes v1\n"
      "warning  image: a\\nb; remedy: say \"c\"\n"
      "error    namespace: there is no namespace lab; remedy: kubectl create namespace lab\n");
}

TEST(FindingsJson, HasTheSame) {
  const auto json = JsonDocument::Parse(FindingsJson("lab", kFindings));
  ASSERT_TRUE(json) << json.error().message;
  EXPECT_EQ(json->root()["namespace"].AsString(), "lab");
  const JsonValue checks = json->root()["checks"];
  ASSERT_EQ(checks.size(), 3u);
  EXPECT_EQ(checks.At(0).ToText(),
            R"({"name":"version","state":"ok","text":"Kubernetes v1","remedy":null})");
  EXPECT_EQ(checks.At(1)["state"].AsString(), "warning");
  EXPECT_EQ(checks.At(1)["text"].AsString(), "a\nb");
  EXPECT_EQ(checks.At(2)["remedy"].AsString(), "kubectl create namespace lab");
}

}  // namespace
}  // namespace cluster_watcher

#include "watcher/admission/misplaced_annotations.h"

#include <gtest/gtest.h>

#include "watcher/protocol/annotations.h"

namespace cluster_watcher {
namespace {

using Lines = std::vector<std::string>;

Lines Misplaced(const std::string& object) {
  const auto document = JsonDocument::Parse(object);
  EXPECT_TRUE(document) << object;
  return MisplacedAnnotations(document->root());
}

// A workload with `annotations`, whose pods have `of_pods`; both without the braces.
std::string Workload(const std::string& kind, const std::string& annotations,
                     const std::string& of_pods = "") {
  return "{" + kind + R"(,"metadata":{"annotations":{)" + annotations +
         R"(}},"spec":{"template":{"metadata":{"annotations":{)" + of_pods + "}}}}}";
}
constexpr char kDeployment[] = R"("apiVersion":"apps/v1","kind":"Deployment")";
constexpr char kInject[] = R"("cluster-watcher/inject":"true")";
constexpr char kLine[] =
    "annotation cluster-watcher/inject counts only on pods: put it under metadata of the pod "
    "template";

TEST(MisplacedAnnotations, AreThoseThatThePodsLack) {
  EXPECT_EQ(Misplaced(Workload(kDeployment, kInject)), Lines{kLine});
  EXPECT_EQ(Misplaced(Workload(kDeployment, kInject, kInject)), Lines{});
  EXPECT_EQ(Misplaced(Workload(kDeployment, R"("example.com/inject":"true")")), Lines{});
}

TEST(MisplacedAnnotations, AreNoneThatMeanTheWorkload) {
  for (const std::string key : annotation::All()) {
    const bool is_of_pods = key == annotation::kInject || key.find("/sidecar-") != key.npos;
    EXPECT_EQ(Misplaced(Workload(kDeployment, "\"" + key + R"(":"a")")).size(),
              is_of_pods ? 1u : 0u)
        << key;
  }
}

TEST(MisplacedAnnotations, AreOfBuiltInWorkloadsOnly) {
  EXPECT_EQ(Misplaced(Workload(R"("apiVersion":"v1","kind":"Pod")", kInject)), Lines{});
  EXPECT_EQ(Misplaced(Workload(R"("apiVersion":"v1","kind":"Namespace")", kInject)), Lines{});
  EXPECT_EQ(Misplaced(std::string(R"({"apiVersion":"ray.io/v1","kind":"RayCluster","metadata":)") +
                      R"({"annotations":{)" + kInject +
                      R"(}},"spec":{"headGroupSpec":{"template":{}}}})"),
            Lines{});
}

TEST(MisplacedAnnotations, NamesEightOfAHundredThousand) {
  std::string annotations;
  for (int i = 0; i < 100'000; ++i) {
    annotations += (i > 0 ? "," : "") + ("\"cluster-watcher/a" + std::to_string(i)) + "\":\"\"";
  }
  const Lines lines = Misplaced(Workload(kDeployment, annotations));
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_NE(lines[0].find("cluster-watcher/a7 and 99992 more counts"), std::string::npos)
      << lines[0];
}

}  // namespace
}  // namespace cluster_watcher

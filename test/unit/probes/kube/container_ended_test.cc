#include <gtest/gtest.h>

#include "probes/kube/pod_state.h"

namespace cluster_watcher {
namespace {

std::optional<bool> Ended(const std::string& container, const std::string& pod_policy, int code) {
  const auto pod = JsonDocument::Parse(
      R"({"spec":{"restartPolicy":")" + pod_policy + R"(","containers":[{"name":"proxy"},)" +
      container + R"(]},"status":{"containerStatuses":[{"name":"proxy","state":{"running":{}}},)" +
      R"({"name":"base","state":{"terminated":{"exitCode":)" + std::to_string(code) + "}}}]}}");
  EXPECT_TRUE(pod);
  return HasContainerEnded(pod->root(), "base");
}

// Others of the pod run on.
TEST(PodState, AContainerHasEndedIfNothingStartsItAgain) {
  const std::string base = R"({"name":"base"})";
  EXPECT_EQ(Ended(base, "Never", 1), true);
  EXPECT_EQ(Ended(base, "OnFailure", 0), true);
  EXPECT_EQ(Ended(base, "OnFailure", 1), false);
  EXPECT_EQ(Ended(base, "Always", 0), false);
  EXPECT_EQ(Ended(R"({"name":"base","restartPolicy":"Never"})", "Always", 1), true);
  EXPECT_EQ(Ended(R"({"name":"base","restartPolicy":"Always"})", "Never", 0), false);
  EXPECT_EQ(
      Ended(
          R"({"name":"base","restartPolicy":"Never","restartPolicyRules":[{"action":"Restart"}]})",
          "Never", 42),
      false);
  EXPECT_EQ(Ended(R"({"name":"main"})", "Never", 0), std::nullopt);
  const auto runs = JsonDocument::Parse(
      R"({"spec":{"restartPolicy":"Never","containers":[{"name":"base"}]},"status":{}})");
  EXPECT_EQ(HasContainerEnded(runs->root(), "base"), false);
}

}  // namespace
}  // namespace cluster_watcher

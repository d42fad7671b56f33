#include "watcher/admission/sidecar_resources.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "probes/base/json.h"

namespace cluster_watcher {
namespace {

using Texts = std::vector<std::string>;

// The annotations by the ends of their keys.
TextMap Annotations(const TextMap& asked) {
  TextMap annotations;
  for (const auto& [name, value] : asked) annotations["cluster-watcher/sidecar-" + name] = value;
  return annotations;
}

// Returns "REQUEST LIMIT" of each resource.
Texts Resources(const TextMap& asked, const std::string& spec = "{}",
                const InjectionSettings& settings = {}) {
  const auto document = JsonDocument::Parse(spec);
  EXPECT_TRUE(document) << spec;
  Texts texts;
  for (const auto& one : SidecarResources(document->root(), Annotations(asked), settings)) {
    texts.push_back(one.request + " " + one.limit);
  }
  return texts;
}

Texts Problems(const TextMap& asked, const std::string& spec = "{}") {
  const auto document = JsonDocument::Parse(spec);
  return SidecarResourceProblems(document->root(), Annotations(asked));
}

TEST(SidecarResources, AreTheSettingsWhereNothingIsAsked) {
  EXPECT_EQ(Resources({}), (Texts{"10m 500m", "32Mi 64Mi"}));
  InjectionSettings settings;
  settings.cpu_request = "1";
  settings.cpu_limit = "4";
  EXPECT_EQ(Resources({}, "{}", settings), (Texts{"1 4", "32Mi 64Mi"}));
}

TEST(SidecarResources, AreWhatIsAsked) {
  EXPECT_EQ(Resources({{"cpu-request", "50m"}, {"cpu-limit", "0.1"}, {"memory-limit", "512Mi"}}),
            (Texts{"50m 0.1", "32Mi 512Mi"}));
  EXPECT_EQ(Resources({{"cpu-limit", "none"}, {"memory-limit", "none"}}),
            (Texts{"10m none", "32Mi none"}));
  EXPECT_EQ(Resources({{"cpu-request", "2"}, {"cpu-limit", "none"}}),
            (Texts{"2 none", "32Mi 64Mi"}));
}

TEST(SidecarResources, WhatIsNotAskedFollowsWhatIs) {
  EXPECT_EQ(Resources({{"cpu-limit", "5m"}, {"memory-request", "100Mi"}}),
            (Texts{"5m 5m", "100Mi 100Mi"}));
}

TEST(SidecarResources, EqualAmountsFitHoweverTheyAreWritten) {
  EXPECT_EQ(Resources({{"cpu-request", "700m"}, {"cpu-limit", "0.7"}}),
            (Texts{"700m 0.7", "32Mi 64Mi"}));
  EXPECT_EQ(Resources({{"memory-request", "50001k"}, {"memory-limit", "50.001M"}}),
            (Texts{"10m 500m", "50001k 50.001M"}));
}

TEST(SidecarResources, OutOfBoundsAreNotTakenAndNamed) {
  const std::pair<const char*, const char*> refused[] = {
      {"cpu-limit", "2001m"},      {"cpu-limit", "2.001"},     {"cpu-limit", "0"},
      {"cpu-limit", "0.5m"},       {"cpu-limit", ""},          {"cpu-limit", "None"},
      {"cpu-limit", "-1"},         {"cpu-limit", "+1"},        {"cpu-limit", " 1"},
      {"cpu-limit", "1e0"},        {"cpu-limit", "1."},        {"cpu-limit", ".5"},
      {"cpu-limit", "0.1234"},     {"cpu-limit", "0.1.1"},     {"cpu-limit", "0000000001"},
      {"cpu-limit", "much"},       {"cpu-request", "none"},    {"cpu-request", "3"},
      {"cpu-request", "1u"},       {"memory-limit", "31Mi"},   {"memory-limit", "513Mi"},
      {"memory-limit", "1Gi"},     {"memory-limit", "32"},     {"memory-limit", "32M"},
      {"memory-request", "600Mi"}, {"memory-request", "none"}, {"memory-request", "1E"},
      {"memory-request", "1 Mi"},  {"memory-request", "0.5Ei"}};
  for (const auto& [name, value] : refused) {
    EXPECT_EQ(Resources({{name, value}}), (Texts{"10m 500m", "32Mi 64Mi"})) << name << value;
    EXPECT_EQ(Problems({{name, value}}).size(), 1u) << name << " " << value;
  }
  const std::pair<const char*, const char*> taken[] = {
      {"cpu-limit", "2"},         {"cpu-limit", "1m"},          {"cpu-limit", "2000m"},
      {"cpu-request", "0"},       {"cpu-request", "0.125"},     {"memory-limit", "32Mi"},
      {"memory-limit", "0.5Gi"},  {"memory-limit", "33554432"}, {"memory-request", "0"},
      {"memory-request", "512Mi"}};
  for (const auto& [name, value] : taken) {
    EXPECT_TRUE(Problems({{name, value}}).empty()) << name << " " << value;
    EXPECT_NE(Resources({{name, value}}), (Texts{"10m 500m", "32Mi 64Mi"})) << name << value;
  }
  EXPECT_EQ(
      Problems({{"cpu-limit", "3"}, {"memory-request", "1Gi"}}),
      (Texts{
          "annotation cluster-watcher/sidecar-cpu-limit: \"3\" is not taken: give 1m to 2, or none",
          "annotation cluster-watcher/sidecar-memory-request: \"1Gi\" is not taken: give 0 to "
          "512Mi"}));
}

TEST(SidecarResources, ARequestAboveTheLimitBesideItTakesNeither) {
  const TextMap asked = {{"cpu-request", "200m"}, {"cpu-limit", "100m"}, {"memory-limit", "48Mi"}};
  EXPECT_EQ(Resources(asked), (Texts{"10m 500m", "32Mi 48Mi"}));
  EXPECT_EQ(
      Problems(asked),
      (Texts{"annotations cluster-watcher/sidecar-cpu-request and "
             "cluster-watcher/sidecar-cpu-limit are not taken: the request is above the limit"}));
}

TEST(SidecarResources, OfAPodsOwnItRequestsNothing) {
  const std::string spec = R"({"resources":{"limits":{"cpu":"1","memory":"1Gi"}}})";
  const TextMap asked = {{"cpu-request", "1"}, {"cpu-limit", "none"}, {"memory-limit", "48Mi"}};
  EXPECT_EQ(Resources(asked, spec), (Texts{"0 1", "0 48Mi"}));
  EXPECT_EQ(Problems(asked, spec),
            (Texts{"annotation cluster-watcher/sidecar-cpu-request is not taken: the pod has "
                   "resources of its own"}));
}

}  // namespace
}  // namespace cluster_watcher

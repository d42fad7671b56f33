#include "probes/kube/pod_state.h"

#include <gtest/gtest.h>

#include <string>

namespace cluster_watcher {
namespace {

TEST(PodState, APodRunsUntilItHasEndedOrTerminates) {
  const struct {
    const char* pod;
    bool has_ended;
    bool is_running;
  } cases[] = {
      {R"({"status":{"phase":"Running"}})", false, true},
      {R"({"status":{"phase":"Pending"}})", false, true},
      {R"({"status":{"phase":"Unknown"}})", false, true},
      {R"({"metadata":{"deletionTimestamp":null}})", false, true},
      {R"({"status":{"phase":"Succeeded"}})", true, false},
      {R"({"status":{"phase":"Failed","reason":"Evicted"}})", true, false},
      {R"({"metadata":{"deletionTimestamp":"2026-12-24T18:00:00Z"}})", false, false},
  };
  for (const auto& one : cases) {
    const auto pod = JsonDocument::Parse(one.pod);
    EXPECT_EQ(HasEnded(pod->root()), one.has_ended) << one.pod;
    EXPECT_EQ(IsRunning(pod->root()), one.is_running) << one.pod;
  }
}

}  // namespace
}  // namespace cluster_watcher

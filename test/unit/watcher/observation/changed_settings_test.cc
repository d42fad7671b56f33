#include "watcher/observation/changed_settings.h"

#include <gtest/gtest.h>

namespace cluster_watcher {
namespace {

constexpr const char* kGrace = "cluster-watcher/grace-period";

TEST(ChangedSettings, AreNamedWithWhatHappenedToThem) {
  struct Case {
    TextMap at_start;
    TextMap now;
    const char* how;
  };
  const std::vector<Case> cases = {
      {{{kGrace, "1m"}}, {{kGrace, "2m"}}, " was changed to \"2m\","},
      {{{kGrace, "1m"}}, {}, " was taken off,"},
      {{}, {{kGrace, "1m"}}, " was added,"},
  };
  for (const Case& one : cases) {
    const auto changed = ChangedSettings(one.at_start, one.now);
    ASSERT_EQ(changed.size(), 1u) << one.how;
    EXPECT_NE(changed[0].find(kGrace + std::string(one.how)), std::string::npos) << changed[0];
    EXPECT_NE(changed[0].find("restart the pod"), std::string::npos) << changed[0];
  }
}

TEST(ChangedSettings, AnnotationsThatAreNoSettingsMayChange) {
  EXPECT_TRUE(ChangedSettings({{kGrace, "1m"}, {"cluster-watcher/status", "a"}, {"x", "1"}},
                              {{kGrace, "1m"},
                               {"cluster-watcher/hold-until", "2026-12-24T18:00:00Z"},
                               {"cluster-watcher/before-delete", "[]"},
                               {"cluster-watcher/phase", "deleting"}})
                  .empty());
}

}  // namespace
}  // namespace cluster_watcher

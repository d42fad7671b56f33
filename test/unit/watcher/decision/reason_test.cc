#include "watcher/decision/reason.h"

#include <gtest/gtest.h>

#include <utility>

namespace cluster_watcher {
namespace {

TEST(RefusalTest, SaysWhyADeletionIsHeldBack) {
  const std::pair<Reason, Refusal> cases[] = {{Reason::kHeld, Refusal::kHold},
                                              {Reason::kInUse, Refusal::kInUse},
                                              {Reason::kUnknown, Refusal::kUnknown},
                                              {Reason::kAmbiguous, Refusal::kAmbiguous},
                                              {Reason::kShared, Refusal::kUnknown},
                                              {Reason::kActive, Refusal::kOwnerBack},
                                              {Reason::kDriverRunning, Refusal::kDriverRunning},
                                              {Reason::kOwnerAbsent, Refusal::kOwnerBack}};
  for (const auto& [reason, refusal] : cases) {
    EXPECT_EQ(RefusalOf(reason), refusal) << ToString(reason);
  }
}

}  // namespace
}  // namespace cluster_watcher

#include "watcher/command/seen_events.h"

#include <gtest/gtest.h>

namespace cluster_watcher {
namespace {

TEST(EventTable, IsAsKubectlDescribesThem) {
  const WallTime now{std::chrono::hours(1'000)};
  const std::vector<SeenEvent> events = {
      {"Normal", "Scheduled", "default-scheduler", "assigned", now - std::chrono::hours(50),
       now - std::chrono::hours(50)},
      {"Warning", "BackOff", "kubelet", "a\x1b[2J\nb", now - std::chrono::minutes(20),
       now - std::chrono::seconds(90), 7},
      {"Normal", "Odd", "", "", std::nullopt, std::nullopt}};
  EXPECT_EQ(EventTable(events, now),
            "  Type     Reason     Age                From               Message\n"
            "  ----     ------     ----               ----               -------\n"
            "  Normal   Scheduled  2d2h               default-scheduler  assigned\n"
            "  Warning  BackOff    90s (x7 over 20m)  kubelet            a\\u001b[2J\\nb\n"
            "  Normal   Odd        <unknown>                             \n");
}

}  // namespace
}  // namespace cluster_watcher

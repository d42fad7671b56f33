#include "watcher/reporting/metrics_port.h"

#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>

#include <sstream>

#include "test/unit/support/test_clock.h"

namespace cluster_watcher {
namespace {

TEST(MetricsPort, IsTriedAgainEveryTenSecondsUntilItListens) {
  TestClock clock;
  std::ostringstream logged;
  spdlog::logger log("", std::make_shared<spdlog::sinks::ostream_sink_st>(logged));
  int tries = 0;
  bool in_use = true;
  MetricsPort port(
      [&]() -> std::optional<std::string> {
        ++tries;
        return in_use ? std::optional<std::string>("address in use") : std::nullopt;
      },
      [] { return std::uint16_t{9090}; }, clock, log);
  port.EnsureListening();
  port.EnsureListening();
  EXPECT_EQ(tries, 1);
  EXPECT_NE(logged.str().find("no metrics: address in use; it is tried again every 10s"),
            std::string::npos);
  clock.elapsed += std::chrono::seconds(10);
  in_use = false;
  port.EnsureListening();
  EXPECT_EQ(tries, 2);
  EXPECT_NE(logged.str().find("metrics and health on port 9090"), std::string::npos);
  clock.elapsed += std::chrono::hours(1);
  port.EnsureListening();
  EXPECT_EQ(tries, 2);
}

}  // namespace
}  // namespace cluster_watcher

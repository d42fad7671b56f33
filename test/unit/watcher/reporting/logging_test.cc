#include "watcher/reporting/logging.h"

#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>

#include <sstream>

namespace cluster_watcher {
namespace {

class LoggingTest : public testing::Test {
 protected:
  Log Make(LogLevel level, LogFormat format) {
    return {level, format, std::make_shared<spdlog::sinks::ostream_sink_st>(text_)};
  }
  // The logged lines without the time, which is checked here.
  std::string Lines(LogFormat format) const {
    std::istringstream lines(text_.str());
    std::string all;
    for (std::string line; std::getline(lines, line);) {
      const std::size_t at = format == LogFormat::kJson ? std::string(R"({"time":")").size() : 0;
      EXPECT_EQ(line.substr(at + 4, 1) + line.substr(at + 10, 1) + line.substr(at + 23, 1), "-TZ");
      all += line.substr(at + 24) + "\n";
    }
    return all;
  }

  std::ostringstream text_;
};

TEST_F(LoggingTest, TextIsALineForPeople) {
  Log log = Make(LogLevel::kInfo, LogFormat::kText);
  log.logger().warn("one of {}", 2);
  log.Write(spdlog::level::info, "decided", [](JsonWriter& line) { line.Field("a", "b"); });
  EXPECT_EQ(Lines(LogFormat::kText), " warning one of 2\n info decided\n");
}

TEST_F(LoggingTest, AClockBefore1970IsNothingSpecial) {
  for (const LogFormat format : {LogFormat::kText, LogFormat::kJson}) {
    text_.str("");
    Log log = Make(LogLevel::kInfo, format);
    for (const int milliseconds : {-1, 1, -86'400'000}) {
      log.logger().log(
          std::chrono::system_clock::time_point(std::chrono::milliseconds(milliseconds)),
          spdlog::source_loc{}, spdlog::level::info, "now");
    }
    for (const char* time :
         {"1969-12-31T23:59:59.999Z", "1970-01-01T00:00:00.001Z", "1969-12-31T00:00:00.000Z"}) {
      EXPECT_NE(text_.str().find(time), std::string::npos) << text_.str();
    }
  }
}

TEST_F(LoggingTest, JsonHasTheKeysOfItsOwnLineOnly) {
  Log log = Make(LogLevel::kInfo, LogFormat::kJson);
  log.Write(spdlog::level::warn, "decided",
            [](JsonWriter& line) { line.Field("decision", "keep").Key("replicas").Integer(1); });
  log.logger().error("plain");
  EXPECT_EQ(
      Lines(LogFormat::kJson),
      "\",\"level\":\"warning\",\"message\":\"decided\",\"decision\":\"keep\",\"replicas\":1}\n"
      "\",\"level\":\"error\",\"message\":\"plain\"}\n");
}

// Messages contain text from API servers and from the authors of objects.
TEST_F(LoggingTest, NoMessageBreaksALineOrAddsKeys) {
  Log log = Make(LogLevel::kInfo, LogFormat::kJson);
  log.logger().info("{}", "a\"b\\c\nd\x01\",\"level\":\"none");
  EXPECT_EQ(Lines(LogFormat::kJson),
            "\",\"level\":\"info\",\"message\":"
            "\"a\\\"b\\\\c\\\\nd\\\\u0001\\\",\\\"level\\\":\\\"none\"}\n");
}

TEST_F(LoggingTest, NothingForeignForgesALineOrSteersATerminal) {
  Log log = Make(LogLevel::kInfo, LogFormat::kText);
  log.logger().info("{}", "kept\n2026 Cluster bob is deleted\x1b[2J\u202e");
  log.Configure(LogLevel::kInfo, LogFormat::kJson);
  log.Write(spdlog::level::info, "\u009b", [](JsonWriter& line) { line.Field("a", "\u202e"); });
  std::string lines = text_.str();
  EXPECT_EQ(lines.substr(24, lines.find('\n') - 24),
            " info kept\\n2026 Cluster bob is deleted\\u001b[2J\\u202e");
  EXPECT_NE(lines.find(R"("message":"\\u009b","a":"\u202e"})"), std::string::npos) << lines;
}

TEST_F(LoggingTest, LevelAndFormatCanBeChanged) {
  Log log = Make(LogLevel::kError, LogFormat::kText);
  log.logger().info("not yet");
  log.Write(spdlog::level::info, "nor this", [](JsonWriter&) { FAIL(); });
  log.Configure(LogLevel::kDebug, LogFormat::kJson);
  log.logger().debug("now");
  EXPECT_EQ(Lines(LogFormat::kJson), "\",\"level\":\"debug\",\"message\":\"now\"}\n");
}

}  // namespace
}  // namespace cluster_watcher

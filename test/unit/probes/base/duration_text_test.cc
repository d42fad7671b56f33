#include "probes/base/duration_text.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace cluster_watcher {
namespace {

TEST(ParseDuration, ReadsWhatGoWrites) {
  struct Case {
    std::string text;
    std::int64_t milliseconds;
  };
  const std::vector<Case> cases = {
      {"0", 0},
      {"+0", 0},
      {"0s", 0},
      {"0h0m0s", 0},
      {"5s", 5'000},
      {"+5s", 5'000},
      {"05s", 5'000},
      {"500ms", 500},
      {"1m30s", 90'000},
      {"1h", 3'600'000},
      {"1h0m0s", 3'600'000},
      {"24h", 86'400'000},
      {"8760h", 31'536'000'000},
      {"1.5h", 5'400'000},
      {"1.h", 3'600'000},
      {".5s", 500},
      {"0.1s", 100},
      {"0.3s", 300},
      {"0.0005s", 0},
      {"1.0019s", 1'001},
      {"5s1h", 3'605'000},
      {"1s1s", 2'000},
      {"1500us", 1},
      {"999999ns", 0},
      {"1000000ns", 1},
      // What is less than a millisecond is cut off the sum, not each part.
      {"0.5ms500us", 1},
      {"0.333333333333333333333333333333333333h", 1'199'999},
      {"0." + std::string(10'000, '9') + "h", 3'599'999},
      {std::string(10'000, '0') + "1s", 1'000},
      {"9223372036854775807ns", 9'223'372'036'854},
      {"9223372036.854775807s", 9'223'372'036'854},
      {"2562047h47m16.854775807s", 9'223'372'036'854},
  };
  for (const Case& one : cases) {
    const Result<Duration> duration = ParseDuration(one.text);
    ASSERT_TRUE(duration) << duration.error().message;
    EXPECT_EQ(duration->count(), one.milliseconds) << one.text.substr(0, 80);
  }
}

TEST(ParseDuration, SaysWhatIsWrong) {
  struct Case {
    std::string text;
    std::string error;
  };
  const std::vector<Case> cases = {
      {"", "\"\" is not a duration: it is empty; write for example 30s or 1m30s"},
      {"+", "\"+\" is not a duration: it is empty; write for example 30s or 1m30s"},
      {"5", "\"5\" is not a duration: it needs a unit, for example 5s"},
      {"1.5", "\"1.5\" is not a duration: it needs a unit, for example 1.5s"},
      {"1h30", "\"1h30\" is not a duration: it needs a unit, for example 1h30s"},
      {"00", "\"00\" is not a duration: it needs a unit, for example 00s"},
      {"123456789012345678901",
       "\"123456789012345678901\" is not a duration: it needs a unit, for example 30s"},
      {"-5s", "\"-5s\" is not a duration: it is negative"},
      {"-0", "\"-0\" is not a duration: it is negative"},
      {"1e3s", "\"1e3s\" is not a duration: \"e\" is not a unit: use h, m, s, ms, us or ns"},
      {"5S", "\"5S\" is not a duration: \"S\" is not a unit: use h, m, s, ms, us or ns"},
      {"1d", "\"1d\" is not a duration: \"d\" is not a unit: use h, m, s, ms, us or ns"},
      {"5 s", "\"5 s\" is not a duration: \" s\" is not a unit: use h, m, s, ms, us or ns"},
      {"5s ", "\"5s \" is not a duration: \"s \" is not a unit: use h, m, s, ms, us or ns"},
      {"5s\n", "\"5s\\n\" is not a duration: \"s\\n\" is not a unit: use h, m, s, ms, us or ns"},
      {"1m-5s", "\"1m-5s\" is not a duration: \"m-\" is not a unit: use h, m, s, ms, us or ns"},
      {"s", "\"s\" is not a duration: a number is missing; write for example 30s or 1m30s"},
      {".s", "\".s\" is not a duration: a number is missing; write for example 30s or 1m30s"},
      {"++5s", "\"++5s\" is not a duration: a number is missing; write for example 30s or 1m30s"},
      {"1..5s", "\"1..5s\" is not a duration: a number in it has two points"},
      {"1.5.5s", "\"1.5.5s\" is not a duration: a number in it has two points"},
  };
  for (const Case& one : cases) {
    const Result<Duration> duration = ParseDuration(one.text);
    ASSERT_FALSE(duration) << one.text;
    EXPECT_EQ(duration.error().message, one.error);
  }
}

TEST(ParseDuration, DoesNotOverflow) {
  for (const std::string text :
       {"9223372036854775808ns", "9223372036854775807ns1ns", "18446744073709551616ns",
        "18446744073709551617ns", "99999999999999999999999999999h", "2562048h",
        "2562047h47m16.854775808s", "9223372036854775807ns0.9999s"}) {
    const Result<Duration> duration = ParseDuration(text);
    ASSERT_FALSE(duration) << text;
    EXPECT_NE(duration.error().message.find("it is longer than 290 years"), std::string::npos)
        << duration.error().message;
  }
  EXPECT_FALSE(ParseDuration(std::string(100'000, '9') + "ns"));
}

TEST(FormatDuration, WritesWhatPeopleWould) {
  struct Case {
    std::int64_t milliseconds;
    std::string text;
  };
  const std::vector<Case> cases = {
      {0, "0s"},
      {1, "1ms"},
      {500, "500ms"},
      {1'000, "1s"},
      {1'001, "1.001s"},
      {1'500, "1.5s"},
      {59'990, "59.99s"},
      {60'000, "1m"},
      {90'000, "1m30s"},
      {90'500, "1m30.5s"},
      {60'500, "1m500ms"},
      {3'600'000, "1h"},
      {5'400'000, "1h30m"},
      {3'605'000, "1h5s"},
      {31'536'000'000, "8760h"},
      {-5'000, "-5s"},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(FormatDuration(Duration(one.milliseconds)), one.text);
  }
}

TEST(FormatDuration, WritesWhatParseDurationReads) {
  std::int64_t milliseconds = 1;
  for (int i = 0; i < 10'000; ++i) {
    const Result<Duration> duration = ParseDuration(FormatDuration(Duration(milliseconds)));
    ASSERT_TRUE(duration) << duration.error().message;
    ASSERT_EQ(duration->count(), milliseconds);
    milliseconds = (milliseconds * 1'103'515 + 12'345) % 8'000'000'000'000;
  }
}

TEST(FormatDuration, TakesTheExtremes) {
  EXPECT_EQ(FormatDuration(Duration(std::numeric_limits<Duration::rep>::max())),
            "2562047788015h12m55.807s");
  EXPECT_EQ(FormatDuration(Duration(std::numeric_limits<Duration::rep>::min())),
            "-2562047788015h12m55.808s");
}

}  // namespace
}  // namespace cluster_watcher

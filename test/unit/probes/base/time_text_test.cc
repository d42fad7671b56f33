#include "probes/base/time_text.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "test/unit/support/words.h"

namespace cluster_watcher {
namespace {

using std::chrono::seconds;

TEST(ParseTime, ReadsRfc3339) {
  struct Case {
    const char* text;
    const char* utc;
    int milliseconds = 0;
  };
  for (const auto& [text, utc] :
       Pairs("2026-12-24T18:00:00Z=2026-12-24T18:00:00Z 2026-12-24t18:00:00z=2026-12-24T18:00:00Z "
             "2026-12-24T18:00:00+01:00=2026-12-24T17:00:00Z "
             "2026-12-24T18:00:00-05:30=2026-12-24T23:30:00Z "
             "2026-12-24T18:00:00-00:00=2026-12-24T18:00:00Z "
             "2026-12-31T23:59:59-23:59=2027-01-01T23:58:59Z "
             "2026-01-01T00:00:00+23:59=2025-12-31T00:01:00Z "
             "2024-02-29T00:00:00Z=2024-02-29T00:00:00Z 2000-02-29T00:00:00Z=2000-02-29T00:00:00Z "
             "2016-12-31T23:59:60Z=2017-01-01T00:00:00Z 1970-01-01T00:00:00Z=1970-01-01T00:00:00Z "
             "1969-12-31T23:59:59Z=1969-12-31T23:59:59Z")) {
    const auto time = ParseTime(text);
    ASSERT_TRUE(time) << text;
    EXPECT_EQ(FormatTime(*time), utc) << text;
    EXPECT_EQ(*time, std::chrono::floor<seconds>(*time)) << text;
  }
  const std::vector<Case> cases = {
      {"2026-12-24 18:00:00Z", "2026-12-24T18:00:00Z"},
      {"2026-12-24T18:00:00.5Z", "2026-12-24T18:00:00Z", 500},
      {"2026-12-24T18:00:00.123456789+01:00", "2026-12-24T17:00:00Z", 123},
      {"2026-12-24T18:00:00.000000000000000000000000000001Z", "2026-12-24T18:00:00Z"},
  };
  for (const Case& one : cases) {
    const auto time = ParseTime(one.text);
    ASSERT_TRUE(time) << one.text;
    EXPECT_EQ(FormatTime(*time), one.utc) << one.text;
    EXPECT_EQ(*time - std::chrono::floor<seconds>(*time),
              std::chrono::milliseconds(one.milliseconds))
        << one.text;
  }
}

TEST(ParseTime, KeepsWhatNoClockHoldsSoThatItCanBeComputedWith) {
  const WallTime now{std::chrono::sys_days(std::chrono::year(2026) / 1 / 1)};
  for (const char* text : {"9999-12-31T23:59:59Z", "2300-01-01T00:00:00Z", "2200-12-31T23:59:59Z",
                           "9999-12-31T23:59:59.999999999-23:59"}) {
    const auto time = ParseTime(text);
    ASSERT_TRUE(time) << text;
    EXPECT_GT(*time - now, std::chrono::years(100)) << text;
  }
  for (const char* text :
       {"0000-01-01T00:00:00Z", "0001-01-01T00:00:00+23:59", "1600-01-01T00:00:00Z",
        "1700-01-01T00:00:00+23:59", "1710-01-01T00:00:00Z"}) {
    const auto time = ParseTime(text);
    ASSERT_TRUE(time) << text;
    EXPECT_GT(now - *time, std::chrono::years(100)) << text;
  }
}

TEST(ParseTime, RefusesAnythingElse) {
  for (const std::string& text :
       Words("2026 2026-12-24 2026-12-24T18:00 2026-12-24T18:00:00 2026-12-24T18:00Z "
             "2026-12-24T18:00:00ZZ 2026-12-24T18:00:00Zulu 2026-12-24T18:00:00+01 "
             "2026-12-24T18:00:00+0100 2026-12-24T18:00:00+24:00 2026-12-24T18:00:00+01:60 "
             "2026-12-24T18:00:00.Z 2026-12-24T18:00:00,5Z 2026-12-24T18:00:00.5 "
             "2026-12-24T24:00:00Z 2026-12-24T18:60:00Z 2026-12-24T18:00:61Z 2026-00-24T18:00:00Z "
             "2026-13-24T18:00:00Z 2026-12-00T18:00:00Z 2026-12-32T18:00:00Z 2026-02-29T18:00:00Z "
             "1900-02-29T18:00:00Z 2026-04-31T18:00:00Z 9999-02-30T00:00:00Z 26-12-24T18:00:00Z "
             "02026-12-24T18:00:00Z -026-12-24T18:00:00Z 2026/12/24T18:00:00Z 2026-1-24T18:00:00Z "
             "2026-12-24X18:00:00Z 2026-12-24T18:00:00\u221201:00 tomorrow true")) {
    EXPECT_EQ(ParseTime(text), std::nullopt) << text;
  }
  for (const char* text : {"", "2026-12-24T18:00:00Z ", " 2026-12-24T18:00:00Z"}) {
    EXPECT_EQ(ParseTime(text), std::nullopt) << text;
  }
  EXPECT_EQ(ParseTime(std::string_view("2026-12-24T18:00:00Z\0", 21)), std::nullopt);
}

TEST(ParseHttpDate, ReadsTheFormThatIsSent) {
  EXPECT_EQ(ParseHttpDate("Sun, 06 Nov 1994 08:49:37 GMT"),
            WallTime(std::chrono::seconds(784111777)));
  EXPECT_EQ(ParseHttpDate("Thu, 29 Feb 2024 23:59:59 GMT"),
            WallTime(std::chrono::seconds(1709251199)));
  EXPECT_EQ(ParseHttpDate("Wed, 31 Dec 1969 23:59:59 GMT"), WallTime(std::chrono::seconds(-1)));
}

TEST(ParseHttpDate, RefusesAnythingElse) {
  for (const char* text :
       {"", "0", "784111777", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 GMT+1",
        "Sun, 06 Nov 1994 08:49:37 CET", "Thu, 30 Feb 2023 00:00:00 GMT",
        "Sun, 06 Nov 9999 08:49:37 GMT", "1994-11-06T08:49:37Z"}) {
    EXPECT_EQ(ParseHttpDate(text), std::nullopt) << text;
  }
}

TEST(FormatTime, CutsOffBelowTheSecond) {
  const WallTime time{std::chrono::sys_days(std::chrono::year(2026) / 12 / 24)};
  EXPECT_EQ(FormatTime(time + std::chrono::milliseconds(1'999)), "2026-12-24T00:00:01Z");
  EXPECT_EQ(FormatTime(WallTime{}), "1970-01-01T00:00:00Z");
}

}  // namespace
}  // namespace cluster_watcher

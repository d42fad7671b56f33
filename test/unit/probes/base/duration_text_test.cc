#include "probes/base/duration_text.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "test/unit/support/words.h"

namespace cluster_watcher {
namespace {

TEST(ParseDuration, ReadsWhatGoWrites) {
  auto cases = Pairs(
      "0=0 +0=0 0s=0 0h0m0s=0 5s=5000 +5s=5000 05s=5000 500ms=500 1m30s=90000 1h=3600000 "
      "1h0m0s=3600000 24h=86400000 8760h=31536000000 1.5h=5400000 1.h=3600000 .5s=500 0.1s=100 "
      "0.3s=300 0.0005s=0 1.0019s=1001 5s1h=3605000 1s1s=2000 1500us=1 999999ns=0 1000000ns=1 "
      // The sum is truncated to milliseconds, not each part.
      "0.5ms500us=1 0.333333333333333333333333333333333333h=1199999 "
      "9223372036854775807ns=9223372036854 9223372036.854775807s=9223372036854 "
      "2562047h47m16.854775807s=9223372036854");
  cases.emplace_back("0." + std::string(10'000, '9') + "h", "3599999");
  cases.emplace_back(std::string(10'000, '0') + "1s", "1000");
  for (const auto& [text, milliseconds] : cases) {
    const Result<Duration> duration = ParseDuration(text);
    ASSERT_TRUE(duration) << duration.error().message;
    EXPECT_EQ(std::to_string(duration->count()), milliseconds) << text.substr(0, 80);
  }
}

TEST(ParseDuration, SaysWhatIsWrong) {
  const std::string empty = "it is empty; write for example 30s or 1m30s";
  const std::string number = "a number is missing; write for example 30s or 1m30s";
  const std::string units = " is not a unit: use h, m, s, ms, us or ns";
  const std::string needs = "it needs a unit, for example ";
  const std::pair<std::string, std::string> cases[] = {
      {"", empty},
      {"+", empty},
      {"5", needs + "5s"},
      {"1.5", needs + "1.5s"},
      {"1h30", needs + "1h30s"},
      {"00", needs + "00s"},
      {"123456789012345678901", needs + "30s"},
      {"-5s", "it is negative"},
      {"-0", "it is negative"},
      {"1e3s", "\"e\"" + units},
      {"5S", "\"S\"" + units},
      {"1d", "\"d\"" + units},
      {"5 s", "\" s\"" + units},
      {"5s ", "\"s \"" + units},
      {"5s\n", "\"s\\n\"" + units},
      {"1m-5s", "\"m-\"" + units},
      {"s", number},
      {".s", number},
      {"++5s", number},
      {"1..5s", "a number in it has two points"},
      {"1.5.5s", "a number in it has two points"},
  };
  for (const auto& [text, why] : cases) {
    const Result<Duration> duration = ParseDuration(text);
    ASSERT_FALSE(duration) << text;
    const std::string shown = text == "5s\n" ? "5s\\n" : text;
    EXPECT_EQ(duration.error().message, "\"" + shown + "\" is not a duration: " + why);
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
  for (const auto& [milliseconds, text] :
       Pairs("0=0s 1=1ms 500=500ms 1000=1s 1001=1.001s 1500=1.5s 59990=59.99s 60000=1m 90000=1m30s "
             "90500=1m30.5s 60500=1m500ms 3600000=1h 5400000=1h30m 3605000=1h5s 31536000000=8760h "
             "-5000=-5s")) {
    EXPECT_EQ(FormatDuration(Duration(std::stoll(milliseconds))), text);
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

// Each bound of the form, as kubectl's own tests have them.
TEST(FormatAge, IsAsKubectlShowsIt) {
  for (const auto& [seconds, text] :
       Pairs("-2=<invalid> -1=0s 0=0s 45=45s 119=119s 120=2m 330=5m30s 599=9m59s 600=10m "
             "10799=179m 10800=3h 10860=3h1m 28799=7h59m 28800=8h 172799=47h 172800=2d "
             "187200=2d4h 691199=7d23h 691200=8d 63071999=729d 63072000=2y 63158400=2y1d "
             "252287999=7y364d 252288000=8y 315360000=10y")) {
    EXPECT_EQ(FormatAge(Duration(std::stoll(seconds) * 1'000)), text);
  }
}

}  // namespace
}  // namespace cluster_watcher

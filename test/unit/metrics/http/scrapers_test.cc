#include "metrics/http/scrapers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace cluster_watcher {
namespace {

Scrapers::Time AtSecond(double seconds) {
  using std::chrono::duration;
  const Scrapers::Time start{std::chrono::hours(1)};
  return start +
         std::chrono::duration_cast<Scrapers::Time::duration>(duration<double>(1000 + seconds));
}

struct Scrape {
  std::string address;
  double collected;
};

struct Rhythm {
  const char* what;
  std::vector<Scrape> scrapes;
  double since;
  double now;
  std::optional<double> expected;
};

TEST(ScrapersTest, ExpectsThoseWhoScrapeRegularlyAndHaveNotSeenTheLast) {
  const std::vector<Rhythm> cases = {
      {"nobody", {}, 0, 0, {}},
      {"one who came once", {{"a", 0}}, 1, 1, {}},
      {"one who comes regularly", {{"a", 0}, {"a", 15}}, 20, 20, 30},
      {"only the last two count", {{"a", 0}, {"a", 60}, {"a", 75}}, 80, 80, 90},
      {"collected in the same moment", {{"a", 0}, {"a", 15}}, 15, 15, 30},
      {"collected later", {{"a", 0}, {"a", 15}}, 14.9, 20, {}},
      {"it comes, and has seen all", {{"a", 0}, {"a", 15}, {"a", 30}}, 20, 30, {}},
      {"late, but not yet given up", {{"a", 0}, {"a", 15}}, 20, 45, 30},
      {"given up", {{"a", 0}, {"a", 15}}, 20, 45.1, {}},
      {"gone for long, and back once", {{"a", 0}, {"a", 15}, {"a", 900}}, 901, 901, 1785},
      {"two: the next one", {{"a", 0}, {"b", 5}, {"a", 15}, {"b", 20}}, 25, 25, 30},
      {"two: the one that is left",
       {{"a", 0}, {"b", 5}, {"a", 15}, {"b", 20}, {"a", 30}},
       25,
       30,
       35},
      {"two: all have seen it",
       {{"a", 0}, {"b", 5}, {"a", 15}, {"b", 20}, {"a", 30}, {"b", 35}},
       25,
       35,
       {}},
      {"a regular one and one who came once", {{"a", 0}, {"b", 14}, {"a", 15}}, 20, 20, 30},
      {"two who came once each aren't one", {{"a", 0}, {"b", 15}}, 20, 20, {}},
      {"sent out of order", {{"a", 15}, {"a", 0}}, 20, 20, 30},
      {"sent out of order, and one between", {{"a", 0}, {"a", 15}, {"a", 10}}, 16, 16, 20},
      {"sent out of order, and long ago", {{"a", 10}, {"a", 15}, {"a", 0}}, 16, 16, 20},
      {"twice in one moment is once", {{"a", 15}, {"a", 15}}, 16, 16, {}},
  };
  for (const Rhythm& one : cases) {
    Scrapers scrapers;
    for (const Scrape& scrape : one.scrapes)
      scrapers.Scraped(scrape.address, AtSecond(scrape.collected));
    const auto next = scrapers.NextExpected(AtSecond(one.since), AtSecond(one.now));
    const auto expected = one.expected ? std::optional(AtSecond(*one.expected)) : std::nullopt;
    EXPECT_EQ(next, expected) << one.what;
  }
}

std::string Address(std::size_t number) { return "10.0.0." + std::to_string(number); }

TEST(ScrapersTest, ManyWhoComeOnceDoNotDriveOutARegularOne) {
  Scrapers scrapers;
  scrapers.Scraped("regular", AtSecond(0));
  scrapers.Scraped("regular", AtSecond(15));
  for (std::size_t i = 0; i < 100; ++i) scrapers.Scraped(Address(i), AtSecond(16));
  EXPECT_EQ(scrapers.NextExpected(AtSecond(20), AtSecond(20)), AtSecond(30));
}

TEST(ScrapersTest, OfTooManyTheLeastRecentIsForgotten) {
  Scrapers scrapers;
  for (std::size_t i = 0; i <= Scrapers::kAddresses; ++i) {
    const double first = static_cast<double>(i);
    scrapers.Scraped(Address(i), AtSecond(first));
    scrapers.Scraped(Address(i), AtSecond(first + 100));
  }
  EXPECT_EQ(scrapers.NextExpected(AtSecond(200), AtSecond(200)), AtSecond(201))
      << "0 was forgotten, 1 was not";
}

TEST(ScrapersTest, IsForSeveralThreads) {
  Scrapers scrapers;
  std::atomic<bool> done = false;
  std::thread endpoint([&] {
    for (unsigned i = 1; i <= 1000; ++i) scrapers.Scraped(Address(i % 20), AtSecond(i));
    done = true;
  });
  while (!done) (void)scrapers.NextExpected(AtSecond(2000), AtSecond(1000));
  endpoint.join();
  // 20 scrapers share 16 places, so each is forgotten before it comes a second time.
  EXPECT_EQ(scrapers.NextExpected(AtSecond(2000), AtSecond(1000)), std::nullopt);
}

}  // namespace
}  // namespace cluster_watcher

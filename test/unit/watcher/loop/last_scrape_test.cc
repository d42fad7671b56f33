#include "watcher/loop/last_scrape.h"

#include <gtest/gtest.h>
#include <spdlog/sinks/null_sink.h>

#include "test/unit/support/lab.h"

namespace cluster_watcher {
namespace {

using std::chrono::seconds;

constexpr const char* kPod = "/api/v1/namespaces/lab/pods/master";

// The deletion ended at 0 s; the pod is told to stop at 5 s.
class LastScrapeTest : public testing::Test, protected Lab {
 protected:
  LastScrapeTest() {
    kubernetes_.Apply(
        R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"master","namespace":"lab"},)"
        R"("spec":{"nodeName":"elsewhere","terminationGracePeriodSeconds":30,)"
        R"("containers":[{"name":"main","image":"x"}]}})");
    deleted_ = clock_.Now();
    clock_.elapsed = seconds(5);
  }

  // A scrape is expected at this time, but may come later.
  void ExpectScrapeAt(Duration time) {
    next_ = [this, time](MonotonicTime since) {
      EXPECT_EQ(since, deleted_);
      return scraped_ ? std::nullopt : std::optional(deleted_ + time);
    };
  }
  // Returns the time at which the watcher goes on.
  Duration Await() {
    LastScrape last(client_, clock_, log_, next_);
    last.Await("lab", "master", deleted_, [this] { ++turns_; });
    return clock_.elapsed;
  }

  MonotonicTime deleted_;
  bool scraped_ = false;
  int turns_ = 0;
  LastScrape::Next next_ = [](MonotonicTime) { return std::nullopt; };
  spdlog::logger log_{"", std::make_shared<spdlog::sinks::null_sink_st>()};
};

TEST_F(LastScrapeTest, NobodyIsWaitedForWhereNobodyScrapes) {
  Delete(kPod);
  const std::size_t requests = kubernetes_.Count("GET");
  EXPECT_EQ(Await(), seconds(5));
  EXPECT_EQ(kubernetes_.Count("GET"), requests);
}

TEST_F(LastScrapeTest, ItGoesOnWhenTheMetricsWereScraped) {
  Delete(kPod);
  ExpectScrapeAt(seconds(12));
  clock_.At(seconds(12), [this] { scraped_ = true; });
  EXPECT_EQ(Await(), seconds(12));
  EXPECT_GT(turns_, 10);
}

TEST_F(LastScrapeTest, ItEndsBeforeThePodsGracePeriodDoes) {
  Delete(kPod);
  ExpectScrapeAt(seconds(10));
  EXPECT_EQ(Await(), seconds(5 + 30 - 2));
}

TEST_F(LastScrapeTest, AScrapeThatComesTooLateIsNotWaitedFor) {
  Delete(kPod);
  ExpectScrapeAt(seconds(34));
  EXPECT_EQ(Await(), seconds(5));
}

TEST_F(LastScrapeTest, OfTwoTheOneThatComesTooLateIsNotWaitedFor) {
  Delete(kPod);
  clock_.At(seconds(12), [this] { scraped_ = true; });
  next_ = [this](MonotonicTime) {
    return std::optional(deleted_ + (scraped_ ? seconds(50) : seconds(12)));
  };
  EXPECT_EQ(Await(), seconds(12));
}

// Its container restarts, or it runs outside a cluster: nothing says how much time it has.
TEST_F(LastScrapeTest, APodThatStaysDoesNotWait) {
  ExpectScrapeAt(seconds(10));
  EXPECT_EQ(Await(), seconds(5));
}

TEST_F(LastScrapeTest, AnApiServerThatIsGoneIsNotWaitedFor) {
  Delete(kPod);
  Refuse("GET", "/pods/", 503);
  ExpectScrapeAt(seconds(10));
  EXPECT_EQ(Await(), seconds(5));
}

}  // namespace
}  // namespace cluster_watcher

#include "metrics/http/exposition.h"

#include <gtest/gtest.h>
#include <prometheus/metric_family.h>

#include <limits>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "metrics/http/accept.h"
#include "metrics/process_metrics.h"
#include "metrics/watcher_metrics.h"

namespace cluster_watcher {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

constexpr ExpositionFormat kText = ExpositionFormat::kText;
constexpr ExpositionFormat kOpenMetrics = ExpositionFormat::kOpenMetrics;
constexpr ExpositionFormat kOpenMetrics001 = ExpositionFormat::kOpenMetrics001;

TEST(ChooseExpositionTest, TakesWhatTheClientLikesBest) {
  struct Case {
    const char* accept;
    ExpositionFormat chosen;
  };
  const std::vector<Case> cases = {
      // Prometheus 2.42, 2.2 and 3.
      {"application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;"
       "q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
       kOpenMetrics},
      {"application/openmetrics-text; version=0.0.1,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
       kOpenMetrics001},
      {"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;"
       "encoding=delimited;q=0.6,application/openmetrics-text;version=1.0.0;"
       "escaping=allow-utf-8;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,"
       "text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,"
       "*/*;q=0.1",
       kOpenMetrics},
      {"text/plain;version=1.0.0;escaping=allow-utf-8;q=0.5,text/plain;version=0.0.4;q=0.4,"
       "application/openmetrics-text;q=0.3",
       kText},
      // Others, and people.
      {"", kText},
      {"*/*", kText},
      {"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", kText},
      {"text/*", kText},
      {"text/plain", kText},
      {"application/*", kOpenMetrics},
      {"application/openmetrics-text", kOpenMetrics},
      {"application/openmetrics-text;version=0.0.1", kOpenMetrics001},
      {"Application/OpenMetrics-Text ; Version=1.0.0 ; CHARSET=UTF-8", kOpenMetrics},
      {"application/openmetrics-text;version=\"1.0.0\"", kOpenMetrics},
      {"application/openmetrics-text;note=\"a, b\\\"; q=0\";version=0.0.1", kOpenMetrics001},
      {" , application/openmetrics-text\t;;version=1.0.0;, ,", kOpenMetrics},
      // Weights.
      {"application/openmetrics-text;q=0.5,text/plain;q=0.501", kText},
      {"application/openmetrics-text;q=0.502,text/plain;q=0.501", kOpenMetrics},
      {"application/openmetrics-text;q=0.9,text/plain;q=1.000", kText},
      {"application/openmetrics-text;q=0.001", kOpenMetrics},
      {"application/openmetrics-text;version=1.0.0;q=0,application/openmetrics-text",
       kOpenMetrics001},
      {"text/plain;q=0,*/*", kOpenMetrics},
      {"text/plain;q=0.2,*/*;q=0.5", kOpenMetrics},
      // Liked alike: what is named most exactly, then what is named first.
      {"*/*,application/openmetrics-text;version=1.0.0", kOpenMetrics},
      {"text/plain,application/openmetrics-text", kText},
      {"application/openmetrics-text,text/plain", kOpenMetrics},
      {"application/openmetrics-text,text/plain;version=0.0.4", kText},
      // Nothing acceptable.
      {"image/png", kText},
      {"*/*;q=0", kText},
      {"application/openmetrics-text;q=0", kText},
      {"application/openmetrics-text;version=2.0.0", kText},
      {"application/openmetrics-text;charset=latin1", kText},
      // What doesn't parse is passed over.
      {"application/openmetrics-text;q=2", kText},
      {"application/openmetrics-text;q=1.001", kText},
      {"application/openmetrics-text;q=-1", kText},
      {"application/openmetrics-text;q=0.0001", kText},
      {"application/openmetrics-text;q=", kText},
      {"application/openmetrics-text;q", kText},
      {"application/openmetrics-text;q=0,5", kText},
      {"application/openmetrics-text;version", kText},
      {"application/openmetrics-text version=1.0.0", kText},
      {"application/openmetrics-text;version=\"1.0.0", kText},
      {"application/openmetrics-text;version=\"", kText},
      {"application/openmetrics-text;version=\"\\", kText},
      {"application/openmetrics-text/x", kText},
      {"application openmetrics-text", kText},
      {"/", kText},
      {"*", kText},
      {"*/openmetrics-text", kText},
      {"\"application/openmetrics-text\"", kText},
      {"a/b;q=9,application/openmetrics-text;version=1.0.0", kOpenMetrics},
  };
  for (const Case& one : cases) {
    EXPECT_STREQ(ContentType(ChooseExposition(one.accept)), ContentType(one.chosen)) << one.accept;
  }
}

TEST(ChooseExpositionTest, ALongHeaderIsRead) {
  std::string accept;
  for (int i = 0; i < 5'000; ++i) accept += "a/b;c=\"d\",";
  EXPECT_EQ(ChooseExposition(accept + "application/openmetrics-text"), kOpenMetrics);
}

TEST(ContentTypeTest, NamesTheFormatAndItsVersion) {
  EXPECT_STREQ(ContentType(kText), "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_STREQ(ContentType(kOpenMetrics),
               "application/openmetrics-text; version=1.0.0; charset=utf-8");
  EXPECT_STREQ(ContentType(kOpenMetrics001),
               "application/openmetrics-text; version=0.0.1; charset=utf-8");
}

class Families : public prometheus::Collectable {
 public:
  explicit Families(std::vector<MetricFamily> families) : families_(std::move(families)) {}
  std::vector<MetricFamily> Collect() const override { return families_; }

 private:
  const std::vector<MetricFamily> families_;
};

ClientMetric Counted(double value, std::vector<ClientMetric::Label> labels = {}) {
  ClientMetric metric;
  metric.label = std::move(labels);
  metric.counter.value = value;
  return metric;
}

// One family of each kind, in no order.
Families EveryKind() {
  ClientMetric level;
  level.gauge.value = 0.5;
  ClientMetric took;
  took.histogram.sample_count = 3;
  took.histogram.sample_sum = 1.5;
  took.histogram.bucket = {{1, 0.001}, {2, 1}, {3, std::numeric_limits<double>::infinity()}};
  ClientMetric something;
  something.untyped.value = 7;
  return Families({
      {"took_seconds", "How long \\ it took.", MetricType::Histogram, {took}},
      {"done_total",
       "Done, \"so to speak\".",
       MetricType::Counter,
       {Counted(2, {{"how", "well"}}), Counted(1, {{"how", "\"so\"\nso\\"}})}},
      {"level", "Two\nlines.", MetricType::Gauge, {level}},
      {"things", "A counter without _total.", MetricType::Counter, {Counted(4)}},
      {"any", "", MetricType::Untyped, {something}},
      {"none_total", "Nothing yet.", MetricType::Counter, {}},
  });
}

TEST(ExpositionTest, IsPrometheusText) {
  const Families families = EveryKind();
  const prometheus::Collectable* const sources[] = {&families};
  EXPECT_EQ(Exposition(sources), R"(# TYPE any untyped
any 7
# HELP done_total Done, "so to speak".
# TYPE done_total counter
done_total{how="\"so\"\nso\\"} 1
done_total{how="well"} 2
# HELP level Two\nlines.
# TYPE level gauge
level 0.5
# HELP none_total Nothing yet.
# TYPE none_total counter
# HELP things A counter without _total.
# TYPE things counter
things 4
# HELP took_seconds How long \\ it took.
# TYPE took_seconds histogram
took_seconds_count 3
took_seconds_sum 1.5
took_seconds_bucket{le="0.001"} 1
took_seconds_bucket{le="1"} 2
took_seconds_bucket{le="+Inf"} 3
)");
}

TEST(ExpositionTest, IsOpenMetrics) {
  const Families families = EveryKind();
  const prometheus::Collectable* const sources[] = {&families};
  const std::string exposition = Exposition(sources, kOpenMetrics);
  EXPECT_EQ(exposition, R"(# TYPE any unknown
any 7
# HELP done Done, \"so to speak\".
# TYPE done counter
done_total{how="\"so\"\nso\\"} 1
done_total{how="well"} 2
# HELP level Two\nlines.
# TYPE level gauge
level 0.5
# HELP none Nothing yet.
# TYPE none counter
# HELP things A counter without _total.
# TYPE things unknown
things 4
# HELP took_seconds How long \\ it took.
# TYPE took_seconds histogram
took_seconds_count 3
took_seconds_sum 1.5
took_seconds_bucket{le="0.001"} 1
took_seconds_bucket{le="1"} 2
took_seconds_bucket{le="+Inf"} 3
# EOF
)");
  EXPECT_EQ(Exposition(sources, kOpenMetrics001), exposition);
}

TEST(ExpositionTest, OfNothingIsWhole) {
  EXPECT_EQ(Exposition({}), "");
  EXPECT_EQ(Exposition({}, kOpenMetrics), "# EOF\n");
}

// A graph doesn't change with the scraper.
TEST(ExpositionTest, TheSeriesAreTheSameInBothFormats) {
  prometheus::Registry registry;
  WatcherMetrics metrics(registry, "1.2.3", "0a1b2c3");
  metrics.ExpectDeletesOf("services");
  metrics.Requested("200", "GET", WatcherMetrics::Seconds(0.25));
  const prometheus::Collectable* const sources[] = {&metrics};
  const auto series = [&](ExpositionFormat format) {
    return std::regex_replace(Exposition(sources, format), std::regex("(^|\n)#[^\n]*"), "");
  };
  EXPECT_GT(series(kText).size(), 1'000u);
  EXPECT_EQ(series(kText), series(kOpenMetrics));
}

}  // namespace
}  // namespace cluster_watcher

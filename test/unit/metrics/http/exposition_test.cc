#include "metrics/http/exposition.h"

#include <gtest/gtest.h>
#include <prometheus/metric_family.h>

#include <limits>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "metrics/http/accept.h"

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
  };
  for (const Case& one : cases) {
    EXPECT_STREQ(ContentType(ChooseExposition(one.accept)), ContentType(one.chosen)) << one.accept;
  }
  // "om" stands for application/openmetrics-text.
  const std::pair<ExpositionFormat, std::vector<const char*>> others[] = {
      {kText,
       {"", "*/*", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "text/*",
        "text/plain",
        // The highest weight wins, then the most specific type, then the first one.
        "om;q=0.5,text/plain;q=0.501", "om;q=0.9,text/plain;q=1.000", "text/plain,om",
        "om,text/plain;version=0.0.4",
        // Nothing acceptable.
        "image/png", "*/*;q=0", "om;q=0", "om;version=2.0.0", "om;charset=latin1",
        // Skips what doesn't parse.
        "om;q=2", "om;q=1.001", "om;q=-1", "om;q=0.0001", "om;q=", "om;q", "om;q=0,5", "om;version",
        "om version=1.0.0", "om;version=\"1.0.0", "om;version=\"", "om;version=\"\\", "om/x",
        "application openmetrics-text", "/", "*", "*/openmetrics-text", "\"om\""}},
      {kOpenMetrics,
       {"application/*", "om", "Application/OpenMetrics-Text ; Version=1.0.0 ; CHARSET=UTF-8",
        "om;version=\"1.0.0\"", " , om\t;;version=1.0.0;, ,", "om;q=0.502,text/plain;q=0.501",
        "om;q=0.001", "text/plain;q=0,*/*", "text/plain;q=0.2,*/*;q=0.5", "*/*,om;version=1.0.0",
        "om,text/plain", "a/b;q=9,om;version=1.0.0"}},
      {kOpenMetrics001,
       {"om;version=0.0.1", "om;note=\"a, b\\\"; q=0\";version=0.0.1", "om;version=1.0.0;q=0,om"}},
  };
  for (const auto& [chosen, accepts] : others) {
    for (const char* shortened : accepts) {
      const std::string accept = std::regex_replace(std::string(shortened), std::regex("\\bom\\b"),
                                                    "application/openmetrics-text");
      EXPECT_STREQ(ContentType(ChooseExposition(accept)), ContentType(chosen)) << accept;
    }
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

// One family of each kind, in no particular order.
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
  // Both formats show the same series, so a graph doesn't change with the scraper.
  const auto series = [](const std::string& text) {
    return std::regex_replace(text, std::regex("(^|\n)#[^\n]*"), "");
  };
  EXPECT_EQ(series(exposition), series(Exposition(sources)));
  std::string comments;
  std::istringstream lines(exposition);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("#")) comments += line + "\n";
  }
  EXPECT_EQ(comments, R"(# TYPE any unknown
# HELP done Done, \"so to speak\".
# TYPE done counter
# HELP level Two\nlines.
# TYPE level gauge
# HELP none Nothing yet.
# TYPE none counter
# HELP things A counter without _total.
# TYPE things unknown
# HELP took_seconds How long \\ it took.
# TYPE took_seconds histogram
# EOF
)");
  EXPECT_TRUE(exposition.ends_with("\n# EOF\n"));
  EXPECT_EQ(Exposition(sources, kOpenMetrics001), exposition);
}

TEST(ExpositionTest, OfNothingIsWhole) {
  EXPECT_EQ(Exposition({}), "");
  EXPECT_EQ(Exposition({}, kOpenMetrics), "# EOF\n");
}

}  // namespace
}  // namespace cluster_watcher

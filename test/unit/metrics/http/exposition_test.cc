#include "metrics/http/exposition.h"

#include <gtest/gtest.h>
#include <prometheus/metric_family.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace cluster_watcher {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

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

TEST(ExpositionTest, OfNothingIsWhole) { EXPECT_EQ(Exposition({}), ""); }

}  // namespace
}  // namespace cluster_watcher

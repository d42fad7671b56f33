// The process metrics that every Prometheus client shows, read from /proc when they are collected.
#pragma once

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <optional>
#include <vector>

namespace cluster_watcher {

// process_start_time_seconds, process_resident_memory_bytes, process_cpu_seconds_total and
// process_open_fds of this process. What can't be read is left out. Thread-safe.
class ProcessMetrics final : public prometheus::Collectable {
 public:
  ProcessMetrics();

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const std::optional<double> start_time_;
};

}  // namespace cluster_watcher

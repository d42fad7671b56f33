// The process metrics that every Prometheus client exposes, read from /proc at each collection.
#pragma once

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <optional>
#include <vector>

namespace cluster_watcher {

// Exposes process_start_time_seconds, process_resident_memory_bytes, process_cpu_seconds_total and
// process_open_fds of this process. A value that can't be read is left out. Thread-safe.
class ProcessMetrics final : public prometheus::Collectable {
 public:
  ProcessMetrics();

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const std::optional<double> start_time_;
};

}  // namespace cluster_watcher

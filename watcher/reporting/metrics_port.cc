#include "watcher/reporting/metrics_port.h"

namespace cluster_watcher {
namespace {

constexpr Duration kListenAgain = std::chrono::seconds(10);

}  // namespace

void MetricsPort::EnsureListening() {
  if (listening_ || clock_.Now() < next_try_) return;
  const auto error = start_();
  listening_ = !error;
  next_try_ = clock_.Now() + kListenAgain;
  if (error) {
    log_.error("no metrics: {}; it is tried again every 10s, or give another --listen", *error);
  } else {
    log_.info("metrics and health on port {}", port_());
  }
}

}  // namespace cluster_watcher

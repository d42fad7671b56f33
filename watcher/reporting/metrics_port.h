// Keeps the metrics endpoint listening. A port that is in use is said loudly and tried again; the
// watcher watches all the same.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include <spdlog/logger.h>

#include "probes/base/clock.h"

namespace cluster_watcher {

class MetricsPort {
 public:
  // Listens from then on; the error: why it can't.
  using Start = std::function<std::optional<std::string>()>;
  using Port = std::function<std::uint16_t()>;

  MetricsPort(Start start, Port port, Clock& clock, spdlog::logger& log)
      : start_(std::move(start)), port_(std::move(port)), clock_(clock), log_(log) {}

  // Tries, if it is time to. To be called again and again.
  void EnsureListening();

 private:
  Start start_;
  Port port_;
  Clock& clock_;
  spdlog::logger& log_;
  bool listening_ = false;
  MonotonicTime next_try_{};
};

}  // namespace cluster_watcher

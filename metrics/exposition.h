// What a scrape gets.
#pragma once

#include <prometheus/collectable.h>

#include <span>
#include <string>

namespace cluster_watcher {

inline constexpr const char* kExpositionContentType = "text/plain; version=0.0.4; charset=utf-8";

// All metrics of `sources` in the Prometheus text format: families by name, series by their labels,
// so that two scrapes can be compared line by line.
std::string Exposition(std::span<const prometheus::Collectable* const> sources);

}  // namespace cluster_watcher

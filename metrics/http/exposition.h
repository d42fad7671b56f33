// The text of a scrape.
#pragma once

#include <prometheus/collectable.h>

#include <span>
#include <string>

namespace cluster_watcher {

inline constexpr const char* kExpositionType = "text/plain; version=0.0.4; charset=utf-8";

// Returns all metrics of `sources` in Prometheus' text format: families sorted by name, series by
// their labels, so that two scrapes can be compared line by line.
std::string Exposition(std::span<const prometheus::Collectable* const> sources);

}  // namespace cluster_watcher

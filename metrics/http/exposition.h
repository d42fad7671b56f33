// The text of a scrape, and the choice of its format.
#pragma once

#include <prometheus/collectable.h>

#include <span>
#include <string>
#include <string_view>

namespace cluster_watcher {

enum class ExpositionFormat {
  kText,            // Prometheus' own, version 0.0.4
  kOpenMetrics,     // version 1.0.0
  kOpenMetrics001,  // the 0.0.1 draft; the same bytes as 1.0.0
};

// Returns the format that an Accept header prefers, by its media types, parameters and weights. Of
// formats with the same weight, the one that the header names most exactly wins, then the one that
// it names first, then text. Parts that don't parse are ignored. If nothing acceptable is left, the
// answer is text: a format that wasn't asked for is better than none.
ExpositionFormat ChooseExposition(std::string_view accept);

const char* ContentType(ExpositionFormat format);

// Returns all metrics of `sources`: families sorted by name, series by their labels, so that two
// scrapes can be compared line by line. Names, labels and values are the same in every format.
std::string Exposition(std::span<const prometheus::Collectable* const> sources,
                       ExpositionFormat format = ExpositionFormat::kText);

}  // namespace cluster_watcher

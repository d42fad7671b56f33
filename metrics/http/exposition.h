// What a scrape gets.
#pragma once

#include <prometheus/collectable.h>

#include <span>
#include <string>
#include <string_view>

namespace cluster_watcher {

enum class ExpositionFormat {
  kText,            // Prometheus' own, version 0.0.4
  kOpenMetrics,     // version 1.0.0
  kOpenMetrics001,  // the draft before it, version 0.0.1; the same bytes
};

// What the client likes best, by an Accept header, its media types, their parameters and weights.
// Between formats that it likes alike the one counts that it names most exactly, then the one that
// it names first, then the text. Parts that don't parse are passed over; where nothing is left, or
// nothing acceptable, it is the text: better a format that wasn't asked for than none.
ExpositionFormat ChooseExposition(std::string_view accept);

const char* ContentType(ExpositionFormat format);

// All metrics of `sources`: families by name, series by their labels, so that two scrapes can be
// compared line by line. Names, labels and values of the series are the same in every format.
std::string Exposition(std::span<const prometheus::Collectable* const> sources,
                       ExpositionFormat format = ExpositionFormat::kText);

}  // namespace cluster_watcher

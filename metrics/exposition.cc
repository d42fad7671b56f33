#include "metrics/exposition.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <vector>

namespace cluster_watcher {

std::string Exposition(std::span<const prometheus::Collectable* const> sources) {
  std::vector<prometheus::MetricFamily> families;
  for (const prometheus::Collectable* source : sources) {
    std::ranges::move(source->Collect(), std::back_inserter(families));
  }
  std::ranges::sort(families, {}, &prometheus::MetricFamily::name);
  for (prometheus::MetricFamily& family : families) {
    std::ranges::sort(family.metric, std::less<>(), &prometheus::ClientMetric::label);
  }
  const prometheus::TextSerializer serializer;
  return static_cast<const prometheus::Serializer&>(serializer).Serialize(families);
}

}  // namespace cluster_watcher

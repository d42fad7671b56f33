#include "metrics/http/exposition.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <vector>

namespace cluster_watcher {
namespace {

using prometheus::MetricFamily;

// The serializer doesn't escape HELP texts.
void EscapeHelp(std::string& help) {
  std::string escaped;
  for (char c : help) {
    if (c == '\\') escaped += '\\';
    if (c == '\n') {
      escaped += "\\n";
    } else {
      escaped += c;
    }
  }
  help = std::move(escaped);
}

}  // namespace

std::string Exposition(std::span<const prometheus::Collectable* const> sources) {
  std::vector<MetricFamily> families;
  for (const prometheus::Collectable* source : sources) {
    std::ranges::move(source->Collect(), std::back_inserter(families));
  }
  std::ranges::sort(families, {}, &MetricFamily::name);
  for (MetricFamily& family : families) {
    std::ranges::sort(family.metric, std::less<>(), &prometheus::ClientMetric::label);
    EscapeHelp(family.help);
  }
  const prometheus::TextSerializer serializer;
  return static_cast<const prometheus::Serializer&>(serializer).Serialize(families);
}

}  // namespace cluster_watcher

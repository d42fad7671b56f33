#include "metrics/http/exposition.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <optional>
#include <tuple>
#include <vector>

#include "metrics/http/accept.h"

namespace cluster_watcher {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;

struct Offer {
  ExpositionFormat format;
  MediaType type;
};

// In our order of preference, for a client that has none.
constexpr std::array kOffers = std::to_array<Offer>({
    {ExpositionFormat::kText, {"text", "plain", "0.0.4"}},
    {ExpositionFormat::kOpenMetrics, {"application", "openmetrics-text", "1.0.0"}},
    {ExpositionFormat::kOpenMetrics001, {"application", "openmetrics-text", "0.0.1"}},
});

constexpr std::string_view kTotal = "_total";

// OpenMetrics names a counter's family without the _total of its series. A counter with another
// name can't be declared as a counter there.
bool IsTotal(const MetricFamily& family) {
  return family.type == MetricType::Counter && family.name.ends_with(kTotal);
}

std::string FamilyName(const MetricFamily& family) {
  const std::size_t cut = IsTotal(family) ? kTotal.size() : 0;
  return family.name.substr(0, family.name.size() - cut);
}

const char* TypeName(const MetricFamily& family) {
  switch (family.type) {
    case MetricType::Counter:
      return IsTotal(family) ? "counter" : "unknown";
    case MetricType::Gauge:
      return "gauge";
    case MetricType::Histogram:
      return "histogram";
    case MetricType::Summary:
      return "summary";
    case MetricType::Untyped:
      break;
  }
  return "unknown";
}

// The serializer doesn't escape HELP texts.
void EscapeHelp(std::string& help, bool quotes) {
  if (help.find_first_of("\\\n\"") == std::string::npos) return;
  std::string escaped;
  for (char c : help) {
    if (c == '\\' || (quotes && c == '"')) escaped += '\\';
    if (c == '\n') {
      escaped += "\\n";
    } else {
      escaped += c;
    }
  }
  help = std::move(escaped);
}

// For each family, in this order, `text` holds HELP (if it has one), TYPE and the series.
std::string ToOpenMetrics(std::string_view text, const std::vector<MetricFamily>& families) {
  constexpr std::string_view kHelp = "# HELP ";
  constexpr std::string_view kType = "# TYPE ";
  std::string converted;
  converted.reserve(text.size());
  auto family = families.begin();
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n') + 1);
    text.remove_prefix(line.size());
    if (line.starts_with(kHelp)) {
      converted.append(kHelp).append(FamilyName(*family));
      converted.append(line.substr(kHelp.size() + family->name.size()));
    } else if (line.starts_with(kType)) {
      converted.append(kType).append(FamilyName(*family)).append(" ");
      converted.append(TypeName(*family)).append("\n");
      ++family;
    } else {
      converted.append(line);
    }
  }
  return converted.append("# EOF\n");
}

}  // namespace

ExpositionFormat ChooseExposition(std::string_view accept) {
  const std::vector<MediaRange> ranges = ParseAccept(accept);
  ExpositionFormat chosen = ExpositionFormat::kText;
  std::tuple<int, int, std::ptrdiff_t> most{0, 0, 0};
  for (const Offer& offer : kOffers) {
    const MediaRange* const range = MostSpecific(ranges, offer.type);
    if (range == nullptr || range->weight == 0) continue;
    const std::tuple liking{range->weight, range->Specificity(), ranges.data() - range};
    if (liking <= most) continue;
    most = liking;
    chosen = offer.format;
  }
  return chosen;
}

const char* ContentType(ExpositionFormat format) {
  switch (format) {
    case ExpositionFormat::kOpenMetrics:
      return "application/openmetrics-text; version=1.0.0; charset=utf-8";
    case ExpositionFormat::kOpenMetrics001:
      return "application/openmetrics-text; version=0.0.1; charset=utf-8";
    case ExpositionFormat::kText:
      break;
  }
  return "text/plain; version=0.0.4; charset=utf-8";
}

std::string Exposition(std::span<const prometheus::Collectable* const> sources,
                       ExpositionFormat format) {
  const bool open_metrics = format != ExpositionFormat::kText;
  std::vector<MetricFamily> families;
  for (const prometheus::Collectable* source : sources) {
    std::ranges::move(source->Collect(), std::back_inserter(families));
  }
  std::ranges::sort(families, {}, &MetricFamily::name);
  for (MetricFamily& family : families) {
    std::ranges::sort(family.metric, std::less<>(), &prometheus::ClientMetric::label);
    EscapeHelp(family.help, open_metrics);
  }
  const prometheus::TextSerializer serializer;
  std::string text = static_cast<const prometheus::Serializer&>(serializer).Serialize(families);
  return open_metrics ? ToOpenMetrics(text, families) : text;
}

}  // namespace cluster_watcher

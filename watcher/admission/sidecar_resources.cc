#include "watcher/admission/sidecar_resources.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string_view>

#include "probes/base/names.h"
#include "watcher/admission/sidecar_patch.h"
#include "watcher/protocol/annotations.h"

namespace cluster_watcher {
namespace {

constexpr std::string_view kDigits = "0123456789";
// Keep quantities such that they can be compared exactly.
constexpr std::size_t kMostCharacters = 16, kMostDigits = 9, kMostDecimals = 3;
constexpr double kParts = 1e6;  // of a processor or a byte

struct Bound {
  const char* annotation;
  bool is_limit;
  const char* least;
  const char* most;
};
struct Bounds {
  const char* resource;
  Bound request, limit;
};
constexpr Bounds kBounds[] = {{"cpu",
                               {annotation::kSidecarCpuRequest, false, "0", "2"},
                               {annotation::kSidecarCpuLimit, true, "1m", "2"}},
                              {"memory",
                               {annotation::kSidecarMemoryRequest, false, "0", "512Mi"},
                               {annotation::kSidecarMemoryLimit, true, "32Mi", "512Mi"}}};

// `quantity` is one.
double PartsOf(std::string_view quantity) { return std::round(*ParseQuantity(quantity) * kParts); }

bool IsAbove(std::string_view request, std::string_view limit) {
  return limit != kNoLimit && PartsOf(request) > PartsOf(limit);
}

// Whether it is a quantity as people write them: 1.5, 500m or 64Mi.
bool IsPlain(std::string_view text) {
  if (text.size() > kMostCharacters || !ParseQuantity(text)) return false;
  const std::size_t digits = std::min(text.find_first_not_of(kDigits), text.size());
  text.remove_prefix(digits);
  if (digits > kMostDigits || !text.starts_with('.')) return digits <= kMostDigits;
  const std::size_t decimals = std::min(text.find_first_not_of(kDigits, 1), text.size()) - 1;
  return decimals >= 1 && decimals <= kMostDecimals;
}

bool IsWithin(const Bound& bound, std::string_view text) {
  if (text == kNoLimit) return bound.is_limit;
  return IsPlain(text) && PartsOf(text) >= PartsOf(bound.least) &&
         PartsOf(text) <= PartsOf(bound.most);
}

std::optional<std::string> Within(const Bound& bound, const TextMap& annotations) {
  const auto found = annotations.find(bound.annotation);
  if (found == annotations.end() || !IsWithin(bound, found->second)) return std::nullopt;
  return found->second;
}

// Holds what the annotations ask for of a resource.
struct Asked {
  std::optional<std::string> request, limit;
  bool IsContradictory() const { return request && limit && IsAbove(*request, *limit); }
};
Asked AskedFor(const Bounds& bounds, const TextMap& annotations) {
  return {Within(bounds.request, annotations), Within(bounds.limit, annotations)};
}

// Takes what is asked for; what isn't follows it, so that no request is above its limit.
void Take(const Asked& asked, SidecarAmounts& amounts) {
  if (asked.IsContradictory()) return;
  amounts.request = asked.request.value_or(amounts.request);
  amounts.limit = asked.limit.value_or(amounts.limit);
  if (!IsAbove(amounts.request, amounts.limit)) return;
  (asked.request ? amounts.limit : amounts.request) =
      asked.request ? amounts.request : amounts.limit;
}

bool Names(JsonValue resources, const char* resource) {
  return resources["requests"][resource].Exists() || resources["limits"][resource].Exists();
}

// Requests nothing of the pod's own, and has the smaller limit. Without a word of ours a LimitRange
// would add what may exceed the pod's. The API server makes the pod's requests of its containers':
// none are added to what it lacks.
void TakeShare(JsonValue spec, std::vector<SidecarAmounts>& amounts) {
  const JsonValue own = spec["resources"];
  if (own.size() == 0) return;
  const auto containers = ContainersOf(spec);
  std::erase_if(amounts, [&](const SidecarAmounts& one) {
    return !Names(own, one.resource) &&
           std::none_of(containers.begin(), containers.end(), [&](JsonValue container) {
             return Names(container["resources"], one.resource);
           });
  });
  for (SidecarAmounts& one : amounts) {
    one.request = "0";
    const JsonValue limit = own["limits"][one.resource];
    if (!limit.Exists()) continue;
    const auto text = limit.AsString();
    const std::string pods = text ? std::string(*text) : limit.ToText();
    const auto quantity = ParseQuantity(pods);
    // A limit that isn't read here, as 60e6, may be less.
    const bool is_less =
        !quantity || one.limit == kNoLimit || *quantity < *ParseQuantity(one.limit);
    if (is_less) one.limit = pods;
  }
}

}  // namespace

std::vector<SidecarAmounts> SidecarResources(JsonValue spec, const TextMap& annotations,
                                             const InjectionSettings& settings) {
  std::vector<SidecarAmounts> amounts = {
      {"cpu", settings.cpu_request, settings.cpu_limit},
      {"memory", settings.memory_request, settings.memory_limit}};
  for (std::size_t i = 0; i < amounts.size(); ++i) {
    Take(AskedFor(kBounds[i], annotations), amounts[i]);
  }
  TakeShare(spec, amounts);
  return amounts;
}

std::vector<std::string> SidecarResourceProblems(JsonValue spec, const TextMap& annotations) {
  std::vector<std::string> problems;
  for (const Bounds& bounds : kBounds) {
    for (const Bound& bound : {bounds.request, bounds.limit}) {
      const auto found = annotations.find(bound.annotation);
      if (found == annotations.end() || IsWithin(bound, found->second)) continue;
      problems.push_back("annotation " + found->first + ": " + Quoted(found->second) +
                         " is not taken: give " + bound.least + " to " + bound.most +
                         (bound.is_limit ? ", or none" : ""));
    }
    if (AskedFor(bounds, annotations).IsContradictory()) {
      problems.push_back(std::string("annotations ") + bounds.request.annotation + " and " +
                         bounds.limit.annotation +
                         " are not taken: the request is above the limit");
    }
    if (spec["resources"].size() > 0 && annotations.contains(bounds.request.annotation)) {
      problems.push_back(std::string("annotation ") + bounds.request.annotation +
                         " is not taken: the pod has resources of its own");
    }
  }
  return problems;
}

}  // namespace cluster_watcher

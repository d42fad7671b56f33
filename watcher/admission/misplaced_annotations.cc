#include "watcher/admission/misplaced_annotations.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string_view>
#include <unordered_map>

#include "probes/base/names.h"
#include "probes/base/printable.h"
#include "watcher/admission/pod_templates.h"
#include "watcher/protocol/annotations.h"
#include "watcher/protocol/marks.h"

namespace cluster_watcher {
namespace {

constexpr std::size_t kMostNamed = 8;
constexpr std::size_t kLongestName = 80;  // in bytes

// The policy has them too (advice_policy.yaml), and the marks.
constexpr std::string_view kOfWorkloads[] = {annotation::kOwner,       annotation::kHoldUntil,
                                             annotation::kHoldReason,  annotation::kKeep,
                                             annotation::kDeleteOrder, annotation::kBeforeDelete,
                                             annotation::kAfterDelete, annotation::kCollectAfter,
                                             annotation::kCollectOf,   annotation::kStatus};

bool CountsOnlyOnPods(std::string_view key) {
  return key.starts_with(annotation::kPrefix) && !IsMark(key) &&
         std::find(std::begin(kOfWorkloads), std::end(kOfWorkloads), key) == std::end(kOfWorkloads);
}

// There may be very many.
using Annotations = std::unordered_map<std::string_view, std::string_view>;
Annotations OurAnnotations(JsonValue object) {
  Annotations annotations;
  object["metadata"]["annotations"].ForEachMember([&](std::string_view key, JsonValue value) {
    if (key.starts_with(annotation::kPrefix)) {
      annotations.emplace(key, value.AsString().value_or(""));
    }
  });
  return annotations;
}

}  // namespace

std::vector<std::string> MisplacedAnnotations(JsonValue object, JsonValue before) {
  const auto templates = PodTemplatesOf(object);
  if (templates.size() != 1 || templates[0].path.empty() ||
      object["apiVersion"].AsString().value_or("").starts_with("ray.io/")) {
    return {};
  }
  const Annotations of_pods = OurAnnotations(templates[0].pod);
  const Annotations old = OurAnnotations(before);
  std::string named;
  std::size_t found = 0;
  object["metadata"]["annotations"].ForEachMember([&](std::string_view key, JsonValue value) {
    if (!CountsOnlyOnPods(key) || of_pods.contains(key)) return;
    const auto earlier = old.find(key);
    if (earlier != old.end() && earlier->second == value.AsString().value_or("")) return;
    if (++found > kMostNamed) return;
    named += (named.empty() ? "" : ", ") + Printable(CutText(key, kLongestName));
  });
  if (found == 0) return {};
  if (found > kMostNamed) named += " and " + std::to_string(found - kMostNamed) + " more";
  return {"annotation " + named +
          " counts only on pods: put it under metadata of the pod template"};
}

}  // namespace cluster_watcher

#include "probes/kube/known_glances.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace cluster_watcher {
namespace {

constexpr std::size_t kMostGlances = 8;  // an owner without a kind is looked for among several
constexpr std::size_t kMostBytes = 64u << 10;

// A list's text without the digits of its own resourceVersion. Source: kubernetes.io "Kubernetes
// API Concepts", resource versions: they are decimal numbers.
struct Parts {
  std::string_view before;
  bool has_digits = false;
  std::string_view after;

  bool operator==(const Parts&) const = default;
};

Parts Divide(std::string_view body) {
  constexpr std::string_view kKey = R"("resourceVersion":")";
  const std::size_t key = body.find(kKey);
  // Behind them it is an object's own.
  if (key == std::string_view::npos || key > body.find(R"("items":)")) return {body, false, ""};
  const std::size_t begin = key + kKey.size();
  const std::size_t end = std::min(body.find_first_not_of("0123456789", begin), body.size());
  return {body.substr(0, begin), end > begin, body.substr(end)};
}

}  // namespace

std::optional<JsonDocument> KnownGlances::Same(std::string_view target,
                                               std::string_view body) const {
  const auto same = [&](const Glance& glance) {
    return glance.target == target && Divide(glance.body) == Divide(body);
  };
  const auto found = std::find_if(glances_.begin(), glances_.end(), same);
  if (found == glances_.end()) return std::nullopt;
  return found->document;
}

void KnownGlances::Keep(std::string_view target, std::string body, const JsonDocument& document) {
  std::erase_if(glances_, [&](const Glance& glance) { return glance.target == target; });
  if (body.size() > kMostBytes) return;
  if (glances_.size() >= kMostGlances) glances_.erase(glances_.begin());
  body.shrink_to_fit();
  glances_.push_back({std::string(target), std::move(body), document});
}

}  // namespace cluster_watcher

#include "watcher/observation/holds.h"

#include <set>
#include <utility>

#include "probes/base/time_text.h"
#include "watcher/protocol/annotations.h"
#include "watcher/protocol/member_annotations.h"

namespace cluster_watcher {

bool Hold::IsOn(WallTime now, const std::optional<WallTime>& server_time) const {
  return !until || *until > now || (server_time && *until > *server_time);
}

std::optional<Hold> HoldOn(const std::string& where, const ObjectMeta::Texts& annotations) {
  const auto until = annotations.find(annotation::kHoldUntil);
  if (until == annotations.end()) return std::nullopt;
  const auto reason = annotations.find(annotation::kHoldReason);
  return Hold{where, until->second, ParseTime(until->second),
              reason == annotations.end() ? "" : reason->second};
}

std::vector<Hold> FindHolds(const HoldPlaces& places) {
  std::vector<Hold> holds;
  const auto add = [&](const std::string& where, const ObjectMeta::Texts& annotations) {
    if (auto hold = HoldOn(where, annotations)) holds.push_back(*std::move(hold));
  };
  if (places.ns != nullptr) add("namespace " + places.ns->name, places.ns->annotations());
  std::set<std::string> seen;  // a bare pod is its own root
  for (const ObjectMeta* pod : places.pods) {
    if (seen.insert(pod->uid).second) add("pod " + pod->name, pod->annotations());
  }
  if (places.root == nullptr) return holds;
  const std::string root = places.root->Describe();
  if (places.pod_template != nullptr) add("pod template of " + root, *places.pod_template);
  if (SpeaksForItself(*places.root) && !seen.contains(places.root->meta.uid)) {
    add("master root " + root, places.root->meta.annotations());
  }
  if (places.resource != nullptr) {
    add(places.resource->Describe(), places.resource->meta.annotations());
  }
  return holds;
}

}  // namespace cluster_watcher

#include "probes/cluster_id.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "probes/base/names.h"
#include "probes/cluster_labels.h"

namespace cluster_watcher {
namespace {

// Annotations that are read of objects that are listed, or keep one from being deleted after all.
constexpr std::string_view kListedAnnotations[] = {
    "cluster-watcher/owner",          "cluster-watcher/keep",
    "cluster-watcher/delete-order",   "cluster-watcher/status",
    "cluster-watcher/root-uid",       "cluster-watcher/collect-after",
    "cluster-watcher/hold-until",     "cluster-watcher/phase",
    "cluster-watcher/condemned-by",   "cluster-watcher/hold-reason",
    "cluster-watcher/recorded-owner",
};
constexpr std::size_t kLongestListed = 1'024;  // bytes

}  // namespace

std::optional<std::string> ClusterId::AnothersLabel(const ObjectMeta& meta) const {
  if (profile->IsOshinkos(meta)) {
    return std::string(kDefaultClusterLabel) + "=" + *meta.Label(kDefaultClusterLabel);
  }
  const auto given = meta.Label(label());
  if (!given || *given == name || !profile->members.Holds(meta)) return std::nullopt;
  return label() + "=" + *given;
}

const OwnerReference* ClusterId::Above(const ObjectMeta& meta) const {
  if (const OwnerReference* controller = meta.Controller()) return controller;
  const auto& owners = meta.owner_references();
  const auto resource = std::find_if(owners.begin(), owners.end(),
                                     [this](const auto& owner) { return IsResource(owner); });
  return resource == owners.end() ? nullptr : &*resource;
}

bool ClusterId::IsResource(const OwnerReference& owner) const {
  return profile->HasRoot() && owner.kind == profile->root_kind && owner.name == name &&
         owner.api_version.starts_with(profile->root.group + "/");
}

void ClusterId::DropWhatSaysNothing(ObjectMeta& meta) const {
  ObjectMeta::Common& common = meta.common.Edit();
  std::erase_if(common.labels, [this](const auto& of_object) {
    const std::string& key = of_object.first;
    return key != label() && key != kDefaultClusterLabel && key != kTypeLabel &&
           key != kEphemeralLabel && !profile->master.labels.contains(key) &&
           !profile->members.labels.contains(key);
  });
  std::erase_if(common.annotations, [](const auto& of_object) {
    return std::find(std::begin(kListedAnnotations), std::end(kListedAnnotations),
                     of_object.first) == std::end(kListedAnnotations);
  });
  // Copies of the custom resource's, which may name another by now.
  if (profile->inherits && meta.Controller() != nullptr) {
    std::erase_if(common.annotations,
                  [](const auto& of_object) { return of_object.first == "cluster-watcher/owner"; });
    std::erase_if(common.labels,
                  [](const auto& of_object) { return of_object.first == kEphemeralLabel; });
  }
  for (auto& [key, value] : common.annotations) {
    if (value.size() > kLongestListed) value = std::string(CutText(value, kLongestListed));
  }
}

}  // namespace cluster_watcher

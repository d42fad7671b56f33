#include "watcher/observation/ambiguities.h"

#include <utility>

#include "probes/base/names.h"
#include "watcher/observation/owner_names.h"
#include "watcher/protocol/member_annotations.h"

namespace cluster_watcher {

namespace {

std::string WouldGo(const KubeObject& root, const KubeObject& object) {
  return object.Describe() + " is annotated cluster-watcher/keep, but would go with " +
         root.Describe() + ", which owns it: take off its ownerReference or the annotation";
}

}  // namespace

std::optional<std::string> NamesAnotherOwner(const Snapshot& look, const KubeObject& object) {
  if (!look.owner_name) return std::nullopt;
  for (const auto& named :
       {object.meta.Annotation(annotation::kOwner), object.meta.Label(kEphemeralLabel)}) {
    if (!named || named->empty()) continue;
    const auto owner = OwnerName::Parse(*named);
    if (owner && NamesOwner(look, *owner, "")) continue;
    return object.Describe() + " names another owner, " + Quoted(*named);
  }
  return std::nullopt;
}

std::optional<std::string> KeptBelowRoot(const KubeObject& root, const KubeObject& object) {
  if (!IsKept(object) || !object.meta.IsOwnedBy(root.meta.uid)) return std::nullopt;
  return WouldGo(root, object);
}

void FindAmbiguities(Snapshot& look, const Surroundings& around) {
  const KubeObject& root = *look.root;
  const ClusterId& cluster = *look.cluster;
  auto& ambiguities = look.facts.ambiguities;
  if (const auto label = cluster.AnothersLabel(root.meta)) {
    ambiguities.push_back(root.Describe() + " is labelled as of another cluster, " + *label);
  }
  if (const OwnerReference* controller = root.meta.Controller()) {
    ambiguities.push_back(root.Describe() + " has a controller that is not of the cluster, " +
                          controller->kind + " " + controller->name);
  }
  for (const KubeObject& master : around.other_masters) {
    ambiguities.push_back(master.Describe() + " is a master of this cluster too");
  }
  for (const KubeObject& object : around.named) {
    if (auto named = NamesAnotherOwner(look, object)) ambiguities.push_back(*std::move(named));
  }
  if (!around.makers) return;
  for (const KubeObject& object : around.makers->objects) {
    auto kept = KeptBelowRoot(root, object);
    if (kept) look.facts.setting_errors.push_back(*std::move(kept));
  }
  for (const KubeObject& pod : around.root_pods) {
    const bool is_seen = pod.meta.uid == root.meta.uid || pod.meta.IsOwnedBy(root.meta.uid);
    if (!is_seen && IsKept(pod)) look.facts.setting_errors.push_back(WouldGo(root, pod));
  }
}

}  // namespace cluster_watcher

// Sorts what may be a master, or belong to one: the part of SurroundingsReader that tells whose it
// is.
#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "probes/owner_kinds.h"
#include "watcher/observation/surroundings.h"
#include "watcher/protocol/member_annotations.h"

namespace cluster_watcher {
namespace {

// Whether an object is the one with this UID, or has it above itself as far as is listed.
class Chains {
 public:
  Chains(const KubeObjects& objects, const ClusterId& cluster) : cluster_(cluster) {
    for (const KubeObject& object : objects) by_uid_.emplace(object.meta.uid, &object);
  }
  // An object that is made from a master's pod template is one too.
  const KubeObject* WorkloadAbove(const KubeObject& object) const {
    const OwnerReference* controller = object.meta.Controller();
    const auto above = controller == nullptr ? by_uid_.end() : by_uid_.find(controller->uid);
    const bool is_workload = above != by_uid_.end() && IsWorkload(above->second->type);
    return is_workload ? above->second : nullptr;
  }
  bool IsBelow(const KubeObject& object, const std::string& uid) const {
    const KubeObject* current = &object;
    for (int i = 0; i < kLongestOwnerChain; ++i) {
      if (current->meta.uid == uid) return true;
      const OwnerReference* owner = cluster_.Above(current->meta);
      if (owner == nullptr) return false;
      if (owner->uid == uid) return true;
      const auto above = by_uid_.find(owner->uid);
      if (above == by_uid_.end()) return false;
      current = above->second;
    }
    return false;
  }

 private:
  const ClusterId& cluster_;
  std::map<std::string, const KubeObject*, std::less<>> by_uid_;
};

void AddOnce(KubeObjects& objects, KubeObject object) {
  const bool is_new = std::none_of(objects.begin(), objects.end(), [&](const KubeObject& one) {
    return one.meta.uid == object.meta.uid;
  });
  if (is_new) objects.push_back(std::move(object));
}

}  // namespace

void SurroundingsReader::Sort(Surroundings& around, const KubeObject& root, Snapshot& snapshot,
                              const Patience& patience) {
  const ClusterListing& makers = *around.makers;
  const Chains chains(makers.objects, *snapshot.cluster);
  around.sorted_for = root.meta.uid;
  around.resource.reset();
  around.root_pods.clear();
  around.master_pods.clear();
  around.other_masters.clear();
  around.named.clear();
  for (const KubeObject& object : makers.objects) {
    const bool is_pod = IsPod(object.type);
    const KubeObject* maker = is_pod ? chains.WorkloadAbove(object) : nullptr;
    const bool is_master = makers.masters.contains(object.meta.uid) ||
                           (maker != nullptr && makers.masters.contains(maker->meta.uid));
    bool is_roots = chains.IsBelow(object, root.meta.uid);
    if (is_master && !is_roots && !(is_pod && object.meta.deleting)) {
      auto top = probe_.RootOf(object, *snapshot.cluster, makers.objects, patience);
      // It belongs to an earlier custom resource of this name.
      if (!top && top.error().failure == ApiFailure::kNotFound &&
          snapshot.cluster->IsResource(root)) {
        top = object;
      }
      if (!top) {
        NoteProblem(snapshot, top.error());
        continue;
      }
      is_roots = top->meta.uid == root.meta.uid;
      if (!is_roots) AddOnce(around.other_masters, *std::move(top));
    }
    // A custom resource is the root of workloads that people can label.
    const bool is_named = is_pod ? !is_master && !is_roots : object.meta.uid != root.meta.uid;
    // Its annotations are copies of the root's.
    if (is_named && is_roots && snapshot.cluster->IsResource(object)) {
      around.resource = object;
    } else if (is_named && SpeaksForItself(object)) {
      around.named.push_back(object);
    }
    if (!is_roots || !is_pod) continue;
    around.root_pods.push_back(object);
    if (is_master && !object.meta.deleting) around.master_pods.push_back(object);
  }
}

}  // namespace cluster_watcher

// Names a cluster, and tells what is of it.
#pragma once

#include <optional>
#include <string>

#include "probes/profile.h"

namespace cluster_watcher {

struct ClusterId {
  std::string ns;
  SharedProfile profile = DefaultProfile();  // never null
  std::string name;                          // the value of the cluster label, never empty

  const std::string& label() const { return profile->cluster_label; }
  bool Owns(const ObjectMeta& meta) const {
    return meta.Label(label()) == name && profile->members.Holds(meta) &&
           !profile->IsOshinkos(meta);
  }
  // The label that says that it is another cluster's: "oshinko-cluster=alice"; nullopt: none does.
  std::optional<std::string> AnothersLabel(const ObjectMeta& meta) const;
  // Selects its objects in lists: "oshinko-cluster=bob".
  std::string Selector() const { return profile->Selector(name); }

  // Whether this is the custom resource that stands for the cluster. It needs no label.
  bool IsResource(const KubeObject& object) const {
    return profile->IsRoot(object.type) && object.meta.name == name;
  }
  bool IsResource(const OwnerReference& owner) const;  // the same by an object that it owns
  // Whether a master root is a framework's: this custom resource, or what made it.
  bool IsFrameworks(const KubeObject& root) const {
    return IsResource(root) || profile->IsTheirs(root.type);
  }
  // Returns what an object of the cluster is below: its controller, else the cluster's custom
  // resource, of which Flink's operator makes an owner only; nullptr: nothing.
  const OwnerReference* Above(const ObjectMeta& meta) const;

  // Takes out the labels and annotations that say nothing about a cluster or its deletion, and the
  // end of what is longer than any that does: thousands of objects may be held.
  void DropWhatSaysNothing(ObjectMeta& meta) const;
};

}  // namespace cluster_watcher

// Whose an object's annotations are, and those on a member of a cluster: keep it, or delete it in a
// certain wave.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "probes/kube/object_meta.h"

namespace cluster_watcher {

// Whether an object's annotations are its own, and not what its controller copied from another and
// leaves there: a ReplicaSet's and a ReplicationController's aren't while something controls them.
bool SpeaksForItself(const KubeObject& object);

// cluster-watcher/keep with any value but "false": one that is written wrong must not delete.
bool IsKept(const ObjectMeta& meta);
// The same, where the object speaks for itself.
bool IsKept(const KubeObject& object);

// Parses `cluster-watcher/delete-order`, a whole number; nullopt if it isn't one.
std::optional<int> ParseDeleteOrder(std::string_view text);
// Says what is wrong with the object's delete-order; nullopt if it has none or a valid one.
std::optional<std::string> DeleteOrderError(const ObjectMeta& meta);

}  // namespace cluster_watcher

// Whose the cluster is, if that isn't plain: what else of it may be a master or names an owner.
#pragma once

#include "watcher/observation/surroundings.h"

namespace cluster_watcher {

// Adds to the ambiguities of `look`, which has a root, what `around` shows: another cluster's label
// or a controller on the root, other masters, and objects that name another owner. To its setting
// errors it adds what is to be kept and belongs to the root. Pure.
void FindAmbiguities(Snapshot& look, const Surroundings& around);

// Says how an object of the cluster that isn't the root names another owner than that of `look`, by
// annotation or label; nullopt: it doesn't.
std::optional<std::string> NamesAnotherOwner(const Snapshot& look, const KubeObject& object);

// Says that the object is annotated to be kept but would go with the root, which owns it; nullopt:
// it wouldn't.
std::optional<std::string> KeptBelowRoot(const KubeObject& root, const KubeObject& object);

}  // namespace cluster_watcher

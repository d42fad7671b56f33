// Deletes objects that have lost their last owner, and completes foreground and orphan deletions.
#pragma once

#include "test/small_kubernetes/resource_table.h"
#include "test/small_kubernetes/store.h"

namespace cluster_watcher::small_kubernetes {

// Runs one pass; repeat it until nothing changes. An owner is gone if no object in the same
// namespace (or cluster-scoped) has its UID; an owner of a kind that isn't served counts as
// existing.
void CollectGarbage(Store& store, const ResourceTable& resources);

}  // namespace cluster_watcher::small_kubernetes

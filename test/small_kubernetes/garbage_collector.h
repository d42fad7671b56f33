// Deletes what has lost its last owner, and carries foreground and orphan deletions out.
#pragma once

#include "test/small_kubernetes/resource_table.h"
#include "test/small_kubernetes/store.h"

namespace cluster_watcher::small_kubernetes {

// One pass; to be repeated until nothing changes. An owner counts as gone when no object in the
// same namespace (or none without a namespace) has its UID; an owner of a kind that isn't served
// counts as there.
void CollectGarbage(Store& store, const ResourceTable& resources);

}  // namespace cluster_watcher::small_kubernetes

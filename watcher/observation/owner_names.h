// Which names on other objects mean the owner of a look.
#pragma once

#include <string>

#include "watcher/observation/snapshot.h"

namespace cluster_watcher {

// All of them are for a snapshot that has an owner_name.

// Whether `name` is the owner's: the one that was given, or that of what it stands for.
bool IsNameOfOwner(const Snapshot& snapshot, const std::string& name);

bool IsDeploymentConfig(const Snapshot& snapshot);

// Whether the owner is a DeploymentConfig and `name` that of one of its ReplicationControllers,
// NAME-NUMBER.
bool IsNameOfItsController(const Snapshot& snapshot, const std::string& name);

}  // namespace cluster_watcher

// Which names on other objects mean the owner of a look.
#pragma once

#include <string>

#include "probes/base/names.h"
#include "watcher/observation/snapshot.h"

namespace cluster_watcher {

// Whether two names of kinds can mean the same kind; an empty one can mean any.
bool KindsAgree(const KindName& one, const KindName& other);

// Whether `name` is that of a ReplicationController of the DeploymentConfig `config`:
// CONFIG-NUMBER.
bool IsNumberedAfter(const std::string& config, const std::string& name);

// All that follow are for a snapshot that has an owner_name.

// Whether `name` is the owner's: the one that was given, or that of what it stands for.
bool IsNameOfOwner(const Snapshot& snapshot, const std::string& name);

// The name of what the given one stands for, as far as it was seen.
const std::string& NameOfOwner(const Snapshot& snapshot);

bool IsDeploymentConfig(const Snapshot& snapshot);

// Whether `name` means the owner, as far as it says the kind, and `ns` the namespace (empty: it
// doesn't). So do the ReplicationControllers of a DeploymentConfig.
bool NamesOwner(const Snapshot& snapshot, const OwnerName& name, const std::string& ns);

// Whether the owner is a DeploymentConfig and `name` that of one of its ReplicationControllers,
// NAME-NUMBER.
bool IsNameOfItsController(const Snapshot& snapshot, const std::string& name);

}  // namespace cluster_watcher

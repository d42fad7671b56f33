// Plans what `create` is to make, and finds what of it is there already.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "watcher/driver/cluster_file.h"
#include "watcher/driver/driver_tools.h"
#include "watcher/driver/outcome.h"

namespace cluster_watcher {

struct PlannedObject {
  const ClusterObject* object;
  ResourceType type;
  std::optional<KubeObject> present = {};  // what has its name; nullopt: nothing

  std::string Describe() const { return type.SingularName() + "/" + object->name; }
};
using CreationPlan = std::vector<PlannedObject>;  // the master root first

// Finds out which resources the objects are. An outcome names each that can't be created: it is
// cluster-scoped (kWrongUsage), or its kind is not served (kFailed).
Result<CreationPlan, DriverOutcome> Plan(const DriverTools& tools,
                                         std::span<const ClusterObject> objects);

// Reads what has the names of `plan` by consistent reads. An outcome names what stands in the way:
// objects that aren't the cluster's (kFailed), or that are being deleted (kNotReady). An object is
// the cluster's if it carries the label; a claim without that label is taken over.
std::optional<DriverOutcome> LookUpNames(const DriverTools& tools, const ClusterId& cluster,
                                         CreationPlan& plan);

}  // namespace cluster_watcher

// What an interrupted creation left: what the field manager of `create` owns something of, and that
// carries the cluster's label.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "probes/cluster_probe.h"
#include "watcher/driver/driver_tools.h"
#include "watcher/driver/still_so.h"
#include "watcher/settings/settings.h"

namespace cluster_watcher {

class Remnants {
 public:
  // Of the kinds that members can be and of `types`. `say` is told what is deleted, a line each.
  // `only`: these UIDs; empty: all.
  Remnants(const DriverTools& tools, ClusterId cluster, std::vector<ResourceType> types,
           std::function<void(const std::string&)> say, std::set<std::string> only = {});

  // Deletes them in the foreground, each by its UID, and the object `root_uid` once the others are
  // gone. Returns what is still there; call again until that is nothing. PersistentVolumeClaims
  // stay, those of StatefulSets too, and so does what is annotated to be kept, also where a remnant
  // owns it: it is let go of first. ServiceAccounts and Roles stay, too. A kind that only members
  // can be and that may not be listed has none. Somebody else's cluster may have come to be
  // meanwhile: `is_ours` is asked once they are listed, and before each delete; where it isn't so,
  // nothing more is sent.
  Result<std::vector<std::string>, ApiError> DeleteOnce(const std::string& root_uid,
                                                        StillSo& is_ours);

 private:
  struct Found {
    KubeObjects remnants;
    KubeObjects kept;  // of the cluster
  };
  Result<Found, ApiError> Find();
  // Takes the remnants off the owners of what stays.
  Result<Done, ApiError> LetGo(const Found& found);
  // Whether `owner` is one of `uids`, or something above it is. kForbidden: an owner may not be
  // read.
  Result<bool, ApiError> IsRemnant(const OwnerReference& owner, const std::set<std::string>& uids,
                                   int depth);
  Result<std::vector<ResourceType>, ApiError> Kinds();
  // kNotSent: `is_ours` said no.
  Result<Done, ApiError> Delete(const KubeObject& object, StillSo& is_ours);
  Result<bool, ApiError> SettleClaims(const KubeObject& set);

  const DriverTools& tools_;
  const ClusterId cluster_;
  const std::vector<ResourceType> types_;
  const std::function<void(const std::string&)> say_;
  const std::set<std::string> only_;
  const Settings settings_;          // the defaults: claims are preserved
  std::set<std::string> told_;       // by UID
  std::set<std::string> strangers_;  // in one pass: UIDs of owners that are none, nor below any
};

}  // namespace cluster_watcher

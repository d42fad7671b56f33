// Asks at the start, and now and then, whether the account may do all that a watcher's work takes,
// and logs and shows what is missing. Nothing depends on the answer: the user decides what the
// account may do, and the watcher goes on with that.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "probes/permissions.h"
#include "watcher/deletion/tools.h"
#include "watcher/observation/observer.h"

namespace cluster_watcher {

// One watcher's work, as far as it is known.
struct ScopeOfWork {
  std::string ns;                          // the cluster's
  std::optional<KubeObject> root;          // the master root; nullopt: not known yet
  bool shared = false;                     // there is no owner: the cluster is only looked at
  std::string owner_ns;                    // the owner's
  bool owner_seen = false;                 // in `owner_ns`
  std::vector<ResourceType> driver_types;  // that drivers can be of, the owner's included
  std::vector<ResourceType> scaled_types;  // those of them that have a scale subresource to read
  std::vector<ResourceType> member_types;  // that members can be of
  std::vector<MountedObject> mounted;      // what the master pod needs in order to start
  Volumes volumes = Volumes::kPreserve;
};

// Each permission without which something of that work is not done, once. A dry run takes the same:
// RBAC doesn't tell a delete with dryRun=All from a real one.
std::vector<Permission> PermissionsFor(const ScopeOfWork& work);

class PermissionReview {
 public:
  // Asks each `interval`.
  PermissionReview(const Tools& tools, const Observer& observer,
                   Duration interval = std::chrono::hours(1));

  // Asks where it is time to: at first, each interval, and where `look` shows another owner or
  // master root, then a minute after the last time at the earliest. `look` is a sure look; one that
  // got no word from the API server is passed over. Takes 7 s at most, and mostly some
  // milliseconds.
  void AskIfDue(const Snapshot& look, std::stop_token stop);

 private:
  bool IsDue(const std::string& subject) const;
  Result<ScopeOfWork, ApiError> ScopeOf(const Snapshot& look, const Patience& patience);
  void Show(std::vector<Permission> missing);
  void SayNotServed(const std::string& kind);

  const Tools& tools_;
  const Observer& observer_;
  ClusterProbe cluster_probe_;
  const Duration interval_;
  PermissionProbe probe_;

  std::optional<MonotonicTime> asked_at_;
  std::string subject_;               // what it was about
  std::vector<Permission> missing_;   // by the last answer
  std::set<std::string> not_served_;  // kinds of --resources of which it was said
};

}  // namespace cluster_watcher

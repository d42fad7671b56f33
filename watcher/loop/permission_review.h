// Checks at the start and from time to time whether the account has all permissions that a
// watcher's work needs; logs and exposes the missing ones. Nothing depends on the answer: the user
// decides what the account may do, and the watcher works with that.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "probes/permissions.h"
#include "watcher/deletion/tools.h"
#include "watcher/observation/observer.h"

namespace cluster_watcher {

// The work of one watcher, as far as it is known.
struct ScopeOfWork {
  std::string ns;                          // the cluster's
  std::optional<KubeObject> root;          // the master root; nullopt: not known yet
  bool shared = false;                     // without an owner, so the cluster is never deleted
  std::string owner_ns;                    // the owner's
  bool owner_seen = false;                 // in `owner_ns`
  std::vector<ResourceType> driver_types;  // kinds of drivers, including the owner's
  std::vector<ResourceType> member_types;  // kinds of members
  std::optional<KubeObject> watched;       // the owner, if it and the root are to be watched
  Volumes volumes = Volumes::kPreserve;
  std::optional<ResourceType> uses;  // what uses the cluster in its profile's words
  bool uses_block = false;           // and has to go before it
  bool runs_pods = false;            // as steps of a deletion
};

// Returns each permission that the work needs, once. A dry run needs the same ones, because RBAC
// doesn't tell a delete with dryRun=All from a real one.
std::vector<Permission> PermissionsFor(const ScopeOfWork& work);

class PermissionReview {
 public:
  // Asks once per `interval`, or once a day where looks are as rare: while the owner is watched.
  PermissionReview(const Tools& tools, const Observer& observer,
                   Duration interval = std::chrono::hours(1));

  // Asks if it is due: the first time, after each interval, and if `look` shows another owner or
  // master root, but then at least a minute after the last time. `look` is a sure look; one without
  // an answer from the API server is ignored. Takes some milliseconds; the first request that times
  // out ends it.
  void AskIfDue(const Snapshot& look, std::stop_token stop);
  // Whether the last look showed another owner or master root so soon that nothing was asked.
  bool is_put_off() const { return is_put_off_; }

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
  bool is_put_off_ = false;
  bool is_known_ = false;             // the last review was answered
  std::string subject_;               // the master root and owner that were last asked about
  std::vector<Permission> missing_;   // by the last answer
  std::set<std::string> not_served_;  // kinds of --resources that the log has named
};

}  // namespace cluster_watcher

// Sends the deletes of one deletion, each for the UID that was listed, and counts what comes of
// them. The claims of a StatefulSet are settled before it is deleted.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "watcher/deletion/claims.h"
#include "watcher/deletion/tools.h"
#include "watcher/reporting/warn_once.h"

namespace cluster_watcher {

class Deletes {
 public:
  // `root`: the master root. `collect_after`, to the second: what claims are marked with.
  Deletes(const Tools& tools, ClusterId cluster, KubeObject root, WallTime collect_after,
          WarnOnce& warn_once);

  // Sends one for each object, side by side. True: each was accepted, or refused for good; false:
  // some must be sent again, or wait for their claims.
  bool Send(const std::vector<const KubeObject*>& objects, PropagationPolicy propagation);
  // The same with dryRun=All: nothing changes.
  void Rehearse(const std::vector<const KubeObject*>& objects, PropagationPolicy propagation);

  // Marks claims for `sweep`. False: some must be sent again.
  bool MarkForCollection(const std::vector<KubeObject>& claims);

  // When the delete of the object with this UID was first accepted; nullopt: it wasn't.
  std::optional<MonotonicTime> AcceptedAt(const std::string& uid) const;
  // How many came to which result, as the metrics have it: {"deleted": 4}.
  const std::map<std::string, int>& results() const { return results_; }

 private:
  bool SendAll(const std::vector<const KubeObject*>& objects, PropagationPolicy propagation,
               bool dry_run);
  void Count(const KubeObject& object, const ApiResult& result, bool dry_run);
  void CountResult(const std::string& resource, const char* result);
  bool SettleClaimsOf(const KubeObject& object);

  const Tools& tools_;
  const ClusterId cluster_;
  WarnOnce& warn_once_;
  Claims claims_;
  std::map<std::string, MonotonicTime> accepted_at_;  // by UID
  std::map<std::string, int> results_;
};

}  // namespace cluster_watcher

// Glances at the owner between sure looks: is it as active as the last one found it? What a glance
// shows otherwise is reason for a sure look, and for nothing else.
#pragma once

#include <optional>
#include <string>

#include "watcher/deletion/tools.h"
#include "watcher/loop/owner_watch.h"
#include "watcher/observation/observer.h"

namespace cluster_watcher {

class OwnerGlance {
 public:
  OwnerGlance(const Tools& tools, Observer& observer, const OwnerWatch& watch)
      : tools_(tools), observer_(observer), watch_(watch) {}

  // Call it for each sure look.
  void NoteLook(const Snapshot& look);

  // Both return whether what they read is as it was. The first reads the owner, and where the root
  // was not read for `root_interval` the owner consistently and all around the cluster.
  bool GlanceAround(std::optional<Duration> root_interval, const std::stop_token& stop);
  // The second reads the owner alone, from the API server's cache.
  bool GlanceAtOwner(const std::stop_token& stop);

  // The owner, if a glance since the last sure look showed that its own fields say that it is
  // active.
  const std::optional<KubeObject>& active_owner() const { return active_owner_; }
  // Whether a glance since has failed, or has shown another version.
  bool is_unseen() const { return is_unseen_; }

 private:
  bool IsActiveAsBefore(const std::optional<OwnerSight>& sight) const;

  const Tools& tools_;
  Observer& observer_;
  const OwnerWatch& watch_;
  MonotonicTime root_read_{};
  OwnerFields fields_;
  std::string version_;  // its resourceVersion; empty: there is no owner
  std::optional<KubeObject> active_owner_;
  bool is_unseen_ = false;
};

}  // namespace cluster_watcher

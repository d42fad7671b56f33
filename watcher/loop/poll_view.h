// Shows what a poll came to: in the metrics, the page and /readyz always, in the log when it
// changes.
#pragma once

#include <optional>
#include <string>

#include "watcher/deletion/tools.h"
#include "watcher/loop/health.h"
#include "watcher/reporting/announcer.h"

namespace cluster_watcher {

class PollView {
 public:
  PollView(const Tools& tools, Announcer& announcer, LoopHealth& health)
      : tools_(tools), announcer_(announcer), health_(health) {}

  // `on_its_way`: how far the cluster is, if it is abandoned and not condemned yet.
  void Show(const Snapshot& snapshot, const Decision& decision,
            const std::optional<Abandonment>& on_its_way);

 private:
  void ShowMetrics(const Snapshot& snapshot, const Decision& decision,
                   const std::optional<Abandonment>& on_its_way);
  void Log(const Snapshot& snapshot, const Decision& decision,
           const std::optional<Abandonment>& on_its_way);

  const Tools& tools_;
  Announcer& announcer_;
  LoopHealth& health_;
  std::optional<WallTime> abandoned_since_;  // while every verdict is
  std::optional<Reason> last_reason_;        // nullopt: there was no poll yet
  std::string last_detail_logged_;
  std::string last_owner_logged_;
  bool last_in_surge_ = false;
  MonotonicTime last_logged_{};
};

}  // namespace cluster_watcher

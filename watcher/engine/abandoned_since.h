// Keeps the mark `abandoned-since` on the master root: there while the cluster is abandoned, so
// that watchers of other clusters count it, and taken off once it is kept.
#pragma once

#include <optional>

#include "watcher/decision/next_step.h"
#include "watcher/decision/surge.h"
#include "watcher/deletion/tools.h"
#include "watcher/observation/snapshot.h"
#include "watcher/reporting/warn_once.h"

namespace cluster_watcher {

class AbandonedSince {
 public:
  explicit AbandonedSince(const Tools& tools) : tools_(tools), warn_once_(tools.log) {}

  // Returns how the mark on the root of `snapshot`, which has one, stands to the verdict on it.
  // A write that was refused before is forgotten where it no longer matters.
  SinceMark Update(const Snapshot& snapshot, const Decision& decision, const Surge& surge);

  // Writes the mark, or takes it off, as `surge` says. True: that was done, so the root is no
  // longer at the resourceVersion that was read. False: it wasn't; see problem() where it was to be
  // written.
  bool Write(const Snapshot& snapshot, const Surge& surge);

  // Why the mark isn't there although the cluster is abandoned: then nothing may be condemned.
  // nullopt: it is there, or need not be.
  const std::optional<ApiError>& problem() const { return problem_; }
  // False: it could not be taken off yet, and that is worth another look soon.
  bool is_settled() const { return settled_; }
  // Whether a write was refused permanently, and is tried again after a while.
  bool is_refused() const { return refused_.has_value(); }

 private:
  const Tools& tools_;
  WarnOnce warn_once_;
  std::optional<WallTime> written_;
  int rewrites_ = 0;  // of the same time
  struct Refused {
    std::optional<WallTime> since;  // what was to be written; nullopt: it was to be taken off
    MonotonicTime at;
  };
  std::optional<Refused> refused_;  // permanently
  std::optional<ApiError> problem_;
  bool settled_ = true;
};

}  // namespace cluster_watcher

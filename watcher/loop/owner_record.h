// Records the owner in marks on the master root, so that a watcher that is restarted knows the
// owner that was seen.
#pragma once

#include <optional>

#include "watcher/decision/rules.h"
#include "watcher/deletion/tools.h"
#include "watcher/observation/snapshot.h"

namespace cluster_watcher {

class OwnerRecord {
 public:
  explicit OwnerRecord(const Tools& tools) : tools_(tools) {}

  // Writes `owner`, if the verdict on `snapshot`, which has a root, lets it and it isn't there yet.
  // Returns the root's metadata as it has written it, on top of what `snapshot` shows; nullopt if
  // it has written nothing, or something else has been added.
  std::optional<ObjectMeta> Write(const Snapshot& snapshot, const Decision& decision,
                                  const std::optional<RecordedOwner>& owner);

  // False: the owner could not be written yet, and that is worth another look soon.
  bool is_written() const { return state_ != State::kPending; }
  // Whether it was refused permanently, and is tried again with the next sure look.
  bool is_refused() const { return state_ >= State::kRefused; }
  // Whether the guard refused it: then no mark of a deletion could be written either.
  bool is_refused_by_guard() const { return state_ == State::kRefusedByGuard; }

 private:
  const Tools& tools_;
  enum class State { kWritten, kPending, kRefused, kRefusedByGuard } state_ = State::kWritten;
  bool said_ = false;  // that it can't be written
};

}  // namespace cluster_watcher

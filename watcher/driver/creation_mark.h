// The mark of a cluster that is being created: `phase=creating` on its master root, and beside it
// who creates it.
#pragma once

#include <optional>
#include <string>

#include "watcher/driver/driver_tools.h"
#include "watcher/driver/write_meta.h"
#include "watcher/protocol/marks.h"

namespace cluster_watcher {

// The field manager of all that `create` writes. What an interrupted creation left is found by it.
inline constexpr char kCreateManager[] = "cluster-watcher-create";

AnnotationChanges CreatingMarks(const WatcherId& creator);
WatcherId CreatorOf(const ObjectMeta& root);
// Whether it is `creator`, who may have numbered its name since.
bool IsCreatedBy(const ObjectMeta& root, const WatcherId& creator);
// Whether `root` bears the mark, with its own UID beside it or none yet.
bool IsMarkedCreating(const ObjectMeta& root);
// Whether what is marked was created to its end: a rollout that is undone brings the phase back
// that its ReplicaSet had copied, but copies follow what is written since.
bool IsCreationComplete(const ObjectMeta& root);
// Another name for each process of a pod, so that of two that are at it at once one is told.
WatcherId SomeProcessOf(const WatcherId& creator);

// Whether who marked `root` creates no more: its pod is gone or has ended; or it is a command whose
// mark has stood unchanged for a minute by the API server's clock. False where that isn't known.
bool IsCreatorGone(const DriverTools& tools, const KubeObject& root);

class CreationMark {
 public:
  enum class State {
    kOurs,
    kLost,    // it is another's by now, or the root is condemned, deleted, or another object
    kFailed,  // see problem()
  };

  // `root` as it was read, marked by `me` or not yet. `me` is one of SomeProcessOf.
  CreationMark(const DriverTools& tools, KubeObject root, WatcherId me, MonotonicTime deadline);

  // Marks the root as it was read, and writes `also` on it. kLost: it has changed since, if only by
  // another process of the same pod.
  State Put(const MetaChanges& also);
  // Writes the root's UID beside the mark.
  State PutUid();
  // Makes sure that it is still ours, and writes it anew before it has stood for a minute. Asks
  // nothing where that was done a moment ago.
  State Keep();
  // Asks the API server whether it is still ours, also where the root is terminating.
  State Confirm();
  // Says that the creation is complete.
  State TakeOff();

  const ApiError& problem() const { return problem_; }
  const KubeObject& root() const { return root_; }

 private:
  State Write(const MetaChanges& changes);
  bool IsOurs(const ObjectMeta& meta) const;

  const DriverTools& tools_;
  KubeObject root_;
  const WatcherId me_;
  const MonotonicTime deadline_;
  bool is_put_ = false;
  int renewals_ = 0;
  BootTime known_at_;  // when it was known to be ours
  ApiError problem_;
};

}  // namespace cluster_watcher

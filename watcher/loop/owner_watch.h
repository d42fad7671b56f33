// With --observe=watch: watches the owner and the master root while all is well, so that the loop
// looks as soon as one of them changes, and rarely otherwise. Where one can't be watched the loop
// polls.
// Nothing is decided here, and what an event shows is never looked at: it is a reason to look.
#pragma once

#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>

#include "probes/kube/watch_stream.h"
#include "probes/object_watch.h"
#include "watcher/deletion/tools.h"

namespace cluster_watcher {

class OwnerWatch {
 public:
  // Without `access` (null) nothing is watched.
  OwnerWatch(const Tools& tools, const WatchAccess* access);

  // Whether the settings ask for it.
  bool IsAskedFor() const;

  // From now on these are watched, as they were last read.
  void Aim(const KubeObject& owner, const KubeObject& root);
  // Ends both watches.
  void Close();

  // Waits until the next look: until `poll`, and while both watches are up until `rare` (nullopt:
  // `poll`). It ends earlier where something has changed, but no more often than polls would in the
  // long run.
  void Wait(MonotonicTime poll, std::optional<MonotonicTime> rare, const std::stop_token& stop);

  // Whether something has changed that a glance doesn't show.
  bool NeedsSureLook() const { return needs_sure_look_; }
  void NoteSureLook();
  // This process has written the root, and nobody else since it was looked at.
  void NoteWritten(const ObjectMeta& root);
  // Whether a glance that read this resourceVersion of the owner is as new as the watch. Several
  // API servers have a cache each.
  bool IsAsNew(const std::string& owner_version) const;

 private:
  struct Target {
    std::unique_ptr<ObjectWatch> watch;
    bool changed = false;
    MonotonicTime looked_at{};  // because it had changed
    Duration gap{0};            // until it may be looked at again for that
  };

  void AimAt(Target& target, const KubeObject& object, bool metadata_only);
  void Note(const std::string& what, const ObjectWatch::Ended& ended);
  bool AreUp() const;
  void Tend(const std::stop_token& stop);
  MonotonicTime NextTend() const;
  MonotonicTime DueTo(const Target& target) const;
  void NoteLook(MonotonicTime now);
  void NoteLook(Target& target, MonotonicTime now, Duration most);
  Duration Jittered(Duration interval);

  const Tools& tools_;
  const WatchAccess* const access_;
  std::minstd_rand jitter_;
  Target owner_;
  Target root_;
  bool needs_sure_look_ = false;
  bool in_doubt_ = false;          // one was silent, and they have not both shown anything since
  std::set<std::string> refused_;  // as it was logged, since both were last watched
};

}  // namespace cluster_watcher

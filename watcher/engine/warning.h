// Warns people before a cluster is deleted, and tells them when it isn't after all.
#pragma once

#include <optional>
#include <string>

#include "watcher/deletion/tools.h"
#include "watcher/reporting/announcer.h"
#include "watcher/reporting/warn_once.h"

namespace cluster_watcher {

class Warning {
 public:
  Warning(const Tools& tools, Announcer& announcer)
      : tools_(tools), announcer_(announcer), warn_once_(tools.log) {}

  // Tells people, if what they were told last is no longer true, or can no longer be found. That
  // the verdict is unknown for a while is nothing to tell. `on_its_way`: how far the cluster is, if
  // it is abandoned and not condemned yet.
  void Tell(const Snapshot& snapshot, const Decision& decision,
            const std::optional<Abandonment>& on_its_way, const std::stop_token& stop);

  // Call it after the Reaper has spared a cluster. The next warning is due as if nobody had been
  // told, unless this sparing repeats the one before: then people are told once an hour.
  void Spared();

 private:
  struct Told {
    MonotonicTime at;
    MonotonicTime due;
    std::string root_uid;
    std::string owner;
    bool in_surge;
    bool spared_again = false;  // a due time that has passed is no reason to tell again
  };
  bool IsTold(const Told& now) const;

  const Tools& tools_;
  Announcer& announcer_;
  WarnOnce warn_once_;
  std::optional<Told> told_;
};

}  // namespace cluster_watcher

// The loop of `watch`: observe, decide, show, act, wait. One thread does all of it.
#pragma once

#include <optional>

#include "watcher/engine/engine.h"
#include "watcher/loop/health.h"
#include "watcher/loop/last_scrape.h"
#include "watcher/loop/look_pace.h"
#include "watcher/loop/owner_glance.h"
#include "watcher/loop/owner_record.h"
#include "watcher/loop/owner_watch.h"
#include "watcher/loop/permission_review.h"
#include "watcher/loop/poll_view.h"

namespace cluster_watcher {

class WatchLoop {
 public:
  // `dial` reaches the servers of steps. `tools.turn` is called at least every 10 s, except while a
  // batch of requests to the API server, or a step, takes longer. Without `watches` (null) it polls
  // whatever the settings say.
  WatchLoop(const Tools& tools, Observer& observer, Announcer& announcer, LoopHealth& health,
            Dial dial, LastScrape::Next next_scrape, const WatchAccess* watches = nullptr);
  WatchLoop(const WatchLoop&) = delete;
  WatchLoop& operator=(const WatchLoop&) = delete;

  // Runs until told to stop, or until the watcher's own pod is gone or turns out to wait for the
  // watcher's end. The exit code: 0, or 2 if there was no such pod to begin with.
  int Run(std::stop_token stop);

 private:
  enum class Next { kWait, kDone, kPodGone, kPodWaits };

  Next Poll(const std::stop_token& stop);
  bool MayGlance() const;
  bool Glance(const std::stop_token& stop);
  bool MayWatch() const { return watch_.IsAskedFor() && pace_.MayWatch(); }
  Next Act(const Snapshot& look, const Decision& decision, const std::stop_token& stop);
  Engine::Outcome ActOnRoot(const Snapshot& look, const Decision& decision,
                            const std::stop_token& stop);
  void RecordOwner(const Snapshot& look, const Decision& decision);
  bool IsSettled() const { return owner_record_.is_written() && engine_.is_settled(); }
  int SayThatPodIsGone(bool at_start);
  int SayThatPodWaits();
  int EndDone(const std::stop_token& stop);
  int EndToldToStop();
  void Rest(MonotonicTime began, const std::stop_token& stop);
  void WaitUntil(MonotonicTime time, const std::stop_token& stop);

  const Tools tools_;
  Observer& observer_;
  LoopHealth& health_;
  Engine engine_;
  PollView view_;
  OwnerRecord owner_record_;
  PermissionReview permissions_;
  LastScrape last_scrape_;
  OwnerWatch watch_;
  OwnerGlance glance_;
  LookPace pace_;
  std::optional<WatcherId> me_;     // nullopt: the pod wasn't read yet
  std::optional<KubeObject> root_;  // by the last sure look
};

}  // namespace cluster_watcher

// The loop of `watch`: observe, decide, show, act, wait. One thread does all of it.
#pragma once

#include <cstdint>
#include <optional>
#include <random>

#include "watcher/deletion/reaper.h"
#include "watcher/loop/abandoned_since.h"
#include "watcher/loop/health.h"
#include "watcher/loop/judge.h"
#include "watcher/loop/last_scrape.h"
#include "watcher/loop/owner_record.h"
#include "watcher/loop/owner_watch.h"
#include "watcher/loop/permission_review.h"
#include "watcher/loop/poll_view.h"
#include "watcher/loop/rival_watchers.h"
#include "watcher/loop/warning.h"

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

  Next Poll(std::stop_token stop);
  bool MayGlance() const;
  bool Glance(std::stop_token stop);
  bool IsActiveAsBefore(const std::optional<OwnerSight>& sight) const;
  Next Act(const Snapshot& snapshot, const Decision& decision, std::stop_token stop);
  bool GlanceAtOwner(std::stop_token stop);
  Next ActOnRoot(const Snapshot& snapshot, const Decision& decision, std::stop_token stop);
  void NoteWritten(const std::optional<ObjectMeta>& root);
  Next Condemn(const Snapshot& snapshot, const Decision& decision, std::stop_token stop);
  void SpareUnmarked(const Snapshot& snapshot, const ApiError& problem);
  void Rehearse(const Snapshot& snapshot, const Decision& decision);
  std::optional<Abandonment> OnItsWay(const Snapshot& snapshot) const;
  int SayThatPodIsGone(bool at_start);
  int SayThatPodWaits();
  int EndDone(std::stop_token stop);
  int EndToldToStop();
  void AwaitLastScrape(MonotonicTime since);
  bool IsSettled() const;
  Duration UnsettledInterval() const;
  bool MayWatch() const;
  bool NeedsLooks() const;
  void NoteLasting(const Snapshot& snapshot, const Decision& decision);
  void NoteLook(const Snapshot& snapshot);
  void Rest(MonotonicTime began, const std::stop_token& stop);
  int Percent();
  MonotonicTime NextPoll(MonotonicTime began);
  void WaitUntil(MonotonicTime time, std::stop_token stop);

  const Tools tools_;
  Observer& observer_;
  LoopHealth& health_;
  Reaper reaper_;
  Judge judge_;
  PollView view_;
  Warning warning_;
  RivalWatchers rivals_;
  AbandonedSince abandoned_since_;
  OwnerRecord owner_record_;
  PermissionReview permissions_;
  LastScrape last_scrape_;
  OwnerWatch watch_;
  std::minstd_rand jitter_;

  // Shown by the last sure look.
  std::optional<WatcherId> me_;        // nullopt: the pod wasn't read yet
  std::optional<Reason> last_reason_;  // nullopt: there was none yet
  // A verdict that is likely to last.
  struct Lasting {
    Reason reason;
    MonotonicTime since;
    MonotonicTime next_look;  // for sure
    bool has_active_owner;    // which is glanced at in between; of another only a look tells more
  };
  std::optional<Lasting> lasting_;
  int refusals_ = 0;  // condemnations in a row that came to nothing
  MonotonicTime last_sure_look_{};
  MonotonicTime root_read_{};                // by that look, or since
  MonotonicTime next_sure_look_{};           // while all is well
  MonotonicTime rare_look_{};                // the same while the owner is watched
  std::optional<KubeObject> root_;           // while watches are asked for
  std::optional<MonotonicTime> away_since_;  // since when no look was told anything
  OwnerFields last_fields_;                  // of the owner
  std::string owner_version_;                // its resourceVersion; empty: there is no owner
  bool marks_to_settle_ = false;  // the root bore marks of a deletion, or another object's
  std::optional<MonotonicTime> unsettled_since_;  // nullopt: IsSettled()
  bool look_again_ = false;  // soon: nothing but the mark delayed the condemnation
  bool rehearsed_ = false;   // in a dry run: this abandonment was shown
  // The owner, if a glance since showed that its own fields say that it is active. nullopt: none
  // did.
  std::optional<KubeObject> active_owner_;
  bool owner_unseen_ = false;  // a glance failed since, or showed another version
};

}  // namespace cluster_watcher

// The loop of `watch`: observe, decide, act, show, wait. One thread does all of it.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <random>
#include <string>

#include <spdlog/logger.h>

#include "metrics/watcher_metrics.h"
#include "probes/base/clock.h"
#include "watcher/decision/confirmation.h"
#include "watcher/decision/rules.h"
#include "watcher/deletion/reaper.h"
#include "watcher/loop/last_scrape.h"
#include "watcher/loop/permission_review.h"
#include "watcher/observation/survey.h"
#include "watcher/reporting/announcer.h"
#include "watcher/reporting/warn_once.h"

namespace cluster_watcher {

// What /healthz and /readyz ask; may be read from other threads.
class LoopHealth {
 public:
  void Turned(MonotonicTime now) { turned_.store(now.time_since_epoch().count()); }
  void SetReady(bool ready) { ready_.store(ready); }
  // Three poll intervals, at least 30 s; set once the settings are known.
  void SetPatience(Duration patience) { patience_.store(patience.count()); }

  // Whether the loop has turned lately; the API server's state doesn't matter.
  bool IsAlive(MonotonicTime now) const {
    return now.time_since_epoch().count() - turned_.load() <=
           std::chrono::duration_cast<MonotonicTime::duration>(Duration(patience_.load())).count();
  }
  bool IsReady() const { return ready_.load(); }

 private:
  std::atomic<MonotonicTime::rep> turned_{0};
  std::atomic<Duration::rep> patience_{30'000};
  std::atomic<bool> ready_{false};
};

class WatchLoop {
 public:
  // `dial` reaches the servers of steps. `turn` is called at least every 10 s, but for what a batch
  // of requests to the API server, or a step, takes.
  WatchLoop(Survey& survey, Clock& clock, WatcherMetrics& metrics, Announcer& announcer,
            spdlog::logger& log, LoopHealth& health, Dial dial, std::function<void()> turn,
            LastScrape::Next next_scrape);

  // Runs until told to stop or until the watcher's own pod is gone. The exit code: 0, or 2 where
  // there was no such pod to begin with.
  int Run(std::stop_token stop);

 private:
  struct Seen {  // somebody else's condemnation, since when it stands unchanged
    std::string by;
    MonotonicTime since;
  };
  enum class Next { kWait, kDone, kPodGone };

  Next Poll(std::stop_token stop);
  bool Glance(std::stop_token stop);
  Next SureLook(std::stop_token stop);
  Next Act(const Snapshot& snapshot, const Decision& decision, std::stop_token stop);
  // Marks of a deletion that is under way, ours or another watcher's. nullopt: there are none.
  std::optional<Next> ActOnMarks(const Snapshot& snapshot, std::stop_token stop);
  std::optional<Next> ActOnDeleting(const Snapshot& snapshot, std::stop_token stop);
  bool MayTakeOver(const Snapshot& snapshot, std::stop_token stop);
  bool IsConfirmed() const;
  bool IsLongPast(const Snapshot& snapshot) const;
  bool IsWatcherGone(const Snapshot& snapshot, const std::string& by, std::stop_token stop);
  void CallOff(const Snapshot& snapshot, const std::string& why);
  bool CleanMarks(const Snapshot& snapshot);
  void RecordOwner(const Snapshot& snapshot, const Decision& decision);
  // `on_its_way` in the following: how far it is, where it is abandoned and not condemned yet.
  void Show(const Snapshot& snapshot, const Decision& decision,
            const std::optional<Abandonment>& on_its_way);
  void Say(const Snapshot& snapshot, const Decision& decision,
           const std::optional<Abandonment>& on_its_way);
  void AnnounceChange(const Snapshot& snapshot, const Decision& decision,
                      const std::optional<Abandonment>& on_its_way, std::stop_token stop);
  std::optional<Abandonment> OnItsWay(const Snapshot& snapshot);
  // Where it is condemned next, if nothing changes; only where it is abandoned.
  Abandonment AbandonmentNow();
  struct Warning {  // what people were told
    MonotonicTime told;
    MonotonicTime due;
    std::string root_uid;
    std::string owner;
    bool spared_again = false;  // since then, as before: that it is due means nothing
  };
  bool IsWarnedOf(const Warning& now) const;
  void AwaitLastScrape(MonotonicTime since);
  MonotonicTime NextPoll(MonotonicTime began);
  void WaitUntil(MonotonicTime time, std::stop_token stop);

  Survey& survey_;
  Clock& clock_;
  WatcherMetrics& metrics_;
  Announcer& announcer_;
  spdlog::logger& log_;
  LoopHealth& health_;
  std::function<void(Duration may_take)> turn_;
  LastScrape last_scrape_;
  Reaper reaper_;
  PermissionReview permissions_;

  Confirmation confirmation_;
  std::string me_;  // "POD/UID"
  Decision last_;
  std::string last_detail_said_;
  std::string last_owner_said_;
  MonotonicTime last_sure_look_{};
  MonotonicTime last_said_{};
  std::int64_t last_replicas_ = 0;
  bool polled_ = false;
  bool in_use_ = false;   // the last abandoned verdict was overruled for another driver's sake
  bool recorded_ = true;  // false: the owner's marks could not be written yet
  bool marks_to_settle_ = false;  // a deletion's, or another root's, were there at the last look
  bool said_unrecorded_ = false;
  bool rehearsed_ = false;                   // in a dry run: this abandonment was shown
  std::optional<WallTime> abandoned_since_;  // while every verdict is
  std::optional<Warning> warning_;
  std::optional<Seen> other_watcher_;
  std::optional<MonotonicTime> overtaken_at_;
  WarnOnce warn_once_;
  std::minstd_rand jitter_;
};

}  // namespace cluster_watcher

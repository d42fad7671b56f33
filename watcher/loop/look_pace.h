// When the loop of `watch` polls next, and whether a glance suffices then: often while a cluster is
// on its way to its deletion, seldom while a verdict lasts or the API server is away. Watchers that
// started at once get out of step.
#pragma once

#include <optional>
#include <random>

#include "watcher/decision/confirmation.h"
#include "watcher/deletion/tools.h"
#include "watcher/observation/snapshot.h"

namespace cluster_watcher {

// The master root is read at least this often, and that of a shared cluster no more often.
inline constexpr Duration kRootInterval = std::chrono::minutes(1);

class LookPace {
 public:
  explicit LookPace(const Tools& tools);

  // Call it for each sure look.
  void NoteLook(const Snapshot& look, const Decision& decision);
  // Unfinished by what was done on that look.
  struct Left {
    bool is_settled = true;    // no marks that are still to be written or taken off
    bool tries_again = false;  // something that was refused or put off, once a minute
  };
  void NoteLeft(const Left& left);
  // A condemnation came to nothing. If that is repeated, the next is expected to come to the same.
  void NoteSpared() { ++refusals_; }
  // Nothing but a mark has delayed the condemnation.
  void LookAgainSoon() { look_again_ = true; }

  // Whether the owner and the root may be watched in place of polls.
  bool MayWatch() const;
  // Whether no sure look is due.
  bool MayGlance() const;
  // Whether nothing at all is worth a glance: the verdict lasts, and not for an active owner's
  // sake.
  bool IsAsleep() const { return lasting_ && !lasting_->has_active_owner; }
  // Whether the verdict lasts, so that glances don't read the root either.
  bool IsVerdictLasting() const { return lasting_.has_value(); }

  // When to poll after one that began at `began`. `is_owner_unseen`: the last glance did not find
  // the owner as it was.
  MonotonicTime NextPoll(MonotonicTime began, const Confirmation& confirmation,
                         bool is_owner_unseen);
  // While the owner and the root are watched: when to look although nothing has changed.
  MonotonicTime RareLook() const;

 private:
  void NoteLasting(const Snapshot& look, const Decision& decision);
  Duration UnsettledInterval() const;
  int Percent();

  const Tools& tools_;
  std::minstd_rand jitter_;
  std::optional<Reason> last_reason_;  // by the last sure look; nullopt: there was none
  // A verdict that is likely to last.
  struct Lasting {
    Reason reason;
    MonotonicTime since;
    MonotonicTime next_look;  // for sure
    bool has_active_owner;    // which is glanced at in between; of another only a look tells more
  };
  std::optional<Lasting> lasting_;
  int refusals_ = 0;  // condemnations in a row that came to nothing
  struct {
    MonotonicTime last{};
    MonotonicTime next{};  // while all is well
    MonotonicTime rare{};  // the same while the owner is watched
  } sure_look_;
  Left left_;
  std::optional<MonotonicTime> unsettled_since_;  // nullopt: it is settled
  std::optional<MonotonicTime> away_since_;       // since when no look was told anything
  bool look_again_ = false;
};

}  // namespace cluster_watcher

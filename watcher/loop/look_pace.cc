#include "watcher/loop/look_pace.h"

#include <algorithm>
#include <utility>

#include "watcher/engine/judge.h"

namespace cluster_watcher {
namespace {

// Marks are still to be written or taken off, or are another watcher's: at first, and then for as
// long as this part of the time that it has been so, since it may never end.
constexpr Duration kUnsettledInterval = std::chrono::seconds(2);
constexpr int kLooksInUnsettledTime = 4;
// While all is well everything is read about this often.
constexpr Duration kSureInterval = std::chrono::minutes(10);
// While the owner and the root are watched, what an event that got lost may cost.
constexpr Duration kRareInterval = std::chrono::hours(1);
// An API server that is away is asked ever more seldom, but as often as this. When it is back all
// ask for everything again, and must not keep it from coming up.
constexpr Duration kAwayInterval = std::chrono::seconds(30);
constexpr int kLeastOfAwayInterval = 50;  // hundredths: those who noticed at once get out of step
constexpr Duration kLongestAskedWait = std::chrono::minutes(1);
// A condemnation that was refused this often in a row is expected to be refused again.
constexpr int kRefusedAgain = 2;

// When the last hold of `look` ends by both clocks, in our monotonic time; nullopt: none does.
std::optional<MonotonicTime> HoldEnd(const Snapshot& look, Clock& clock) {
  const WallTime now = std::min(clock.WallNow(), ServerNow(look, clock));
  std::optional<MonotonicTime> end;
  for (const Hold& hold : look.facts.holds) {
    if (!hold.until || *hold.until <= now || *hold.until > now + kRootInterval) continue;
    const MonotonicTime at = clock.Now() + std::chrono::ceil<Duration>(*hold.until - now);
    end = end ? std::max(*end, at) : at;
  }
  return end;
}

}  // namespace

LookPace::LookPace(const Tools& tools)
    : tools_(tools), jitter_(static_cast<unsigned>(tools.clock.Now().time_since_epoch().count())) {}

void LookPace::NoteLook(const Snapshot& look, const Decision& decision) {
  NoteLasting(look, decision);
  last_reason_ = decision.reason;
  if (look.facts.server_time || look.facts.root_read) {
    away_since_.reset();
  } else if (!away_since_) {
    away_since_ = look.when.began;
  }
  const int percent = Percent();
  sure_look_ = {look.when.began, look.when.began + kSureInterval * percent / 100,
                look.when.began + kRareInterval * percent / 100};
}

// The longer a verdict lasts, the more seldom it is made: after as long again each time.
void LookPace::NoteLasting(const Snapshot& look, const Decision& decision) {
  const bool is_definite_keep = !decision.abandoned() && decision.reason != Reason::kUnknown;
  if (is_definite_keep) refusals_ = 0;
  const bool lasts =
      IsLasting(decision.reason) || (decision.abandoned() && refusals_ >= kRefusedAgain);
  const bool is_same = lasting_ && (lasting_->reason == decision.reason || decision.abandoned());
  if (!lasts) return lasting_.reset();
  const MonotonicTime since = is_same ? lasting_->since : look.when.began;
  const Duration poll = tools_.settings->poll_interval;
  const Duration interval = std::clamp<Duration>(
      std::chrono::floor<Duration>(look.when.began - since), poll, std::max(poll, kRootInterval));
  const auto& owner = look.facts.owner;
  // A change is noticed within a minute, and the loop turns once in each poll interval.
  const Duration longest = std::max(poll, kRootInterval - poll);
  lasting_ = Lasting{decision.reason, since,
                     look.when.began + std::min<Duration>(interval * Percent() / 100, longest),
                     owner && owner->observation == Observation::kActive};
  const auto hold_end = HoldEnd(look, tools_.clock);
  if (decision.reason == Reason::kHeld && hold_end) {
    lasting_->next_look = std::min(lasting_->next_look, *hold_end);
  }
}

void LookPace::NoteLeft(const Left& left) {
  left_ = left;
  if (left.is_settled) {
    unsettled_since_.reset();
  } else if (!unsettled_since_) {
    unsettled_since_ = sure_look_.last;
  }
}

Duration LookPace::UnsettledInterval() const {
  const MonotonicTime since = unsettled_since_.value_or(sure_look_.last);
  return std::clamp(std::chrono::floor<Duration>(sure_look_.last - since) / kLooksInUnsettledTime,
                    kUnsettledInterval, kRootInterval);
}

bool LookPace::MayWatch() const {
  const bool is_soon = UnsettledInterval() < kRootInterval;
  return last_reason_ == Reason::kActive && (left_.is_settled || !is_soon);
}

bool LookPace::MayGlance() const {
  const MonotonicTime now = tools_.clock.Now();
  if (lasting_) return left_.is_settled && now < lasting_->next_look;
  MonotonicTime end = sure_look_.next;
  if (left_.tries_again) end = sure_look_.last + kRootInterval;
  if (!left_.is_settled) end = sure_look_.last + UnsettledInterval();
  return last_reason_ == Reason::kActive && now < end;
}

MonotonicTime LookPace::RareLook() const {
  const bool is_soon = !left_.is_settled || left_.tries_again;
  return is_soon ? sure_look_.last + kRootInterval : sure_look_.rare;
}

int LookPace::Percent() {
  return std::uniform_int_distribution<int>(kLeastOfInterval, 200 - kLeastOfInterval)(jitter_);
}

MonotonicTime LookPace::NextPoll(MonotonicTime began, const Confirmation& confirmation,
                                 bool is_owner_unseen) {
  if (std::exchange(look_again_, false)) return tools_.clock.Now() + kControllersTake;
  Duration interval = tools_.settings->poll_interval;
  if (last_reason_ == Reason::kShared) interval = std::max(interval, kRootInterval);
  // Neither what is to be written again nor what was to show whether it can be watched is left to a
  // long interval.
  if (!left_.is_settled || is_owner_unseen) interval = std::min(interval, kRootInterval);
  int percent = Percent();
  const Duration away(away_since_ ? std::chrono::ceil<Duration>(tools_.clock.Now() - *away_since_)
                                  : Duration(0));
  if (const Duration while_away = std::min(away / 2, kAwayInterval); while_away > interval) {
    interval = while_away;
    percent = std::uniform_int_distribution<int>(kLeastOfAwayInterval, 100)(jitter_);
  }
  const Duration asked = std::min(tools_.client.TakeRetryAfter(), kLongestAskedWait);
  MonotonicTime next = began + interval * percent / 100;
  // The loop wakes when a grace period ends, not a poll later.
  if (confirmation.count() > 0 && confirmation.GraceEnd() > began) {
    next = std::min(next, confirmation.GraceEnd());
  }
  if (lasting_ && left_.is_settled) {
    const MonotonicTime look = lasting_->next_look;
    next = lasting_->has_active_owner ? std::min(next, look) : look;
  }
  return std::max(next, tools_.clock.Now() + asked);
}

}  // namespace cluster_watcher

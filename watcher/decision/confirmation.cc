#include "watcher/decision/confirmation.h"

#include <algorithm>

namespace cluster_watcher {
namespace {

constexpr Duration kDefaultGrace = std::chrono::seconds(30);
constexpr std::chrono::hours kLongestTermination{24 * 365};
constexpr Duration kLongestOwnerGrace = std::chrono::hours(1);

// A terminating driver may still be computing, so its own grace period counts.
Duration OrdinaryGrace(const Settings& settings, const std::optional<RecordedOwner>& seen) {
  if (settings.grace_period) return *settings.grace_period;
  if (!seen || !seen->termination_grace) return kDefaultGrace;
  const auto own = std::min<std::chrono::seconds>(
      *seen->termination_grace,
      std::chrono::duration_cast<std::chrono::seconds>(kLongestOwnerGrace));
  return std::max<Duration>(kDefaultGrace, own);
}

}  // namespace

Duration GraceFor(const Settings& settings, Reason reason,
                  const std::optional<RecordedOwner>& seen) {
  if (reason == Reason::kScaledToZero && settings.scaled_to_zero_grace_period) {
    return *settings.scaled_to_zero_grace_period;
  }
  const Duration grace = OrdinaryGrace(settings, seen);
  if (reason == Reason::kOwnerAbsent && !seen) return std::max(grace, settings.startup_grace);
  return grace;
}

Duration TerminatesIn(const Facts& facts) {
  if (!facts.owner || !facts.owner->fields.terminates_by) return Duration(0);
  const WallTime now = facts.server_time.value_or(facts.now);
  const WallTime until =
      std::clamp<WallTime>(*facts.owner->fields.terminates_by, now, now + kLongestTermination);
  return std::chrono::ceil<Duration>(until - now);
}

void Confirmation::Add(const std::string& owner, Duration grace, MonotonicTime began,
                       MonotonicTime ended, Duration left) {
  if (count_ > 0 && owner != owner_) Reset();
  if (count_ == 0) {
    owner_ = owner;
    first_ended_ = ended;
  }
  ++count_;
  grace_ = std::max(grace_, grace);
  if (left > Duration(0)) {
    grace_ = std::max(grace_, std::chrono::ceil<Duration>(ended - first_ended_) + left);
  }
  last_began_ = began;
}

bool Confirmation::IsConfirmed(int confirmations) const {
  return count_ > 0 && count_ >= confirmations &&
         (Grace() == Duration(0) || last_began_ >= GraceEnd());
}

MonotonicTime Confirmation::Earliest(int confirmations, Duration interval) const {
  MonotonicTime look = last_began_;
  for (int count = count_; count < confirmations; ++count) {
    const MonotonicTime next = look + interval;
    look = look < GraceEnd() ? std::min(next, GraceEnd()) : next;
  }
  return std::max(look, GraceEnd());
}

}  // namespace cluster_watcher

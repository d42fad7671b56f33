#include "watcher/engine/warning.h"

namespace cluster_watcher {
namespace {

constexpr Duration kEventsLast = std::chrono::hours(1);
constexpr Duration kAboutTheSame = std::chrono::seconds(1);

}  // namespace

void Warning::Tell(const Snapshot& snapshot, const Decision& decision,
                   const std::optional<Abandonment>& on_its_way, const std::stop_token& stop) {
  if (on_its_way && snapshot.root) {
    const MonotonicTime now = tools_.clock.Now();
    const Told told{now, now + on_its_way->due_in, snapshot.root->meta.uid,
                    snapshot.OwnerIdentity(), !on_its_way->surge.empty()};
    if (!IsTold(told)) {
      if (announcer_.Warn(snapshot, decision, *on_its_way, stop)) {
        told_ = told;
      } else {
        warn_once_("nobody could be told that the cluster looks abandoned");
      }
    }
  }
  if (!decision.abandoned() && decision.reason != Reason::kUnknown && told_) {
    announcer_.CameBack(snapshot, decision,
                        std::chrono::duration_cast<Duration>(tools_.clock.Now() - told_->at), stop);
    told_.reset();
  }
}

void Warning::Spared() {
  if (!announcer_.spares_again()) told_.reset();
  if (told_) told_->spared_again = true;
}

bool Warning::IsTold(const Told& now) const {
  if (!told_ || told_->root_uid != now.root_uid || told_->owner != now.owner) return false;
  if (now.in_surge && !told_->in_surge) return false;
  const bool is_true =
      now.at <= told_->due + kAboutTheSame && now.due >= told_->due - kAboutTheSame;
  return (is_true || told_->spared_again) && now.at - told_->at < kEventsLast;
}

}  // namespace cluster_watcher

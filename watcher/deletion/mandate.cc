#include "watcher/deletion/mandate.h"

#include <utility>

#include "watcher/decision/rules.h"

namespace cluster_watcher {
namespace {

// A root that was read this long ago is read again before a batch is sent.
constexpr Duration kRenewAfter{2'500};

}  // namespace

Mandate::Mandate(const Tools& tools, WarnOnce& warn_once, const DeletionOrder& order,
                 const SentDeletes& sent)
    : tools_(tools),
      warn_once_(warn_once),
      sent_(sent),
      cluster_(*order.look.cluster),
      is_asked_(order.is_asked),
      condemned_by_(order.marks.condemned_by),
      seen_abandoned_(order.look.when.evidence),
      root_(tools.client, *order.look.root) {}

void Mandate::Take(const DeletionOrder& order) {
  condemned_by_ = order.marks.condemned_by;
  seen_abandoned_ = order.look.when.evidence;
  root_.Take(*order.look.root);
  root_state_ = order.look.root->meta.deleting ? RootState::kTerminating : RootState::kOurs;
  root_read_ = order.marked_at;
}

void Mandate::GoOn() { seen_abandoned_ = {tools_.clock.BootNow(), tools_.client.dates()}; }

void Mandate::ReadInstead(std::function<RootState()> read_other_master) {
  read_other_master_ = std::move(read_other_master);
}

RootState Mandate::Read() {
  const BootTime sent = tools_.clock.BootNow();
  root_state_ = has_root() ? root_.Read(RepeatedReads(tools_)) : read_other_master_();
  const bool may_go_on =
      has_root() ? root_state_ == RootState::kOurs || root_state_ == RootState::kTerminating
                 : root_state_ == RootState::kGone;
  root_read_ = may_go_on ? std::optional(sent) : std::nullopt;
  if (root_state_ == RootState::kUnknown) warn_once_(root_.problem().message);
  return root_state_;
}

std::optional<DeletionEnd> Mandate::WhyEnded() {
  if (!root_read_) Read();
  if (!has_root()) {
    return root_state_ == RootState::kOurs ? std::optional(DeletionEnd::kNewMaster) : std::nullopt;
  }
  const auto why = WhyEndedBy(root_state_, root().meta, {cluster_, condemned_by_, is_asked_});
  if (why) return why;
  const Duration lasts = LookLasts();
  if (lasts == Duration::max()) return std::nullopt;
  // Whatever kept the root from being read may have hidden the driver too.
  const bool is_stale = root_state_ == RootState::kUnknown || LookAge() >= lasts;
  return is_stale ? std::optional(DeletionEnd::kStale) : std::nullopt;
}

bool Mandate::Renew() {
  if (root_read_ && tools_.clock.BootNow() - *root_read_ >= kRenewAfter) {
    root_read_.reset();
    if (WhyEnded()) root_read_.reset();
  }
  return MaySend();
}

bool Mandate::MaySend() const {
  std::optional<Duration> root_age;
  if (root_read_) root_age = std::chrono::floor<Duration>(tools_.clock.BootNow() - *root_read_);
  return cluster_watcher::MaySend(LookAge(), root_age, LookLasts());
}

Duration Mandate::LookLasts() const {
  // Without a root there is no look.
  return has_root() ? cluster_watcher::LookLasts(sent_, root().meta.uid) : Duration::max();
}

Duration Mandate::LookAge() const {
  return AgeOf(seen_abandoned_, tools_.clock, tools_.client.dates());
}

bool Mandate::IsBraked() {
  if (!has_root()) return true;  // there is nothing to try it on
  const auto policy = root_.PolicyAgainstMarks(condemned_by_);
  return policy && !IsOfGuard(*policy);
}

}  // namespace cluster_watcher

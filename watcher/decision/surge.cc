#include "watcher/decision/surge.h"

namespace cluster_watcher {
namespace {

constexpr std::chrono::minutes kAtOnce{1};

bool IsAtOnce(WallTime one, WallTime other) {
  return one >= other - kAtOnce && one <= other + kAtOnce;
}

}  // namespace

void Surge::Add(Reason reason, bool first, WallTime now, std::optional<WallTime> marked) {
  if (first) {
    since_ = std::chrono::floor<std::chrono::seconds>(now);
    earlier_ = marked;
    completed_ = false;
    counted_ = !why_.empty();
  }
  completed_ = completed_ || reason == Reason::kCompleted;
}

// A watcher that was restarted, or couldn't see for a while, has written its mark again; the others
// of the surge haven't.
bool Surge::IsBeside(WallTime marked) const {
  return since_ && (IsAtOnce(marked, *since_) || (earlier_ && IsAtOnce(marked, *earlier_)));
}

bool Surge::IsSaidBy(std::optional<WallTime> marked, WallTime now) const {
  return since_ && marked && *marked >= *since_ - kAtOnce && *marked <= now + kAtOnce;
}

void Surge::SetCounted(std::string surge) {
  counted_ = true;
  why_ = std::move(surge);
}

}  // namespace cluster_watcher

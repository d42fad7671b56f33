#include "test/simulation/timeline.h"

#include <algorithm>

namespace cluster_watcher::simulation {

void Timeline::At(MonotonicTime time, Action action) {
  due_.push_back({std::max(time, now_), order_++, std::move(action)});
  std::push_heap(due_.begin(), due_.end(), Later);
}

bool Timeline::RunNext(MonotonicTime end) {
  if (due_.empty() || due_.front().time > end) return false;
  std::pop_heap(due_.begin(), due_.end(), Later);
  const Due next = std::move(due_.back());
  due_.pop_back();
  now_ = next.time;
  next.action();
  return true;
}

}  // namespace cluster_watcher::simulation

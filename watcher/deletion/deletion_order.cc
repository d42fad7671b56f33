#include "watcher/deletion/deletion_order.h"

#include <algorithm>

namespace cluster_watcher {

Duration DeletionAge(const Marks& marks, const Snapshot& look, Clock& clock) {
  if (!marks.deleting_since) return Duration(0);
  const auto age = ServerNow(look, clock) - *marks.deleting_since;
  return std::max(Duration(0), std::chrono::duration_cast<Duration>(age));
}

}  // namespace cluster_watcher

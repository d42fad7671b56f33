#include "watcher/observation/snapshot.h"

namespace cluster_watcher {

std::string Snapshot::OwnerText() const {
  if (facts.owner && facts.owner->object) return facts.owner->object->Describe();
  if (seen) return seen->ToText();
  return owner_name ? owner_name->ToText() : "";
}

std::string Snapshot::StepsText() const {
  const std::size_t all = steps.before.size() + steps.after.size();
  if (marks.phase != Phase::kDeleting || all == 0) return "";
  return std::to_string(marks.steps_done.size()) + "/" + std::to_string(all);
}

std::string Snapshot::OwnerUid() const {
  if (facts.owner && facts.owner->object) return facts.owner->object->meta.uid;
  return seen ? seen->uid : "";
}

std::string Snapshot::OwnerIdentity() const {
  if (!owner_name) return "";
  return owner_ns + "/" + owner_name->name + "/" + (seen ? seen->uid : "");
}

WallTime ServerNow(const Snapshot& snapshot, Clock& clock) {
  if (!snapshot.facts.server_time) return clock.WallNow();
  return *snapshot.facts.server_time +
         std::chrono::duration_cast<WallTime::duration>(clock.Now() - snapshot.ended);
}

}  // namespace cluster_watcher

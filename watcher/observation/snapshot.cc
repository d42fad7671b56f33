#include "watcher/observation/snapshot.h"

namespace cluster_watcher {

bool Snapshot::NeedsProof() const {
  if (!facts.owner || !cluster) return false;
  switch (facts.owner->observation) {
    case Observation::kUnknown:
      return false;
    case Observation::kActive:
      return facts.app_status.has_value();
    case Observation::kScaledToZero:
    case Observation::kAbsent:
    case Observation::kReplaced:
    case Observation::kDeleting:
    case Observation::kCompleted:
      break;
  }
  return true;
}

std::string Snapshot::OwnerText() const {
  if (facts.owner && facts.owner->object) return facts.owner->object->Describe();
  if (seen) return seen->ToText();
  return owner_name ? owner_name->ToText() : "";
}

std::string Snapshot::StepsText() const {
  const std::size_t all = pod_says.steps.before.size() + pod_says.steps.after.size();
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
         std::chrono::duration_cast<WallTime::duration>(clock.Now() - snapshot.when.ended);
}

void NoteProblem(Snapshot& snapshot, const ApiError& error) {
  if (snapshot.facts.problem.empty()) snapshot.facts.problem = error.message;
  if (error.failure == ApiFailure::kForbidden) snapshot.forbidden = true;
}

}  // namespace cluster_watcher

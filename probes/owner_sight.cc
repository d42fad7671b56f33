#include "probes/owner_sight.h"

#include <utility>

namespace cluster_watcher {

const char* ToString(Observation observation) {
  switch (observation) {
    case Observation::kActive:
      return "active";
    case Observation::kScaledToZero:
      return "scaled-to-zero";
    case Observation::kAbsent:
      return "absent";
    case Observation::kReplaced:
      return "replaced";
    case Observation::kDeleting:
      return "deleting";
    case Observation::kCompleted:
      return "completed";
    case Observation::kUnknown:
      return "unknown";
  }
  return "unknown";
}

bool IsOver(Observation observation) {
  switch (observation) {
    case Observation::kScaledToZero:
    case Observation::kAbsent:
    case Observation::kDeleting:
    case Observation::kCompleted:
      return true;
    case Observation::kActive:
    case Observation::kReplaced:
    case Observation::kUnknown:
      return false;
  }
  return false;
}

// The kind isn't compared: Look finds out whether the recorded one still fits.
bool RecordedOwner::IsFor(const OwnerName& owner, const std::string& owner_ns) const {
  return ns == owner_ns && (given.empty() ? name == owner.name : given == owner.ToText());
}

void SetUnknown(OwnerSight& sight, std::string why) {
  sight.observation = Observation::kUnknown;
  sight.detail = std::move(why);
}

void SetUnknown(OwnerSight& sight, ApiError error) {
  SetUnknown(sight, error.message);
  sight.error = std::move(error);
}

}  // namespace cluster_watcher

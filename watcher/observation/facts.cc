#include "watcher/observation/facts.h"

namespace cluster_watcher {

std::optional<std::string> Facts::OwnerNameText() const {
  if (given_owner) return given_owner->ToText();
  return ephemeral_label;
}

const char* Facts::ObservationText() const {
  if (owner) return ToString(owner->observation);
  return problem.empty() && root_read ? "none" : "unknown";
}

}  // namespace cluster_watcher

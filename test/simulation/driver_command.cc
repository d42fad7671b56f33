#include "test/simulation/driver_command.h"

namespace cluster_watcher::simulation {

std::string DriverCommand::ToText() const {
  switch (kind) {
    case Kind::kClaim:
      return ephemeral ? "claim --ephemeral" : "claim";
    case Kind::kAwait:
      return "await";
    case Kind::kRelease:
      return "release";
    case Kind::kHold:
      return "hold";
    case Kind::kUnhold:
      return "unhold";
    case Kind::kCreate:
      return ephemeral ? "create --ephemeral" : "create";
  }
  return "";
}

}  // namespace cluster_watcher::simulation

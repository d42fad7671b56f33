// Tries what the API server makes of a new master pod in a namespace: a creation as dry run, of
// which nothing is kept. So admission itself says whether masters get the sidecar, and whether a
// LimitRange, a quota or a policy refuses them because of it.
#pragma once

#include <optional>
#include <string>

#include "watcher/driver/driver_tools.h"

namespace cluster_watcher {

struct TrialMaster {
  enum class Outcome {
    kInjected,
    kNotInjected,
    kSidecarRefused,  // it is refused with the sidecar, and taken without
    kRefused,         // it is refused in any case, for what masters of people may not have
    kUnknown,         // it may not be tried, or there was no answer
  };

  Outcome outcome = Outcome::kUnknown;
  std::string sidecar;            // "cluster-watcher:0.1.0, port 9090" of one that is injected
  std::optional<ApiError> error;  // why it was refused, or is unknown
};

TrialMaster TryMaster(const DriverTools& tools, const std::string& ns);

}  // namespace cluster_watcher

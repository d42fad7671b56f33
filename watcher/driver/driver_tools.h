// The tools of the driver's side.
#pragma once

#include <memory>
#include <stop_token>
#include <string>

#include "probes/base/clock.h"
#include "probes/kube/discovery.h"
#include "probes/kube/kube_client.h"
#include "probes/kube/look_reads.h"
#include "probes/profile.h"

namespace cluster_watcher {

// Between two looks at what is waited for.
inline constexpr Duration kBetweenLooks{1'000};

// Begins the error of what was told to stop.
inline constexpr char kToldToStop[] = "told to stop";

struct DriverTools {
  KubeClient& client;
  Discovery& discovery;
  Clock& clock;
  std::stop_token stop;                                              // whoever waits ends with it
  std::shared_ptr<const ProfileTable> profiles = BuiltInProfiles();  // never null
  std::string user = {};                                             // as in ApiServer

  // For the reads of one step: what fails for the moment is asked again for a few seconds.
  Patience Reads() const {
    constexpr Duration kLongest{5'000};
    return Patience::Repeating(std::make_shared<LookReads>(clock, kLongest), stop);
  }
};

}  // namespace cluster_watcher

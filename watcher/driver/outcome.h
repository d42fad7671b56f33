// The outcome of a command of the driver's side: its exit code, and what people are told.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "probes/kube/kube_client.h"

namespace cluster_watcher {

enum class DriverExit {
  kDone = 0,
  kFailed = 1,
  kWrongUsage = 2,
  kUnknown = 4,  // what it depends on could not be read
  kNoCluster = 10,
  kOthers = 11,    // the cluster is another application's
  kNotReady = 12,  // it is condemned or incomplete
};

// Says which rule the account lacks for a request that was refused; empty: that isn't why it
// failed.
std::string RuleThatLacks(const ApiError& error);

// Explains a failed request to people, with that rule.
std::string WhyRefused(const ApiError& error);

struct DriverOutcome {
  DriverExit exit = DriverExit::kDone;
  std::string said;                   // for stdout, a line; may be empty
  std::string error;                  // why it is not kDone; for stderr, a line
  std::vector<std::string> warnings;  // for stderr

  static DriverOutcome Said(std::string text) {
    return {DriverExit::kDone, std::move(text), {}, {}};
  }
  static DriverOutcome Of(DriverExit exit, std::string error) {
    return {exit, {}, std::move(error), {}};
  }
  static DriverOutcome Of(DriverExit exit, const ApiError& error) {
    return Of(exit, WhyRefused(error));
  }
};

inline DriverOutcome Failed(std::string why) {
  return DriverOutcome::Of(DriverExit::kFailed, std::move(why));
}

}  // namespace cluster_watcher

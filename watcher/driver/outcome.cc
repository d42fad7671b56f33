#include "watcher/driver/outcome.h"

#include <span>

#include "probes/permissions.h"

namespace cluster_watcher {

std::string WhyRefused(const ApiError& error) {
  if (error.failure != ApiFailure::kForbidden || !error.policy.empty()) return error.message;
  const auto missing = MissingPermission(error);
  if (!missing) return error.message;
  const MissingRules rules = RulesThatGrant(std::span(&*missing, 1)).front();
  return error.message + "; " +
         (rules.ns.empty() ? "a ClusterRole" : "a Role in namespace " + rules.ns) +
         " needs rules: " + rules.text;
}

}  // namespace cluster_watcher

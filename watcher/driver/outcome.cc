#include "watcher/driver/outcome.h"

#include <span>

#include "probes/permissions.h"

namespace cluster_watcher {

std::string RuleThatLacks(const ApiError& error) {
  if (error.failure != ApiFailure::kForbidden || !error.policy.empty()) return "";
  const auto missing = MissingPermission(error);
  if (!missing) return "";
  const MissingRules rules = RulesThatGrant(std::span(&*missing, 1)).front();
  return (rules.ns.empty() ? "a ClusterRole" : "a Role in namespace " + rules.ns) +
         " needs rules: " + rules.text;
}

std::string WhyRefused(const ApiError& error) {
  const std::string rule = RuleThatLacks(error);
  return rule.empty() ? error.message : error.message + "; " + rule;
}

}  // namespace cluster_watcher

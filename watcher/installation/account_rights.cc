#include "watcher/installation/account_rights.h"

#include <algorithm>
#include <utility>

#include "probes/permissions.h"

namespace cluster_watcher {
namespace {

// No such API is served. The Roles of watchers grant "apply" and "brake" by name, a sweep's
// "sweep" too; nobody grants "everything", so that who has it may do everything. Source:
// manifests/chart/objects/guard and brake.
Permission OnGuard(const char* verb, const std::string& ns) {
  return {verb, "cluster-watcher", "guard", ns, ""};
}
Permission Everything(const std::string& ns) {
  return {"everything", "cluster-watcher", "everything", ns, ""};
}

Result<std::vector<std::string>, ApiError> AccountsOf(const DriverTools& tools,
                                                      const std::string& ns) {
  const ResourceType& accounts = *FindBuiltInByName("serviceaccounts", "");
  std::vector<std::string> names;
  const auto read = tools.client.EachItem(
      ApiRequest::ListMetadata(accounts, ns),
      [&](JsonValue account) {
        names.emplace_back(account["metadata"]["name"].AsString().value_or(""));
      },
      tools.Reads());
  if (!read) return Unexpected{read.error()};
  return names;
}

// Adds the account to those whose it is.
Result<Done, ApiError> Sort(const DriverTools& tools, const ServiceAccountName& account,
                            AccountRights& rights) {
  PermissionProbe probe(tools.client, tools.clock, account);
  const Permission brake = OnGuard("brake", account.ns);
  const Permission apply = OnGuard("apply", account.ns);
  const Permission exempt = OnGuard("exempt", account.ns);
  const Permission sweep = OnGuard("sweep", account.ns);
  const Permission everything = Everything(account.ns);
  const Permission create{"create", "apps", "deployments", account.ns, ""};
  const Permission asked[] = {brake, apply, exempt, sweep, everything, create};
  const auto missing = probe.FindMissing(asked, tools.Reads());
  if (!missing) return Unexpected{missing.error()};
  const auto may = [&](const Permission& permission) {
    return std::count(missing->begin(), missing->end(), permission) == 0;
  };
  if (may(everything)) return Done{};
  if (may(brake) && !may(sweep)) rights.watchers.push_back(account.name);
  const bool is_guarded = may(apply) && !may(exempt);
  if (is_guarded && may(create)) rights.shared.push_back(account.name);
  return Done{};
}

std::vector<std::string> BoundByName(const DriverTools& tools, const std::string& ns) {
  const ResourceType bindings{"rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding"};
  std::vector<std::string> names;
  // A failure says no more than the one before it.
  [[maybe_unused]] const auto read = tools.client.EachItem(
      ApiRequest::List(bindings, ns),
      [&](JsonValue binding) {
        const auto role = binding["roleRef"]["name"].AsString();
        if (role != "cluster-watcher" && role != "cluster-watcher-framework") return;
        for (const JsonValue subject : binding["subjects"].Elements()) {
          if (subject["kind"].AsString() != "ServiceAccount") continue;
          if (subject["namespace"].AsString() != ns) continue;
          names.emplace_back(subject["name"].AsString().value_or(""));
        }
      },
      tools.Reads());
  return names;
}

}  // namespace

AccountRights ReadAccountRights(const DriverTools& tools, const std::string& ns) {
  AccountRights rights;
  auto accounts = AccountsOf(tools, ns);
  if (accounts) {
    for (const std::string& name : *accounts) {
      const auto sorted = Sort(tools, {ns, name}, rights);
      if (sorted) continue;
      rights.unknown = sorted.error();
      break;
    }
  } else {
    rights.unknown = std::move(accounts).error();
  }
  if (rights.unknown) rights.watchers = BoundByName(tools, ns);
  std::sort(rights.watchers.begin(), rights.watchers.end());
  return rights;
}

}  // namespace cluster_watcher

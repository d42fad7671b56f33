#include "watcher/driver/find_profile.h"

#include <utility>
#include <vector>

#include "probes/base/names.h"
#include "watcher/driver/cluster_list.h"
#include "watcher/driver/cluster_view.h"

namespace cluster_watcher {
namespace {

// What the account may not read, it may not change either: whoever goes on is told so.
Result<bool, ApiError> Exists(const DriverTools& tools, const ClusterId& cluster) {
  const auto names = FindClusterNames(tools, cluster.profile, cluster.ns);
  if (names) return names->contains({cluster.ns, cluster.name});
  if (names.error().failure == ApiFailure::kForbidden) return false;
  return Unexpected{names.error()};
}

DriverOutcome Unreadable(const ApiError& error) {
  return DriverOutcome::Of(DriverExit::kUnknown, error);
}

}  // namespace

Result<std::vector<SharedProfile>, ApiError> ServedProfiles(const DriverTools& tools) {
  std::vector<SharedProfile> served;
  for (const SharedProfile& profile : tools.profiles->rows()) {
    // Flink starts session clusters without its operator, too.
    if (profile->HasRoot() && profile->members.labels.empty()) {
      const auto type = tools.discovery.ByPlural(profile->root, tools.Reads());
      if (!type) return Unexpected{type.error()};
      if (!*type) continue;
    }
    served.push_back(profile);
  }
  return served;
}

Result<SharedProfile, DriverOutcome> FindProfile(const DriverTools& tools, const std::string& ns,
                                                 const std::string& name) {
  const auto served = ServedProfiles(tools);
  if (!served) return Unexpected{Unreadable(served.error())};
  const SharedProfile& usual = tools.profiles->rows().front();
  std::vector<SharedProfile> found;
  for (const SharedProfile& profile : *served) {
    if (profile == usual) continue;
    const auto exists = Exists(tools, {ns, profile, name});
    if (!exists) return Unexpected{Unreadable(exists.error())};
    if (*exists) found.push_back(profile);
  }
  if (found.empty()) return SharedProfile();
  const auto view =
      ReadClusterView(tools.client, tools.discovery, {ns, usual, name}, tools.Reads());
  if (!view) return Unexpected{Unreadable(view.error())};
  if (view->exists) found.insert(found.begin(), usual);
  if (found.size() == 1) return found.front();
  std::vector<std::string> names;
  for (const SharedProfile& profile : found) names.push_back(profile->name);
  return Unexpected{DriverOutcome::Of(DriverExit::kWrongUsage,
                                      "several clusters are called " + name + ", in the words of " +
                                          Joined(names) + ": give one of them by --profile")};
}

}  // namespace cluster_watcher

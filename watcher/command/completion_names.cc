#include "watcher/command/completion_names.h"

#include <set>
#include <utility>

#include "probes/base/names.h"
#include "probes/kube/api_server.h"
#include "watcher/command/driver_session.h"
#include "watcher/command/time_limit.h"

namespace cluster_watcher {
namespace {

constexpr Duration kLongestSearch{280};
constexpr std::size_t kSideBySide = 16;

using Names = std::set<std::string>;

Names FindContexts(const TextMap& flags, const Environment& environment) {
  const auto flag = flags.find("kubeconfig");
  const auto config =
      FindApiServerPlace(flag == flags.end() ? "" : flag->second, environment).Load();
  Names names;
  if (!config) return names;
  for (const KubeconfigEntry& context : config->contexts) names.insert(context.name);
  return names;
}

ResourceType BuiltIn(const char* plural, const char* group) {
  return *FindBuiltInByName(plural, group);
}

// The lists that have the names.
struct Search {
  std::vector<ApiRequest> lists;
  std::vector<SharedProfile> profiles;  // of each list, of clusters

  void Add(const ResourceType& type, const std::string& ns, const SharedProfile& profile) {
    lists.push_back(ApiRequest::ListBySelector(type, ns, profile->Selector(), true));
    profiles.push_back(profile);
  }
};

Search SearchFor(NamesOfWhat what, DriverSession& session) {
  const std::string ns = session.settings()->ns;
  const ResourceType workloads[] = {BuiltIn("deployments", "apps"),
                                    BuiltIn("statefulsets", "apps")};
  Search search;
  switch (what) {
    case NamesOfWhat::kContexts:
      break;
    case NamesOfWhat::kNamespaces:
      search.lists.push_back(ApiRequest::ListMetadata(BuiltIn("namespaces", ""), ""));
      break;
    case NamesOfWhat::kOwners:
      for (const ResourceType& type : workloads) {
        search.lists.push_back(ApiRequest::ListMetadata(type, ns));
      }
      search.lists.push_back(ApiRequest::ListMetadata(BuiltIn("jobs", "batch"), ns));
      break;
    case NamesOfWhat::kClusters:
      for (const SharedProfile& profile : session.tools().profiles->rows()) {
        search.Add(BuiltIn("pods", ""), ns, profile);
        if (!profile->IsDefault()) continue;
        search.Add(BuiltIn("services", ""), ns, profile);
        for (const ResourceType& type : workloads) search.Add(type, ns, profile);
      }
      break;
  }
  return search;
}

std::string NameOf(const ResourceType& type, const ObjectMeta& meta, const Profile* profile) {
  if (profile != nullptr) {
    return profile->IsOshinkos(meta) ? "" : meta.Label(profile->cluster_label).value_or("");
  }
  if (!type.namespaced) return meta.name;
  // A cluster's own objects are nobody's driver.
  return meta.Label(kDefaultClusterLabel) ? "" : LowerCase(type.kind) + "/" + meta.name;
}

Names FindInCluster(NamesOfWhat what, const TextMap& flags, const Environment& environment,
                    const TimeLimit& limit) {
  Invocation invocation;
  invocation.command = Command::kList;
  for (const char* name : {"kubeconfig", "context", "namespace", "cluster-label", "profile"}) {
    if (const auto flag = flags.find(name); flag != flags.end()) invocation.flags.insert(*flag);
  }
  for (const char* name : {"server", "token", "as"}) {
    if (const auto flag = flags.find(name); flag != flags.end()) invocation.options.insert(*flag);
  }
  Session made = MakeSession(invocation, environment);
  if (!made.errors.empty()) return {};
  DriverSession session(std::move(made), limit.token());
  const Search search = SearchFor(what, session);
  Names names;
  session.tools().client.EachItemSideBySide(
      search.lists, kSideBySide,
      [&](std::size_t which, JsonValue item) {
        const auto meta = ReadObjectMeta(item);
        if (!meta) return;
        const Profile* profile = search.profiles.empty() ? nullptr : search.profiles[which].get();
        const std::string name = NameOf(search.lists[which].type, *meta, profile);
        if (!name.empty()) names.insert(name);
      },
      limit.token());
  return names;
}

}  // namespace

std::vector<std::string> FindNames(NamesOfWhat what, const TextMap& flags,
                                   const Environment& environment) {
  const TimeLimit limit({}, kLongestSearch);
  const Names names = what == NamesOfWhat::kContexts
                          ? FindContexts(flags, environment)
                          : FindInCluster(what, flags, environment, limit);
  return {names.begin(), names.end()};
}

}  // namespace cluster_watcher

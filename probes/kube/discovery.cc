#include "probes/kube/discovery.h"

#include <algorithm>

#include "probes/base/names.h"

namespace cluster_watcher {
namespace {

bool Offers(JsonValue entry, std::string_view verb) {
  for (JsonValue offered : entry["verbs"].Elements()) {
    if (offered.AsString() == verb) return true;
  }
  return false;
}

// Group and version are escaped, because an ownerReference may contain any text. `version` may be
// empty.
std::string PathOf(std::string_view group, std::string_view version) {
  std::string path = group.empty() ? "/api" : "/apis/" + PercentEncode(group);
  if (!version.empty()) path += "/" + PercentEncode(version);
  return path;
}

Unexpected<ApiError> BadDocument(const char* what) {
  return {ApiError{ApiFailure::kUnexpected, std::string("discovery: the answer is not ") + what,
                   std::nullopt}};
}

}  // namespace

bool Discovery::IsAlwaysServed(std::string_view group) {
  return group.empty() || group == "apps" || group == "batch" || group == "autoscaling" ||
         group == "policy" || group == "networking.k8s.io";
}

bool Discovery::Resource::IsCalled(std::string_view name) const {
  return name == type.plural || name == LowerCase(type.kind) || name == singular ||
         std::find(short_names.begin(), short_names.end(), name) != short_names.end();
}

Result<Done, ApiError> Discovery::Refresh(const Patience& patience) {
  read_ = false;
  auto answer = client_.Do(ApiRequest::Discover("/apis"), patience);
  if (!answer) return Unexpected{std::move(answer).error()};
  const JsonValue list = answer->document.root();
  if (list["kind"].AsString() != "APIGroupList" || !list["groups"].IsArray()) {
    return BadDocument("an APIGroupList");
  }
  std::map<std::string, std::vector<std::string>, std::less<>> versions;
  for (JsonValue group : list["groups"].Elements()) {
    const auto name = group["name"].AsString();
    if (!name || !group["versions"].IsArray()) return BadDocument("an APIGroupList");
    auto& offered = versions[std::string(*name)];
    if (auto preferred = group["preferredVersion"]["version"].AsString()) {
      offered.emplace_back(*preferred);
    }
    for (JsonValue version : group["versions"].Elements()) {
      const auto text = version["version"].AsString();
      if (!text) return BadDocument("an APIGroupList");
      offered.emplace_back(*text);
    }
  }
  if (!versions.contains("apps") || !versions.contains("batch")) {
    return BadDocument("a whole APIGroupList");
  }
  versions_ = std::move(versions);
  resources_.clear();
  missing_.clear();
  read_ = true;
  return Done{};
}

Result<Done, ApiError> Discovery::EnsureGroups(const Patience& patience) {
  if (read_) return Done{};
  return Refresh(patience);
}

Result<Done, ApiError> Discovery::ConfirmMissing(const std::string& path,
                                                 const Patience& patience) {
  if (missing_.contains(path)) return Done{};
  auto answer = client_.Do(ApiRequest::Discover(path), patience);
  if (answer) return BadDocument("what the list of groups says");
  if (answer.error().failure == ApiFailure::kNotServed) {
    missing_.insert(path);
    return Done{};
  }
  return Unexpected{std::move(answer).error()};
}

// A failure is asked again, by whoever needs to know.
void Discovery::ConfirmMissingGroups(std::span<const KindName> plurals, const Patience& patience) {
  if (!read_) return;
  std::set<std::string> wanted;
  for (const auto& [plural, group] : plurals) {
    if (IsAlwaysServed(group) || versions_.contains(group)) continue;
    const ResourceType* known = FindBuiltInByName(plural, group);
    std::string path = PathOf(group, known == nullptr ? "" : known->version);
    if (!missing_.contains(path)) wanted.insert(std::move(path));
  }
  const std::vector<std::string> paths(wanted.begin(), wanted.end());
  std::vector<ApiRequest> requests;
  for (const std::string& path : paths) requests.push_back(ApiRequest::Discover(path));
  const auto answers = client_.DoAll(requests, kReadsSideBySide, patience);
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const bool is_missing = !answers[i] && answers[i].error().failure == ApiFailure::kNotServed;
    if (is_missing) missing_.insert(paths[i]);
  }
}

Result<const Discovery::Resources*, ApiError> Discovery::ResourcesOf(const std::string& group,
                                                                     const std::string& version,
                                                                     const Patience& patience) {
  const std::string key = group + "/" + version;
  if (auto known = resources_.find(key); known != resources_.end()) return &known->second;
  auto answer = client_.Do(ApiRequest::Discover(PathOf(group, version)), patience);
  if (!answer) return Unexpected{std::move(answer).error()};
  const JsonValue list = answer->document.root();
  if (list["kind"].AsString() != "APIResourceList" || !list["resources"].IsArray()) {
    return BadDocument("an APIResourceList");
  }
  Resources resources;
  std::set<std::string, std::less<>> with_status;
  for (JsonValue entry : list["resources"].Elements()) {
    const auto plural = entry["name"].AsString();
    const auto kind = entry["kind"].AsString();
    const auto namespaced = entry["namespaced"].AsBool();
    if (!plural || !kind || !namespaced) return BadDocument("an APIResourceList");
    if (const std::size_t slash = plural->find('/'); slash != std::string_view::npos) {
      if (plural->substr(slash) == "/status") with_status.emplace(plural->substr(0, slash));
      continue;
    }
    Resource resource;
    resource.type = {group, version, std::string(*plural), std::string(*kind), *namespaced};
    resource.singular = entry["singularName"].AsString().value_or("");
    for (JsonValue name : entry["shortNames"].Elements()) {
      resource.short_names.emplace_back(name.AsString().value_or(""));
    }
    resource.offer.offers_create = Offers(entry, "create");
    resources.push_back(std::move(resource));
  }
  for (Resource& resource : resources) {
    resource.offer.has_status = with_status.contains(resource.type.plural);
  }
  return &(resources_[key] = std::move(resources));
}

Result<std::optional<ResourceType>, ApiError> Discovery::FindIn(
    const std::string& group, const std::string& version,
    const std::function<bool(const Resource&)>& wanted, const Patience& patience) {
  auto resources = ResourcesOf(group, version, patience);
  if (!resources) return Unexpected{std::move(resources).error()};
  for (const Resource& served : **resources) {
    if (wanted(served)) return std::optional(served.type);
  }
  return std::optional<ResourceType>();
}

Result<std::optional<ResourceType>, ApiError> Discovery::FindInGroup(
    const std::string& group, const std::string& version,
    const std::function<bool(const Resource&)>& wanted, const Patience& patience) {
  if (group.empty()) return FindIn(group, version.empty() ? "v1" : version, wanted, patience);
  if (auto groups = EnsureGroups(patience); !groups) return Unexpected{std::move(groups).error()};
  const auto offered = versions_.find(group);
  if (offered == versions_.end() || offered->second.empty()) {
    auto missing = ConfirmMissing(PathOf(group, version), patience);
    if (!missing) return Unexpected{std::move(missing).error()};
    return std::optional<ResourceType>();
  }
  std::vector<std::string> versions = offered->second;
  const auto preferred = std::find(versions.begin(), versions.end(), version);
  if (preferred != versions.end()) std::rotate(versions.begin(), preferred, preferred + 1);
  for (const std::string& candidate : versions) {
    auto found = FindIn(group, candidate, wanted, patience);
    if (!found || *found) return found;
  }
  return std::optional<ResourceType>();
}

Result<std::optional<ResourceType>, ApiError> Discovery::Resolve(const ResourceType& type,
                                                                 const Patience& patience) {
  if (IsAlwaysServed(type.group)) return std::optional(type);
  return FindInGroup(
      type.group, type.version,
      [&](const Resource& served) { return served.type.plural == type.plural; }, patience);
}

Result<std::optional<ResourceType>, ApiError> Discovery::ByKind(std::string_view api_version,
                                                                std::string_view kind,
                                                                const Patience& patience) {
  if (const ResourceType* known = FindBuiltInByKind(api_version, kind)) {
    return Resolve(*known, patience);
  }
  const std::size_t slash = api_version.find('/');
  const std::string group(slash == std::string_view::npos ? "" : api_version.substr(0, slash));
  const std::string version(api_version.substr(slash == std::string_view::npos ? 0 : slash + 1));
  if (version.empty()) {
    return Unexpected{
        ApiError{ApiFailure::kInvalid,
                 Quoted(kind) + ": its apiVersion " + Quoted(api_version) + " names no version",
                 std::nullopt}};
  }
  return FindInGroup(
      group, version, [&](const Resource& served) { return served.type.kind == kind; }, patience);
}

Result<std::optional<ResourceType>, ApiError> Discovery::ByPlural(std::string_view plural,
                                                                  std::string_view group,
                                                                  const Patience& patience) {
  if (const ResourceType* known = FindBuiltInByName(plural, group))
    return Resolve(*known, patience);
  return FindInGroup(
      std::string(group), "", [&](const Resource& served) { return served.type.plural == plural; },
      patience);
}

Result<std::vector<ResourceType>, ApiError> Discovery::ByName(const KindName& name,
                                                              const Patience& patience) {
  if (auto groups = EnsureGroups(patience); !groups) return Unexpected{std::move(groups).error()};
  std::vector<std::string> groups;
  for (const auto& [group, versions] : versions_) groups.push_back(group);
  if (!name.group.empty()) groups = {name.group};
  std::vector<ResourceType> found;
  for (const std::string& group : groups) {
    auto type = FindInGroup(
        group, "", [&](const Resource& served) { return served.IsCalled(name.kind); }, patience);
    if (!type) return Unexpected{std::move(type).error()};
    if (*type) found.push_back(**std::move(type));
  }
  return found;
}

Result<bool, ApiError> Discovery::IsCalled(const ResourceType& type, std::string_view name,
                                           const Patience& patience) {
  auto resources = ResourcesOf(type.group, type.version, patience);
  if (!resources) return Unexpected{std::move(resources).error()};
  return std::any_of((*resources)->begin(), (*resources)->end(), [&](const Resource& served) {
    return served.type.plural == type.plural && served.IsCalled(name);
  });
}

Result<std::optional<Discovery::Offer>, ApiError> Discovery::OfferOf(const ResourceType& type,
                                                                     const Patience& patience) {
  auto resources = ResourcesOf(type.group, type.version, patience);
  if (!resources) return Unexpected{std::move(resources).error()};
  for (const Resource& served : **resources) {
    if (served.type.plural == type.plural) return std::optional(served.offer);
  }
  return std::optional<Offer>();
}

Result<std::optional<Discovery::Offer>, ApiError> Discovery::OfferNow(const ResourceType& type,
                                                                      const Patience& patience) {
  resources_.erase(type.group + "/" + type.version);
  return OfferOf(type, patience);
}

}  // namespace cluster_watcher

#include "probes/discovery.h"

#include <algorithm>

namespace cluster_watcher {
namespace {

// Groups that no conforming API server lacks.
bool IsAlwaysServed(std::string_view group) {
  return group.empty() || group == "apps" || group == "batch" || group == "autoscaling" ||
         group == "policy" || group == "networking.k8s.io";
}

Unexpected<ApiError> BadDocument(const char* what) {
  return {ApiError{ApiFailure::kUnexpected, std::string("discovery: the answer is not ") + what,
                   std::nullopt}};
}

}  // namespace

Result<Done, ApiError> Discovery::Refresh(std::stop_token stop) {
  read_ = false;
  auto answer = client_.Do(ApiRequest::Discover("/apis"), stop);
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
  versions_ = std::move(versions);
  resources_.clear();
  read_ = true;
  return Done{};
}

Result<Done, ApiError> Discovery::EnsureGroups(std::stop_token stop) {
  if (read_) return Done{};
  return Refresh(stop);
}

Result<const Discovery::Resources*, ApiError> Discovery::ResourcesOf(const std::string& group,
                                                                     const std::string& version,
                                                                     std::stop_token stop) {
  const std::string key = group + "/" + version;
  if (auto known = resources_.find(key); known != resources_.end()) return &known->second;
  auto answer =
      client_.Do(ApiRequest::Discover(group.empty() ? "/api/" + version : "/apis/" + key), stop);
  if (!answer) return Unexpected{std::move(answer).error()};
  const JsonValue list = answer->document.root();
  if (list["kind"].AsString() != "APIResourceList" || !list["resources"].IsArray()) {
    return BadDocument("an APIResourceList");
  }
  Resources resources;
  for (JsonValue entry : list["resources"].Elements()) {
    const auto plural = entry["name"].AsString();
    const auto kind = entry["kind"].AsString();
    const auto namespaced = entry["namespaced"].AsBool();
    if (!plural || !kind || !namespaced) return BadDocument("an APIResourceList");
    if (plural->find('/') != std::string_view::npos) continue;  // a subresource
    resources.push_back({group, version, std::string(*plural), std::string(*kind), *namespaced});
  }
  return &(resources_[key] = std::move(resources));
}

Result<std::optional<ResourceType>, ApiError> Discovery::Resolve(const ResourceType& type,
                                                                 std::stop_token stop) {
  if (IsAlwaysServed(type.group)) return std::optional(type);
  if (auto groups = EnsureGroups(stop); !groups) return Unexpected{std::move(groups).error()};
  const auto group = versions_.find(type.group);
  if (group == versions_.end() || group->second.empty()) return std::optional<ResourceType>();
  const auto& offered = group->second;
  const bool as_known = std::find(offered.begin(), offered.end(), type.version) != offered.end();
  auto resources = ResourcesOf(type.group, as_known ? type.version : offered.front(), stop);
  if (!resources) return Unexpected{std::move(resources).error()};
  for (const ResourceType& served : **resources) {
    if (served.plural == type.plural) return std::optional(served);
  }
  return std::optional<ResourceType>();
}

Result<std::optional<ResourceType>, ApiError> Discovery::ByKind(std::string_view api_version,
                                                                std::string_view kind,
                                                                std::stop_token stop) {
  if (const ResourceType* known = FindBuiltInByKind(api_version, kind)) {
    return std::optional(*known);
  }
  const std::size_t slash = api_version.find('/');
  const std::string group(slash == std::string_view::npos ? "" : api_version.substr(0, slash));
  const std::string version(api_version.substr(slash == std::string_view::npos ? 0 : slash + 1));
  if (!group.empty()) {
    if (auto groups = EnsureGroups(stop); !groups) return Unexpected{std::move(groups).error()};
    const auto offered = versions_.find(group);
    if (offered == versions_.end()) return std::optional<ResourceType>();
  }
  auto resources = ResourcesOf(group, version, stop);
  if (!resources) return Unexpected{std::move(resources).error()};
  for (const ResourceType& served : **resources) {
    if (served.kind == kind) return std::optional(served);
  }
  return std::optional<ResourceType>();
}

Result<std::optional<ResourceType>, ApiError> Discovery::ByPlural(std::string_view plural,
                                                                  std::string_view group,
                                                                  std::stop_token stop) {
  if (const ResourceType* known = FindBuiltInByName(plural, group)) return Resolve(*known, stop);
  if (auto groups = EnsureGroups(stop); !groups) return Unexpected{std::move(groups).error()};
  const auto offered = versions_.find(group);
  if (offered == versions_.end() || offered->second.empty()) {
    return std::optional<ResourceType>();
  }
  auto resources = ResourcesOf(offered->first, offered->second.front(), stop);
  if (!resources) return Unexpected{std::move(resources).error()};
  for (const ResourceType& served : **resources) {
    if (served.plural == plural) return std::optional(served);
  }
  return std::optional<ResourceType>();
}

}  // namespace cluster_watcher

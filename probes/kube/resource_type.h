// Kinds of objects and their paths on the API server.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cluster_watcher {

struct ResourceType {
  std::string group;    // empty: core
  std::string version;  // "v1"
  std::string plural;   // "deployments"
  std::string kind;     // "Deployment"
  bool namespaced = true;

  std::string ApiVersion() const;     // "apps/v1", "v1"
  std::string QualifiedName() const;  // "deployments.apps", "pods"
  std::string SingularName() const;   // "deployment.apps", "pod": the kind as people write it
  // Returns "/apis/apps/v1/namespaces/NS/deployments". An empty `ns` means all namespaces; it is
  // ignored if the kind isn't namespaced.
  std::string CollectionPath(std::string_view ns) const;
  std::string ObjectPath(std::string_view ns, std::string_view name) const;

  bool operator==(const ResourceType&) const = default;
};

// Finds one of the kinds that the program knows without asking; nullptr if it isn't one.
const ResourceType* FindBuiltInByKind(std::string_view api_version, std::string_view kind);

// Finds one by any name that kubectl accepts: "deploy", "deployment", "deployments", "Deployment",
// with or without ".group" ("deployments.apps", "deployment.v1.apps" too).
const ResourceType* FindBuiltInByName(std::string_view name, std::string_view group);
bool IsPod(const ResourceType& type);

const std::vector<ResourceType>& BuiltInResourceTypes();  // as in built_in_types.h

// Escapes a path segment or query value; unreserved characters (RFC 3986) stay.
std::string PercentEncode(std::string_view text);

}  // namespace cluster_watcher

// The kinds of objects that the API server serves, and the paths under which it does.
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
  std::string SingularName() const;   // "deployment.apps", "pod": how people write an object's kind
  // "/apis/apps/v1/namespaces/NS/deployments"; `ns` is ignored where the kind isn't namespaced, and
  // empty means all namespaces.
  std::string CollectionPath(std::string_view ns) const;
  std::string ObjectPath(std::string_view ns, std::string_view name) const;

  bool operator==(const ResourceType&) const = default;
};

// The built-in kinds that the program knows without asking; nullptr: not one of them.
const ResourceType* FindBuiltInByKind(std::string_view api_version, std::string_view kind);

// By any name that kubectl accepts: "deploy", "deployment", "deployments", "Deployment", with or
// without ".group" ("deployments.apps", "deployment.v1.apps" too).
const ResourceType* FindBuiltInByName(std::string_view name, std::string_view group);

const std::vector<ResourceType>& BuiltInResourceTypes();

// Escapes one path segment or query value (RFC 3986 unreserved characters stay).
std::string PercentEncode(std::string_view text);

}  // namespace cluster_watcher

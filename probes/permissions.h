// Asks the API server what the account may do: one SelfSubjectAccessReview for each permission,
// which every authenticated user may create. What another account may do is asked by
// LocalSubjectAccessReviews, or SubjectAccessReviews of the whole cluster.
// Source: kubernetes.io "Authorization", k8s.io/api authorization/v1.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "probes/base/clock.h"
#include "probes/kube/kube_client.h"
#include "probes/kube/resource_type.h"

namespace cluster_watcher {

struct Permission {
  std::string verb;      // as in RBAC: "list"
  std::string group;     // empty: core
  std::string resource;  // the plural, with a subresource: "deployments/scale"
  std::string ns;        // empty: the whole cluster
  std::string name;      // of one object; empty: any

  static Permission For(std::string_view verb, const ResourceType& type, std::string_view ns,
                        std::string_view name = "");

  bool operator==(const Permission&) const = default;
};

// The rules to add to a Role in `ns`, or to a ClusterRole if that is empty.
struct MissingRules {
  std::string ns;
  std::string text;  // YAML in one line: [{apiGroups: ["apps"], resources: ["deployments"], ...}]
};

// Returns rules that grant `missing`, grouped by namespace. They name no objects, so that they
// still fit when objects come and go.
std::vector<MissingRules> RulesThatGrant(std::span<const Permission> missing);

// Reads from an RBAC refusal (kForbidden) what is missing; nullopt: it doesn't say so.
std::optional<Permission> MissingPermission(const ApiError& refused);

struct ServiceAccountName {
  std::string ns;
  std::string name;
};

class PermissionProbe {
 public:
  // Asks about `account`; nullopt: about the one whose token is sent.
  PermissionProbe(KubeClient& client, Clock& clock,
                  std::optional<ServiceAccountName> account = std::nullopt)
      : client_(client), clock_(clock), account_(std::move(account)) {}

  // Returns those of `permissions` that the account lacks, in the same order. Sends no requests
  // after 5 s; each one may take 2 s. Any missing answer is an error.
  Result<std::vector<Permission>, ApiError> FindMissing(std::span<const Permission> permissions,
                                                        const Patience& patience);

 private:
  KubeClient& client_;
  Clock& clock_;
  const std::optional<ServiceAccountName> account_;
};

}  // namespace cluster_watcher

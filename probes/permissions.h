// What the account may do, as the API server itself says it: a SelfSubjectAccessReview for each
// permission, which every authenticated user may create. Source: kubernetes.io "Authorization",
// k8s.io/api authorization/v1.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "probes/base/clock.h"
#include "probes/kube/kube_client.h"
#include "probes/kube/resource_type.h"

namespace cluster_watcher {

struct Permission {
  std::string verb;      // as RBAC has it: "list"
  std::string group;     // empty: core
  std::string resource;  // the plural, with its subresource: "deployments/scale"
  std::string ns;        // empty: in all of the cluster
  std::string name;      // of the one object; empty: any

  static Permission For(std::string_view verb, const ResourceType& type, std::string_view ns,
                        std::string_view name = "");

  bool operator==(const Permission&) const = default;
};

// What is to be added to the rules of a Role in `ns`, or where that is empty of a ClusterRole.
struct MissingRules {
  std::string ns;
  std::string text;  // YAML in one line: [{apiGroups: ["apps"], resources: ["deployments"], ...}]
};

// The rules that grant `missing`, for each namespace. They name no objects, so that they go on
// fitting where objects come and go.
std::vector<MissingRules> RulesThatGrant(std::span<const Permission> missing);

class PermissionProbe {
 public:
  PermissionProbe(KubeClient& client, Clock& clock) : client_(client), clock_(clock) {}

  // Those of `permissions` that the account lacks, in their order. Takes 7 s at most, and mostly
  // some milliseconds. An error where one of them was not answered: then nothing is known.
  Result<std::vector<Permission>, ApiError> FindMissing(std::span<const Permission> permissions,
                                                        const Patience& patience);

 private:
  KubeClient& client_;
  Clock& clock_;
};

}  // namespace cluster_watcher

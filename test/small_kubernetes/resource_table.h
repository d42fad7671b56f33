// The table of served kinds and their differences.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "test/small_kubernetes/json.h"

namespace cluster_watcher::small_kubernetes {

// Where a scale subresource finds its fields: keys from the top of the object.
struct ScalePaths {
  std::vector<std::string> spec = {"spec", "replicas"};
  std::vector<std::string> status = {"status", "replicas"};
  std::vector<std::string> selector = {};  // a text; empty if there is none
};

// Returns the value at the end of `keys`; nullptr if the path breaks off.
const Value* FindAt(const Value& value, const std::vector<std::string>& keys);
std::string JsonPath(const std::vector<std::string>& keys);  // ".spec.replicas"

struct Resource {
  std::string group;  // empty: core
  std::string version;
  std::string plural;
  std::string kind;
  bool namespaced = true;
  bool has_status = false;  // a status subresource: other writes don't touch .status
  bool has_scale = false;
  ScalePaths scale;
  bool has_generation = false;
  bool orphans_by_default = false;  // dependents, if a DELETE states no propagationPolicy
  bool returns_deleted = false;     // DELETE returns the object, not a Status
  bool custom = false;              // as if made by a CustomResourceDefinition
  bool create_only = false;
  bool terminating = false;  // its definition is being deleted: listed, but none are created
  bool removed = false;      // no longer served
  std::string singular;      // empty: the kind in lower case
  std::string list_kind;     // empty: the kind plus "List"
  std::vector<std::string> short_names;
  std::vector<std::string> categories;
  std::shared_ptr<const Value> schema;  // of a custom kind; null: anything is valid

  std::size_t index = 0;    // in the table
  std::size_t storage = 0;  // index of the kind it is stored as; mostly its own

  std::string ApiVersion() const;     // "apps/v1", "v1"
  std::string QualifiedName() const;  // "deployments.apps", "pods"
  std::string QualifiedKind() const;  // "Deployment.apps", "Pod"
  std::string Singular() const;
  std::string ListKind() const;
};

class ResourceTable {
 public:
  // Holds the built-in kinds.
  ResourceTable();

  // Returns the kind, which is now served. A kind that was there before is replaced and served
  // again. Versions of one kind share their objects.
  const Resource& Add(Resource resource);
  // Returns the kind in all versions that were ever served.
  std::vector<Resource*> Versions(std::string_view group, std::string_view plural);
  const Resource* Find(std::string_view group, std::string_view version,
                       std::string_view plural) const;
  const Resource* FindKind(std::string_view api_version, std::string_view kind) const;
  // Requires that the kind is built in.
  const Resource& Of(std::string_view group, std::string_view plural) const;
  const Resource& At(std::size_t index) const { return resources_[index]; }

  // Whether the group is one of Kubernetes' own, in whatever version.
  bool HasBuiltIn(std::string_view group) const;
  // The served versions of a group, the preferred one first; empty: it isn't served.
  std::vector<std::string> VersionsOf(std::string_view group) const;
  bool ServesVersion(std::string_view group, std::string_view version) const;
  const std::deque<Resource>& All() const { return resources_; }

 private:
  std::deque<Resource> resources_;
};

}  // namespace cluster_watcher::small_kubernetes

// The kinds of objects that are served, as one table, and what differs between them.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>

namespace cluster_watcher::small_kubernetes {

struct Resource {
  std::string group;  // empty: core
  std::string version;
  std::string plural;
  std::string kind;
  bool namespaced = true;
  bool has_status = false;  // a status subresource: other writes don't touch .status
  bool has_scale = false;
  bool has_generation = false;
  bool orphans_by_default = false;  // dependents, when DELETE states no propagationPolicy
  bool returns_deleted = false;     // DELETE answers the object, not a Status
  bool custom = false;              // as a CustomResourceDefinition makes it
  bool create_only = false;
  bool terminating = false;  // its definition is being deleted: still listed, no longer writable
  bool removed = false;      // no longer served
  std::string short_name;

  std::size_t index = 0;    // in the table
  std::size_t storage = 0;  // the index of the kind that it is stored as; mostly its own

  std::string ApiVersion() const;     // "apps/v1", "v1"
  std::string QualifiedName() const;  // "deployments.apps", "pods"
  std::string QualifiedKind() const;  // "Deployment.apps", "Pod"
};

class ResourceTable {
 public:
  // With the built-in kinds.
  ResourceTable();

  // Returns the kind that is now served; one that was there before is served again, and changed.
  const Resource& Add(Resource resource);
  // nullptr: not served.
  Resource* Find(std::string_view group, std::string_view plural);
  const Resource* Find(std::string_view group, std::string_view version,
                       std::string_view plural) const;
  const Resource* FindKind(std::string_view api_version, std::string_view kind) const;
  // A built-in one, which must exist.
  const Resource& Of(std::string_view group, std::string_view plural) const;
  const Resource& At(std::size_t index) const { return resources_[index]; }

  bool ServesGroup(std::string_view group) const;
  bool ServesVersion(std::string_view group, std::string_view version) const;
  const std::deque<Resource>& All() const { return resources_; }

 private:
  std::deque<Resource> resources_;
};

}  // namespace cluster_watcher::small_kubernetes

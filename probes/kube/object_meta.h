// The metadata that every Kubernetes object carries, as far as the program reads it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "probes/base/json.h"
#include "probes/base/result.h"
#include "probes/kube/resource_type.h"

namespace cluster_watcher {

struct OwnerReference {
  std::string api_version;
  std::string kind;
  std::string name;
  std::string uid;
  bool controller = false;
  bool block_owner_deletion = false;
};

struct ObjectMeta {
  std::string name;
  std::string ns;  // empty: cluster-scoped
  std::string uid;
  std::string resource_version;
  std::map<std::string, std::string, std::less<>> labels;
  std::map<std::string, std::string, std::less<>> annotations;
  std::vector<OwnerReference> owner_references;
  bool deleting = false;   // has a deletionTimestamp
  bool orphaning = false;  // and what it controls will be left (the finalizer "orphan")
  std::string created;     // creationTimestamp, RFC 3339; may be empty

  const OwnerReference* Controller() const;                           // nullptr: none
  bool IsOwnedBy(std::string_view owner_uid) const;                   // by any ownerReference
  std::optional<std::string> Label(std::string_view key) const;       // nullopt: not set
  std::optional<std::string> Annotation(std::string_view key) const;  // nullopt: not set
};

// Reads `object`'s metadata. An error where it isn't what an API server sends: no name, UID or
// resourceVersion, or a field of the wrong type.
Result<ObjectMeta> ReadObjectMeta(JsonValue object);

// One object of a cluster: what it is and its metadata.
struct KubeObject {
  ResourceType type;
  ObjectMeta meta;

  std::string Describe() const;  // "deployment.apps/bob"
};

}  // namespace cluster_watcher

// The metadata of a Kubernetes object, as far as the program uses it.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "probes/base/clock.h"
#include "probes/base/json.h"
#include "probes/base/result.h"
#include "probes/base/shared.h"
#include "probes/kube/resource_type.h"

namespace cluster_watcher {

struct OwnerReference {
  std::string api_version;
  std::string kind;
  std::string name;
  std::string uid;
  bool controller = false;
  bool block_owner_deletion = false;

  bool operator==(const OwnerReference&) const = default;
};

// Objects that own or control each other, one above the other, are followed no further.
inline constexpr int kLongestOwnerChain = 16;

struct ObjectMeta {
  using Texts = std::map<std::string, std::string, std::less<>>;

  // Metadata that most objects of a list have in common: copies share it, and lists of many let
  // neighbours.
  struct Common {
    std::string ns;  // empty if cluster-scoped
    Texts labels;
    Texts annotations;  // ours and OpenShift's
    std::vector<OwnerReference> owner_references;

    bool operator==(const Common&) const = default;
  };

  // Finalizers, "a, b", for people: an object is the same whatever still holds it.
  struct Finalizers {
    std::string names = {};
    bool operator==(const Finalizers&) const { return true; }
  };

  std::string name;
  std::string uid;
  std::string resource_version;
  Shared<Common> common;
  std::optional<WallTime> created;  // creationTimestamp; nullopt: it has none that is a time
  std::int64_t generation = 0;  // counts changes of the spec; 0 where the kind doesn't count them
  bool deleting = false;        // has a deletionTimestamp
  Finalizers held_by = {};      // only if it is deleting

  const std::string& ns() const { return common->ns; }
  const Texts& labels() const { return common->labels; }
  const Texts& annotations() const { return common->annotations; }
  const std::vector<OwnerReference>& owner_references() const { return common->owner_references; }
  const OwnerReference* Controller() const;                           // nullptr if none
  bool IsOwnedBy(std::string_view owner_uid) const;                   // by any ownerReference
  std::optional<std::string> Label(std::string_view key) const;       // nullopt if not set
  std::optional<std::string> Annotation(std::string_view key) const;  // nullopt if not set

  bool operator==(const ObjectMeta&) const = default;
};

// Reads the metadata of `object`. Fails without a name, UID or resourceVersion, or if a field has
// the wrong type.
Result<ObjectMeta> ReadObjectMeta(JsonValue object);

// Whether of the same object nothing that counts here has changed between `before` and `now`:
// metadata and spec are as they were; status and resourceVersion may differ. Source: kubernetes.io
// "Kubernetes API conventions", generation.
bool HasOnlyNewStatus(const ObjectMeta& before, ObjectMeta now);

// Whether a resourceVersion is `than` or an earlier one. They are decimal numbers; false if one
// isn't. Source: kubernetes.io "Kubernetes API Concepts", resource versions.
bool IsNoLaterVersion(std::string_view version, std::string_view than);

// An object of a cluster: its type and metadata.
struct KubeObject {
  Shared<ResourceType> type;
  ObjectMeta meta;

  std::string Describe() const;  // "deployment.apps/bob"
};

// There may be tens of thousands: a queue grows without a copy, and shrinks as it is emptied.
using KubeObjects = std::deque<KubeObject>;

}  // namespace cluster_watcher

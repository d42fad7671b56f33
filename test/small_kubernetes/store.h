// The storage, like etcd for Kubernetes: objects with increasing resourceVersions, and their
// history.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "probes/base/clock.h"
#include "test/small_kubernetes/json.h"
#include "test/small_kubernetes/resource_table.h"

namespace cluster_watcher::small_kubernetes {

// One version of an object; immutable once it is stored.
struct Object {
  const Resource* resource = nullptr;
  std::string ns;  // empty if cluster-scoped
  std::string name;
  std::string uid;
  std::string controller_uid;  // of the ownerReference with controller: true
  std::uint64_t version = 0;
  bool deleting = false;
  bool owned = false;  // has ownerReferences
  Value body;          // without kind and apiVersion

  // Returns `body`, or only its metadata, as JSON; cached.
  const std::string& Json() const;
  const std::string& MetadataJson() const;
  const Value& Metadata() const { return *Find(body, "metadata"); }
  const Value* Labels() const { return Find(body, "metadata", "labels"); }

 private:
  mutable std::string json_;
  mutable std::string metadata_json_;
};
using ObjectPtr = std::shared_ptr<const Object>;

struct Change {
  std::uint64_t version;
  MonotonicTime time;
  ObjectPtr before;  // null: created
  ObjectPtr after;   // null: removed
};

class Store {
 public:
  static constexpr std::uint64_t kNow = ~std::uint64_t{0};

  // UIDs and generated names depend on `seed`.
  Store(Clock& clock, std::uint64_t seed) : clock_(clock), random_(seed) {}

  // Returns the object as of a version; null if there is none.
  ObjectPtr Get(const Resource& resource, std::string_view ns, std::string_view name,
                std::uint64_t as_of = kNow) const;
  ObjectPtr FindUid(std::string_view uid) const;
  // Returns objects ordered by namespace and name; an empty `ns` means all.
  std::vector<ObjectPtr> List(const Resource& resource, std::string_view ns,
                              std::uint64_t as_of = kNow) const;

  // Calls `see` for each of those that are there now, without a copy; it must not write.
  template <typename See>
  void ForEach(const Resource& resource, std::string_view ns, const See& see) const {
    if (objects_.size() <= resource.storage) return;
    const Objects& objects = objects_[resource.storage];
    auto next =
        ns.empty() ? objects.begin() : objects.lower_bound(std::pair(ns, std::string_view()));
    for (; next != objects.end() && (ns.empty() || next->first.first == ns); ++next) {
      see(next->second);
    }
  }

  // `body` needs metadata with a name, and a namespace if the kind has one. Fills in
  // creationTimestamp, resourceVersion and a missing uid. Without `commit` it only returns the
  // result.
  ObjectPtr Create(const Resource& resource, Value body, bool commit = true);
  // Returns `old` itself if nothing would change.
  ObjectPtr Update(const ObjectPtr& old, Value body, bool commit = true);
  void Remove(const Object& object);

  std::uint64_t Version() const { return version_; }
  // The last version that changed an object of this kind; and the last that may concern the garbage
  // collector.
  std::uint64_t VersionOf(const Resource& resource) const;
  std::uint64_t OwnershipVersion() const { return ownership_version_; }
  // The last version that changed an object that `uid` controls, or one of this kind without a
  // controller.
  std::uint64_t VersionBelow(const std::string& uid, const Resource& resource) const;
  // The last version that is at least `age` old.
  std::uint64_t VersionBefore(Duration age) const;
  // The oldest version whose state can be read.
  std::uint64_t OldestVersion() const { return oldest_version_; }
  const std::deque<Change>& History() const { return history_; }

  std::string Timestamp(Duration from_now = Duration{0}) const;  // "2026-01-31T12:00:00Z"
  std::string NewUid();
  // Returns `length` characters as in generated names.
  std::string RandomName(std::size_t length);

 private:
  // Looked up by views, without creating strings.
  using Key = std::pair<std::string, std::string>;
  struct Less {
    using is_transparent = void;
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      const int order = std::string_view(a.first).compare(b.first);
      return order != 0 ? order < 0 : std::string_view(a.second) < std::string_view(b.second);
    }
  };
  using Objects = std::map<Key, ObjectPtr, Less>;

  Objects& Of(const Resource& resource);
  void Record(const Resource& resource, ObjectPtr before, ObjectPtr after);
  std::uint64_t Random();

  Clock& clock_;
  std::uint64_t random_;
  std::uint64_t version_ = 1;
  std::uint64_t ownership_version_ = 1;
  std::uint64_t oldest_version_ = 1;
  std::deque<Objects> objects_;         // by Resource::storage
  std::deque<std::uint64_t> versions_;  // by Resource::storage
  std::deque<std::uint64_t> uncontrolled_versions_;
  std::unordered_map<std::string, std::uint64_t> controlled_versions_;  // by the controller's UID
  std::unordered_map<std::string_view, ObjectPtr> by_uid_;
  std::deque<Change> history_;
};

// "2026-01-31T12:00:00Z"
std::string FormatTime(WallTime time);

}  // namespace cluster_watcher::small_kubernetes

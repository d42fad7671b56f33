#include "test/small_kubernetes/garbage_collector.h"

#include <string_view>
#include <utility>
#include <vector>

#include "test/small_kubernetes/deletion.h"
#include "test/small_kubernetes/objects.h"

namespace cluster_watcher::small_kubernetes {
namespace {

class Pass {
 public:
  Pass(Store& store, const ResourceTable& resources) : store_(store), resources_(resources) {
    for (const Resource& resource : resources.All()) {
      if (resource.index != resource.storage) continue;
      for (ObjectPtr& object : store.List(resource, {})) {
        if (object->owned) owned_.push_back(object);
        if (object->deleting) deleting_.push_back(std::move(object));
      }
    }
  }

  void Run() {
    for (const ObjectPtr& listed : deleting_) {
      const ObjectPtr object = store_.FindUid(listed->uid);
      if (object == nullptr) continue;
      if (HasFinalizer(*object, kOrphan)) {
        Orphan(*object);
        RemoveFinalizer(store_, object, kOrphan);
      } else if (HasFinalizer(*object, kForeground) && !HasDependents(*object, true)) {
        RemoveFinalizer(store_, object, kForeground);
      }
    }
    for (const ObjectPtr& object : owned_) {
      // Orphaning may have changed or removed the object.
      if (ObjectPtr now = store_.FindUid(object->uid); now != nullptr && now->owned) Judge(now);
    }
  }

 private:
  enum class Owner { kThere, kWaiting, kGone };

  Owner Look(const Object& dependent, const Value& reference) const {
    const ObjectPtr owner = store_.FindUid(TextOf(Find(reference, "uid")));
    if (owner != nullptr && (owner->ns.empty() || owner->ns == dependent.ns)) {
      const bool waits = owner->deleting && HasFinalizer(*owner, kForeground);
      return waits ? Owner::kWaiting : Owner::kThere;
    }
    const bool served = resources_.FindKind(TextOf(Find(reference, "apiVersion")),
                                            TextOf(Find(reference, "kind"))) != nullptr;
    return served ? Owner::kGone : Owner::kThere;
  }

  bool HasDependents(const Object& owner, bool blocking) const {
    for (const ObjectPtr& object : owned_) {
      const ObjectPtr now = store_.FindUid(object->uid);
      if (now == nullptr || !now->owned || (now->ns != owner.ns && !owner.ns.empty())) continue;
      for (const Value& reference : Find(now->Metadata(), "ownerReferences")->GetArray()) {
        if (TextOf(Find(reference, "uid")) == owner.uid &&
            (!blocking || IsTrue(Find(reference, "blockOwnerDeletion")))) {
          return true;
        }
      }
    }
    return false;
  }

  template <typename Keep>
  void FilterOwners(const ObjectPtr& object, Keep keep) {
    Value body = Copy(object->body);
    Value& metadata = *Find(body, "metadata");
    Value kept = EmptyArray();
    for (const Value& reference : Find(metadata, "ownerReferences")->GetArray()) {
      if (keep(reference)) Append(kept, Copy(reference));
    }
    Remove(metadata, "ownerReferences");
    if (!kept.Empty()) Set(metadata, "ownerReferences", std::move(kept));
    store_.Update(object, std::move(body));
  }

  void Orphan(const Object& owner) {
    for (const ObjectPtr& object : owned_) {
      const ObjectPtr now = store_.FindUid(object->uid);
      if (now == nullptr || !now->owned) continue;
      FilterOwners(now, [&](const Value& r) { return TextOf(Find(r, "uid")) != owner.uid; });
    }
  }

  void Judge(const ObjectPtr& object) {
    if (object->deleting && !HasFinalizer(*object, kForeground)) return;
    bool there = false, waiting = false, gone = false;
    for (const Value& reference : Find(object->Metadata(), "ownerReferences")->GetArray()) {
      const Owner owner = Look(*object, reference);
      there |= owner == Owner::kThere;
      waiting |= owner == Owner::kWaiting;
      gone |= owner == Owner::kGone;
    }
    if (there) {
      if (waiting || gone) {
        FilterOwners(object, [&](const Value& r) { return Look(*object, r) == Owner::kThere; });
      }
      return;
    }
    if (object->deleting) return;
    DeleteOptions options;
    options.propagation = waiting && HasDependents(*object, false) ? "Foreground"
                          : HasFinalizer(*object, kOrphan)         ? "Orphan"
                          : HasFinalizer(*object, kForeground)     ? "Foreground"
                                                                   : "Background";
    Delete(store_, object, options);
  }

  Store& store_;
  const ResourceTable& resources_;
  std::vector<ObjectPtr> owned_;
  std::vector<ObjectPtr> deleting_;
};

}  // namespace

void CollectGarbage(Store& store, const ResourceTable& resources) { Pass(store, resources).Run(); }

}  // namespace cluster_watcher::small_kubernetes

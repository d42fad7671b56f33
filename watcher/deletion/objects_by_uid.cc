#include "watcher/deletion/objects_by_uid.h"

#include <algorithm>

namespace cluster_watcher {

ObjectsByUid::ObjectsByUid(const KubeObjects& objects) {
  sorted_.reserve(objects.size());
  for (const KubeObject& object : objects) sorted_.push_back(&object);
  std::sort(sorted_.begin(), sorted_.end(),
            [](const KubeObject* a, const KubeObject* b) { return a->meta.uid < b->meta.uid; });
}

const KubeObject* ObjectsByUid::Find(std::string_view uid) const {
  const auto found = std::lower_bound(
      sorted_.begin(), sorted_.end(), uid,
      [](const KubeObject* object, std::string_view wanted) { return object->meta.uid < wanted; });
  return found == sorted_.end() || (*found)->meta.uid != uid ? nullptr : *found;
}

}  // namespace cluster_watcher

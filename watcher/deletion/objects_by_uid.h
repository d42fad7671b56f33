// Finds objects of a list by their UIDs. Takes little: there may be tens of thousands.
#pragma once

#include <string_view>
#include <vector>

#include "probes/kube/object_meta.h"

namespace cluster_watcher {

class ObjectsByUid {
 public:
  // `objects` stay where they are as long as this is used.
  explicit ObjectsByUid(const KubeObjects& objects);

  const KubeObject* Find(std::string_view uid) const;  // nullptr: it isn't among them

 private:
  std::vector<const KubeObject*> sorted_;
};

}  // namespace cluster_watcher

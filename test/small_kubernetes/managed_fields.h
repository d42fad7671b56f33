// Which manager owns which fields of an object (metadata.managedFields). Tracked from the first
// write on that names its manager by `fieldManager`; a list counts as one field, and the status as
// none. Source: kubernetes.io "Server-Side Apply".
#pragma once

#include <string>
#include <string_view>

#include "test/small_kubernetes/json.h"

namespace cluster_watcher::small_kubernetes {

struct FieldWrite {
  std::string_view manager;  // empty: it didn't say
  std::string api_version;
  std::string time;
};

// Writes the managedFields of `body` after a write of `old` (null: it is new).
void NoteUpdate(const Value* old, Value& body, const FieldWrite& write);

}  // namespace cluster_watcher::small_kubernetes

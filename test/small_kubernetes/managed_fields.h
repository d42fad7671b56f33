// Which manager owns which fields of an object (metadata.managedFields), and server-side apply.
// Tracked from the first write on that names its manager by `fieldManager`; a list counts as one
// field, and the status as none. Source: kubernetes.io "Server-Side Apply".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "test/small_kubernetes/json.h"
#include "test/small_kubernetes/status.h"

namespace cluster_watcher::small_kubernetes {

struct FieldWrite {
  std::string_view manager;  // empty: it didn't say
  std::string api_version;
  std::string time;
};

// Says which fields of `config` another manager owns that wants them otherwise; empty: none.
std::vector<Cause> ApplyConflicts(const Value& live, const Value& config, const FieldWrite& write);
Response ApplyFailed(const std::vector<Cause>& conflicts);

// Merges `config` into `live`, and takes off what the manager applied before and doesn't now.
void ApplyConfig(Value& live, const Value& config, const FieldWrite& write);

// Writes the managedFields of `body`: after `config` was applied to `old` (null: it is new), or
// after any other write.
void NoteApply(const Value* old, Value& body, const Value& config, const FieldWrite& write);
void NoteUpdate(const Value* old, Value& body, const FieldWrite& write);

}  // namespace cluster_watcher::small_kubernetes

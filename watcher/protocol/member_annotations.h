// What an annotation on a member of a cluster asks of its deletion: to keep it, or to delete it in
// a wave of its own.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "probes/kube/object_meta.h"

namespace cluster_watcher {

bool IsKept(const ObjectMeta& meta);  // cluster-watcher/keep: "true"

// `cluster-watcher/delete-order`, a whole number; nullopt: it isn't one.
std::optional<int> ParseDeleteOrder(std::string_view text);
// What is wrong with the delete-order of an object that has one; nullopt: nothing.
std::optional<std::string> DeleteOrderError(const ObjectMeta& meta);

}  // namespace cluster_watcher

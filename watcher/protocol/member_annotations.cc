#include "watcher/protocol/member_annotations.h"

#include <charconv>

#include "probes/base/names.h"
#include "watcher/protocol/annotations.h"

namespace cluster_watcher {

bool SpeaksForItself(const KubeObject& object) {
  const std::string& kind = object.type->kind;
  return object.meta.Controller() == nullptr ||
         (kind != "ReplicaSet" && kind != "ReplicationController");
}

bool IsKept(const ObjectMeta& meta) {
  const auto keep = meta.Annotation(annotation::kKeep);
  return keep && *keep != "false";
}

bool IsKept(const KubeObject& object) { return SpeaksForItself(object) && IsKept(object.meta); }

std::optional<int> ParseDeleteOrder(std::string_view text) {
  if (annotation::TooLong(text)) return std::nullopt;
  int order = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, order);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return order;
}

std::optional<std::string> DeleteOrderError(const ObjectMeta& meta) {
  const auto order = meta.Annotation(annotation::kDeleteOrder);
  if (!order || ParseDeleteOrder(*order)) return std::nullopt;
  return "annotation " + std::string(annotation::kDeleteOrder) + ": " +
         annotation::TooLong(*order).value_or(Quoted(*order) + " is not a whole number");
}

}  // namespace cluster_watcher

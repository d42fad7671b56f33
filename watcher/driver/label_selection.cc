#include "watcher/driver/label_selection.h"

#include "probes/base/names.h"

namespace cluster_watcher {

Result<bool, ApiError> LabelSelection::Finds(const KubeObject& object) {
  const std::string kind = object.type->QualifiedName();
  if (!found_.contains(kind)) {
    std::set<std::string> uids;
    auto read = tools_.client.EachItem(
        ApiRequest::ListBySelector(*object.type, ns_, selector_, true),
        [&uids](JsonValue item) {
          if (const auto meta = ReadObjectMeta(item)) uids.insert(meta->uid);
        },
        tools_.Reads());
    if (!read) {
      ApiError error = std::move(read).error();
      if (error.failure == ApiFailure::kInvalid) {
        error.message = "--selector: " + Quoted(selector_) + " is wrong (" + error.message +
                        "): write it as for kubectl, for example team=blue,stage!=test";
      }
      return Unexpected{std::move(error)};
    }
    found_.emplace(kind, std::move(uids));
  }
  return found_.at(kind).contains(object.meta.uid);
}

}  // namespace cluster_watcher

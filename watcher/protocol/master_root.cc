#include "watcher/protocol/master_root.h"

#include <utility>

namespace cluster_watcher {

RootState MasterRoot::Read(const Patience& patience, std::optional<Duration> timeout) {
  const ObjectMeta& known = object_.meta;
  ApiRequest request = ApiRequest::GetMetadata(object_.type, known.ns, known.name);
  if (timeout) request.http.timeout = *timeout;
  auto answer = client_.Do(request, patience);
  if (!answer && answer.error().failure == ApiFailure::kNotFound) return RootState::kGone;
  if (!answer) {
    problem_ = std::move(answer).error();
    return RootState::kUnknown;
  }
  auto meta = ReadObjectMeta(answer->document.root());
  if (!meta) {
    problem_ = {ApiFailure::kUnexpected, meta.error().message, std::nullopt};
    return RootState::kUnknown;
  }
  if (meta->uid != known.uid) return RootState::kReplaced;
  object_.meta = *std::move(meta);
  return object_.meta.deleting ? RootState::kTerminating : RootState::kOurs;
}

ApiResult MasterRoot::WriteMarks(AnnotationChanges changes, std::optional<Duration> timeout) {
  const ObjectMeta& meta = object_.meta;
  ApiRequest request = ApiRequest::MergePatch(object_.type, meta.ns, meta.name,
                                              MarksPatch(meta, std::move(changes)));
  if (timeout) request.http.timeout = *timeout;
  return client_.Do(request, {});
}

}  // namespace cluster_watcher

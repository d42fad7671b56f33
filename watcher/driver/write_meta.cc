#include "watcher/driver/write_meta.h"

#include <utility>

#include "probes/base/json.h"

namespace cluster_watcher {
namespace {

void WriteChanges(JsonWriter& patch, const char* key, const AnnotationChanges& changes) {
  if (changes.empty()) return;
  patch.Key(key).StartObject();
  for (const auto& [name, value] : changes) {
    patch.Key(name);
    if (value) {
      patch.String(*value);
    } else {
      patch.Null();
    }
  }
  patch.EndObject();
}

}  // namespace

ApiResult WriteMeta(KubeClient& client, const KubeObject& object, const MetaChanges& changes,
                    std::string_view manager) {
  JsonWriter patch;
  patch.StartObject().Key("metadata").StartObject();
  patch.Field("uid", object.meta.uid).Field("resourceVersion", object.meta.resource_version);
  WriteChanges(patch, "labels", changes.labels);
  WriteChanges(patch, "annotations", changes.annotations);
  patch.EndObject().EndObject();
  ApiRequest request =
      ApiRequest::MergePatch(object.type, object.meta.ns(), object.meta.name, patch.Text());
  return client.Do(manager.empty() ? request : std::move(request).By(manager), {});
}

Result<KubeObject, ApiError> ReadMetaAgain(KubeClient& client, const KubeObject& object,
                                           const Patience& patience) {
  auto answer =
      client.Do(ApiRequest::GetMetadata(object.type, object.meta.ns(), object.meta.name), patience);
  if (!answer) return Unexpected{std::move(answer).error()};
  auto meta = ReadObjectMeta(answer->document.root());
  if (!meta) {
    return Unexpected{ApiError{ApiFailure::kUnexpected, meta.error().message, std::nullopt}};
  }
  if (meta->uid != object.meta.uid) {
    return Unexpected{ApiError{ApiFailure::kNotFound,
                               object.Describe() + " is gone: another has its name", std::nullopt}};
  }
  return KubeObject{object.type, *std::move(meta)};
}

}  // namespace cluster_watcher

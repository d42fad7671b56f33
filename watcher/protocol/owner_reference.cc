#include "watcher/protocol/owner_reference.h"

#include "probes/base/json.h"

namespace cluster_watcher {

// A merge patch replaces the whole list, so the other references are repeated.
std::string OwnerReferencePatch(const ObjectMeta& object, const KubeObject& owner) {
  JsonWriter patch;
  patch.StartObject().Key("metadata").StartObject();
  patch.Field("resourceVersion", object.resource_version);
  patch.Key("ownerReferences").StartArray();
  for (const OwnerReference& reference : object.owner_references) {
    if (reference.uid == owner.meta.uid) continue;
    patch.StartObject().Field("apiVersion", reference.api_version).Field("kind", reference.kind);
    patch.Field("name", reference.name).Field("uid", reference.uid);
    patch.Key("controller").Bool(reference.controller);
    patch.Key("blockOwnerDeletion").Bool(reference.block_owner_deletion).EndObject();
  }
  patch.StartObject().Field("apiVersion", owner.type.ApiVersion()).Field("kind", owner.type.kind);
  patch.Field("name", owner.meta.name).Field("uid", owner.meta.uid);
  patch.Key("controller").Bool(false).Key("blockOwnerDeletion").Bool(false).EndObject();
  return patch.EndArray().EndObject().EndObject().Text();
}

}  // namespace cluster_watcher

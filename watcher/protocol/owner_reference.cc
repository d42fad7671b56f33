#include "watcher/protocol/owner_reference.h"

#include "probes/base/json.h"

namespace cluster_watcher {
namespace {

// Begins a patch up to the end of the list: a merge patch replaces the whole of it, so the other
// references are repeated.
void BeginPatch(const ObjectMeta& object, std::string_view owner_uid, JsonWriter& patch) {
  patch.StartObject().Key("metadata").StartObject();
  patch.Field("resourceVersion", object.resource_version);
  patch.Key("ownerReferences").StartArray();
  for (const OwnerReference& reference : object.owner_references()) {
    if (reference.uid == owner_uid) continue;
    patch.StartObject().Field("apiVersion", reference.api_version).Field("kind", reference.kind);
    patch.Field("name", reference.name).Field("uid", reference.uid);
    patch.Key("controller").Bool(reference.controller);
    patch.Key("blockOwnerDeletion").Bool(reference.block_owner_deletion).EndObject();
  }
}

}  // namespace

std::string OwnerReferencePatch(const ObjectMeta& object, const KubeObject& owner) {
  JsonWriter patch;
  BeginPatch(object, owner.meta.uid, patch);
  patch.StartObject().Field("apiVersion", owner.type->ApiVersion()).Field("kind", owner.type->kind);
  patch.Field("name", owner.meta.name).Field("uid", owner.meta.uid);
  patch.Key("controller").Bool(false).Key("blockOwnerDeletion").Bool(false).EndObject();
  return patch.EndArray().EndObject().EndObject().Text();
}

std::string NoOwnerReferencePatch(const ObjectMeta& object, std::string_view owner_uid) {
  JsonWriter patch;
  BeginPatch(object, owner_uid, patch);
  return patch.EndArray().EndObject().EndObject().Text();
}

}  // namespace cluster_watcher

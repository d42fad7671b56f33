#include "watcher/protocol/owner_reference.h"

#include "probes/base/json.h"

namespace cluster_watcher {

// A merge patch replaces the whole list, so the other references are repeated.
std::string WithoutOwnersPatch(const ObjectMeta& object, const std::set<std::string>& owner_uids) {
  JsonWriter patch;
  patch.StartObject().Key("metadata").StartObject();
  patch.Field("uid", object.uid).Field("resourceVersion", object.resource_version);
  patch.Key("ownerReferences").StartArray();
  for (const OwnerReference& reference : object.owner_references()) {
    if (owner_uids.contains(reference.uid)) continue;
    patch.StartObject().Field("apiVersion", reference.api_version).Field("kind", reference.kind);
    patch.Field("name", reference.name).Field("uid", reference.uid);
    patch.Key("controller").Bool(reference.controller);
    patch.Key("blockOwnerDeletion").Bool(reference.block_owner_deletion).EndObject();
  }
  return patch.EndArray().EndObject().EndObject().Text();
}

}  // namespace cluster_watcher

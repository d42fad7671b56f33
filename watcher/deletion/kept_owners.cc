#include "watcher/deletion/kept_owners.h"

#include <utility>

#include "watcher/deletion/objects_by_uid.h"

namespace cluster_watcher {

Result<std::optional<ObjectMeta>, ApiError> ReadOwner(KubeClient& client, Discovery& discovery,
                                                      const std::string& ns,
                                                      const OwnerReference& owner,
                                                      const Patience& patience) {
  auto type = discovery.ByKind(owner.api_version, owner.kind, patience);
  if (!type) return Unexpected{std::move(type).error()};
  if (!*type) return std::optional<ObjectMeta>();
  auto answer = client.Do(ApiRequest::GetMetadata(**type, ns, owner.name), patience);
  if (!answer && answer.error().failure == ApiFailure::kNotFound) {
    return std::optional<ObjectMeta>();
  }
  if (!answer) return Unexpected{std::move(answer).error()};
  auto meta = ReadObjectMeta(answer->document.root());
  if (!meta) return Unexpected{ApiError{ApiFailure::kUnexpected, meta.error().message, {}}};
  if (meta->uid != owner.uid) return std::optional<ObjectMeta>();
  return std::optional(*std::move(meta));
}

Result<std::set<std::string>, ApiError> OwnersAbove(
    KubeClient& client, Discovery& discovery, const KubeObjects& objects,
    const std::function<bool(const KubeObject&)>& survives, const Patience& patience) {
  std::set<std::string> above;
  std::vector<ObjectMeta> below;  // whose owners are still to be found
  for (const KubeObject& object : objects) {
    if (survives(object)) below.push_back(object.meta);
  }
  if (below.empty()) return above;
  const ObjectsByUid listed(objects);
  while (!below.empty()) {
    const ObjectMeta meta = std::move(below.back());
    below.pop_back();
    for (const OwnerReference& owner : meta.owner_references()) {
      if (!above.insert(owner.uid).second) continue;
      if (const KubeObject* known = listed.Find(owner.uid)) {
        below.push_back(known->meta);
        continue;
      }
      auto read = ReadOwner(client, discovery, meta.ns(), owner, patience);
      if (!read) return Unexpected{std::move(read).error()};
      if (*read) below.push_back(**std::move(read));
    }
  }
  return above;
}

}  // namespace cluster_watcher

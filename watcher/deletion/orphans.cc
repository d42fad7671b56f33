#include "watcher/deletion/orphans.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "watcher/deletion/member_listing.h"
#include "watcher/protocol/member_annotations.h"

namespace cluster_watcher {

bool Orphans::Find(const KubeObject& owner) {
  const MemberKinds kinds = FindMemberKinds(*tools_.settings, tools_.discovery, {});
  std::vector<ApiRequest> requests;
  for (const ResourceType& type : kinds.types) {
    if (type.kind != "PersistentVolumeClaim")
      requests.push_back(ApiRequest::ListMetadata(type, ns_));
  }
  bool all = kinds.errors.empty();
  const auto read = tools_.client.EachItemSideBySide(
      requests, static_cast<std::size_t>(tools_.settings->concurrency),
      [&](std::size_t which, JsonValue item) {
        auto meta = ReadObjectMeta(item);
        if (!meta || !meta->IsOwnedBy(owner.meta.uid) || IsKept(*meta)) return;
        if (meta->owner_references.size() > 1) return;  // its other owners keep it
        const std::string uid = meta->uid;
        found_.insert_or_assign(uid, KubeObject{requests[which].type, *std::move(meta)});
      },
      {});
  for (const auto& result : read) {
    if (result || result.error().failure == ApiFailure::kForbidden) continue;
    warn_once_(result.error().message);
    all = false;
  }
  return all;
}

void Orphans::FindAgain(const std::vector<FirstDelete>& named) {
  for (const FirstDelete& object : named) {
    auto type = tools_.discovery.ByPlural(object.plural, object.group, {});
    if (!type || !*type) continue;
    auto listed =
        tools_.client.Do(ApiRequest::ListByName(**type, ns_, object.name, Freshness::kSure), {});
    auto meta = listed ? ReadObjectMeta(OnlyItem(*listed)) : Result<ObjectMeta>(Failure(""));
    if (!meta || !object.HasUid(meta->uid) || IsKept(*meta)) continue;
    const std::string uid = meta->uid;
    found_.insert_or_assign(uid, KubeObject{**type, *std::move(meta)});
  }
}

std::vector<FirstDelete> Orphans::Named() const {
  std::vector<FirstDelete> named;
  for (const auto& [uid, object] : found_) named.push_back(FirstDelete::Of(object));
  return named;
}

std::vector<KubeObject> Orphans::Remaining() {
  std::vector<ApiRequest> requests;
  std::vector<std::string> uids;
  for (const auto& [uid, object] : found_) {
    requests.push_back(
        ApiRequest::ListByName(object.type, ns_, object.meta.name, Freshness::kSure));
    uids.push_back(uid);
  }
  const auto answers =
      tools_.client.DoAll(requests, static_cast<std::size_t>(tools_.settings->concurrency), {});
  std::vector<KubeObject> remaining;
  for (std::size_t i = 0; i < uids.size(); ++i) {
    KubeObject& object = found_.at(uids[i]);
    if (answers[i]) {
      auto meta = ReadObjectMeta(OnlyItem(*answers[i]));
      if (!meta || meta->uid != uids[i] || IsKept(*meta)) {
        found_.erase(uids[i]);
        continue;
      }
      object.meta = *std::move(meta);
    } else {
      warn_once_(answers[i].error().message);
    }
    remaining.push_back(object);
  }
  return remaining;
}

}  // namespace cluster_watcher

#include "watcher/deletion/orphans.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "watcher/deletion/claims.h"
#include "watcher/deletion/kept_owners.h"
#include "watcher/deletion/member_listing.h"
#include "watcher/deletion/members.h"

namespace cluster_watcher {
namespace {

constexpr std::size_t kMostInABatch = 64;

}  // namespace

bool Orphans::MayGo(const KubeObject& object) const {
  const auto label = object.meta.Label(cluster_.label);
  const bool is_claim = object.type->kind == "PersistentVolumeClaim";
  return !(label && *label != cluster_.name) && !survives_(object) &&
         (!is_claim || claims_.contains(object.meta.uid));
}

std::optional<bool> Orphans::IsClaimLeft(const KubeObject& object) {
  for (const FirstDelete& set : sets_) {
    if (!IsNamedAsClaimOf(set.name, object.meta.name)) continue;
    const auto now = ReadSet(tools_.client, cluster_.ns, set.name, RepeatedReads(tools_));
    if (!now) {
      warn_once_(now.error().message);
      return std::nullopt;
    }
    // A successor's claims bear the same names.
    if (!*now) return true;
    if (set.HasUid((*now)->uid) && (*now)->deleting) return std::nullopt;
  }
  return false;
}

bool Orphans::Find(const std::vector<const KubeObject*>& owners) {
  const Patience patience = RepeatedReads(tools_);
  const MemberKinds kinds = FindOwnedKinds(*tools_.settings, tools_.discovery, patience);
  std::vector<ApiRequest> requests;
  for (const ResourceType& type : kinds.types) {
    requests.push_back(ApiRequest::ListMetadata(type, cluster_.ns));
  }
  for (const KubeObject* owner : owners) owner_uids_.insert(owner->meta.uid);
  bool all = kinds.errors.empty();
  const auto read = tools_.client.EachItemSideBySide(
      requests, static_cast<std::size_t>(tools_.settings->concurrency),
      [&](std::size_t which, JsonValue item) {
        auto meta = ReadObjectMeta(item);
        if (!meta || meta->owner_references().empty()) return;
        const auto& above = meta->owner_references();
        // Any other owner keeps it.
        const bool loses_all = std::all_of(above.begin(), above.end(), [&](const auto& owner) {
          return owner_uids_.contains(owner.uid);
        });
        if (!loses_all) return;
        KubeObject object{kinds.types[which], *std::move(meta)};
        const std::string uid = object.meta.uid;
        if (MayGo(object)) found_.insert_or_assign(uid, std::move(object));
      },
      patience);
  for (const auto& result : read) {
    if (result || result.error().failure == ApiFailure::kForbidden) continue;
    warn_once_(result.error().message);
    all = false;
  }
  return all;
}

void Orphans::TakeUp(const std::vector<FirstDelete>& marked) {
  std::copy_if(marked.begin(), marked.end(), std::back_inserter(marked_),
               [](const FirstDelete& object) { return object.is_orphan; });
  std::copy_if(marked.begin(), marked.end(), std::back_inserter(sets_),
               [](const FirstDelete& object) {
                 return object.plural == "statefulsets" && object.group == "apps";
               });
}

void Orphans::FindMarked() {
  std::erase_if(marked_, [this](const FirstDelete& object) { return IsTold(object); });
}

bool Orphans::IsTold(const FirstDelete& marked) {
  const Patience patience = RepeatedReads(tools_);
  MemberKinds kinds = FindOwnedKinds(*tools_.settings, tools_.discovery, patience);
  const bool is_claim = marked.plural == "persistentvolumeclaims" && marked.group.empty();
  if (is_claim && tools_.settings->volumes != Volumes::kDelete) return true;
  if (is_claim) kinds.types.push_back(*FindBuiltInByName("persistentvolumeclaims", ""));
  const auto type = std::find_if(kinds.types.begin(), kinds.types.end(), [&](const auto& kind) {
    return kind.plural == marked.plural && kind.group == marked.group;
  });
  if (type == kinds.types.end()) return kinds.errors.empty();
  auto listed = tools_.client.Do(
      ApiRequest::ListByName(*type, cluster_.ns, marked.name, Freshness::kSure), patience);
  refused_.erase(marked.uid_hash);
  if (!listed) {
    warn_once_(listed.error().message);
    if (!IsTransient(listed.error().failure)) refused_.insert(marked.uid_hash);
    return false;
  }
  auto meta = ReadObjectMeta(OnlyItem(*listed));
  if (!meta || !marked.HasUid(meta->uid)) return true;
  KubeObject object{*type, *std::move(meta)};
  if (is_claim) {
    const auto is_left = IsClaimLeft(object);
    if (!is_left) return false;
    if (*is_left) claims_.insert(object.meta.uid);
  }
  if (!MayGo(object)) return true;
  for (const OwnerReference& owner : object.meta.owner_references()) {
    auto read = ReadOwner(tools_.client, tools_.discovery, cluster_.ns, owner, patience);
    if (read && *read && !(*read)->deleting) return true;
  }
  // The garbage collector takes the reference off, or the object along.
  if (!object.meta.deleting && !object.meta.owner_references().empty()) return false;
  const std::string uid = object.meta.uid;
  found_.insert_or_assign(uid, std::move(object));
  return true;
}

std::size_t Orphans::awaited() const {
  return static_cast<std::size_t>(std::count_if(
      marked_.begin(), marked_.end(),
      [this](const FirstDelete& object) { return !refused_.contains(object.uid_hash); }));
}

void Orphans::JudgeClaimAgain(const KubeObject& claim) {
  const auto is_left = IsClaimLeft(claim);
  if (is_left && *is_left) return;
  claims_.erase(claim.meta.uid);
  if (is_left) return;
  marked_.push_back(FirstDelete::Of(claim));
  marked_.back().is_orphan = true;
}

std::vector<FirstDelete> Orphans::Marks() const {
  std::vector<FirstDelete> marks = marked_;
  for (const auto& [uid, object] : found_) {
    if (marks.size() >= kMostOrphansMarked) {
      warn_once_("too many objects lose their owner to mark them all: a crash may leave some");
      break;
    }
    marks.push_back(FirstDelete::Of(object));
    marks.back().is_orphan = true;
  }
  return marks;
}

std::vector<KubeObject> Orphans::Remaining() {
  FindMarked();
  std::vector<KubeObject> remaining;
  for (auto next = found_.begin(); next != found_.end();) {
    // A batch at a time: there may be thousands, and each answer is an object.
    std::vector<ApiRequest> requests;
    auto last = next;
    for (; last != found_.end() && requests.size() < kMostInABatch; ++last) {
      const KubeObject& object = last->second;
      requests.push_back(
          ApiRequest::ListByName(object.type, cluster_.ns, object.meta.name, Freshness::kSure));
    }
    const auto answers = tools_.client.DoAll(
        requests, static_cast<std::size_t>(tools_.settings->concurrency), RepeatedReads(tools_));
    for (const ApiResult& answer : answers) {
      auto& [uid, object] = *next;
      bool is_there = true;  // as far as known
      if (answer) {
        auto meta = ReadObjectMeta(OnlyItem(*answer));
        is_there = meta && meta->uid == uid;
        if (is_there) object.meta = *std::move(meta);
      } else {
        warn_once_(answer.error().message);
      }
      if (is_there && claims_.contains(uid)) JudgeClaimAgain(object);
      if (!is_there || !MayGo(object)) {
        next = found_.erase(next);
        continue;
      }
      remaining.push_back(object);
      ++next;
    }
  }
  return remaining;
}

}  // namespace cluster_watcher

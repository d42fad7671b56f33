#include "watcher/driver/remnants.h"

#include <algorithm>
#include <utility>

#include "watcher/deletion/claims.h"
#include "watcher/deletion/kept_owners.h"
#include "watcher/deletion/member_listing.h"
#include "watcher/deletion/members.h"
#include "watcher/driver/creation_mark.h"
#include "watcher/protocol/member_annotations.h"
#include "watcher/protocol/owner_reference.h"

namespace cluster_watcher {
namespace {

constexpr int kLongestChain = 4;  // of owners

bool IsManaged(JsonValue item) {
  const auto entries = item["metadata"]["managedFields"].Elements();
  return std::any_of(entries.begin(), entries.end(),
                     [](JsonValue entry) { return entry["manager"].AsString() == kCreateManager; });
}

bool IsClaim(const ResourceType& type) { return type.kind == "PersistentVolumeClaim"; }

bool Holds(const std::vector<ResourceType>& types, const ResourceType& type) {
  return std::find(types.begin(), types.end(), type) != types.end();
}

}  // namespace

Remnants::Remnants(const DriverTools& tools, ClusterId cluster, std::vector<ResourceType> types,
                   std::function<void(const std::string&)> say, std::set<std::string> only)
    : tools_(tools),
      cluster_(std::move(cluster)),
      types_(std::move(types)),
      say_(std::move(say)),
      only_(std::move(only)) {}

Result<std::vector<ResourceType>, ApiError> Remnants::Kinds() {
  MemberKinds members = FindMemberKinds(settings_, tools_.discovery, tools_.Reads());
  if (!members.errors.empty()) return Unexpected{std::move(members.errors.front())};
  for (const ResourceType& type : types_) {
    if (!Holds(members.types, type)) members.types.push_back(type);
  }
  std::erase_if(members.types,
                [](const ResourceType& type) { return IsClaim(type) || IsNeverDeleted(type); });
  return std::move(members.types);
}

Result<Remnants::Found, ApiError> Remnants::Find() {
  auto kinds = Kinds();
  if (!kinds) return Unexpected{std::move(kinds).error()};
  std::vector<ApiRequest> lists;
  for (const ResourceType& type : *kinds) {
    lists.push_back(
        ApiRequest::ListBySelector(type, cluster_.ns, cluster_.label + "=" + cluster_.name, true));
  }
  Found found;
  const auto read = tools_.client.EachItemSideBySide(
      lists, kUrgentReadsSideBySide,
      [&](std::size_t which, JsonValue item) {
        auto meta = ReadObjectMeta(item);
        if (!meta || !cluster_.Owns(*meta)) return;
        if (IsKept(*meta)) {
          found.kept.push_back({(*kinds)[which], *std::move(meta)});
        } else if (only_.empty() ? IsManaged(item) : only_.contains(meta->uid)) {
          found.remnants.push_back({(*kinds)[which], *std::move(meta)});
        }
      },
      tools_.Reads());
  for (std::size_t i = 0; i < read.size(); ++i) {
    if (read[i]) continue;
    const bool may_be_skipped =
        read[i].error().failure == ApiFailure::kForbidden && !Holds(types_, (*kinds)[i]);
    if (!may_be_skipped) return Unexpected{read[i].error()};
  }
  return found;
}

Result<std::vector<std::string>, ApiError> Remnants::DeleteOnce(const std::string& root_uid,
                                                                StillSo& is_ours) {
  auto found = Find();
  if (!found) return Unexpected{std::move(found).error()};
  const KubeObjects& remnants = found->remnants;
  const bool only_root =
      std::all_of(remnants.begin(), remnants.end(),
                  [&](const KubeObject& object) { return object.meta.uid == root_uid; });
  std::vector<std::string> left;
  for (const KubeObject& object : remnants) left.push_back(object.Describe());
  if (left.empty() || !is_ours.Ask()) return left;
  if (auto done = LetGo(*found); !done) return Unexpected{std::move(done).error()};
  for (const KubeObject& object : remnants) {
    if (object.meta.deleting || (object.meta.uid == root_uid && !only_root)) continue;
    auto deleted = Delete(object, is_ours);
    if (!deleted && deleted.error().failure == ApiFailure::kNotSent) break;
    if (!deleted) return Unexpected{std::move(deleted).error()};
  }
  return left;
}

Result<bool, ApiError> Remnants::IsRemnant(const OwnerReference& owner,
                                           const std::set<std::string>& uids, int depth) {
  if (uids.contains(owner.uid)) return true;
  if (depth == 0 || strangers_.contains(owner.uid)) return false;
  const auto above = ReadOwner(tools_.client, tools_.discovery, cluster_.ns, owner, tools_.Reads());
  if (!above) return Unexpected{above.error()};
  if (!*above) return false;
  for (const OwnerReference& next : (*above)->owner_references()) {
    auto is_it = IsRemnant(next, uids, depth - 1);
    if (!is_it || *is_it) return is_it;
  }
  if (depth == kLongestChain) strangers_.insert(owner.uid);
  return false;
}

Result<Done, ApiError> Remnants::LetGo(const Found& found) {
  std::set<std::string> uids;
  for (const KubeObject& object : found.remnants) {
    if (!object.meta.deleting) uids.insert(object.meta.uid);
  }
  if (uids.empty()) return Done{};
  strangers_.clear();
  KubeObjects stay = found.kept;
  const ResourceType& claims = *FindBuiltInByName("persistentvolumeclaims", "");
  const auto read = tools_.client.EachItem(
      ApiRequest::ListMetadata(claims, cluster_.ns),
      [&](JsonValue item) {
        auto claim = ReadObjectMeta(item);
        if (!claim) return;
        // Those of a set are settled with that, and those of a pod are its own.
        const auto& owners = claim->owner_references();
        const bool is_made = std::any_of(owners.begin(), owners.end(), [](const auto& owner) {
          return owner.kind == "StatefulSet" || owner.kind == "Pod";
        });
        if (!is_made) stay.push_back({claims, *std::move(claim)});
      },
      tools_.Reads());
  if (!read) return Unexpected{read.error()};
  for (KubeObject& object : stay) {
    const auto owners = object.meta.owner_references();
    for (const OwnerReference& owner : owners) {
      const auto is_remnant = IsRemnant(owner, uids, kLongestChain);
      // What another operator owns is none of the cluster's, unless it says so.
      const bool is_strangers = !is_remnant && !cluster_.Owns(object.meta) &&
                                is_remnant.error().failure == ApiFailure::kForbidden;
      if (is_strangers) continue;
      if (!is_remnant) return Unexpected{is_remnant.error()};
      if (!*is_remnant) continue;
      const ApiResult released =
          tools_.client.Do(ApiRequest::MergePatch(object.type, cluster_.ns, object.meta.name,
                                                  NoOwnerReferencePatch(object.meta, owner.uid)),
                           tools_.stop);
      if (!released && released.error().failure == ApiFailure::kNotFound) break;
      if (!released) return Unexpected{released.error()};
      if (auto now = ReadObjectMeta(released->document.root())) object.meta = *std::move(now);
    }
  }
  return Done{};
}

// Whether the set may go, for its claims stay. Its controller releases only those of pods that are
// ready, which those of an interrupted creation hardly are: so they are released here, once its
// policy retains them.
Result<bool, ApiError> Remnants::SettleClaims(const KubeObject& set) {
  Claims claims(tools_.client, settings_, cluster_, WallTime{});
  const auto settled = claims.Settle(set);
  if (!settled) return Unexpected{settled.error()};
  if (settled->now) return true;
  const ResourceType& type = *FindBuiltInByName("persistentvolumeclaims", "");
  std::vector<ApiRequest> releases;
  const auto read = tools_.client.EachItem(
      ApiRequest::ListMetadata(type, cluster_.ns),
      [&](JsonValue item) {
        const auto claim = ReadObjectMeta(item);
        if (!claim || !claim->IsOwnedBy(set.meta.uid)) return;
        releases.push_back(ApiRequest::MergePatch(type, cluster_.ns, claim->name,
                                                  NoOwnerReferencePatch(*claim, set.meta.uid)));
      },
      tools_.Reads());
  if (!read) return Unexpected{read.error()};
  for (const ApiRequest& release : releases) {
    const ApiResult released = tools_.client.Do(release, tools_.stop);
    const bool is_refused = !released && !IsTransient(released.error().failure) &&
                            released.error().failure != ApiFailure::kNotFound;
    if (is_refused) return Unexpected{released.error()};
  }
  return false;
}

Result<Done, ApiError> Remnants::Delete(const KubeObject& object, StillSo& is_ours) {
  if (object.type->kind == "StatefulSet") {
    const auto settled = SettleClaims(object);
    if (!settled) return Unexpected{settled.error()};
    if (!*settled) return Done{};
  }
  if (!is_ours.Ask()) return Unexpected{ApiError{ApiFailure::kNotSent, "", std::nullopt}};
  const ApiResult deleted =
      tools_.client.Do(ApiRequest::Delete(object.type, cluster_.ns, object.meta.name,
                                          {object.meta.uid}, PropagationPolicy::kForeground, false),
                       Patience::While([&] { return is_ours.IsFresh(); }, tools_.stop));
  if (!deleted) {
    // It is gone, or another has its name: the next listing tells.
    const ApiFailure failure = deleted.error().failure;
    const bool is_over = failure == ApiFailure::kNotFound || failure == ApiFailure::kConflict;
    if (is_over) return Done{};
    return Unexpected{deleted.error()};
  }
  if (told_.insert(object.meta.uid).second) say_(object.Describe() + " deleted");
  return Done{};
}

}  // namespace cluster_watcher

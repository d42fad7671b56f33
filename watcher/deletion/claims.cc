#include "watcher/deletion/claims.h"

#include <string>
#include <utility>

#include "watcher/deletion/members.h"
#include "watcher/protocol/marks.h"

namespace cluster_watcher {
namespace {

const ResourceType& ClaimType() { return *FindBuiltInByName("persistentvolumeclaims", ""); }

// Whether `claim` is named TEMPLATE-SET-ORDINAL, as the claims of a StatefulSet are.
bool IsClaimOf(const std::string& claim, const KubeObject& set, JsonValue templates) {
  for (JsonValue made_from : templates.Elements()) {
    const std::string prefix = std::string(made_from["metadata"]["name"].AsString().value_or("")) +
                               "-" + set.meta.name + "-";
    if (claim.size() > prefix.size() && claim.starts_with(prefix) &&
        claim.find_first_not_of("0123456789", prefix.size()) == std::string::npos) {
      return true;
    }
  }
  return false;
}

// The controller labels a set's claims with the selector's matchLabels and ignores its expressions.
ApiRequest ListRequest(JsonValue set, const std::string& ns) {
  std::string selector;
  for (const auto& [key, value] : set["spec"]["selector"]["matchLabels"].Members()) {
    selector += (selector.empty() ? "" : ",") + std::string(key) + "=" +
                std::string(value.AsString().value_or(""));
  }
  return selector.empty() ? ApiRequest::List(ClaimType(), ns)
                          : ApiRequest::ListBySelector(ClaimType(), ns, selector, true);
}

Unexpected<ApiError> Unreadable(const KubeObject& set, const std::string& why) {
  return {ApiError{ApiFailure::kUnexpected, set.Describe() + ": " + why, std::nullopt}};
}

}  // namespace

Result<std::optional<ObjectMeta>, ApiError> ReadSet(KubeClient& client, const std::string& ns,
                                                    const std::string& name,
                                                    const Patience& patience) {
  const ResourceType& type = *FindBuiltInByName("statefulsets", "apps");
  auto listed = client.Do(ApiRequest::ListByName(type, ns, name, Freshness::kSure), patience);
  if (!listed) return Unexpected{std::move(listed).error()};
  auto meta = ReadObjectMeta(OnlyItem(*listed));
  if (!meta) return std::optional<ObjectMeta>();
  return std::optional(*std::move(meta));
}

Claims::Claims(KubeClient& client, const Settings& settings, ClusterId cluster,
               WallTime collect_after)
    : client_(client),
      settings_(settings),
      cluster_(std::move(cluster)),
      collect_after_(collect_after) {}

Result<Claims::Settled, ApiError> Claims::Settle(const KubeObject& set) {
  auto answer = client_.Do(ApiRequest::Get(set.type, cluster_.ns, set.meta.name), {});
  if (!answer && answer.error().failure == ApiFailure::kNotFound) return Settled{true, {}, {}};
  if (!answer) return Unexpected{std::move(answer).error()};
  const JsonValue object = answer->document.root();
  const auto meta = ReadObjectMeta(object);
  if (!meta) return Unreadable(set, meta.error().message);
  if (meta->uid != set.meta.uid)
    return Settled{true, {}, {}};  // the delete's UID precondition will fail
  if (!MayGo(*meta)) return Settled{};
  const JsonValue templates = object["spec"]["volumeClaimTemplates"];
  if (templates.size() == 0) return Settled{true, {}, {}};
  const auto retain = [&] { return Retain(KubeObject{set.type, *meta}, object); };
  if (settings_.volumes != Volumes::kDelete) {
    auto retained = retain();
    if (!retained) return Unexpected{std::move(retained).error()};
    if (!*retained) return Settled{};
  }
  KubeObjects claims;
  bool held = false;       // one still refers to the set, and would go with it
  bool kept_held = false;  // one that is to be kept does
  bool all_read = true;
  auto read = client_.EachItem(
      ListRequest(object, cluster_.ns),
      [&](JsonValue item) {
        auto claim = ReadObjectMeta(item);
        if (!claim) {
          all_read = false;
          return;
        }
        held = held || claim->IsOwnedBy(set.meta.uid);
        kept_held = kept_held || (IsKept(*claim) && claim->IsOwnedBy(set.meta.uid));
        if (!claim->deleting && IsClaimOf(claim->name, set, templates) && MayGo(*claim, set)) {
          claims.push_back({ClaimType(), *std::move(claim)});
        }
      },
      {});
  if (!read) return Unexpected{std::move(read).error()};
  if (!all_read) return Unreadable(set, "a claim of it can't be read");
  if (kept_held && settings_.volumes == Volumes::kDelete) {
    auto retained = retain();
    if (!retained) return Unexpected{std::move(retained).error()};
    return Settled{};
  }
  if (settings_.volumes != Volumes::kDelete && held) return Settled{};
  // As long as the set exists, claims of these names belong to it and not to a successor.
  auto there = claims.empty() ? Result<bool, ApiError>(true) : IsStillThere(set);
  if (!there) return Unexpected{std::move(there).error()};
  if (!*there) return Settled{};
  if (settings_.volumes == Volumes::kDelete) return Settled{true, std::move(claims), {}};
  if (settings_.volumes == Volumes::kPreserve) {
    std::erase_if(claims, [](const KubeObject& one) { return !IsMarkedForCollection(one.meta); });
    return Settled{true, {}, std::move(claims)};
  }
  if (settings_.volumes == Volumes::kCollect) {
    if (auto marked = Mark(claims); !marked) return Unexpected{std::move(marked).error()};
  }
  return Settled{true, {}, {}};
}

// A StatefulSet may take its claims with it (whenDeleted: Delete). Before it is deleted, the policy
// must be changed and the controller must release the claims. Returns true if the policy already
// retains them, false if it has just been changed.
Result<bool, ApiError> Claims::Retain(const KubeObject& set, JsonValue object) {
  const JsonValue policy = object["spec"]["persistentVolumeClaimRetentionPolicy"];
  if (policy["whenDeleted"].AsString() != "Delete") return true;
  JsonWriter patch;
  patch.StartObject().Key("metadata").StartObject();
  patch.Field("resourceVersion", set.meta.resource_version).EndObject();
  patch.Key("spec").StartObject().Key("persistentVolumeClaimRetentionPolicy").StartObject();
  patch.Field("whenDeleted", "Retain").EndObject().EndObject().EndObject();
  auto patched =
      client_.Do(ApiRequest::MergePatch(set.type, cluster_.ns, set.meta.name, patch.Text()), {});
  if (!patched) return Unexpected{std::move(patched).error()};
  return false;
}

// Returns false if `set` is gone, another one has its name, or it is to be kept now; the next
// Settle notices that.
Result<bool, ApiError> Claims::IsStillThere(const KubeObject& set) {
  auto answer = client_.Do(ApiRequest::GetMetadata(set.type, cluster_.ns, set.meta.name), {});
  if (!answer && answer.error().failure == ApiFailure::kNotFound) return false;
  if (!answer) return Unexpected{std::move(answer).error()};
  const auto meta = ReadObjectMeta(answer->document.root());
  return meta && meta->uid == set.meta.uid && MayGo(*meta);
}

Result<Done, ApiError> Claims::Mark(const KubeObjects& claims) {
  std::vector<ApiRequest> requests;
  for (const KubeObject& claim : claims) {
    if (!IsCollected(claim.meta, collect_after_)) requests.push_back(CollectRequest(claim));
  }
  const auto concurrency = static_cast<std::size_t>(settings_.concurrency);
  for (ApiResult& answer : client_.DoAll(requests, concurrency, {})) {
    if (answer || answer.error().failure == ApiFailure::kNotFound) continue;
    return Unexpected{std::move(answer).error()};
  }
  return Done{};
}

// Neither what is to be kept, nor what is another cluster's or another controller's.
bool Claims::MayGo(const ObjectMeta& claim, const KubeObject& set) const {
  const OwnerReference* controller = claim.Controller();
  return MayGo(claim) && (controller == nullptr || controller->uid == set.meta.uid);
}

bool Claims::MayGo(const ObjectMeta& meta) const {
  const auto label = meta.Label(cluster_.label);
  return !IsKept(meta) && (!label || *label == cluster_.name);
}

ApiRequest Claims::CollectRequest(const KubeObject& claim) const {
  const std::string cluster = cluster_.label + "=" + cluster_.name;
  return ApiRequest::MergePatch(claim.type, cluster_.ns, claim.meta.name,
                                MarksPatch(claim.meta, CollectMarks(collect_after_, cluster)));
}

ApiRequest Claims::PreserveRequest(const KubeObject& claim) const {
  return ApiRequest::MergePatch(claim.type, cluster_.ns, claim.meta.name,
                                MarksPatch(claim.meta, WithoutCollectMarks()));
}

}  // namespace cluster_watcher

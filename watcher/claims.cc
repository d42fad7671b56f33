#include "watcher/claims.h"

#include <algorithm>
#include <string>
#include <utility>

#include "probes/owner_kinds.h"
#include "watcher/marks.h"
#include "watcher/owner_reference.h"

namespace cluster_watcher {
namespace {

const ResourceType& ClaimType() { return *FindBuiltInByName("persistentvolumeclaims", ""); }

// The claims of a StatefulSet are called TEMPLATE-SET-ORDINAL.
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

Unexpected<ApiError> Unreadable(const KubeObject& set, const std::string& why) {
  return {ApiError{ApiFailure::kUnexpected, set.Describe() + ": " + why, std::nullopt}};
}

}  // namespace

Claims::Claims(KubeClient& client, Clock& clock, const Settings& settings, ClusterId cluster,
               KubeObject root)
    : client_(client),
      clock_(clock),
      settings_(settings),
      cluster_(std::move(cluster)),
      root_(std::move(root)) {}

Result<bool, ApiError> Claims::Settle(const KubeObject& set) {
  auto answer = client_.Do(ApiRequest::Get(set.type, cluster_.ns, set.meta.name), {});
  if (!answer && answer.error().failure == ApiFailure::kNotFound) return true;
  if (!answer) return Unexpected{std::move(answer).error()};
  const JsonValue object = answer->document.root();
  const auto meta = ReadObjectMeta(object);
  if (!meta) return Unreadable(set, meta.error().message);
  if (meta->uid != set.meta.uid) return true;  // the delete will meet the other UID
  const JsonValue templates = object["spec"]["volumeClaimTemplates"];
  if (templates.size() == 0) return true;
  if (settings_.volumes != Volumes::kDelete) {
    auto retained = Retain(KubeObject{set.type, *meta}, object);
    if (!retained || !*retained) return retained;
  }
  const auto fields = ReadOwnerFields(set.type, object);
  if (!fields || fields->pod_selector.empty()) return Unreadable(set, "no selector");
  std::vector<KubeObject> claims;
  bool held = false;
  auto read = client_.EachItem(
      ApiRequest::ListBySelector(ClaimType(), cluster_.ns, fields->pod_selector, true),
      [&](JsonValue item) {
        auto claim = ReadObjectMeta(item);
        if (!claim) return;
        held = held || claim->IsOwnedBy(set.meta.uid);
        const bool kept = claim->Annotation(annotation::kKeep) == "true";
        if (!kept && !claim->deleting && IsClaimOf(claim->name, set, templates)) {
          claims.push_back({ClaimType(), *std::move(claim)});
        }
      },
      {});
  if (!read) return Unexpected{std::move(read).error()};
  if (settings_.volumes != Volumes::kDelete && held) return false;
  if (auto handed = Hand(claims); !handed) return Unexpected{std::move(handed).error()};
  return true;
}

// A StatefulSet may take its claims with it (whenDeleted: Delete). The policy is changed first, and
// the controller must have let go of them before the StatefulSet is deleted. True: it is changed.
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

Result<Done, ApiError> Claims::Hand(const std::vector<KubeObject>& claims) {
  std::vector<ApiRequest> requests;
  for (const KubeObject& claim : claims) {
    switch (settings_.volumes) {
      case Volumes::kPreserve:
        break;
      case Volumes::kCollect:
        if (!IsCollected(claim.meta)) requests.push_back(CollectRequest(claim));
        break;
      case Volumes::kDelete:
        if (claim.meta.IsOwnedBy(root_.meta.uid)) break;
        requests.push_back(ApiRequest::MergePatch(claim.type, cluster_.ns, claim.meta.name,
                                                  OwnerReferencePatch(claim.meta, root_)));
        break;
    }
  }
  const auto concurrency = static_cast<std::size_t>(settings_.concurrency);
  for (ApiResult& answer : client_.DoAll(requests, concurrency, {})) {
    if (answer || answer.error().failure == ApiFailure::kNotFound) continue;
    return Unexpected{std::move(answer).error()};
  }
  return Done{};
}

ApiRequest Claims::CollectRequest(const KubeObject& claim) const {
  const WallTime after = clock_.WallNow() + settings_.volume_retention;
  return ApiRequest::MergePatch(
      claim.type, cluster_.ns, claim.meta.name,
      MarksPatch(claim.meta, CollectMarks(after, cluster_.label + "=" + cluster_.name)));
}

}  // namespace cluster_watcher

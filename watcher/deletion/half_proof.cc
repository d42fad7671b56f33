#include "watcher/deletion/half_proof.h"

#include <algorithm>

#include "probes/base/names.h"
#include "watcher/deletion/member_listing.h"
#include "watcher/protocol/member_annotations.h"

namespace cluster_watcher {
namespace {

constexpr WallTime::duration kOldestDeletion = std::chrono::hours(24);
// Between two API servers, or one and us.
constexpr WallTime::duration kClockSkew = std::chrono::minutes(1);
constexpr const char* kUnknownYet =
    "whether the deletion was begun can't be read yet: nothing is deleted until it can";

// Whether `object` is no longer there as it was named. An error: that could not be read.
Result<bool, ApiError> IsGone(const Tools& tools, const FirstDelete& object,
                              const std::string& ns) {
  const Patience patience = RepeatedReads(tools);
  auto type = tools.discovery.ByPlural(object.plural, object.group, patience);
  if (!type) return Unexpected{std::move(type).error()};
  // A kind that is no longer served proves nothing.
  if (!*type || !(*type)->namespaced) return false;
  auto listed =
      tools.client.Do(ApiRequest::ListByName(**type, ns, object.name, Freshness::kSure), patience);
  if (!listed && !IsTransient(listed.error().failure)) return false;
  if (!listed) return Unexpected{std::move(listed).error()};
  const JsonValue item = OnlyItem(*listed);
  if (!item.Exists()) return true;
  auto meta = ReadObjectMeta(item);
  if (!meta) return Unexpected{ApiError{ApiFailure::kUnexpected, meta.error().message, {}}};
  return meta->deleting || !object.HasUid(meta->uid);
}

// Times of creation are whole seconds.
bool IsMadeSince(const ObjectMeta& meta, WallTime since) {
  return !meta.created || *meta.created >= std::chrono::floor<std::chrono::seconds>(since);
}

// What the mark names was there before the deletion.
bool IsNamed(const ObjectMeta& meta, const Marks& marks) {
  return std::any_of(marks.first_deletes.begin(), marks.first_deletes.end(),
                     [&](const FirstDelete& object) { return object.HasUid(meta.uid); });
}

bool IsAnyMadeSince(const KubeObjects& objects, const std::string& root_uid, const Marks& marks) {
  return std::any_of(objects.begin(), objects.end(), [&](const KubeObject& object) {
    const ObjectMeta& meta = object.meta;
    const bool is_member =
        meta.uid != root_uid && meta.Controller() == nullptr && !meta.deleting && !IsKept(meta);
    return is_member && IsMadeSince(meta, *marks.deleting_since) && !IsNamed(meta, marks);
  });
}

}  // namespace

// In the future: it is forged, or was brought back.
bool IsOfToday(const Marks& marks, WallTime now) {
  return marks.deleting_since && now - *marks.deleting_since < kOldestDeletion &&
         *marks.deleting_since - now < kClockSkew;
}

HalfProof ProveHalf(const Tools& tools, WarnOnce& warn_once, const ClusterId& cluster,
                    const std::string& root_uid, const Marks& marks, WallTime now) {
  HalfProof proof;
  if (!marks.deletes_begun) return proof;
  bool all_read = true;
  for (const FirstDelete& object : marks.first_deletes) {
    if (!object.ProvesHalf()) continue;
    tools.turn({});
    auto gone = IsGone(tools, object, cluster.ns);
    if (!gone) {
      warn_once(gone.error().message);
      all_read = false;
    } else if (*gone) {
      proof.gone.push_back(object.Describe());
    }
  }
  if (!IsOfToday(marks, now)) return proof;
  // What can't be read by the deadline holds nothing up any longer.
  const bool late = now - *marks.deleting_since >= tools.settings->delete_deadline;
  if (proof.gone.empty()) {
    const bool is_sure = all_read || late;
    proof.wholeness = is_sure ? Wholeness::kMayWhole : Wholeness::kUnknown;
    if (!is_sure) warn_once(kUnknownYet);
    return proof;
  }
  const auto listed = MemberListing(tools, warn_once, cluster).List(RepeatedReads(tools));
  if (!IsAnyMadeSince(listed.objects, root_uid, marks)) {
    const bool is_sure = listed.complete || late;
    proof.is_sure = listed.complete;
    proof.wholeness = is_sure ? Wholeness::kHalf : Wholeness::kUnknown;
    if (!is_sure) warn_once(kUnknownYet);
  }
  return proof;
}

std::string WhatIsGone(const std::vector<std::string>& gone) {
  return gone.empty() ? "" : "; already deleted: " + Joined(gone);
}

std::optional<bool> IsStillAsked(const Tools& tools, WarnOnce& warn_once, const ClusterId& cluster,
                                 const std::string& root_uid, const Marks& marks, WallTime now) {
  if (!IsOfToday(marks, now)) return false;
  // Marks of a deletion that was called off come back with a rollback.
  if (now - *marks.deleting_since >= 2 * tools.settings->delete_deadline) return false;
  const auto listed = MemberListing(tools, warn_once, cluster).List(RepeatedReads(tools));
  if (IsAnyMadeSince(listed.objects, root_uid, marks)) return false;
  if (listed.complete) return true;
  warn_once(kUnknownYet);
  return std::nullopt;
}

}  // namespace cluster_watcher

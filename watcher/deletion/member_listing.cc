#include "watcher/deletion/member_listing.h"

#include <algorithm>
#include <utility>

#include "probes/base/names.h"

namespace cluster_watcher {

MemberListing::MemberListing(const Tools& tools, WarnOnce& warn_once, ClusterId cluster)
    : tools_(tools),
      cluster_probe_(tools.client, tools.discovery),
      warn_once_(warn_once),
      cluster_(std::move(cluster)) {}

MemberListing::Listed MemberListing::List(const Patience& patience) {
  const Settings& settings = *tools_.settings;
  Listed listed;
  bool is_refreshed = false;
  if (refresh_kinds_) {
    const auto fresh = tools_.discovery.Refresh(patience);
    if (!fresh) warn_once_(fresh.error().message);
    is_refreshed = fresh.has_value();
  }
  const MemberKinds kinds = FindMemberKinds(settings, tools_.discovery, patience);
  for (const ApiError& error : kinds.errors) warn_once_(error.message);
  for (const std::string& kind : kinds.not_served) {
    Skip(SplitKindName(kind).kind, "not-found", kind + ": not served");
  }
  if (readable_.empty()) {
    for (const ResourceType& type : kinds.types) tools_.metrics.ExpectDeletesOf(type.plural);
  }
  std::vector<ResourceType> types = kinds.types;
  const ResourceType& claims = *FindBuiltInByName("persistentvolumeclaims", "");
  // Preserved claims are no members, but what they belong to must not take them along.
  const bool preserves = settings.volumes == Volumes::kPreserve &&
                         std::find(types.begin(), types.end(), claims) == types.end();
  if (preserves) types.push_back(claims);
  auto listing = cluster_probe_.List(types, cluster_,
                                     static_cast<std::size_t>(settings.concurrency), patience);
  for (const auto& [type, error] : listing.skipped) {
    warn_once_(error.message);
    Skip(type.plural, "forbidden", type.QualifiedName() + ": the account may not list them");
  }
  for (const ApiError& error : kinds.errors) listed.failed.push_back(error.message);
  for (const ApiError& error : listing.failed) {
    warn_once_(error.message);
    listed.failed.push_back(error.message);
  }
  // What is no longer served is gone with its definition.
  if (is_refreshed && kinds.errors.empty()) {
    std::erase_if(readable_, [&](const std::string& kind) {
      return std::none_of(types.begin(), types.end(),
                          [&](const ResourceType& type) { return type.QualifiedName() == kind; });
    });
  }
  // A kind that could be listed before and no longer can isn't known to be empty.
  readable_.insert(listing.read.begin(), listing.read.end());
  listed.any = !listing.read.empty();
  listed.complete = kinds.errors.empty() && listing.failed.empty() && listed.any &&
                    listing.read.size() == readable_.size();
  listed.workloads = std::none_of(types.begin(), types.end(), [&](const ResourceType& type) {
    const bool is_skipped = std::any_of(listing.skipped.begin(), listing.skipped.end(),
                                        [&](const auto& skipped) { return skipped.first == type; });
    const std::string kind = type.QualifiedName();
    return IsWorkload(type) && !listing.read.contains(kind) &&
           (!is_skipped || readable_.contains(kind));
  });
  refresh_kinds_ = !listed.complete;
  listed.objects = std::move(listing.objects);
  if (!preserves) return listed;
  const auto is_preserved = [&](const KubeObject& object) { return object.type == types.back(); };
  std::copy_if(listed.objects.begin(), listed.objects.end(), std::back_inserter(listed.preserved),
               is_preserved);
  std::erase_if(listed.objects, is_preserved);
  return listed;
}

void MemberListing::Skip(const std::string& plural, const char* result, std::string why) {
  if (std::find(skipped_.begin(), skipped_.end(), why) != skipped_.end()) return;
  tools_.metrics.Deleted(plural, result);
  tools_.log.warn("skipped {}", why);
  skipped_.push_back(std::move(why));
}

}  // namespace cluster_watcher

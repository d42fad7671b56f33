#include "watcher/engine/surge_search.h"

#include <algorithm>
#include <utility>

#include "probes/cluster_probe.h"
#include "probes/owner_kinds.h"
#include "watcher/protocol/marks.h"

namespace cluster_watcher {
namespace {

bool IsPods(const ResourceType& type) { return type.plural == "pods" && type.group.empty(); }

// There may be thousands of pods, and hardly one is a root. Where our own isn't labelled, others
// aren't either.
ApiRequest ListOf(const ResourceType& type, const KubeObject& own) {
  const bool labelled = !IsPods(own.type) || own.meta.Label(kTypeLabel) == kMasterType;
  if (!IsPods(type) || !labelled) return ApiRequest::ListMetadata(type, own.meta.ns());
  return ApiRequest::ListBySelector(type, own.meta.ns(),
                                    std::string(kTypeLabel) + "=" + kMasterType, true);
}

}  // namespace

Result<std::vector<ApiRequest>, ApiError> MasterRootLists(Discovery& discovery,
                                                          const KubeObject& own,
                                                          const Patience& patience) {
  std::vector<ApiRequest> lists = {ListOf(own.type, own)};
  for (const ResourceType& known : WorkloadTypes()) {
    auto type = discovery.Resolve(known, patience);
    if (!type) return Unexpected{std::move(type).error()};
    if (*type && **type != own.type) lists.push_back(ListOf(**type, own));
  }
  return lists;
}

Result<std::string, ApiError> FindSurge(KubeClient& client, std::span<const ApiRequest> lists,
                                        const KubeObject& own, const Surge& surge, int limit,
                                        const Patience& patience) {
  int count = 1;
  for (const ApiRequest& list : lists) {
    const auto above = client.AnyItem(
        list,
        [&](JsonValue item) {
          const auto meta = ReadObjectMeta(item);
          if (!meta || meta->uid == own.meta.uid) return false;
          const auto since = ReadMarks(*meta).abandoned_since;
          if (since && surge.IsBeside(*since)) ++count;
          return count > limit;
        },
        patience);
    if (!above && above.error().failure == ApiFailure::kForbidden) {
      return "how many clusters of the namespace are abandoned can't be seen, which counts as "
             "many (" +
             above.error().message + ")";
    }
    if (!above) return Unexpected{above.error()};
    if (*above) {
      return "more than " + std::to_string(limit) +
             " clusters of the namespace lost their drivers within a minute";
    }
  }
  return std::string();
}

}  // namespace cluster_watcher

#include "test/small_kubernetes/watch.h"

#include <algorithm>

#include "test/small_kubernetes/render.h"
#include "test/small_kubernetes/status.h"

namespace cluster_watcher::small_kubernetes {

std::string Watch::Line(std::string_view type, const Object& object) const {
  return "{\"type\":\"" + std::string(type) +
         "\",\"object\":" + Render(*filter_.resource, object, metadata_only_) + "}\n";
}

// As real servers write it: the object has no more than its kind and a resourceVersion.
std::string Watch::Bookmark() const {
  const Resource& resource = *filter_.resource;
  const std::string version =
      resource.group.empty() ? resource.version : resource.group + "/" + resource.version;
  const std::string type =
      metadata_only_ ? R"("kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1")"
                     : R"("kind":")" + resource.kind + R"(","apiVersion":")" + version + '"';
  return R"({"type":"BOOKMARK","object":{)" + type + R"(,"metadata":{"resourceVersion":")" +
         std::to_string(seen_) + R"(","creationTimestamp":null}}})" + "\n";
}

std::string Watch::Next() {
  std::string lines;
  if (seen_ == 0) {
    for (const ObjectPtr& object : store_.List(*filter_.resource, filter_.ns)) {
      if (filter_.Matches(*object)) lines += Line("ADDED", *object);
    }
    seen_ = store_.Version();
    return lines;
  }
  if (over_ || seen_ == store_.Version()) return lines;
  if (seen_ < store_.OldestVersion()) {
    std::string status = Expired().body;
    status.pop_back();
    over_ = true;
    return "{\"type\":\"ERROR\",\"object\":" + status + "}\n";
  }
  const auto& history = store_.History();
  const auto first = std::upper_bound(
      history.begin(), history.end(), seen_,
      [](std::uint64_t version, const Change& change) { return version < change.version; });
  for (auto change = first; change != history.end(); ++change) {
    const Object& any = change->after ? *change->after : *change->before;
    if (any.resource->storage != filter_.resource->storage) continue;
    const bool before = change->before != nullptr && filter_.Matches(*change->before);
    const bool after = change->after != nullptr && filter_.Matches(*change->after);
    if (after) {
      lines += Line(before ? "MODIFIED" : "ADDED", *change->after);
    } else if (before) {
      // The last state, with the version that removed it.
      Object last;
      last.body = Copy(change->before->body);
      Set(*Find(last.body, "metadata"), "resourceVersion", Text(std::to_string(change->version)));
      lines += Line("DELETED", last);
    }
  }
  seen_ = store_.Version();
  return lines;
}

}  // namespace cluster_watcher::small_kubernetes

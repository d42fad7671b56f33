#include "test/small_kubernetes/render.h"

#include "test/small_kubernetes/objects.h"

namespace cluster_watcher::small_kubernetes {

std::string Render(const Resource& resource, const Object& object, bool metadata_only) {
  if (metadata_only) {
    return R"({"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":)" +
           object.MetadataJson() + "}";
  }
  std::string json =
      "{\"kind\":\"" + resource.kind + "\",\"apiVersion\":\"" + resource.ApiVersion() + "\",";
  if (resource.index == resource.storage) return json.append(object.Json(), 1);
  Value body = Copy(object.body);
  ToServedNames(resource, body);
  return json.append(Write(body), 1);
}

std::string RenderItem(const Resource& resource, const Object& object, bool metadata_only) {
  if (metadata_only || resource.custom) return Render(resource, object, metadata_only);
  if (resource.index == resource.storage) return object.Json();
  Value body = Copy(object.body);
  ToServedNames(resource, body);
  return Write(body);
}

Representation Negotiate(std::string_view accept) {
  if (accept.empty() || accept == "application/json") return Representation::kWhole;
  while (!accept.empty()) {
    std::string_view clause = accept.substr(0, accept.find(','));
    accept.remove_prefix(clause.size() < accept.size() ? clause.size() + 1 : clause.size());
    while (!clause.empty() && clause.front() == ' ') clause.remove_prefix(1);
    const std::string_view type = clause.substr(0, clause.find(';'));
    if (type != "application/json" && type != "*/*" && type != "application/*") continue;
    const std::size_t as = clause.find(";as=");
    if (as == std::string_view::npos) return Representation::kWhole;
    const std::string_view rest = clause.substr(as + 4);
    const std::string_view kind = rest.substr(0, rest.find(';'));
    const bool meta = clause.find(";g=meta.k8s.io") != std::string_view::npos &&
                      clause.find(";v=v1") != std::string_view::npos &&
                      clause.find(";v=v1beta1") == std::string_view::npos;
    if (kind == "PartialObjectMetadata" && meta) return Representation::kMetadata;
    if (kind == "PartialObjectMetadataList" && meta) return Representation::kMetadataList;
  }
  return Representation::kNone;
}

}  // namespace cluster_watcher::small_kubernetes

#include "probes/kube/api_request.h"

#include <utility>

#include "probes/base/json.h"
#include "probes/kube/pod_state.h"

namespace cluster_watcher {
namespace {

constexpr int kSmallPageSize = 50;  // of whole objects, which may be large
// Some dozens of first pages are read at a time. One that is larger is read in smaller ones.
constexpr std::size_t kMostBytesOfPage = 1u << 20;
constexpr std::string_view kMetadataListOnly =
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json;q=0.1";

ApiRequest MakeRequest(HttpMethod method, ApiRequest::Expect expect, const ResourceType& type,
                       std::string_view ns, std::string_view name) {
  ApiRequest request;
  request.http.method = method;
  request.expect = expect;
  request.type = type;
  request.ns = ns;
  request.name = name;
  return request;
}

ApiRequest FirstPage(const ResourceType& type, std::string_view ns, bool metadata_only,
                     const std::string& selector = "") {
  ApiRequest request = MakeRequest(HttpMethod::kGet, ApiRequest::Expect::kList, type, ns, "");
  request.metadata_only = metadata_only;
  request.http.target = type.CollectionPath(ns) + "?" + selector +
                        "limit=" + std::to_string(metadata_only ? kPageSize : kSmallPageSize);
  request.http.body_limit = kMostBytesOfPage;
  if (metadata_only) request.http.accept = kMetadataListOnly;
  return request;
}

}  // namespace

ApiRequest ApiRequest::Get(const ResourceType& type, std::string_view ns, std::string_view name,
                           Freshness freshness) {
  ApiRequest request = MakeRequest(HttpMethod::kGet, Expect::kObject, type, ns, name);
  request.http.target = type.ObjectPath(ns, name);
  if (freshness == Freshness::kCached) request.http.target += "?resourceVersion=0";
  return request;
}

ApiRequest ApiRequest::GetMetadata(const ResourceType& type, std::string_view ns,
                                   std::string_view name, Freshness freshness) {
  ApiRequest request = Get(type, ns, name, freshness);
  request.metadata_only = true;
  request.http.accept = kMetadataOnly;
  return request;
}

ApiRequest ApiRequest::ListByName(const ResourceType& type, std::string_view ns,
                                  std::string_view name, Freshness freshness) {
  ApiRequest request = MakeRequest(HttpMethod::kGet, Expect::kList, type, ns, name);
  request.http.target =
      type.CollectionPath(ns) + "?fieldSelector=metadata.name%3D" + PercentEncode(name);
  if (freshness == Freshness::kCached) request.http.target += "&resourceVersion=0";
  return request;
}

ApiRequest ApiRequest::List(const ResourceType& type, std::string_view ns) {
  return FirstPage(type, ns, false);
}

ApiRequest ApiRequest::ListMetadata(const ResourceType& type, std::string_view ns) {
  return FirstPage(type, ns, true);
}

ApiRequest ApiRequest::ListUnendedPods(std::string_view ns, std::string_view selector,
                                       bool metadata_only) {
  std::string query = "fieldSelector=" + PercentEncode(kUnendedPods) + "&";
  if (!selector.empty()) query += "labelSelector=" + PercentEncode(selector) + "&";
  return FirstPage(*FindBuiltInByName("pods", ""), ns, metadata_only, query);
}

ApiRequest ApiRequest::ListBySelector(const ResourceType& type, std::string_view ns,
                                      std::string_view selector, bool metadata_only) {
  return FirstPage(type, ns, metadata_only, "labelSelector=" + PercentEncode(selector) + "&");
}

ApiRequest ApiRequest::Discover(std::string path) {
  ApiRequest request;
  request.http.target = std::move(path);
  return request;
}

ApiRequest ApiRequest::MergePatch(const ResourceType& type, std::string_view ns,
                                  std::string_view name, std::string body) {
  ApiRequest request = MakeRequest(HttpMethod::kPatch, Expect::kObject, type, ns, name);
  request.http.target = type.ObjectPath(ns, name);
  request.http.content_type = "application/merge-patch+json";
  request.http.body = std::move(body);
  request.http.accept = kMetadataOnly;
  request.metadata_only = true;
  return request;
}

ApiRequest ApiRequest::Create(const ResourceType& type, std::string_view ns, std::string body) {
  ApiRequest request = MakeRequest(HttpMethod::kPost, Expect::kDocument, type, ns, "");
  request.http.target = type.CollectionPath(ns);
  request.http.content_type = "application/json";
  request.http.body = std::move(body);
  return request;
}

ApiRequest ApiRequest::TryCreate(const ResourceType& type, std::string_view ns, std::string body) {
  ApiRequest request = Create(type, ns, std::move(body));
  request.http.target += "?dryRun=All";
  return request;
}

ApiRequest ApiRequest::By(std::string_view manager) && {
  http.target += "?fieldManager=" + PercentEncode(manager);
  return std::move(*this);
}

ApiRequest ApiRequest::Delete(const ResourceType& type, std::string_view ns, std::string_view name,
                              const Preconditions& preconditions, PropagationPolicy propagation,
                              bool dry_run) {
  ApiRequest request = MakeRequest(HttpMethod::kDelete, Expect::kDocument, type, ns, name);
  request.http.target = type.ObjectPath(ns, name);
  request.http.content_type = "application/json";
  const char* policy = propagation == PropagationPolicy::kBackground ? "Background" : "Foreground";
  JsonWriter body;
  body.StartObject().Field("kind", "DeleteOptions").Field("apiVersion", "v1");
  body.Field("propagationPolicy", policy);
  body.Key("preconditions").StartObject().Field("uid", preconditions.uid);
  if (!preconditions.resource_version.empty()) {
    body.Field("resourceVersion", preconditions.resource_version);
  }
  body.EndObject();
  if (dry_run) body.Key("dryRun").StartArray().String("All").EndArray();
  request.http.body = body.EndObject().Text();
  return request;
}

}  // namespace cluster_watcher
